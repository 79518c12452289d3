//! `rye run --json`: every line fits the schema, and the records among them are those of the transcript.

use std::collections::BTreeSet;
use std::fs;

use rye::thread::transcript::EventKind;
use serde_json::{Value, json};

use crate::session::{Session, example_key};

/// What a command prints, line by line; each fits the schema.
#[track_caller]
pub(crate) fn lines(session: &Session, command: &str) -> Vec<Value> {
    fitting(&String::from_utf8(session.raw(command).stdout).unwrap())
}

/// The lines, each of which fits the schema of `rye schema run_stream`.
#[track_caller]
pub(crate) fn fitting(text: &str) -> Vec<Value> {
    let validator = jsonschema::validator_for(&rye::schema("run_stream").unwrap().value).unwrap();
    let line = |line: &str| -> Value {
        let value = serde_json::from_str(line).unwrap();
        let problems: Vec<String> =
            validator.iter_errors(&value).map(|problem| problem.to_string()).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        value
    };
    text.lines().map(line).collect()
}

/// The transcript that `rye-transcript` writes has a record of each event.
#[test]
fn a_record_of_each_event_fits_the_schema() {
    let lines = include_str!(
        "../../../rye-transcript/src/tests/snapshots/rye_transcript__tests__events__every_event.snap.jsonl"
    );
    // The digests of the samples are short.
    let records = fitting(&lines.replace("\"00ff\"", &format!("\"{}\"", "0".repeat(64))));
    let names: BTreeSet<&str> =
        records.iter().map(|record| record["event"].as_str().unwrap()).collect();
    assert_eq!(names.len(), EventKind::ALL.len());
}

/// Holds the transcripts of all threads of a session against the schema, and gives the names of their events.
#[track_caller]
pub(crate) fn all_fit(session: &Session) -> BTreeSet<String> {
    let threads = fs::read_dir(session.project().join(".ai/threads")).unwrap();
    let texts = threads.filter_map(|entry| {
        fs::read_to_string(entry.unwrap().path().join("transcript.jsonl")).ok()
    });
    let lines: Vec<Value> = texts.flat_map(|text| fitting(&text)).collect();
    events(&lines).into_iter().map(str::to_owned).collect()
}

fn events(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().unwrap()).collect()
}

