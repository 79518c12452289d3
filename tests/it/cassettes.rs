//! Recordings of each vendor, played back to a whole run of three turns: reasoning and a call, two calls at
//! once of which one fails, and a last text.

use std::collections::BTreeMap;
use std::path::Path;

use rye::ProviderChoice;
use rye::types::ThreadState;
use rye_tests::Scratch;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::server::{Answer, Server};

const DIRECTIVE: &str = "# Read\n\n```xml\n<directive name=\"read\" version=\"1.0.0\">\n  <metadata>\n    \
    <description>Reads.</description>\n    \
    <permissions><execute><tool>rye.file-system.read</tool></execute></permissions>\n  </metadata>\n</directive>\n```\n\n\
    Read a.md, b.md and gone.md.\n";

/// Plays the answers in turn, each recorded as the data of its events.
fn server(cassette: &str) -> Server {
    let answers: Vec<Vec<String>> = serde_json::from_str(cassette).unwrap();
    let answer = |answer: Vec<String>| {
        let events = answer.iter().map(|data| format!("data: {data}\n\n"));
        Answer::new(200, "text/event-stream", events.collect::<String>())
    };
    let answers = answers.into_iter().map(answer).collect();
    Server::once(answers, |request| request.line.starts_with("POST "))
}

struct Played {
    /// The bodies of the requests, in turn.
    bodies: Vec<String>,
    /// The parts of each answer, from the transcript.
    parts: Vec<Vec<Box<RawValue>>>,
}

async fn play(protocol: &str, cassette: &str) -> Played {
    let server = server(cassette);
    let scratch = Scratch::new();
    scratch.put("a.md", "Bread");
    scratch.put("b.md", "Lisbon");
    scratch.sign(".ai/directives/test/read.md", DIRECTIVE);
    let provider = format!(
        "protocol: {protocol}\nbase_url: {}\nmodels:\n  m:\n    context_window: 100000\n    max_output: 1000\n    \
         prices: {{ input: \"1\", output: \"5\", cache_read: \"0.5\", cache_write: \"2\" }}\n",
        server.url()
    );
    scratch.sign(".ai/tools/rye/agent/providers/played.yaml", &provider);
    let report = scratch
        .run_with("test/read", &[], |request| {
            request.provider = ProviderChoice::from_name("played")
        })
        .await
        .unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(report.outcome.text, "All read.");
    let events = scratch.events(&report);
    check_record(protocol, &events);
    // Three turns with 100, 200 and 300 input tokens, of which 20 each are cached, and 10, 20 and 30 output
    // tokens.
    let written = if protocol == "anthropic_messages" { 3 * 10 * 2_000 } else { 0 };
    assert_eq!(report.outcome.cost.get(), 600 * 1_000 + 60 * 500 + 60 * 5_000 + written);
    let bodies = server.received().iter().map(|request| request.text().to_owned()).collect();
    Played { bodies, parts: parts(&report.folder) }
}

/// Checks that the transcript has the reasoning, the calls and their results.
fn check_record(protocol: &str, events: &[(String, Value)]) {
    let of =
        |name: &'static str| events.iter().filter(move |(event, _)| event == name).map(|it| &it.1);
    assert!(of("assistant_reasoning").any(|it| it["text"] == "First a."), "{protocol}: {events:?}");
    let ids =
        |name: &'static str| -> Vec<Value> { of(name).map(|it| it["call_id"].clone()).collect() };
    assert_eq!(ids("tool_call_start"), ids("tool_call_result"), "{protocol}");
    let results: Vec<Value> = of("tool_call_result")
        .map(|it| json!([it["content"]["content"], it["content"]["error"], it["is_error"]]))
        .collect();
    let expected = [
        json!(["Bread", null, false]),
        json!(["Lisbon", null, false]),
        json!([null, "`gone.md` does not exist", true]),
    ];
    assert_eq!(results, expected, "{protocol}");
}

/// Returns the parts of the answers, byte for byte from the transcript.
fn parts(folder: &Path) -> Vec<Vec<Box<RawValue>>> {
    type Members = BTreeMap<String, Box<RawValue>>;
    let member = |text: &str, name: &str| -> Option<Box<RawValue>> {
        serde_json::from_str::<Members>(text).unwrap().remove(name)
    };
    let transcript = std::fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
    let finished = transcript
        .lines()
        .filter(|line| member(line, "event").is_some_and(|it| it.get() == "\"step_finish\""));
    let raw = |line: &str| {
        let reply = member(member(line, "payload")?.get(), "reply")?;
        member(reply.get(), "raw")
    };
    // A message is a single part.
    let parts = |raw: Box<RawValue>| serde_json::from_str(raw.get()).unwrap_or_else(|_| vec![raw]);
    finished.map(|line| parts(raw(line).unwrap())).collect()
}

/// Checks that each body extends the one before, that every part of an answer is resent unchanged, and that
/// the last body equals the snapshot.
async fn check(protocol: &str, cassette: &str) {
    let Played { bodies, parts } = play(protocol, cassette).await;
    assert_eq!((bodies.len(), parts.len()), (3, 3));
    for (turn, body) in bodies.iter().enumerate().skip(1) {
        let before = bodies[turn - 1].strip_suffix("]}").unwrap();
        assert!(body.starts_with(before), "{protocol}: turn {turn} begins otherwise");
        for part in parts[..turn].iter().flatten() {
            assert!(body.contains(part.get()), "{protocol}: {} is not in {body}", part.get());
        }
    }
    let mut last: Value = serde_json::from_str(&bodies[2]).unwrap();
    // The descriptions of tools are covered by other snapshots.
    last["tools"] = json!("as offered");
    insta::assert_snapshot!(protocol, serde_json::to_string_pretty(&last).unwrap());
}

#[tokio::test]
async fn anthropic_messages() {
    check("anthropic_messages", include_str!("cassettes/anthropic_messages.json")).await;
}

#[tokio::test]
async fn gemini() {
    check("gemini", include_str!("cassettes/gemini.json")).await;
}

#[tokio::test]
async fn openai_chat() {
    check("openai_chat", include_str!("cassettes/openai_chat.json")).await;
}

#[tokio::test]
async fn openai_responses() {
    check("openai_responses", include_str!("cassettes/openai_responses.json")).await;
}
