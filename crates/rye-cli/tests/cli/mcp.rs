//! `rye mcp`, as lines of the protocol, and the same operations on every surface.

mod approving;
mod equality;
mod http;
mod in_threads;
mod program;
mod reviewing;
mod skills;
mod threads;
mod wire;

use rye::caps::Grant;
use serde_json::{Value, json};

use self::wire::{Era, Wire, server};
use crate::session::Session;

fn granted(patterns: &[&str]) -> Grant {
    let patterns = patterns.iter().map(|pattern| pattern.parse().unwrap());
    rye::reading().union(&patterns.collect())
}

/// The names of the offered tools.
async fn tools(wire: &mut Wire) -> Vec<String> {
    let listed = wire.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn both_eras_are_served() {
    let session = Session::new();
    for era in [Era::Initialize, Era::Discover, Era::Inline] {
        let mut wire = Wire::begin(server(&session, granted(&[])), era).await;
        let names =
            ["rye_check", "rye_execute", "rye_explain", "rye_fetch", "rye_load", "rye_search"];
        assert_eq!(tools(&mut wire).await, names, "{era:?}");
        let found = wire.call("rye_search", json!({ "query": "index", "limit": 1 })).await;
        assert_eq!(found["structuredContent"]["results"][0]["id"], "notes/index", "{era:?}");
        assert_eq!(found.get("resultType").is_some(), era != Era::Initialize, "{era:?}");
    }
}

#[tokio::test]
async fn clients_are_told_what_programs_are_not_kept_from() {
    let session = Session::new();
    let mut host = wire::host(&session, granted(&[]));
    host.notice = Some("programs run in the sandbox `none`".to_owned());
    let mut wire = Wire::begin(rye::McpServer::new(host), Era::Inline).await;
    let found = wire.ask("server/discover", json!({})).await["result"].clone();
    let instructions = found["instructions"].as_str().unwrap();
    assert!(instructions.ends_with("programs run in the sandbox `none`"), "{found}");
}

#[tokio::test]
async fn an_unknown_version_is_refused() {
    let session = Session::new();
    let mut wire = Wire::begin(server(&session, granted(&[])), Era::Inline).await;
    wire.version = "2031-01-01";
    let answer = wire.ask("tools/list", json!({})).await;
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert!(answer["error"]["data"]["supported"].as_array().is_some_and(|it| !it.is_empty()));
}

#[tokio::test]
async fn what_is_offered_is_what_the_operator_grants() {
    let all = [
        "rye_check",
        "rye_execute",
        "rye_explain",
        "rye_fetch",
        "rye_load",
        "rye_search",
        "rye_sign",
        "rye_thread_cancel",
        "rye_thread_status",
    ];
    for (patterns, more) in [
        (vec![], vec![]),
        (vec!["rye.execute.tool.*"], vec![]),
        (vec!["rye.sign.knowledge.*"], vec!["rye_sign"]),
        (vec!["rye.execute.directive.notes.*"], vec!["rye_thread_cancel", "rye_thread_status"]),
        (vec!["rye.*"], vec!["rye_sign", "rye_thread_cancel", "rye_thread_status"]),
    ] {
        let mut wire = Wire::begin(server(&Session::new(), granted(&patterns)), Era::Inline).await;
        let expected: Vec<&str> = all
            .iter()
            .filter(|name| {
                !name.contains("sign") && !name.contains("thread") || more.contains(name)
            })
            .copied()
            .collect();
        assert_eq!(tools(&mut wire).await, expected, "{patterns:?}");
    }
}

/// What strict clients choke on: references, types that are lists, formats that only Rust has.
#[tokio::test]
async fn schemas_are_plain() {
    let mut wire = Wire::begin(server(&Session::new(), granted(&["rye.*"])), Era::Initialize).await;
    let listed = wire.ask("tools/list", json!({})).await;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let text = tool.to_string();
        for trap in ["$ref", "$defs", "\"null\"", "\"format\"", "\"default\""] {
            assert!(!text.contains(trap), "{trap} in {text}");
        }
        let input = &tool["inputSchema"];
        assert_eq!(
            (&input["type"], &input["additionalProperties"]),
            (&json!("object"), &json!(false))
        );
        let hints = tool["annotations"].as_object().unwrap();
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(hints[hint].is_boolean(), "{hint} of {text}");
        }
        assert!(tool["outputSchema"].is_null() || tool["outputSchema"]["type"] == "object");
    }
}

