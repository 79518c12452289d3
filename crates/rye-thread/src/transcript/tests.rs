use std::fs;
use std::sync::LazyLock;

use proptest::prelude::*;
use rye_sign::SigningKey;
use serde_json::json;

use super::*;
use crate::store::{Claim, MemoryStore};
use crate::{Limits, ProviderInfo, ToolResult};

pub(crate) mod events;

const AT: Moment = Moment::from_unix_millis(1_795_197_600_250);

fn thread() -> ThreadId {
    ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001").unwrap()
}

fn start() -> Event {
    Event::ThreadStart {
        provider: ProviderInfo::new("p", "m", 1_000, 100),
        limits: Limits::default(),
        tools: Vec::new(),
        palette: [("a_b".to_owned(), "a/b".to_owned())].into(),
        facts: serde_json::Map::new(),
    }
}

fn claim() -> Claim {
    Claim::new("a", AT, Moment::from_unix_millis(AT.as_unix_millis() + 1_000))
}

fn create(store: &Arc<MemoryStore>, thread: &ThreadId) -> Transcript {
    let lease = store.acquire(thread, &claim()).unwrap();
    Transcript::create(Arc::clone(store) as _, lease, "greet/hello").unwrap()
}

fn user(text: &str) -> Event {
    Event::UserMessage { text: text.to_owned() }
}

/// Six records: start, text, checkpoint, text, checkpoint, text.
struct Written {
    store: Arc<MemoryStore>,
    key: SigningKey,
    transcript: Transcript,
}

impl Written {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        let key = SigningKey::generate().unwrap();
        let mut transcript = create(&store, &thread());
        transcript.append(&start(), AT).unwrap();
        transcript.append(&user("one\nline"), AT).unwrap();
        transcript.checkpoint(&key, AT).unwrap();
        transcript.append(&user("two"), AT).unwrap();
        transcript.checkpoint(&key, AT).unwrap();
        transcript.append(&user("three"), AT).unwrap();
        Self { store, key, transcript }
    }

    fn text(&self) -> String {
        String::from_utf8(self.store.journal(&thread()).unwrap()).unwrap()
    }

    fn read(&self, text: &str) -> Result<Reading, String> {
        read(text.as_bytes(), &thread(), &[self.key.public()]).map_err(|damage| {
            let cause = std::error::Error::source(&damage).map(|cause| format!(": {cause}"));
            format!("{damage}{}", cause.unwrap_or_default())
        })
    }

    /// Changes the lines and reads.
    #[track_caller]
    fn check(&self, change: impl FnOnce(&mut Vec<String>), expected: &str) {
        let mut lines: Vec<String> = self.text().lines().map(str::to_owned).collect();
        change(&mut lines);
        let error = self.read(&(lines.join("\n") + "\n")).unwrap_err();
        assert_eq!(error, expected);
    }

    /// Where a line begins.
    fn offset(&self, line: usize) -> usize {
        self.text().lines().take(line).map(|line| line.len() + 1).sum()
    }
}

