//! Changes of a transcript, and the place at which each is found.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

#[test]
fn an_edit_is_found_at_the_record_after_it() {
    let written = Written::new();
    let text = "the record before it was changed, or one was added or removed there";
    written.check(
        |lines| lines[1] = lines[1].replace("one", "1"),
        &format!("record 2 at byte {}: {text}", { written.offset(2) - 2 }),
    );
    let place = |line: usize| format!("record {line} at byte {}: {text}", written.offset(line));
    written.check(|lines| drop(lines.remove(1)), &place(1));
    written.check(|lines| lines.swap(3, 4), &place(3));
    written.check(|lines| drop(lines.remove(0)), &place(0));
    written.check(|lines| lines.insert(4, lines[3].clone()), &place(4));
}

#[test]
fn a_checkpoint_that_was_made_anew_is_found() {
    let written = Written::new();
    let other = SigningKey::generate().unwrap();
    let mut forged = Transcript::new(&thread());
    forged.append(&start(&other));
    forged.append(&user("else"));
    forged.checkpoint(&other);
    let text = forged.text();
    let offset: usize = text.lines().take(2).map(|line| line.len() + 1).sum();
    let key_id = other.public().key_id().to_string();
    assert_eq!(
        written.read(&text).unwrap_err(),
        format!(
            "record 2 at byte {offset}: its checkpoint is not valid: the checkpoint is signed by the key `{key_id}`, \
             which may not sign logs here; verify with the key that wrote the log"
        )
    );
    // Another text under the same key.
    let theirs = text.lines().nth(2).unwrap();
    let payload = |line: &str| {
        line.split_once(r#""payload":"#).unwrap().1.split_once(r#","prev""#).unwrap().0.to_owned()
    };
    let own = payload(written.text().lines().nth(2).unwrap());
    let swapped = text.replace(&payload(theirs), &own);
    let error = written.read(&swapped).unwrap_err();
    assert!(
        error.starts_with(&format!(
            "record 2 at byte {offset}: its checkpoint is not valid: the log differs from"
        )),
        "{error}"
    );
}

#[test]
fn what_is_no_record_is_found() {
    let written = Written::new();
    let offset = written.offset(3);
    written.check(
        |lines| "{}".clone_into(&mut lines[3]),
        &format!(
            "record 3 at byte {offset}: it is not a record: missing field `seq` at line 1 column 2"
        ),
    );
    written.check(
        |lines| lines[3].clear(),
        &format!("record 3 at byte {offset}: it is not a record: EOF while parsing a value at line 1 column 0"),
    );
}

#[test]
fn a_record_of_another_thread_is_found() {
    let written = Written::new();
    let other = ThreadId::new("greet/other", "019a0000-0000-7000-8000-000000000002").unwrap();
    let damage = read(written.text().as_bytes(), &other, &[written.key.public()]).unwrap_err();
    assert_eq!(damage.to_string(), format!("record 0 at byte 0: it is record 0 of `{}`", thread()));
    assert_eq!(damage.record, 0);
    assert_eq!(damage.bytes, 0..written.offset(1));
}

/// The chain fits, and another program wrote the number or the name.
#[test]
fn a_record_of_another_place_is_found() {
    let other = ThreadId::new("greet/other", "019a0000-0000-7000-8000-000000000002").unwrap();
    for (from, to, seq, of) in [
        (r#""seq":2"#.to_owned(), r#""seq":3"#.to_owned(), 3, thread()),
        (thread().to_string(), other.to_string(), 2, other),
    ] {
        let mut transcript = Transcript::new(&thread());
        transcript.tell(&[start(&KEY)]);
        transcript.append_changed(&user("x"), &from, &to);
        let damage = read(&transcript.lines, &thread(), &[KEY.public()]).unwrap_err();
        let kind = DamageKind::OtherPlace { seq, thread: of.to_string() };
        assert_eq!((damage.record, damage.kind), (2, kind));
    }
}

#[test]
fn another_format_is_refused() {
    let written = Written::new();
    let older = "record 0 at byte 0: it begins a transcript of version 1, and this program reads version 2; run its directive again";
    let other = "record 0 at byte 0: it does not begin a transcript";
    let version = |to: &str| (r#""version":2"#, format!(r#""version":{to}"#));
    let format = ("rye-transcript", "x".to_owned());
    let event = ("thread_start", "user_message".to_owned());
    for (changes, message) in [
        (vec![version("1")], older),
        (vec![version("\"2\"")], other),
        (vec![version("null")], other),
        (vec![format.clone()], other),
        (vec![format, version("1")], other),
        (vec![event.clone()], other),
        (vec![event, version("1")], other),
    ] {
        let change = |line: &String| {
            changes.iter().fold(line.clone(), |line, (from, to)| line.replace(from, to))
        };
        written.check(|lines| lines[0] = change(&lines[0]), message);
    }
}

/// Cuts at and beside every line end, and at some places between. Whole records are kept, and only the incomplete line
/// is reported.
#[test]
fn a_cut_leaves_the_records_before_it() {
    let written = Written::new();
    let text = written.text();
    let is_near_an_end = |cut: usize| (0..7).any(|line| written.offset(line).abs_diff(cut) < 3);
    for cut in (0..=text.len()).filter(|cut| is_near_an_end(*cut) || cut % 61 == 0) {
        let reading = written.read(&text[..cut]).unwrap();
        let whole = begun(text[..cut].matches('\n').count());
        assert_eq!(reading.records.len(), whole, "cut at {cut}");
        let kept = written.offset(whole);
        assert_eq!(reading.torn, (kept != cut).then_some(kept..cut), "cut at {cut}");
    }
}

/// Returns the payload of an event with another member, which may be anything.
fn payload_with(event: &Event, member: &str, value: &str) -> String {
    let mut payload: Value = serde_json::from_str(event.payload().get()).unwrap();
    payload[member] = serde_json::from_str::<Value>("0").unwrap();
    let [zero, value] = ["0", value].map(|value| format!("\"{member}\":{value}"));
    payload.to_string().replacen(&zero, &value, 1)
}

/// What holds money, authority or the state of a thread is read or refused, also in a record that the thread's key signed. Each row has
/// an event, a member of its payload, and a value that the member does not take.
#[test]
fn rule_07_what_decides_and_cannot_be_read_is_refused_at_its_place() {
    let rows = [
        ("ApprovalDecided", "decision", "7"),
        ("ApprovalDecided", "decision", "\"approved\",\"signed\":{}"),
        ("ApprovalRequested", "item_id", "7"),
        ("ChildEnded", "cost_nanos", "-1"),
        ("HookTriggered", "evaluation", "-1"),
        ("ModelFallback", "model", "7"),
        ("RequestFailed", "cost_nanos", "\"0\""),
        ("RequestRetried", "reserved_nanos", "null"),
        ("SpawnChild", "limits", "{}"),
        ("StepFinish", "cost_nanos", "18446744073709551616"),
        ("StepStart", "reserved_nanos", "0.5"),
        ("ThreadComplete", "cost_nanos", "null"),
        ("ThreadContinued", "limits", "null"),
        ("ThreadError", "state", "\"x\""),
        ("ThreadResumed", "limits", "{\"turns\":1}"),
        ("ThreadStart", "format", "\"x\""),
        ("ThreadStart", "root", "7"),
        ("ThreadStart", "version", "3"),
        ("ToolCallResult", "added", "[{}]"),
        ("ToolCallStart", "target", "{}"),
    ];
    let told = rows.map(|(variant, ..)| samples::sample(variant).kind());
    let decide = EventKind::ALL.iter().filter(|kind| kind.decides());
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), decide.copied().collect());
    let key = SigningKey::generate().unwrap();
    for (variant, member, value) in rows {
        let event = samples::sample(variant);
        let mut transcript = Transcript::new(&thread());
        transcript.append(&start(&key));
        transcript.checkpoint(&key);
        transcript.append_with(&event, &payload_with(&event, member, value));
        transcript.checkpoint(&key);
        let damage = read(&transcript.lines, &thread(), &[key.public()]).unwrap_err();
        let expected = format!("its event `{}` cannot be read (", event.name());
        assert_eq!(damage.record, 2, "{variant}");
        assert!(damage.kind.to_string().starts_with(&expected), "{variant}: {damage}");
    }
}

/// An answer, arguments or a result may be unreadable for themselves. Their record counts, and a resume finds them.
#[test]
fn what_decides_nothing_is_read_when_it_is_asked_for() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    for (variant, member, value, cost) in [
        ("AssistantText", "text", "7", 0),
        ("ContextInjected", "sha256", "7", 0),
        ("HookTriggered", "data", &deep, 0),
        ("StepFinish", "reply", "7", 42),
        ("ToolCallResult", "content", &deep, 0),
        ("ToolCallStart", "arguments", &deep, 0),
        ("UserMessage", "text", "7", 0),
    ] {
        let event = samples::sample(variant);
        let mut transcript = Transcript::new(&thread());
        transcript.tell(&[start(&KEY)]);
        transcript.append_with(&event, &payload_with(&event, member, value));
        transcript.append(&user("x"));
        let reading = transcript.reading();
        let unread: Vec<(u64, String)> =
            reading.unread().map(|(record, why)| (record.seq, why)).collect();
        let [(2, why)] = unread.as_slice() else { panic!("{variant}: {unread:?}") };
        let expected = format!("its event `{}` cannot be read: ", event.name());
        assert!(why.starts_with(&expected), "{variant}: {why}");
        assert!(reading.foreign().is_none(), "{variant}");
        let account = Account::from_transcripts(&reading, &|_| FoundTranscript::Absent).unwrap();
        assert_eq!(account.cost, Nanos::new(cost), "{variant}");
    }
}