/// Each line of the table: whether it works, the tool, its arguments, and a part of what is answered.
#[tokio::test]
async fn calls_and_what_they_answer() {
    let session = Session::new();
    session.put(".ai/knowledge/notes/unsigned.md", "Notes that nobody signed.\n");
    let grant = granted(&["rye.execute.tool.rye.file-system.read", "rye.execute.tool.nobody.has"]);
    let mut wire = Wire::begin(server(&session, grant), Era::Initialize).await;
    for line in include_str!("mcp/calls.txt").lines() {
        let columns: Vec<&str> = line.splitn(4, " | ").collect();
        let [end, tool, arguments, part] = columns.try_into().unwrap();
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let answer = wire.call(tool, arguments).await;
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert_eq!(answer["isError"], json!(end == "error"), "{line}: {text}");
        assert!(text.contains(part), "{line}: {text}");
        let content = serde_json::from_str::<Value>(text).unwrap();
        assert!(answer["structuredContent"] == content || content["error"].is_object(), "{text}");
    }
    let answer = wire.ask("tools/call", json!({ "name": "rye_sign", "arguments": {} })).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(!session.project().join("x").exists());
}

#[tokio::test]
async fn a_search_tells_only_of_what_may_be_found() {
    let session = Session::new();
    session.put(".ai/knowledge/notes/unsigned.md", "A style that nobody signed.\n");
    let grant: Grant =
        ["rye.search.knowledge.rye.*"].iter().map(|it| it.parse().unwrap()).collect();
    let mut wire = Wire::begin(server(&session, grant), Era::Initialize).await;
    let found = wire.call("rye_search", json!({ "query": "style identity behavior" })).await;
    let text = found.to_string();
    assert!(text.contains("rye/agent/core/Identity") && !text.contains("notes/"), "{text}");
    let refused =
        wire.call("rye_search", json!({ "query": "index", "item_type": "directive" })).await;
    assert!(refused.to_string().contains("searching directive is not allowed here"), "{refused}");
}

#[tokio::test]
async fn signing_needs_the_operator_s_switch_and_key() {
    let session = Session::new();
    session.put(
        ".ai/knowledge/notes/mine.md",
        "```yaml\nname: mine\ntitle: Mine\ncategory: notes\n```\n\nText.\n",
    );
    let arguments = json!({ "item_type": "knowledge", "item_id": "notes/mine" });
    let mut keyless =
        Wire::begin(server(&session, granted(&["rye.sign.knowledge.*"])), Era::Initialize).await;
    let answer = keyless.call("rye_sign", arguments.clone()).await;
    assert!(answer.to_string().contains("there is no signing key here"), "{answer}");
    session.rye("keys generate --owner me");
    let answer = keyless.call("rye_sign", arguments).await;
    assert_eq!(answer["structuredContent"]["status"], "signed", "{answer}");
    let answer = keyless
        .call("rye_sign", json!({ "item_type": "directive", "item_id": "notes/index" }))
        .await;
    assert!(answer.to_string().contains("--allow rye.sign.directive.notes.index"), "{answer}");
    let answer = keyless
        .call("rye_sign", json!({ "item_type": "knowledge", "item_id": "rye/agent/core/Identity" }))
        .await;
    assert!(answer.to_string().contains("which is read only"), "{answer}");
}

/// A client reads items of every space, and copies one into the project where it may write files. Nothing else can be had by copying:
/// neither the user space nor a provider's configuration.
#[tokio::test]
async fn a_client_copies_where_it_may_write() {
    const NOTE: &str = "```yaml\nname: mine\ntitle: Mine\ncategory: notes\n```\n\nText.\n";
    const PROVIDER: &str = "protocol: anthropic_messages\nbase_url: https://example.org\nmodels:\n  m: { context_window: 1000, \
                            max_output: 10 }\n";
    const WRITE: &str = "rye.execute.tool.rye.file-system.write";
    const USER: &str = "rye.execute.tool.rye.user-space.write";
    let (note, provider) =
        (".ai/knowledge/notes/mine.md", ".ai/tools/rye/agent/providers/mine.yaml");
    let session = Session::new();
    session.rye("keys generate --owner me");
    for (path, text) in [(note, NOTE), (provider, PROVIDER)] {
        session.put(&format!("../home/{path}"), text);
        session.rye(&format!("sign ../home/{path}"));
    }
    let ids = [("knowledge", "notes/mine", note), ("tool", "rye/agent/providers/mine", provider)];
    for (allowed, (kind, id, path), destination, end) in [
        (&[][..], ids[0], None, Ok(false)),
        (&[], ids[1], None, Ok(false)),
        (&[], ids[0], Some("project"), Err("--allow rye.execute.tool.rye.file-system.write")),
        (&[WRITE], ids[0], Some("user"), Err("at `/destination`: ")),
        (&[USER], ids[0], Some("project"), Err("--allow rye.execute.tool.rye.file-system.write")),
        (&[USER, WRITE], ids[1], Some("user"), Err("configuration is for the operator alone")),
        (&[WRITE], ids[1], Some("project"), Err("configuration is for the operator alone")),
        (&[WRITE], ids[0], Some("project"), Ok(true)),
    ] {
        let mut wire = Wire::begin(server(&session, granted(allowed)), Era::Initialize).await;
        let mut arguments = json!({ "item_type": kind, "item_id": id });
        if let Some(destination) = destination {
            arguments["destination"] = destination.into();
        }
        let answer = wire.call("rye_load", arguments).await;
        match end {
            Err(why) => assert!(answer.to_string().contains(why), "{answer}"),
            Ok(_) => assert_eq!(answer["isError"], json!(false), "{answer}"),
        }
        let is_copied = session.project().join(path).exists();
        assert_eq!(is_copied, end == Ok(true), "{id} {destination:?}: {answer}");
    }
}

