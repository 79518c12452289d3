//! Runs with hooks, and conversations that go on in a new thread.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::killing::folders;
use crate::money::records;
use crate::server::{Answer, Received, Server};
use crate::session::{Session, example_key};
use crate::streaming::all_fit;

const INDEX: &str = ".ai/directives/notes/index.md";

fn sign(session: &Session) {
    session.sign_as_it_is(&example_key());
}

pub(crate) fn with_hooks(hooks: &str) -> Session {
    let session = Session::new();
    session.change(INDEX, "<context>", &format!("<hooks>{hooks}</hooks>\n    <context>"));
    sign(&session);
    session
}

#[test]
fn hooks_act_and_are_told() {
    let session = with_hooks(
        r#"
      <hook id="log" event="after_step"><when>cost.turns eq 1</when>
        <execute item_type="tool">rye/file-system/write</execute>
        <inputs><path>log.txt</path><content>turn ${cost.turns}</content></inputs></hook>
      <hook id="more" event="after_complete"><execute item_type="tool">rye/file-system/edit</execute></hook>"#,
    );
    insta::assert_snapshot!(session.rye("run notes/index --trust TRUST --provider steps"));
    insta::assert_snapshot!(session.rye("threads show"));
    let log = std::fs::read_to_string(session.project().join("log.txt")).unwrap();
    assert_eq!(log, "turn 1");
    let replayed = session.rye("replay THREAD --trust TRUST");
    assert!(replayed.ends_with("--- exit 0\n"), "{replayed}");
    assert!(all_fit(&session).contains("hook_triggered"));
}

/// An alias in a condition means its tool, however the condition compares it.
#[test]
fn conditions_know_tools_by_their_aliases() {
    let conditions = [
        ("contains", "called_items contains \"fs_write\""),
        ("eq", "calls.0.item_id eq \"fs_write\""),
        ("in", "calls.0.item_id in [\"rye/bash\", \"fs_write\"]"),
        ("or", "text eq \"x\" or called_items contains \"rye/file-system/fs_write\""),
    ];
    for (name, condition) in conditions {
        let hook = format!(
            "<hook id=\"halt\" event=\"after_step\" effect=\"fail\"><when>{condition}</when></hook>"
        );
        let session = with_hooks(&hook);
        let shown = session.rye("run notes/index --trust TRUST --provider steps");
        assert!(
            shown.contains("hook `halt`") && !shown.ends_with("--- exit 0\n"),
            "{name}: {shown}"
        );
    }
}

#[test]
fn a_hook_waits_for_somebody() {
    let session = with_hooks(
        r#"<hook id="look" event="directive_return" effect="escalate"><when>outputs.count gt 1</when></hook>"#,
    );
    insta::assert_snapshot!(session.rye("run notes/index --trust TRUST --provider steps"));
    let approved = session.rye("approve THREAD --trust TRUST");
    assert!(approved.ends_with("--- exit 0\n"), "{approved}");
    insta::assert_snapshot!(session.rye("resume THREAD --trust TRUST --quiet"));
    assert!(all_fit(&session).contains("approval_decided"));
}

#[test]
fn what_a_hook_cannot_do_is_told_before_anything_happens() {
    let session = with_hooks(
        r#"<hook id="find" event="error"><search item_type="knowledge" item_id="x"/></hook>"#,
    );
    insta::assert_snapshot!(session.rye("run notes/index --trust TRUST --provider steps"));
}

/// Gives the project the provider `small`, a model on this machine whose window one of these answers fills.
pub(crate) fn with_small_window(session: &Session, answers: Vec<Answer>) -> Server {
    let model = Server::once(answers, |_| true);
    let url = model.url();
    session.put(
        ".ai/tools/rye/agent/providers/small.yaml",
        &format!(
            "protocol: anthropic_messages\nbase_url: {url}\ntiers: {{fast: m}}\nstream: false\nmodels:\n  m:\n    context_window: 9000\n    \
             max_output: 1000\n    prices: {{input: \"1\", output: \"1\"}}\n"
        ),
    );
    model
}

/// A model on this machine that fills its window in one turn, and returns the outputs in the next thread.
#[test]
fn rule_09_a_conversation_goes_on_in_a_new_thread_of_its_tree() {
    let session = Session::new();
    let list = json!({"type": "tool_use", "id": "a", "name": "rye_file_system_ls", "input": {"path": "notes"}});
    let returns = json!({
        "type": "tool_use", "id": "b", "name": "rye_agent_threads_directive_return",
        "input": {"path": "INDEX.md", "count": 3},
    });
    let model = with_small_window(&session, vec![answer(&list), answer(&returns)]);
    insta::assert_snapshot!(
        session.rye("run notes/index --trust TRUST --provider small --allow-unsigned")
    );
    let bodies: Vec<Value> = model.received().iter().map(Received::json).collect();
    let [first, second] = &bodies[..] else { panic!("two requests: {bodies:?}") };
    assert_eq!(first["system"], second["system"]);
    insta::assert_snapshot!(session.rye("threads list"));
    insta::assert_snapshot!(session.rye("threads tree"));
    insta::assert_snapshot!(session.rye("threads show"));
    let ended = session.rye("resume THREAD --trust TRUST");
    assert!(ended.contains("is `completed`, and nothing more happens in it"), "{ended}");
    assert!(all_fit(&session).contains("thread_continued"));
    let threads = folders(&session, "index-");
    let roots = threads.iter().map(|thread| {
        let text = std::fs::read_to_string(thread.join("transcript.jsonl")).unwrap();
        let start = records(&text)[0].take();
        let is_first = start["payload"]["continues"].is_null();
        (is_first, start["payload"]["root"] == start["thread_id"])
    });
    let roots: BTreeSet<(bool, bool)> = roots.collect();
    assert_eq!(roots, BTreeSet::from([(false, false), (true, true)]), "the first is the root");
    let locks = threads.iter().filter(|thread| thread.join("lock").exists());
    assert_eq!(locks.count(), 1, "one lock is that of both");
    session.export_threads("continued");
}

pub(crate) fn answer(call: &Value) -> Answer {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [call],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 8200, "output_tokens": 10},
    });
    Answer::json(200, message)
}

/// The body of the request that comes next. The program that sends it may be killed meanwhile.
pub(crate) fn request(connection: &mut TcpStream) -> std::io::Result<Value> {
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}
