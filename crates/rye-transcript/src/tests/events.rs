//! Every event, one row each: its record, the record as read, and its Markdown.

use super::generated;
use std::borrow::Cow;

use rye_types::Nanos;

use super::samples::{events, sample};
use super::*;
use crate::event::Mark;

struct Row {
    label: &'static str,
    event: Event,
    payload: &'static str,
    /// Empty for an event that only programs read.
    markdown: &'static str,
}

/// Rows by the label of the sample, in the order of the samples.
macro_rules! rows {
    ($($label:ident: $payload:expr, $markdown:expr;)*) => {
        fn rows() -> Vec<Row> {
            let rows = [$((stringify!($label), $payload, $markdown)),*];
            let events = events();
            let labels: Vec<_> = events.iter().map(|(label, _)| *label).collect();
            assert_eq!(rows.map(|(label, ..)| label).as_slice(), labels);
            let rows = rows.into_iter().zip(events);
            rows.map(|((label, payload, markdown), (_, event))| Row { label, event, payload, markdown }).collect()
        }
    };
}

rows! {
    ApprovalDecided:
        r#"{"call_id":"1","arguments_sha256":"5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22","decision":"denied","by":"command","reason":"not on a `Friday`"}"#,
        "Call of `a/b` denied by command\n\n```\nnot on a `Friday`\n```\n\n";
    ApprovalRequested:
        r#"{"call_id":"1","item_id":"a/b","arguments":{"x":1},"arguments_sha256":"5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22","reason":"configured"}"#,
        "## Waiting for approval: `a/b`\n\nAsked because: the configuration asks before each call of it\n\n```json\n{\n  \"x\": 1\n}\n```\n\n";
    AssistantReasoning:
        r#"{"text":"Why.\nSo."}"#,
        "## Reasoning\n\n> Why.\n> So.\n\n";
    AssistantText:
        r#"{"text":"Hi."}"#,
        "## Assistant\n\nHi.\n\n";
    Checkpoint:
        r#"{"head":"x"}"#,
        "";
    ChildEnded:
        r#"{"thread":"child-019a0000-0000-7000-8000-000000000002","state":"completed","cost_nanos":42,"records":7,"head":"00ff"}"#,
        "Child `child-019a0000-0000-7000-8000-000000000002` ended: completed, 0.000000042 USD\n\n";
    ContextInjected:
        r#"{"item_id":"a/b","position":"before","sha256":"00ff"}"#,
        "Context in `before`: `a/b`\n\n";
    HookCallResult:
        r#"{"call_id":"1","name":"a_b","content":"fine","is_error":false,"refusal":null,"hook":"h"}"#,
        "## Result of hook `h`: `a_b`\n\n```json\nfine\n```\n\n";
    HookCallStart:
        r#"{"call_id":"hook-1-1-1","name":"rye_execute","arguments":{"x":1},"target":{"item_id":"a/b","capability":"rye.execute.tool.a.b","effect":"once"},"hook":"h","injects":true}"#,
        "## Call of hook `h`: `a/b`\n\n```json\n{\n  \"x\": 1\n}\n```\n\n";
    HookTriggered:
        r#"{"evaluation":2,"hook_event":"limit","hook":"h","declared_by":"directive `a/b`","layer":1,"effect":"escalate","failure":{"kind":"limit","message":"too many","limit":{"name":"turns","value":2,"maximum":2}},"final":true,"data":{"x":1}}"#,
        "*Hook `h` at `limit`: escalate*\n\n";
    ModelFallback:
        r#"{"provider":"p","model":"n","nanos_per_million_tokens":null,"reason":"busy"}"#,
        "*`n` at `p` answers from here: busy*\n\n";
    RequestFailed:
        r#"{"turn":2,"class":"server","message":"it broke","cost_nanos":42}"#,
        "*Turn 2 has no answer: it broke; 0.000000042 USD counts as spent*\n\n";
    RequestRetried:
        r#"{"turn":2,"attempt":2,"attempts":4,"class":"rate_limited","message":"it answered 429","hint_millis":6000,"wait_millis":6000,"cost_nanos":0,"reserved_nanos":42}"#,
        "*Turn 2: it answered 429: rate limited, next attempt in 6 s (2 of 4)*\n\n";
    SpawnChild:
        r#"{"call_id":"1","thread":"child-019a0000-0000-7000-8000-000000000002","directive":"a/child","async":true,"limits":{"turns":10,"tokens":200000,"spend_nanos":{"at_most":500000000},"duration_seconds":600,"spawns":10,"depth":5}}"#,
        "Child: `child-019a0000-0000-7000-8000-000000000002`\n\n";
    StepFinish:
        r#"{"turn":2,"reply":{"raw":[{"exact": 1.50}],"text":"Hi.","reasoning":"","calls":[],"usage":{"input":3,"output":4,"cache_read":0,"cache_write":0},"stop":"end_turn"},"cost_nanos":42}"#,
        "*Turn 2: 7 tokens, 0.000000042 USD*\n\n";
    StepStart:
        r#"{"turn":2,"reserved_nanos":42,"max_output_tokens":100}"#,
        "";
    SystemPrompt:
        r#"{"text":"Be brief.","sha256":"213c22ed7234eb11116e1e88f314c73cb3a019b5c87fe224b6ce5665bd9ec50e"}"#,
        "## System\n\n```\nBe brief.\n```\n\n";
    ThreadComplete:
        r#"{"turns":2,"usage":{"input":3,"output":4,"cache_read":0,"cache_write":0},"cost_nanos":42,"outputs":{"score":7},"text":"Done."}"#,
        "## Completed\n\n```json\n{\n  \"score\": 7\n}\n```\n\n2 turns, 0.000000042 USD\n\n";
    ThreadContinued:
        r#"{"turns":2,"usage":{"input":3,"output":4,"cache_read":0,"cache_write":0},"cost_nanos":42,"next":"hello-019a0000-0000-7000-8000-000000000001","limits":{"turns":10,"tokens":200000,"spend_nanos":{"at_most":500000000},"duration_seconds":600,"spawns":10,"depth":5},"text":"So far."}"#,
        "## Continued\n\nContinued in `hello-019a0000-0000-7000-8000-000000000001`.\n\n2 turns, 0.000000042 USD\n\n";
    ThreadError:
        r#"{"turns":2,"usage":{"input":3,"output":4,"cache_read":0,"cache_write":0},"cost_nanos":42,"state":"error","failure":{"kind":"limit","message":"too many","limit":{"name":"turns","value":2,"maximum":2}}}"#,
        "## Ended: error\n\ntoo many\n\n2 turns, 0.000000042 USD\n\n";
    ThreadResumed:
        r#"{"opening":3,"cut_bytes":9,"facts":{},"cost_nanos":42,"elapsed_millis":250,"signed_by":"K","limits":{"turns":10,"tokens":200000,"spend_nanos":{"at_most":500000000},"duration_seconds":600,"spawns":10,"depth":5}}"#,
        "*Resumed 2026-11-20T18:00:00.250Z, opening 3, with raised limits*\n\n";
    ThreadStart:
        r#"{"format":"rye-transcript","version":2,"provider":"p","model":"m","nanos_per_million_tokens":null,"limits":{"turns":10,"tokens":200000,"spend_nanos":{"at_most":500000000},"duration_seconds":600,"spawns":10,"depth":5},"tools":[{"name":"a_b","description":"A.","input_schema":{},"output_schema":null}],"palette":{"a_b":"a/b"},"facts":{},"root":"hello-019a0000-0000-7000-8000-000000000001","created":"2026-11-20T18:00:00.250Z","signed_by":"K","parent":"hello-019a0000-0000-7000-8000-000000000001","continues":"hello-019a0000-0000-7000-8000-000000000001"}"#,
        "# Thread\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n";
    ToolCallResult:
        r#"{"call_id":"1","name":"a_b","content":{"error":"no"},"is_error":true,"refusal":{"capability":"rye.execute.tool.a.b","layer":"tool","pattern":null,"message":"no"},"limit":{"name":"spawns","value":2,"maximum":2},"added":[{"item":{"id":"a/b","kind":"directive"},"key_id":"k","grants":[["rye.load.*"]]}],"standard_error":"It took long."}"#,
        "## Failed: `a_b`\n\n```json\n{\n  \"error\": \"no\"\n}\n```\n\n";
    ToolCallStart:
        r#"{"call_id":"1","name":"a_b","arguments":{"x":1},"target":{"item_id":"a/b","capability":"rye.execute.tool.a.b","effect":"once"}}"#,
        "## Call: `a_b`\n\n```json\n{\n  \"x\": 1\n}\n```\n\n";
    UserMessage:
        r#"{"text":"Go."}"#,
        "## User\n\n```\nGo.\n```\n\n";
}