#[tokio::test]
async fn directives_are_prompts() {
    let session = Session::new();
    let mut wire = Wire::begin(server(&session, granted(&[])), Era::Initialize).await;
    let listed = wire.ask("prompts/list", json!({})).await;
    let prompts = listed["result"]["prompts"].as_array().unwrap();
    let index = prompts.iter().find(|prompt| prompt["name"] == "notes/index").unwrap();
    assert_eq!(index["arguments"][0]["name"], "folder");
    let filled = wire
        .ask("prompts/get", json!({ "name": "notes/index", "arguments": { "folder": "notes" } }))
        .await;
    let text = filled["result"]["messages"].to_string();
    assert!(text.contains("An index is one Markdown file") && text.contains("<returns>"), "{text}");
    for (name, arguments, part) in [
        ("notes/index", json!({ "colour": "red" }), "colour"),
        ("notes/nothing", json!({}), "not found"),
        ("../x", json!({}), "item id"),
    ] {
        let answer = wire.ask("prompts/get", json!({ "name": name, "arguments": arguments })).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(part), "{answer}");
    }
}

#[tokio::test]
async fn trust_that_is_taken_back_counts_at_once() {
    let session = Session::new();
    let mut wire = Wire::begin(server(&session, granted(&[])), Era::Initialize).await;
    let arguments = json!({ "item_type": "knowledge", "item_id": "notes/index-style" });
    assert_eq!(wire.call("rye_load", arguments.clone()).await["isError"], false);
    session.change(".ai/knowledge/notes/index-style.md", "one Markdown file", "two Markdown files");
    let refused = wire.call("rye_load", arguments).await;
    assert!(refused.to_string().contains("\\\"class\\\":\\\"refused\\\""), "{refused}");
}

/// Its error has no id, for want of a place to read it from; the next one is answered as ever.
#[tokio::test]
async fn a_message_that_is_too_long_stops_nothing() {
    let mut wire = Wire::begin(server(&Session::new(), granted(&[])), Era::Initialize).await;
    let query = "x".repeat(5 * 1024 * 1024);
    wire.begin_to_ask(
        "tools/call",
        json!({ "name": "rye_search", "arguments": { "query": query } }),
    )
    .await;
    assert_eq!(tools(&mut wire).await.len(), 6);
    let error = json!({ "code": -32600, "message": "a message may hold 4 MiB" });
    assert_eq!(wire.notifications, [json!({ "jsonrpc": "2.0", "error": error })]);
}

/// One page reads so many files, whatever is in them, and the next goes on behind it.
#[tokio::test]
async fn prompts_come_in_pages() {
    let session = Session::new();
    let whole = {
        let mut wire = Wire::begin(server(&session, granted(&[])), Era::Inline).await;
        let listed = wire.ask("prompts/list", json!({})).await["result"].clone();
        assert_eq!(listed.get("nextCursor"), None, "{listed}");
        listed["prompts"].as_array().unwrap().len()
    };
    for n in 0..250 {
        session.put(&format!(".ai/directives/nobody/signed{n}.md"), "# Nothing\n");
    }
    let mut wire = Wire::begin(server(&session, granted(&[])), Era::Inline).await;
    let (mut pages, mut found, mut params) = (0, 0, json!({}));
    loop {
        let listed = wire.ask("prompts/list", params).await["result"].clone();
        (pages, found) = (pages + 1, found + listed["prompts"].as_array().unwrap().len());
        let Some(cursor) = listed.get("nextCursor") else { break };
        params = json!({ "cursor": cursor });
    }
    assert_eq!((pages, found), (3, whole));
}
