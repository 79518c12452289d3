//! One operation, one answer: as the program prints it, as a client gets it, as a thread records it.

use serde_json::{Value, json};

use super::granted;
use super::in_threads::sha256;
use super::wire::{Era, Wire, server};
use crate::session::Session;

/// The data that the program prints for an operation: its row, or its results, or its error.
fn printed(session: &Session, line: &str) -> Value {
    let mut told = answered(session, line);
    if told["errors"].is_array() {
        return json!({ "error": told["errors"][0].take() });
    }
    if told["results"].is_array() {
        let matched = told["summary"]["matched"].take();
        return json!({ "results": told["results"].take(), "matched": matched, "refused": told["refused"].take() });
    }
    let list = if line.starts_with("sign") { "files" } else { "items" };
    told[list][0].take()
}

/// What the program prints as data.
fn answered(session: &Session, line: &str) -> Value {
    let output = session.rye(&format!("{line} --trust TRUST --json"));
    let data = output.split_once('\n').unwrap().1.split("--- standard error").next().unwrap();
    serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {output}"))
}

/// The same with the folders of the session told as the program's output is.
fn steady(session: &Session, value: &Value) -> Value {
    let root = session.project().parent().unwrap().to_string_lossy().into_owned();
    serde_json::from_str(&value.to_string().replace(&root, "<DIR>")).unwrap()
}

/// What a model, or a step, calls: the operation, its arguments, and the line of the program that does the same.
pub(super) struct Row {
    line: &'static str,
    tool: &'static str,
    arguments: Value,
}

pub(super) fn row(line: &'static str, tool: &'static str, arguments: Value) -> Row {
    Row { line, tool, arguments }
}

/// Each operation as it works and as it is refused; nothing of it changes a file.
fn read() -> Vec<Row> {
    let item = |kind: &str, id: &str| json!({ "item_type": kind, "item_id": id });
    let searched = |query: &str| json!({ "query": query, "item_type": "knowledge" });
    vec![
        row(
            "search index notes --limit 3",
            "rye_search",
            json!({ "query": "index notes", "limit": 3 }),
        ),
        row("search style --kind knowledge", "rye_fetch", searched("style")),
        row("search \"open --kind knowledge", "rye_fetch", searched("\"open")),
        row("load notes/index", "rye_load", item("directive", "notes/index")),
        row("load notes/index-style", "rye_fetch", item("knowledge", "notes/index-style")),
        row(
            "load rye/file-system/read --kind tool",
            "rye_load",
            item("tool", "rye/file-system/read"),
        ),
        row("load notes/unsigned", "rye_load", item("knowledge", "notes/unsigned")),
        row("load notes/changed", "rye_fetch", item("knowledge", "notes/changed")),
        row("load notes/nothing --kind tool", "rye_load", item("tool", "notes/nothing")),
    ]
}

/// A directive that calls them all in one step, so that none is kept from being called by another one's failure.
pub(super) fn put_caller(session: &Session, permissions: &str, rows: &[Row]) {
    let call = |row: &Row| {
        let arguments = row.arguments.as_object().unwrap().iter();
        let arguments: Vec<String> =
            arguments.map(|(name, value)| format!("{name}={value}")).collect();
        format!("`{}({})`", row.tool, arguments.join(", "))
    };
    let calls = rows.iter().map(call).collect::<Vec<_>>().join("\n");
    session.put(
        ".ai/directives/notes/calls.md",
        &format!(
            "# Calls\n\n```xml\n<directive name=\"calls\" version=\"1.0.0\">\n  <metadata>\n    <description>Calls.</description>\n    \
             <category>notes</category>\n    <author>rye</author>\n    <permissions>{permissions}</permissions>\n  \
             </metadata>\n</directive>\n```\n\n## All\n\n{calls}\n"
        ),
    );
    // The key of the examples may not grant so much.
    session.rye("keys generate --owner me");
    let key = session.home().join(".ai/config/keys/signing/private_key.pem");
    // What a check calls an error is what the calls are about.
    session.sign_file_as_it_is(".ai/directives/notes/calls.md", &key);
}

