//! MCP servers that begin, list and answer in their own ways.

use std::sync::{Arc, Mutex};

use rye_sandbox::Rules;
use rye_thread::ToolOutput;
use rye_tools::mcp::{Connections, Server, ServerFacts, ToolSet, Wrapper};
use serde_json::{Value, json};

use crate::arena::{Arena, authorised};
use crate::servers::{program, server, strongest};

/// Facts that one test gives, and those that were learned.
#[derive(Debug, Default)]
struct Facts {
    begins_with_initialize: Mutex<bool>,
    learned: Mutex<Vec<bool>>,
}

impl ServerFacts for Facts {
    fn begins_with_initialize(&self, _: &Server) -> bool {
        *self.begins_with_initialize.lock().unwrap()
    }

    fn learn(&self, _: &Server, begins_with_initialize: bool) {
        *self.begins_with_initialize.lock().unwrap() = begins_with_initialize;
        self.learned.lock().unwrap().push(begins_with_initialize);
    }
}

struct Place {
    arena: Arena,
    facts: Arc<Facts>,
    server: Server,
}

fn place(kind: &str) -> Place {
    let arena = Arena::new();
    let mut server = server(&arena, "scripted");
    program(&mut server).arguments.push(kind.to_owned());
    Place { arena, facts: Arc::default(), server }
}

impl Place {
    /// New connections, which know only the facts.
    fn connections(&self) -> Arc<Connections> {
        let processes = self.arena.processes(strongest(&self.arena), Rules::default());
        Connections::remembering(&processes, None, Arc::<Facts>::clone(&self.facts))
    }

    /// The methods since the last look.
    fn methods(&self) -> Vec<String> {
        let log = self.arena.root.join("project/methods");
        let methods = std::fs::read_to_string(&log).unwrap_or_default();
        let _there = std::fs::remove_file(log);
        methods.lines().map(str::to_owned).collect()
    }
}

/// Each kind of server starts, and the second start asks for no revision that the server does not know.
#[tokio::test]
async fn servers_of_every_revision_start() {
    let older = ["initialize", "notifications/initialized", "tools/list"];
    for (kind, first, second, learned) in [
        ("exits", [&["server/discover"][..], &older].concat(), older.to_vec(), vec![true]),
        ("nonsense", [&["server/discover"][..], &older].concat(), older.to_vec(), vec![true]),
        ("silent", [&["server/discover"][..], &older].concat(), older.to_vec(), vec![true]),
        ("late", [&["server/discover"][..], &older].concat(), older.to_vec(), vec![true]),
        ("", [&["server/discover"][..], &older].concat(), older.to_vec(), vec![true]),
        (
            "modern",
            vec!["server/discover", "tools/list"],
            vec!["server/discover", "tools/list"],
            vec![],
        ),
    ] {
        let mut place = place(kind);
        if ["silent", "late"].contains(&kind) {
            // A third of it is the time for an answer about revisions.
            place.server.startup_seconds = Some(3);
        }
        for expected in [first, second] {
            let found = place.connections().discover(&place.server).await.unwrap();
            assert_eq!(found.tools.len(), 1, "{kind}");
            assert_eq!(place.methods(), expected, "{kind}");
        }
        assert_eq!(*place.facts.learned.lock().unwrap(), learned, "{kind}");
    }
}

/// A server that speaks only the newest revision, and of which a wrong fact is known.
#[tokio::test]
async fn a_wrong_fact_is_recovered_from() {
    let place = place("modern");
    *place.facts.begins_with_initialize.lock().unwrap() = true;
    place.connections().discover(&place.server).await.unwrap();
    assert_eq!(place.methods(), ["initialize", "server/discover", "tools/list"]);
    assert_eq!(*place.facts.learned.lock().unwrap(), [false]);
}