/// The records that the one thread of the session has on disk.
fn recorded(session: &Session) -> Vec<Value> {
    let folder = session.project().join(".ai/threads").join(session.thread());
    let text = fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs, and asserts that what stands between the first line and the last is the whole transcript.
#[track_caller]
fn check(session: &Session, command: &str) -> Value {
    let mut lines = lines(session, command);
    let last = lines.pop().unwrap();
    let first = lines.remove(0);
    let thread = session.thread();
    assert_eq!(first, json!({ "event": "stream_start", "version": 1, "thread_id": thread }));
    assert_eq!(lines, recorded(session));
    last
}

const QUICK_START: &str = "run notes/index --trust TRUST --provider steps --json";

#[test]
fn a_run_is_told_as_it_is_recorded() {
    let session = Session::new();
    let last = check(&session, QUICK_START);
    assert_eq!(last["result"]["outputs"]["count"], 4);
    let quiet = Session::new().raw(&format!("{QUICK_START} --quiet")).stdout;
    let mut alone = serde_json::from_slice::<Value>(&quiet).unwrap()["threads"][0].take();
    // What differs from run to run.
    for name in ["thread", "folder"] {
        alone[name] = last["result"][name].clone();
    }
    assert_eq!(last, json!({ "event": "result", "result": alone }));
}

#[test]
fn what_a_run_looks_like() {
    let session = Session::new();
    let lines = lines(&session, QUICK_START);
    insta::assert_snapshot!(events(&lines).join("\n"));
}

#[test]
fn runs_that_end_badly_are_told_too() {
    let session = Session::new();
    let last = check(&session, &format!("{QUICK_START} --turns 2"));
    assert_eq!(last["result"]["failure"]["kind"], "limit");
    let session = Session::new();
    session.change(
        ".ai/directives/notes/index.md",
        "        <tool>rye.file-system.write</tool>\n",
        "",
    );
    session.sign_as_it_is(&example_key());
    let last = check(&session, QUICK_START);
    assert_eq!(last["result"]["failure"]["kind"], "refused");
}

/// What was recorded by `rye run`, `rye approve` and `rye resume` is the whole, each part told by who did it.
#[test]
fn a_thread_that_goes_on_is_told_from_there() {
    let session = Session::new();
    session.asks_before_it_writes();
    let last = check(&session, QUICK_START);
    assert_eq!(last["result"]["state"], "suspended");
    let before = recorded(&session).len();
    session.rye("approve THREAD --trust TRUST");
    let decided = recorded(&session).len();
    assert!(decided > before);
    let lines = lines(&session, "resume THREAD --trust TRUST --json");
    assert_eq!(lines.last().unwrap()["result"]["state"], "completed");
    let told: Vec<Value> = lines[1..lines.len() - 1].to_vec();
    assert_eq!(told, recorded(&session)[decided..]);
    assert_eq!(told[0]["event"], "thread_resumed");
}

#[test]
fn what_never_began_is_one_line_of_error() {
    let session = Session::new();
    for (command, class, before) in [
        ("run notes/index --provider steps --json", "refused", 1),
        ("run notes/indx --trust TRUST --provider steps --json", "failed", 1),
        ("run notes/index --input x=1 --input x=2 --json", "usage", 0),
        ("run notes/index --json --nonsense", "usage", 0),
        ("resume index-019a0000-0000-7000-8000-000000000000 --json", "failed", 1),
    ] {
        let lines = lines(&session, command);
        let begun = ["stream_start"].repeat(before);
        assert_eq!(events(&lines), [begun, vec!["error"]].concat(), "{command}");
        assert_eq!(lines.last().unwrap()["error"]["class"], class, "{command}");
    }
}

/// The pieces are no records, so they come only to who asks; nor is there anything to ask of without `--json`.
#[test]
fn pieces_come_on_request() {
    let session = Session::new();
    let both = session.rye("run notes/index --deltas");
    assert!(both.contains("--json") && both.ends_with("--- exit 2\n"), "{both}");
    let quiet = session.rye("run notes/index --json --deltas --quiet");
    assert!(quiet.contains("cannot be used with") && quiet.ends_with("--- exit 2\n"), "{quiet}");
}

const CHILD: &str = "<execute item_type=\"tool\" item_id=\"rye/agent/threads/thread_directive\">\
                     <param name=\"directive\">notes/index</param></execute>";

/// A child has a transcript of its own, so that the lines of its parent are its parent's alone.
#[test]
fn a_thread_that_starts_another_is_told_alone() {
    let session = Session::new();
    session.put(
        ".ai/directives/above.md",
        &format!(
            "# Above\n\n```xml\n<directive name=\"above\" version=\"1.0.0\">\n  <metadata><description>Starts another.\
             </description>\n    <permissions><execute><tool>rye.agent.threads.*</tool><tool>rye.file-system.*</tool>\
             <directive>notes.*</directive></execute></permissions></metadata>\n</directive>\n```\n\n<process>\n  \
             <step name=\"s\">{CHILD}</step>\n</process>\n"
        ),
    );
    let told = lines(&session, "run above --allow-unsigned --trust TRUST --provider steps --json");
    let threads: BTreeSet<&str> =
        told.iter().filter_map(|line| line["thread_id"].as_str()).collect();
    assert_eq!(threads.len(), 1, "{threads:?}");
    assert!(events(&told).contains(&"spawn_child"), "{told:?}");
    assert!(all_fit(&session).contains("spawn_child"));
}

/// The receipt of a call that adds an item to the conversation names it, and a child counts how many there were by then.
#[test]
fn items_that_a_call_adds_are_told() {
    let session = Session::new();
    session
        .put(".ai/knowledge/advice.md", "```yaml\nname: advice\ntitle: Advice\n```\n\nBe brief.\n");
    session.put(
        ".ai/directives/above.md",
        &format!(
            "# Above\n\n```xml\n<directive name=\"above\" version=\"1.0.0\">\n  <metadata><description>Reads, and starts \
             another.</description>\n    <permissions><execute><tool>rye.agent.threads.*</tool><tool>rye.file-system.*</tool>\
             <directive>notes.*</directive><knowledge>advice</knowledge></execute></permissions></metadata>\n</directive>\n\
             ```\n\n<process>\n  <step name=\"r\"><execute item_type=\"knowledge\" item_id=\"advice\"/></step>\n  \
             <step name=\"s\">{CHILD}</step>\n</process>\n"
        ),
    );
    let told = lines(&session, "run above --allow-unsigned --trust TRUST --provider steps --json");
    let payload = |event: &str| {
        let line = told.iter().find(|line| line["event"] == event);
        line.unwrap_or_else(|| panic!("no {event}: {told:?}"))["payload"].clone()
    };
    let added = &payload("tool_call_result")["added"];
    assert_eq!((&added[0]["item"]["id"], added.as_array().unwrap().len()), (&json!("advice"), 1));
    assert_eq!(payload("spawn_child")["added"], 1);
}