/// Returns one event of each kind, in the order of [`recorded`].
pub(crate) fn every_event() -> Vec<Event> {
    let (last, events): (Vec<Row>, Vec<Row>) =
        rows().into_iter().partition(|row| row.event.kind() == EventKind::Checkpoint);
    events.into_iter().chain(last).map(|row| row.event).collect()
}

/// A transcript with every event, signed with the example key. `rye-thread` reads it, too.
fn transcript_of_every_event() -> Transcript {
    let key = &*KEY;
    let mut transcript = Transcript::new(&thread());
    transcript.append(&start(key));
    transcript.checkpoint(key);
    for row in rows().iter().filter(|row| row.event.kind() != EventKind::Checkpoint) {
        transcript.append(&row.event);
    }
    // The rows name another key, and a checkpoint must have the key that was named last.
    transcript.append(&start(key));
    transcript.checkpoint(key);
    transcript
}

#[test]
fn a_transcript_has_the_same_bytes_in_every_version() {
    insta::assert_binary_snapshot!("every_event.jsonl", transcript_of_every_event().lines);
}

/// Returns one record of each kind, as a transcript holds them.
pub(crate) fn recorded() -> Vec<Record> {
    let mut records = transcript_of_every_event().reading().records.split_off(2);
    records.remove(records.len() - 2);
    records
}

