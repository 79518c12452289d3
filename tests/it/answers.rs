//! The answers of the conformance tables of the protocols, each in a thread that is cut behind it and resumed.

use std::fs;
use std::path::Path;

use rye::ProviderChoice;
use rye::thread::ThreadId;
use rye::types::ThreadState;
use rye_tests::Scratch;
use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::sweep::sweep;
use super::wires;

/// Its output is required, so that there is another request behind an answer with a text, too.
const DIRECTIVE: &str = "# Say\n\n```xml\n<directive name=\"say\" version=\"1.0.0\">\n  <metadata>\n    \
    <description>Says.</description><model tier=\"fast\" />\n    \
    <permissions><execute><tool>rye.file-system.read</tool></execute></permissions>\n  </metadata>\n  \
    <outputs><output name=\"said\" type=\"string\" required=\"true\">What</output></outputs>\n</directive>\n```\n\nSay it.\n";

const THREAD: &str = "say-019a0000-0000-7000-8000-000000000001";

/// The answers of a protocol that are read, in one piece and as events.
fn answers(protocol: &str) -> Vec<(String, Answer)> {
    let folder = "../crates/rye-providers/tests/rye_providers/wires";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let table = fs::read(folder.join(protocol).with_extension("json")).unwrap();
    let rows: Vec<Value> = serde_json::from_slice(&table).unwrap();
    let data = |event: &Value| event.as_str().map_or_else(|| event.to_string(), str::to_owned);
    let mut answers = Vec::new();
    for row in &rows {
        let has = |name: &str| row.get(name).is_some();
        let name = format!("{protocol}, {}", row["name"].as_str().unwrap());
        let body = row["text"].as_str().map(str::to_owned);
        let body = body.or_else(|| row.get("body").map(Value::to_string));
        let body = body.filter(|_| has("reply") && !has("error"));
        answers.extend(body.map(|body| (format!("{name}, whole"), Answer::json(200, body))));
        let events = row["stream"].as_array().filter(|_| !has("stream_error"));
        let events = events.map(|events| {
            events.iter().map(|event| format!("data: {}\n\n", data(event))).collect::<String>()
        });
        answers.extend(events.map(|it| (format!("{name}, streamed"), Answer::events(&it))));
    }
    answers
}

/// Cuts the transcript behind the first answer, which may be asked for again, and gives the thread the record that a kill leaves.
fn cut(scratch: &Scratch, thread: &ThreadId) {
    let file = scratch.project().join(".ai/threads").join(THREAD).join("transcript.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        kept.push_str(line);
        let event = serde_json::from_str::<Value>(line).unwrap()["event"].clone();
        if event == "step_finish" || event == "request_retried" {
            break;
        }
    }
    fs::write(&file, kept).unwrap();
    scratch.edit(thread, |record| {
        record.state = ThreadState::Running;
        (record.transcript, record.outputs, record.failure) = (None, None, None);
    });
}

/// Returns the bodies of the requests behind the answer: of the thread, and of the thread that was cut and resumed.
async fn ask(protocol: &str, answer: Answer) -> [Vec<String>; 2] {
    let returned = || {
        let call = ("rye_agent_threads_directive_return", json!({ "said": "it" }));
        Answer::json(200, wires::answer(protocol, Some(("last", &call))))
    };
    let answers = std::iter::once(answer).chain((0..9).map(|_| returned())).collect();
    let server = Server::once(answers, |request| request.line.starts_with("POST "));
    let scratch = Scratch::new().with_operator();
    scratch.sign(".ai/directives/test/say.md", DIRECTIVE);
    let provider = wires::provider(protocol, &server);
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider);
    let run = |request: &mut rye::RunRequest| {
        request.provider = ProviderChoice::Named("local".to_owned());
    };
    let report = scratch.run_with("test/say", &[], run).await.unwrap();
    if report.thread.as_str() != THREAD {
        // A count that fills the context window continues in another thread, which has nothing of the answer.
        return [Vec::new(), Vec::new()];
    }
    let first = server.received().len();
    let thread: ThreadId = THREAD.parse().unwrap();
    cut(&scratch, &thread);
    let resumed = scratch.resume(&thread).await.unwrap();
    assert_eq!(resumed.outcome.state, report.outcome.state);
    let bodies = server.received().iter().map(|it| it.text().to_owned()).collect::<Vec<_>>();
    let (whole, resumed) = bodies.split_at(first);
    [whole[1..].to_vec(), resumed.to_vec()]
}

#[tokio::test]
async fn every_answer_is_resumed_as_it_was_read() {
    let all = wires::PROTOCOLS.iter().flat_map(|protocol| {
        answers(protocol).into_iter().map(move |(name, answer)| (*protocol, name, answer))
    });
    let mut asked = 0;
    for (protocol, name, answer) in sweep(all, 3, 24) {
        let [whole, resumed] = ask(protocol, answer).await;
        asked += whole.len();
        assert_eq!(whole, resumed, "{name}");
    }
    assert!(asked > 10, "hardly any answer is followed by a request: {asked}");
}