/// What is searched, loaded and fetched, and what of it is refused.
#[tokio::test]
async fn what_is_read_is_the_same_everywhere() {
    let session = Session::new();
    session.put(".ai/knowledge/notes/unsigned.md", "Notes that nobody signed.\n");
    let style = ".ai/knowledge/notes/index-style.md";
    let text = std::fs::read_to_string(session.project().join(style)).unwrap();
    let text = text.replace("one Markdown", "two Markdown").replace("index-style", "changed");
    session.put(".ai/knowledge/notes/changed.md", &text);
    let rows = read();
    put_caller(&session, "<search>*</search><load>*</load>", &rows);
    let ran = session.rye("run notes/calls --trust TRUST --provider steps");
    let mut recorded = results(&session).into_iter();
    let mut wire = Wire::begin(server(&session, granted(&[])), Era::Initialize).await;
    for Row { line, tool, arguments } in rows {
        let (mut printed, answer) = (printed(&session, line), wire.call(tool, arguments).await);
        // Only a program has an exit code.
        if let Some(error) = printed.get_mut("error").and_then(Value::as_object_mut) {
            error.shift_remove("exit_code").unwrap();
        }
        assert_eq!(answer["isError"], json!(printed.get("error").is_some()), "{line}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        let answer: Value = serde_json::from_str(text).unwrap();
        assert_eq!(steady(&session, &answer), printed, "{line}");
        let recorded = recorded.next().unwrap_or_else(|| panic!("{line}: {ran}"));
        assert_eq!(steady(&session, &recorded), printed, "in a thread: {line}");
    }
}

#[tokio::test]
async fn what_is_signed_is_told_the_same() {
    let session = Session::new();
    session.rye("keys generate --owner me");
    let text = "```yaml\nname: mine\ntitle: Mine\ncategory: notes\n```\n\nText.\n";
    let path = ".ai/knowledge/notes/mine.md";
    session.put(path, text);
    let mut wire = Wire::begin(server(&session, granted(&["rye.sign.*"])), Era::Initialize).await;
    let arguments = |text: &str| json!({ "item_type": "knowledge", "item_id": "notes/mine", "sha256": sha256(text) });
    let refused = wire.call("rye_sign", arguments("another")).await;
    assert!(refused.to_string().contains("is another text by now"), "{refused}");
    let answer = wire.call("rye_sign", arguments(text)).await;
    let answer = steady(&session, &answer["structuredContent"]);
    let at = answer["signature"]["timestamp"].as_str().unwrap();
    let again =
        |options: &str| printed(&session, &format!("sign .ai/knowledge/notes/mine.md {options}"));
    assert_eq!(again(&format!("--at {at} --re-sign")), answer);
    // Earlier than any clock that is asked from here on.
    again("--at 2020-01-01T00:00:00Z --re-sign");
    let signed = std::fs::read_to_string(session.project().join(path)).unwrap();
    let rows = [row("", "rye_sign", arguments(&signed))];
    put_caller(&session, "<sign><knowledge>notes.*</knowledge></sign>", &rows);
    let waits = session.rye("run notes/calls --trust TRUST --provider steps");
    assert!(waits.ends_with("exit 4\n") && waits.contains("rye_sign"), "{waits}");
    session.rye("approve THREAD --trust TRUST");
    let resumed = session.rye("resume THREAD --trust TRUST");
    assert!(resumed.ends_with("exit 0\n"), "{resumed}");
    let recorded = steady(&session, &results(&session)[0]);
    assert_eq!(recorded["status"], "unchanged");
    assert_eq!(recorded, again(""));
    let mut wire = Wire::begin(server(&session, granted(&["rye.sign.*"])), Era::Initialize).await;
    let answer = wire.call("rye_sign", arguments(&signed)).await;
    assert_eq!(steady(&session, &answer["structuredContent"]), recorded);
}

#[tokio::test]
async fn a_tool_answers_a_client_as_it_answers_a_thread() {
    let session = Session::new();
    session.put(
        ".ai/directives/notes/calls.md",
        "# Calls\n\n```xml\n<directive name=\"calls\" version=\"1.0.0\">\n  <metadata>\n    <description>Calls.</description>\n    \
         <category>notes</category>\n    <author>rye</author>\n    <permissions><execute><tool>rye.file-system.*</tool></execute>\
         </permissions>\n  </metadata>\n</directive>\n```\n\n<process>\n  <step name=\"a\"><execute item_type=\"tool\" \
         item_id=\"rye/file-system/read\"><param name=\"path\" value=\"notes/bread.md\"/></execute></step>\n  <step name=\"b\"><execute \
         item_type=\"tool\" item_id=\"rye/file-system/ls\"><param name=\"path\" value=\"notes\"/></execute></step>\n</process>\n",
    );
    let signed = session.rye("sign .ai/directives/notes/calls.md --key KEY");
    assert!(signed.ends_with("exit 0\n"), "{signed}");
    let ran = session.rye("run notes/calls --trust TRUST --provider steps");
    assert!(ran.ends_with("exit 0\n"), "{ran}");
    let grant = granted(&["rye.execute.tool.rye.file-system.*"]);
    let mut wire = Wire::begin(server(&session, grant), Era::Initialize).await;
    let results = results(&session);
    for (id, parameters) in [
        ("rye/file-system/read", json!({ "path": "notes/bread.md" })),
        ("rye/file-system/ls", json!({ "path": "notes" })),
    ] {
        let arguments = json!({ "item_type": "tool", "item_id": id, "parameters": parameters });
        let answer = wire.call("rye_execute", arguments).await["structuredContent"].clone();
        assert!(results.contains(&answer), "{answer} is not among {results:?}");
    }
}

/// What the tools of the one thread answered.
fn results(session: &Session) -> Vec<Value> {
    let path =
        session.project().join(".ai/threads").join(session.thread()).join("transcript.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = records.filter(|record| record["event"] == "tool_call_result");
    results.map(|record| record["payload"]["content"].clone()).collect()
}