#[tokio::test]
async fn one_bad_tool_costs_only_itself() {
    let place = place("");
    let found = place.connections().discover(&place.server).await.unwrap();
    let left_out = [
        "tool `bad`: its `inputSchema` is no object",
        "an entry: it is no tool with a name",
        "an entry: it is no tool with a name",
    ];
    assert_eq!(found.left_out, left_out);
    // What is listed of the other one is pinned as it was written.
    assert_eq!(found.set.field("say", "annotations"), Some(json!(7)));
    let mut pinned = ToolSet::default();
    pinned.insert("bad", std::collections::BTreeMap::new());
    let wrapper = Wrapper::new(place.server.clone(), Arc::new(pinned), "bad");
    let tool = wrapper.tool(&json!({}), &place.connections()).unwrap();
    let refused = tool.call(authorised(json!({}))).await;
    assert_eq!(refused.content["changes"], json!(["tool `bad` is gone", "tool `say` is new"]));
    assert_eq!(refused.content["left_out"], json!(left_out));
}

/// The text of an answer, each character a byte, and the result of the call.
#[tokio::test]
async fn an_answer_is_read_or_refused_at_once() {
    let place = place("");
    let connections = place.connections();
    let pinned = Arc::new(connections.discover(&place.server).await.unwrap().set);
    let wrapper = Wrapper::new(place.server.clone(), pinned, "say");
    let tool = wrapper.tool(&json!({}), &connections).unwrap();
    let call = async |text: &str| tool.call(authorised(json!({ "say": text }))).await;
    let ok = |text: &str| ToolOutput::ok(text.into());
    let error = |problem: &str| {
        ToolOutput::error(json!({ "error": format!("server `faults`: {problem}") }))
    };
    let result = |content: &str| format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{content}}}"#);
    let failed = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#);
    let said = result(r#"{"content":[{"type":"text","text":"a"}]}"#);
    let answered = "the server answered with an error";
    for (text, expected) in [
        (said.clone(), ok("a")),
        (said.replace("{", "{\n  ").replace(',', "\n,"), ok("a")),
        (format!("[{said}]"), ok("a")),
        (format!("Working…\n{{\n{said}"), ok("a")),
        (said.replace("\"id\"", "\"error\":null,\"id\""), ok("a")),
        (said.replace("\"a\"", "\"\\ud83d!\""), ok("\u{fffd}!")),
        (
            said.clone()
                + r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#,
            ok("a"),
        ),
        (failed(r#"{"code":-32000.0,"message":"no"}"#), error(&format!("{answered}: no"))),
        (failed(r#"{"code":"EFAIL","message":"no"}"#), error(&format!("{answered}: EFAIL: no"))),
        (failed("\"no\""), error(&format!("{answered}: no"))),
        (
            failed(r#"{"code":-32700,"message":"no"}"#).replace("$ID", "null"),
            error(&format!("{answered}: no")),
        ),
        (said.replace("\"a\"", "\"\u{e9}\""), error("the answer cannot be read: it is not UTF-8")),
        (
            said.replace("]}", "]"),
            error(
                "the answer cannot be read: it is no JSON: EOF while parsing an object at line 1 column 74",
            ),
        ),
        (result("[]"), error("the answer cannot be read: its result is no object")),
        (
            said.replace("\"id\"", "\"error\":\"no\",\"id\""),
            error("the answer cannot be read: it has a result and an error"),
        ),
        (said.clone(), ok("a")),
    ] {
        assert_eq!(call(&text).await, expected, "{text}");
    }
}

/// A text that is an object, for the steps that follow.
#[tokio::test]
async fn text_that_is_an_object_is_that_object() {
    let place = place("");
    let connections = place.connections();
    let pinned = Arc::new(connections.discover(&place.server).await.unwrap().set);
    let wrapper = Wrapper::new(place.server.clone(), pinned, "say");
    let tool = wrapper.tool(&json!({}), &connections).unwrap();
    let text = json!({ "path": "notes/bread.md" });
    let content = json!([{ "type": "text", "text": text.to_string() }]);
    let said: Value = json!({ "jsonrpc": "2.0", "id": "$ID", "result": { "content": content } });
    let output = tool.call(authorised(json!({ "say": said.to_string() }))).await;
    assert_eq!(output, ToolOutput::ok(text));
}