#[test]
fn is_read_as_it_was_written() {
    let written = Written::new();
    let reading = written.read(&written.text()).unwrap();
    let events: Vec<&str> = reading.records.iter().map(|record| record.event.as_str()).collect();
    assert_eq!(
        events,
        [
            "thread_start",
            "user_message",
            "checkpoint",
            "user_message",
            "checkpoint",
            "user_message"
        ]
    );
    assert_eq!(
        (&reading.head, reading.signed, &reading.torn),
        (written.transcript.head(), 4, &None)
    );
    assert_eq!(reading.records[1].payload.get(), r#"{"text":"one\nline"}"#);
    assert_eq!(reading.records[1].at, AT);
    assert_eq!(reading.records[1].directive, "greet/hello");
}

#[test]
fn the_first_record_names_the_format() {
    let written = Written::new();
    let first = written.text().lines().next().unwrap().to_owned();
    let prev = Head::genesis();
    assert_eq!(
        first,
        format!(
            r#"{{"seq":0,"ts":"2026-11-20T18:00:00.250Z","thread_id":"{}","directive":"greet/hello","event":"thread_start","payload":{{"format":"rye-transcript","version":1,"provider":"p","model":"m","nanos_per_million_tokens":null,"limits":{{"turns":10,"tokens":200000,"spend_nanos":{{"at_most":500000000}},"duration_seconds":600,"spawns":10,"depth":5}},"tools":[],"palette":{{"a_b":"a/b"}},"facts":{{}}}},"prev":"{prev}"}}"#,
            thread(),
        )
    );
}

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
    let store = Arc::new(MemoryStore::new());
    let mut forged = create(&store, &thread());
    forged.append(&start(), AT).unwrap();
    forged.append(&user("else"), AT).unwrap();
    forged.checkpoint(&other, AT).unwrap();
    let text = String::from_utf8(store.journal(&thread()).unwrap()).unwrap();
    let offset: usize = text.lines().take(2).map(|line| line.len() + 1).sum();
    let key_id = other.public().key_id().to_string();
    assert_eq!(
        written.read(&text).unwrap_err(),
        format!(
            "record 2 at byte {offset}: its checkpoint is not valid: the checkpoint is signed by the key `{key_id}`, \
             which may not sign logs here; verify with the key that wrote the log"
        )
    );
    // The same key that signed something else.
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
            "record 3 at byte {offset}: it is no record: missing field `seq` at line 1 column 2"
        ),
    );
    written.check(
        |lines| lines[3].clear(),
        &format!("record 3 at byte {offset}: it is no record: EOF while parsing a value at line 1 column 0"),
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

#[test]
fn another_format_is_refused() {
    let written = Written::new();
    let message = "record 0 at byte 0: it does not begin a transcript of version 1";
    written.check(|lines| lines[0] = lines[0].replace(r#""version":1"#, r#""version":2"#), message);
    written.check(|lines| lines[0] = lines[0].replace("thread_start", "user_message"), message);
}

/// Cut at or next to every line end, and at some places between: whole records are kept, the rest of a line is told apart, and nothing else is reported.
#[test]
fn a_cut_leaves_the_records_before_it() {
    let written = Written::new();
    let text = written.text();
    let is_near_an_end = |cut: usize| (0..7).any(|line| written.offset(line).abs_diff(cut) < 3);
    for cut in (0..=text.len()).filter(|cut| is_near_an_end(*cut) || cut % 61 == 0) {
        let reading = written.read(&text[..cut]).unwrap();
        let whole = text[..cut].matches('\n').count();
        assert_eq!(reading.records.len(), whole, "cut at {cut}");
        let kept = written.offset(whole);
        assert_eq!(reading.torn, (kept != cut).then_some(kept..cut), "cut at {cut}");
    }
}

#[test]
fn nothing_is_appended_to_a_transcript_that_is_there() {
    let written = Written::new();
    let store = Arc::clone(&written.store);
    drop(written.transcript);
    let lease = store.acquire(&thread(), &claim()).unwrap();
    let error = Transcript::create(store, lease, "greet/hello").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("thread `{}` has a transcript already; every run is a new thread", thread())
    );
}

/// A transcript of these bytes, opened to go on.
fn opened(bytes: &[u8], key: &SigningKey) -> (Arc<MemoryStore>, Result<Reading, String>) {
    let store = Arc::new(MemoryStore::new());
    let lease = store.acquire(&thread(), &claim()).unwrap();
    store.append(&lease, bytes).unwrap();
    let keys = [key.public()];
    let opened = Transcript::open(Arc::clone(&store) as _, lease, "greet/hello", &keys, None);
    let reading = opened.map(|(mut transcript, reading)| {
        transcript.append(&user("more"), AT).unwrap();
        transcript.checkpoint(key, AT).unwrap();
        reading
    });
    let reading = reading.map_err(|error| {
        format!(
            "{error}: {}",
            std::error::Error::source(&error).map_or_else(String::new, ToString::to_string)
        )
    });
    (store, reading)
}

/// Cut anywhere, it goes on after its last whole record.
#[test]
fn half_a_record_at_the_end_is_cut_off() {
    let written = Written::new();
    let text = written.text();
    let mut cuts: Vec<usize> = (0..=text.len()).filter(|cut| cut % 37 == 0).collect();
    cuts.extend((0..7).flat_map(|line| [written.offset(line), written.offset(line) + 1]));
    for cut in cuts.into_iter().filter(|cut| *cut <= text.len()) {
        let (store, reading) = opened(&text.as_bytes()[..cut], &written.key);
        let (reading, whole) = (reading.unwrap(), text[..cut].matches('\n').count());
        assert_eq!(reading.torn.is_some(), written.offset(whole) != cut, "cut at {cut}");
        let after = String::from_utf8(store.journal(&thread()).unwrap()).unwrap();
        if 0 < whole {
            let again = written.read(&after).unwrap();
            assert_eq!((again.records.len(), again.torn), (whole + 2, None), "cut at {cut}");
        }
    }
}

/// What ended has an end, which is on record.
#[test]
fn a_transcript_ends_where_it_is_said() {
    let written = Written::new();
    let end = (written.transcript.records(), written.transcript.head().to_string());
    let text = written.text();
    let longer = (end.0 + 1, end.1.clone());
    for (bytes, end, is_fine) in [
        (text.clone(), &end, true),
        (text.clone(), &longer, false),
        (text[..written.offset(5)].to_owned(), &end, false),
        (format!("{text}{{"), &end, false),
    ] {
        let store = Arc::new(MemoryStore::new());
        let lease = store.acquire(&thread(), &claim()).unwrap();
        store.append(&lease, bytes.as_bytes()).unwrap();
        let (keys, kept) = ([written.key.public()], Arc::clone(&store));
        let opened = Transcript::open(kept, lease, "greet/hello", &keys, Some(end));
        assert_eq!(opened.is_ok(), is_fine, "{bytes}");
        assert_eq!(store.journal(&thread()).unwrap(), bytes.as_bytes());
    }
}

/// Edited, swapped, dropped, doubled, from elsewhere: located, and nothing is added.
#[test]
fn nothing_is_appended_after_damage() {
    let written = Written::new();
    let other = SigningKey::generate().unwrap();
    let foreign = {
        let store = Arc::new(MemoryStore::new());
        let mut transcript = create(&store, &thread());
        transcript.append(&start(), AT).unwrap();
        transcript.append(&user("one\nline"), AT).unwrap();
        transcript.checkpoint(&other, AT).unwrap();
        String::from_utf8(store.journal(&thread()).unwrap()).unwrap()
    };
    let foreign: Vec<String> = foreign.lines().map(str::to_owned).collect();
    type Change<'a> = Box<dyn Fn(&mut Vec<String>) + 'a>;
    let rows: Vec<(&str, Change<'_>, usize)> = vec![
        ("edited", Box::new(|lines| lines[1] = lines[1].replace("one", "two")), 2),
        ("swapped", Box::new(|lines| lines.swap(1, 3)), 1),
        ("dropped", Box::new(|lines| drop(lines.remove(3))), 3),
        ("doubled", Box::new(|lines| lines.insert(3, lines[3].clone())), 4),
        ("foreign checkpoint", Box::new(|lines| lines[2].clone_from(&foreign[2])), 2),
        ("another beginning", Box::new(|lines| lines[..3].clone_from_slice(&foreign)), 2),
        ("half a record inside", Box::new(|lines| lines[3].truncate(20)), 3),
    ];
    for (name, change, place) in rows {
        let mut lines: Vec<String> = written.text().lines().map(str::to_owned).collect();
        change(&mut lines);
        let bytes = (lines.join("\n") + "\n").into_bytes();
        let (store, reading) = opened(&bytes, &written.key);
        let offset: usize = lines.iter().take(place).map(|line| line.len() + 1).sum();
        let begins = format!(
            "the transcript of `{}` is damaged; nothing is added to it: record {place} at byte {offset}: ",
            thread()
        );
        let error = reading.unwrap_err();
        assert!(error.starts_with(&begins), "{name}: {error}");
        assert_eq!(store.journal(&thread()).unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_file_is_read_like_its_bytes() {
    let written = Written::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("transcript.jsonl");
    let keys = [written.key.public()];
    fs::write(&path, written.text()).unwrap();
    assert_eq!(read_file(&path, &thread(), &keys).unwrap().records.len(), 6);
    fs::write(&path, written.text().replace("two", "2")).unwrap();
    let error = read_file(&path, &thread(), &keys).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("transcript `{}` is damaged; do not resume from it", path.display())
    );
    let missing = folder.path().join("missing");
    let error = read_file(&missing, &thread(), &keys).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read the transcript `{}`", missing.display()));
}

#[test]
fn a_failed_write_ends_the_transcript() {
    let store = Arc::new(MemoryStore::new());
    let mut transcript = create(&store, &thread());
    let taken_over = Claim::new("b", AT, AT);
    drop(
        store.acquire(&thread(), &Claim { now: Moment::from_unix_millis(i64::MAX), ..taken_over }),
    );
    assert_eq!(
        transcript.append(&start(), AT).unwrap_err().to_string(),
        format!("the transcript of `{}` cannot be kept", thread())
    );
    let broken = format!(
        "the transcript of `{}` is not continued after a write that failed; resume the thread",
        thread()
    );
    assert_eq!(transcript.append(&start(), AT).unwrap_err().to_string(), broken);
    assert_eq!(transcript.sync().unwrap_err().to_string(), broken);
    assert_eq!((transcript.records(), transcript.head()), (0, &Head::genesis()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// No bytes make the reader panic, and one changed byte never goes unseen below the last checkpoint.
    #[test]
    fn any_changed_byte_is_seen(at in 0..10_000usize, to in any::<u8>()) {
        static WRITTEN: LazyLock<Written> = LazyLock::new(Written::new);
        let written = &*WRITTEN;
        let mut bytes = written.text().into_bytes();
        let signed = written.offset(5);
        let at = at % bytes.len();
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        let reading = read(&bytes, &thread(), &[written.key.public()]);
        if at < signed {
            prop_assert!(reading.is_err(), "byte {at} became {to}");
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(read(&bytes, &thread(), &[]));
    }
}

#[track_caller]
fn check_markdown(event: &Event, expected: &str) {
    assert_eq!(markdown(event, AT), expected);
}

#[test]
fn markdown_is_for_reading() {
    check_markdown(&start(), "# Thread\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n");
    check_markdown(&Event::AssistantText { text: "Hi.\n".to_owned() }, "## Assistant\n\nHi.\n\n");
    check_markdown(
        &Event::AssistantReasoning { text: "a\nb".to_owned() },
        "## Reasoning\n\n> a\n> b\n\n",
    );
    let call = crate::ToolCall::new("1", "a_b", json!({"x": 1}));
    let start = Event::ToolCallStart {
        call_id: "1".to_owned(),
        name: "a_b".to_owned(),
        arguments: json!({"x": 1}),
        target: None,
    };
    check_markdown(&start, "## Call: `a_b`\n\n```json\n{\n  \"x\": 1\n}\n```\n\n");
    let result = Event::ToolCallResult {
        result: ToolResult::error(&call, json!("no")),
        refusal: None,
        limit: None,
    };
    check_markdown(&result, "## Failed: `a_b`\n\n```json\nno\n```\n\n");
}

#[test]
fn no_text_closes_its_fence() {
    check_markdown(
        &user("```\n# Not a heading\n````"),
        "## User\n\n`````\n```\n# Not a heading\n````\n`````\n\n",
    );
}
