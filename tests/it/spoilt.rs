//! Answers that cannot be used, on every wire, streamed and whole: one bad turn does not cost a thread (SPEC D18).

use rye::thread::{Cancel, ThreadId};
use rye::types::{RaisedLimits, ThreadState};
use rye::{ProviderChoice, RunReport};
use rye_tests::Scratch;
use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::sweep::sweep;
use super::wires::{Call, PROTOCOLS, answer, provider};

const DIRECTIVE: &str = r#"# Note

```xml
<directive name="note" version="1.0.0">
  <metadata>
    <description>Writes notes.</description><model tier="fast" />
    <permissions><execute><tool>rye.file-system.write</tool></execute></permissions>
  </metadata>
</directive>
```

Write two notes.
"#;

const THREAD: &str = "note-019a0000-0000-7000-8000-000000000001";

/// The rows of the conformance table of a wire that cannot be used, with the classes of their records. Unless the sweep is whole, each
/// test tries every second one.
fn rows(protocol: &str) -> &'static [(&'static str, &'static str)] {
    match protocol {
        "anthropic_messages" => &[
            ("unreadable", "malformed"),
            ("call_without_name", "malformed"),
            ("lone_half_in_signed_thinking", "malformed"),
            ("cut_call", "cut_call"),
        ],
        "gemini" => &[
            ("stop_malformed_function_call", "malformed"),
            ("malformed_call_without_content", "malformed"),
            ("unexpected_tool_call", "malformed"),
            ("call_without_name", "malformed"),
            ("no_candidate", "malformed"),
            ("lone_half_in_a_signed_part", "malformed"),
            ("cut_call", "cut_call"),
        ],
        "openai_chat" => &[
            ("unreadable", "malformed"),
            ("call_without_name", "malformed"),
            ("lone_half_in_a_signed_call", "malformed"),
            ("cut_call", "cut_call"),
        ],
        _ => &[
            ("unreadable", "malformed"),
            ("call_without_name", "malformed"),
            ("lone_half_in_signed_reasoning", "malformed"),
            ("cut_call", "cut_call"),
        ],
    }
}

fn table(protocol: &str) -> Vec<Value> {
    let text = match protocol {
        "anthropic_messages" => {
            include_str!(
                "../../crates/rye-providers/tests/rye_providers/wires/anthropic_messages.json"
            )
        }
        "gemini" => {
            include_str!("../../crates/rye-providers/tests/rye_providers/wires/gemini.json")
        }
        "openai_chat" => {
            include_str!("../../crates/rye-providers/tests/rye_providers/wires/openai_chat.json")
        }
        _ => include_str!(
            "../../crates/rye-providers/tests/rye_providers/wires/openai_responses.json"
        ),
    };
    serde_json::from_str(text).unwrap()
}

/// The answer of this name, whole and as a stream, as far as the table has it.
fn spoilt(protocol: &str, name: &str) -> Vec<Answer> {
    let table = table(protocol);
    let row = table.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}"));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let whole = row.get("text").or(row.get("body"));
    let whole = whole.map(|body| Answer::json(200, text(body)));
    let events = row.get("stream").and_then(Value::as_array).map(|events| {
        let event = |event: &Value| format!("data: {}\n\n", text(event));
        Answer::events(&events.iter().map(event).collect::<String>())
    });
    whole.into_iter().chain(events).collect()
}

fn write(path: &str) -> Call {
    ("rye_file_system_write", json!({"path": path, "content": "So it is."}))
}

fn calls(protocol: &str, id: &str, path: &str) -> Answer {
    Answer::json(200, answer(protocol, Some((id, &write(path)))))
}

fn done(protocol: &str) -> Answer {
    Answer::json(200, answer(protocol, None))
}

/// Runs the directive with a model that gives these answers.
async fn run(protocol: &str, answers: Vec<Answer>) -> (Scratch, Server, RunReport) {
    let server = Server::once(answers, |request| request.line.starts_with("POST "));
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/note.md", DIRECTIVE);
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(protocol, &server));
    let local = |request: &mut rye::RunRequest| {
        request.provider = ProviderChoice::Named("local".to_owned());
        request.thread = thread();
    };
    let report = scratch.run_with("test/note", &[], local).await.unwrap();
    (scratch, server, report)
}

/// Does what `rye resume` does.
async fn resume(scratch: &Scratch) -> RunReport {
    let cancel = Cancel::new();
    let host = scratch.host(&cancel);
    scratch.rye().resume_raising(&thread(), RaisedLimits::default(), host).await.unwrap()
}

fn thread() -> ThreadId {
    THREAD.parse().unwrap()
}

fn bodies(server: &Server) -> Vec<String> {
    server.received().iter().map(|request| request.text().to_owned()).collect()
}

/// The members of all records of an event.
fn members(scratch: &Scratch, report: &RunReport, event: &str, member: &str) -> Vec<Value> {
    let events = scratch.events(report).into_iter().filter(|(name, _)| name == event);
    events.map(|(_, payload)| payload[member].clone()).collect()
}