#[test]
fn each_is_recorded_and_read_back() {
    let rows = rows();
    let records = recorded();
    assert_eq!(records.len(), rows.len());
    // The checkpoint comes last, all others in the order of the rows.
    let (last, rows): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.event.kind() == EventKind::Checkpoint);
    for (row, recorded) in rows.into_iter().chain(last).zip(&records) {
        let label = row.label;
        assert_eq!((recorded.kind, recorded.name()), (row.event.kind(), row.event.name()));
        assert_eq!(row.event.payload().get(), row.payload, "{label}");
        if recorded.kind != EventKind::Checkpoint {
            assert_eq!(recorded.payload.get(), row.payload, "{label}");
        }
        let read = recorded.event().unwrap();
        assert_eq!(read.payload().get(), recorded.payload.get(), "{label}");
        assert_eq!((recorded.at, recorded.directive.as_str()), (AT, "greet/hello"));
    }
}

/// An event of a newer version keeps its name and its payload.
#[test]
fn what_a_newer_version_records_is_kept_and_not_read() {
    let key = SigningKey::generate().unwrap();
    for (ignorable, is_foreign) in [("", true), (r#","ignorable":true"#, false)] {
        let mut transcript = Transcript::new(&thread());
        transcript.append(&start(&key));
        transcript.checkpoint(&key);
        let payload = r#"{"about": 1.50}"#;
        let known = r#""event":"user_message","payload":{"text":"x"}"#;
        let newer = format!(r#""event":"dream","payload":{payload}{ignorable}"#);
        transcript.append_changed(&user("x"), known, &newer);
        transcript.checkpoint(&key);
        let reading = read(&transcript.lines, &thread(), &[key.public()]).unwrap();
        let dream = &reading.records[2];
        assert_eq!((dream.kind, dream.name()), (EventKind::Unknown, "dream"));
        assert_eq!((dream.payload.get(), dream.is_foreign()), (payload, is_foreign));
        assert_eq!(dream.event().unwrap_err(), "this version knows no event `dream`");
        assert_eq!(reading.foreign().is_some(), is_foreign);
        let unread: Vec<u64> = reading.unread().map(|(record, _)| record.seq).collect();
        assert_eq!(unread, if is_foreign { vec![2] } else { vec![] });
        let account = Account::from_transcripts(&reading, &|_| FoundTranscript::Absent);
        let refused = AccountError::Foreign { thread: thread(), event: "dream".to_owned() };
        assert_eq!(account.err(), is_foreign.then_some(refused));
        let mut accounts = Accounts::default();
        accounts.open(&thread(), &reading);
        let free = if is_foreign { 0 } else { 500_000_000 };
        assert_eq!(accounts.account(&thread()).unwrap().free(), Some(Nanos::new(free)));
        if is_foreign {
            assert_eq!(cost_above(&reading), Nanos::new(500_000_000), "its whole share");
        }
    }
}

/// Returns the cost of a thread whose only child has this transcript and a share of 0.50 USD.
fn cost_above(child: &Reading) -> Nanos {
    let key = SigningKey::generate().unwrap();
    let mut transcript = Transcript::new(&thread());
    transcript.append(&start(&key));
    transcript.checkpoint(&key);
    transcript.append(&sample("SpawnChild"));
    let reading = read(&transcript.lines, &thread(), &[key.public()]).unwrap();
    let found = |_: &ThreadId| FoundTranscript::Transcript(Cow::Borrowed(child));
    Account::from_transcripts(&reading, &found).unwrap().cost
}

#[test]
fn each_is_shown_to_a_person() {
    let mut shown = Markdown::default();
    let mut rows = rows();
    // A request for approval precedes what is decided about it.
    rows.sort_by_key(|row| row.event.kind() == EventKind::ApprovalDecided);
    for row in rows {
        assert_eq!(shown.of(&row.event, AT), row.markdown, "{}", row.label);
    }
}

/// Every kind has a sample, and the list is sorted by name.
#[test]
fn the_list_is_whole_and_sorted() {
    let mut kinds: Vec<EventKind> = rows().iter().map(|row| row.event.kind()).collect();
    kinds.sort_unstable_by_key(|kind| kind.name());
    kinds.dedup();
    assert_eq!(kinds, EventKind::ALL);
    for kind in EventKind::ALL {
        assert_eq!(EventKind::named(kind.name()), *kind);
    }
    assert_eq!(EventKind::named("dream"), EventKind::Unknown);
}

proptest! {
    /// What is read of a payload is all that was written, and a record decides what its event does.
    #[test]
    fn every_payload_is_read_as_it_was_written(event in generated::event()) {
        let payload = event.payload();
        let kind = event.kind();
        let read = kind.read(&payload).map_err(TestCaseError::fail)?;
        let again = read.payload();
        prop_assert_eq!(again.get(), payload.get());
        prop_assert_eq!(format!("{read:?}"), format!("{event:?}"));
        let decided = Record::decide(kind, &payload).map_err(TestCaseError::fail)?;
        prop_assert_eq!(decided, event.money());
    }
}

/// Another program may leave out what is null.
#[test]
fn a_member_that_may_be_null_may_be_missing() {
    for row in rows() {
        let payload: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(row.payload).unwrap();
        for name in payload.keys() {
            let mut changed = payload.clone();
            let read = |changed: &serde_json::Map<_, _>| {
                let raw = serde_json::value::to_raw_value(changed).unwrap();
                row.event.kind().read(&raw).map(|event| format!("{event:?}"))
            };
            // A member that may be anything is not missing if it is null.
            changed.insert(name.clone(), json!({ "any": 1 }));
            let may_be_any = read(&changed).is_ok();
            changed.insert(name.clone(), json!(null));
            let with_null = read(&changed);
            changed.remove(name);
            if with_null.is_ok() && !may_be_any {
                assert_eq!(read(&changed), with_null, "{}: {name}", row.label);
            }
        }
    }
}

/// Each event either decides or tells, and what ends a thread or names a key decides and is sealed.
#[test]
fn the_marks_of_an_event_agree() {
    for kind in EventKind::ALL {
        let marks = kind.marks();
        let weighs = |mark: &&Mark| matches!(mark, Mark::Decides | Mark::Tells);
        assert_eq!(marks.iter().filter(weighs).count(), 1, "{kind:?}");
        if kind.is_end() || kind.names_key() {
            assert!(kind.decides() && kind.needs_checkpoint(), "{kind:?}");
        }
    }
}
