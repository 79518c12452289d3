//! Every event, one row each: its record, the record as read, and its Markdown.

use super::samples::{events, variant};
use super::*;

struct Row {
    variant: &'static str,
    event: Event,
    payload: &'static str,
    /// Empty for an event that only programs read.
    markdown: &'static str,
}

/// Rows by the variant's name, in the order of the samples.
macro_rules! rows {
    ($($variant:ident: $payload:expr, $markdown:expr;)*) => {
        fn rows() -> Vec<Row> {
            let rows = [$((stringify!($variant), $payload, $markdown)),*];
            let events = events();
            assert_eq!(rows.map(|(variant, ..)| variant).as_slice(), events.iter().map(variant).collect::<Vec<_>>());
            let rows = rows.into_iter().zip(events);
            rows.map(|((variant, payload, markdown), event)| Row { variant, event, payload, markdown }).collect()
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
        rows().into_iter().partition(|row| row.event.name() == "checkpoint");
    events.into_iter().chain(last).map(|row| row.event).collect()
}

/// A transcript with every event, signed with the example key. `rye-thread` reads it, too.
fn transcript_of_every_event() -> (Vec<u8>, SigningKey) {
    let key = include_str!("key.pem");
    let key = SigningKey::from_pkcs8_pem(key).unwrap();
    let mut transcript = Transcript::new(&thread());
    transcript.append(&start(&key));
    transcript.checkpoint(&key);
    for row in rows().iter().filter(|row| row.event.name() != "checkpoint") {
        transcript.append(&row.event);
    }
    // The rows name another key, and a checkpoint must have the key that was named last.
    transcript.append(&start(&key));
    transcript.checkpoint(&key);
    (transcript.lines, key)
}

#[test]
fn a_transcript_has_the_same_bytes_in_every_version() {
    let (lines, _) = transcript_of_every_event();
    insta::assert_binary_snapshot!("every_event.jsonl", lines);
}

/// Returns one record of each kind, as a transcript holds them.
pub(crate) fn recorded() -> Vec<Record> {
    let (lines, key) = transcript_of_every_event();
    let mut records = read(&lines, &thread(), &[key.public()]).unwrap().records.split_off(2);
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
        rows.into_iter().partition(|row| row.event.name() == "checkpoint");
    for (row, recorded) in rows.into_iter().chain(last).zip(&records) {
        let name = row.event.name();
        assert_eq!(recorded.event, name);
        assert_eq!(variant(&row.event), row.variant, "a row has its own event");
        assert_eq!(recorded_payload(&row.event).get(), row.payload, "{name}");
        if name != "checkpoint" {
            assert_eq!(recorded.payload.get(), row.payload, "{name}");
        }
        assert_eq!((recorded.at, recorded.directive.as_str()), (AT, "greet/hello"));
    }
}

#[test]
fn each_record_is_read_back_as_its_event() {
    let mut records = recorded();
    // A request for approval precedes its decision.
    records.sort_by_key(|record| record.event == "approval_decided");
    for (event, record) in recorded_events(&records).zip(&records) {
        let event = event.unwrap();
        assert_eq!(event.name(), record.event);
        assert_eq!(recorded_payload(&event).get(), record.payload.get(), "{}", record.event);
    }
    let decided = records.last().unwrap();
    assert_eq!(recorded_event(decided).err().as_deref(), Some("call `1` did not wait"));
}

#[test]
fn what_a_newer_version_records_is_refused() {
    let mut record = recorded().remove(0);
    record.event = "dream".to_owned();
    let refused = recorded_event(&record).err();
    assert_eq!(refused.as_deref(), Some("this version knows no event `dream`"));
}

/// Makes the event of a record unreadable, as if a newer version had written it.
fn make_newer(record: &mut Record, member: &str) {
    let mut members: serde_json::Map<String, serde_json::Value> = record.payload_as().unwrap();
    members.insert(member.to_owned(), 7.into());
    record.payload = serde_json::value::to_raw_value(&members).unwrap();
    assert!(recorded_event(record).is_err(), "{}", record.event);
}

#[test]
fn other_members_of_a_newer_version_hide_neither_root_nor_added_items() {
    let written = Written::new();
    let mut reading = written.read(&written.text()).unwrap();
    let receipts = recorded().into_iter().filter(|record| record.event == "tool_call_result");
    reading.records.extend(receipts);
    let (root, added) = (recorded_root(&reading), added_items(&reading));
    assert!(root.is_some() && added.as_ref().is_some_and(|added| !added.is_empty()), "{added:?}");
    make_newer(&mut reading.records[0], "signed_by");
    make_newer(reading.records.last_mut().unwrap(), "is_error");
    assert_eq!((recorded_root(&reading), added_items(&reading)), (root, added));
    assert_eq!(ThreadRecord::from_transcript(&reading), None);
    make_newer(reading.records.last_mut().unwrap(), "added");
    assert_eq!(added_items(&reading), None);
}

#[test]
fn each_is_shown_to_a_person() {
    for row in rows() {
        assert_eq!(markdown(&row.event, AT), row.markdown, "{}", row.variant);
    }
}

/// Rendering the records gives the same text as rendering the events.
#[test]
fn each_is_shown_to_a_person_by_its_record() {
    let mut rows = rows();
    let mut records = recorded();
    // A request for approval precedes its decision.
    rows.sort_by_key(|row| row.event.name() == "approval_decided");
    records.sort_by_key(|record| record.event == "approval_decided");
    rows.retain(|row| row.event.name() != "checkpoint");
    records.retain(|record| record.event != "checkpoint");
    for (row, record) in
        rows.iter().zip(&records).filter(|(row, _)| row.event.name() != "approval_decided")
    {
        let again = markdown_of(std::slice::from_ref(record));
        assert_eq!(again.as_deref(), Some(row.markdown), "{}", row.variant);
    }
    let all: String = rows.iter().map(|row| row.markdown).collect();
    assert_eq!(markdown_of(&records), Some(all));
    records[0].event = "dream".to_owned();
    assert_eq!(markdown_of(&records), None, "a newer program's");
}

#[test]
fn the_names_are_those_of_the_events() {
    let mut names: Vec<&str> = rows().iter().map(|row| row.event.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, Event::NAMES);
}