async fn check_replay(scratch: &Scratch, told: &str) {
    let replayed = scratch.rye().replay(&thread()).await.unwrap();
    assert_eq!(replayed.divergence, None, "{told}");
}

/// The same request is sent again. The next turn is that of a thread without such an answer, byte for byte.
#[tokio::test]
async fn the_request_is_sent_again_as_it_was() {
    for protocol in PROTOCOLS {
        let good =
            || [calls(protocol, "c1", "a.txt"), calls(protocol, "c2", "b.txt"), done(protocol)];
        let (_, server, _) = run(protocol, good().to_vec()).await;
        let expected = bodies(&server);
        for (name, class) in sweep(rows(protocol), 0, 2) {
            for bad in spoilt(protocol, name) {
                let told = format!("{protocol}, {name}");
                let [first, second, last] = good();
                let script = vec![first, bad.clone(), bad, second, last];
                let (scratch, server, report) = run(protocol, script).await;
                let outcome = &report.outcome;
                let ended = (outcome.state, outcome.turns);
                assert_eq!(ended, (ThreadState::Completed, 3), "{told}: {:?}", outcome.failure);
                let retried = members(&scratch, &report, "request_retried", "class");
                assert_eq!(retried, [*class, *class], "{told}");
                let [first, second, third] = expected.as_slice() else { panic!("{told}") };
                assert_eq!(
                    bodies(&server),
                    [first, second, second, second, third].map(String::as_str),
                    "{told}"
                );
                check_replay(&scratch, &told).await;
            }
        }
    }
}

/// After the third such answer the thread is stopped, and goes on with the same request once it is resumed.
#[tokio::test]
async fn a_stopped_thread_goes_on_with_the_same_request() {
    for protocol in PROTOCOLS {
        for (name, class) in sweep(rows(protocol), 1, 2) {
            for bad in spoilt(protocol, name) {
                let told = format!("{protocol}, {name}");
                let mut script = vec![calls(protocol, "c1", "a.txt")];
                script.extend(std::iter::repeat_n(bad, 3));
                script.extend([calls(protocol, "c2", "b.txt"), done(protocol)]);
                let (scratch, server, report) = run(protocol, script).await;
                let failure = report.outcome.failure.as_ref().unwrap_or_else(|| panic!("{told}"));
                assert_eq!(report.outcome.state, ThreadState::Error, "{told}");
                assert_eq!(
                    failure.message.contains("raise `max_output` of `m`"),
                    *class == "cut_call",
                    "{failure}"
                );
                assert_eq!(
                    report.resume.as_deref(),
                    Some(format!("rye resume {THREAD}").as_str()),
                    "{told}"
                );
                let failed = members(&scratch, &report, "request_failed", "class");
                assert_eq!(failed, [*class], "{told}");
                check_replay(&scratch, &told).await;

                let resumed = resume(&scratch).await;
                let outcome = &resumed.outcome;
                assert_eq!(outcome.state, ThreadState::Completed, "{told}: {:?}", outcome.failure);
                let bodies = bodies(&server);
                assert!(bodies[2..5].iter().all(|body| *body == bodies[1]), "{told}");
                let before = bodies[1].strip_suffix("]}").unwrap();
                assert!(bodies[5].starts_with(before), "{told}");
                check_replay(&scratch, &told).await;
            }
        }
    }
}

/// A model that says nothing at first is reminded once. After a call that succeeded it may end so.
#[tokio::test]
async fn an_answer_of_nothing() {
    for protocol in PROTOCOLS {
        for empty in spoilt(protocol, "empty") {
            let script = vec![empty.clone(), calls(protocol, "c1", "a.txt"), empty.clone()];
            let (scratch, server, report) = run(protocol, script).await;
            let outcome = &report.outcome;
            let ended = (outcome.state, outcome.turns);
            assert_eq!(ended, (ThreadState::Completed, 2), "{protocol}: {:?}", outcome.failure);
            let warning = "the answer of turn 2 was empty".to_owned();
            assert!(outcome.warnings.contains(&warning), "{:?}", outcome.warnings);
            let told: Vec<bool> = bodies(&server)
                .iter()
                .map(|it| it.contains("Your last answer was empty."))
                .collect();
            assert_eq!(told, [false, true, true], "{protocol}");
            check_replay(&scratch, protocol).await;

            let script = vec![empty.clone(), empty, calls(protocol, "c1", "a.txt"), done(protocol)];
            let (scratch, server, report) = run(protocol, script).await;
            let failure = report.outcome.failure.as_ref().unwrap();
            assert_eq!(failure.message, "the model answered with nothing; it was asked twice");
            let resumed = resume(&scratch).await;
            assert_eq!(resumed.outcome.state, ThreadState::Completed, "{protocol}");
            let bodies = bodies(&server);
            assert_eq!(bodies[1], bodies[2], "{protocol}");
            check_replay(&scratch, protocol).await;
        }
    }
}
