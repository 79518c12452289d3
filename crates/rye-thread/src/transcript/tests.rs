//! Transcripts that are opened to append to them.

use rye_sign::{PublicKey, SigningKey};
use rye_types::LimitSet;
use serde_json::Value;

use super::payload::{Said, ThreadStart};
use super::*;
use crate::ProviderInfo;
use crate::store::MemoryStore;

const AT: Moment = Moment::from_unix_millis(1_795_197_600_250);

fn thread() -> ThreadId {
    ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001").unwrap()
}

fn start(key: &SigningKey) -> Event {
    let model = ProviderInfo::new("p", "m", 1_000, 100);
    let pem = key.public().to_pem();
    Event::ThreadStart(ThreadStart {
        palette: [("a_b".to_owned(), "a/b".to_owned())].into(),
        ..ThreadStart::new(&model, LimitSet::default(), thread(), AT, pem)
    })
}

fn create(store: &Arc<MemoryStore>, thread: &ThreadId) -> Transcript {
    let ownership = store.acquire(thread, thread).unwrap();
    Transcript::create(Arc::clone(store) as _, ownership, "greet/hello").unwrap()
}

/// Returns a record of each kind of event, from the transcript that the tests of `rye-transcript` write.
pub(crate) fn recorded() -> Vec<Record> {
    let lines = include_bytes!("every_event.jsonl");
    let first: Value =
        serde_json::from_slice(lines.split(|it| *it == b'\n').next().unwrap()).unwrap();
    let key = PublicKey::from_pem(first["payload"]["signed_by"].as_str().unwrap()).unwrap();
    let records = read(lines, &thread(), &[key]).unwrap().records;
    for kind in EventKind::ALL {
        assert!(records.iter().any(|record| record.kind == *kind), "{kind:?}");
    }
    records
}

fn user(text: &str) -> Event {
    Event::UserMessage(Said { text: text.to_owned() })
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
        transcript.append(&start(&key), AT).unwrap();
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

    /// Returns the offset of a line.
    fn offset(&self, line: usize) -> usize {
        self.text().lines().take(line).map(|line| line.len() + 1).sum()
    }
}

/// Returns the number of whole records of [`Written`] that count. Before the first checkpoint, none counts.
fn begun(whole: usize) -> usize {
    if whole < 3 { 0 } else { whole }
}

#[test]
fn nothing_is_appended_to_a_transcript_that_is_there() {
    let written = Written::new();
    let store = Arc::clone(&written.store);
    drop(written.transcript);
    let ownership = store.acquire(&thread(), &thread()).unwrap();
    let error = Transcript::create(store, ownership, "greet/hello").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("thread `{}` has a transcript already; every run is a new thread", thread())
    );
}

/// Opens a transcript of these bytes.
fn opened(bytes: &[u8], key: &SigningKey) -> (Arc<MemoryStore>, Result<Reading, String>) {
    let store = Arc::new(MemoryStore::new());
    let ownership = store.acquire(&thread(), &thread()).unwrap();
    store.append(&ownership, bytes).unwrap();
    let keys = [key.public()];
    let opened = Transcript::open(Arc::clone(&store) as _, ownership, "greet/hello", &keys, None);
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

/// A transcript that is cut anywhere continues after its last whole record.
#[test]
fn half_a_record_at_the_end_is_cut_off() {
    let written = Written::new();
    let text = written.text();
    let mut cuts: Vec<usize> = (0..=text.len()).filter(|cut| cut % 37 == 0).collect();
    cuts.extend((0..7).flat_map(|line| [written.offset(line), written.offset(line) + 1]));
    for cut in cuts.into_iter().filter(|cut| *cut <= text.len()) {
        let (store, reading) = opened(&text.as_bytes()[..cut], &written.key);
        let reading = reading.unwrap();
        let whole = begun(text[..cut].matches('\n').count());
        assert_eq!(reading.torn.is_some(), written.offset(whole) != cut, "cut at {cut}");
        let after = String::from_utf8(store.journal(&thread()).unwrap()).unwrap();
        if 0 < whole {
            let again = written.read(&after).unwrap();
            assert_eq!((again.records.len(), again.torn), (whole + 2, None), "cut at {cut}");
        }
    }
}

/// A thread that ended has its end on record.
#[test]
fn a_transcript_ends_where_it_is_said() {
    let written = Written::new();
    let records = written.transcript.records();
    let head = written.transcript.head().to_string();
    let end = TranscriptClaim::new(records, head.clone(), false);
    let text = written.text();
    let longer = TranscriptClaim::new(records + 1, head, false);
    for (bytes, end, is_fine) in [
        (text.clone(), &end, true),
        (text.clone(), &longer, false),
        (text[..written.offset(5)].to_owned(), &end, false),
        (format!("{text}{{"), &end, false),
    ] {
        let store = Arc::new(MemoryStore::new());
        let ownership = store.acquire(&thread(), &thread()).unwrap();
        store.append(&ownership, bytes.as_bytes()).unwrap();
        let keys = [written.key.public()];
        let kept = Arc::clone(&store);
        let opened = Transcript::open(kept, ownership, "greet/hello", &keys, Some(end));
        assert_eq!(opened.is_ok(), is_fine, "{bytes}");
        assert_eq!(store.journal(&thread()).unwrap(), bytes.as_bytes());
    }
}

/// What the event means is known to the program that recorded it, unless it says that nothing depends on it.
#[test]
fn nothing_is_appended_behind_an_event_of_a_newer_version() {
    let written = Written::new();
    for (ignorable, is_opened) in [("", false), (r#","ignorable":true"#, true)] {
        let mut lines: Vec<String> = written.text().lines().map(str::to_owned).collect();
        let dream = format!(r#""event":"dream"{ignorable}"#);
        let last = lines.last_mut().unwrap();
        *last = last.replace(r#""event":"user_message""#, &dream);
        let bytes = (lines.join("\n") + "\n").into_bytes();
        let (store, reading) = opened(&bytes, &written.key);
        let error = reading.map(|_| ()).err().map(|error| error.to_string());
        let told = "cannot be used: this version knows no event `dream`";
        assert_eq!(error.is_none(), is_opened, "{error:?}");
        assert!(error.is_none_or(|error| error.contains(told)));
        assert_eq!(store.journal(&thread()).unwrap() == bytes, !is_opened, "what is refused stays");
    }
}

/// Edited, swapped, dropped, doubled and foreign records are located, and nothing is appended.
#[test]
fn nothing_is_appended_after_damage() {
    let written = Written::new();
    let other = SigningKey::generate().unwrap();
    let foreign = {
        let store = Arc::new(MemoryStore::new());
        let mut transcript = create(&store, &thread());
        transcript.append(&start(&other), AT).unwrap();
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
fn a_failed_write_ends_the_transcript() {
    let store = Arc::new(MemoryStore::new());
    let mut transcript = create(&store, &thread());
    let key = SigningKey::generate().unwrap();
    store.release(&Ownership::new(thread(), thread(), 1));
    assert_eq!(
        transcript.append(&start(&key), AT).unwrap_err().to_string(),
        format!("cannot write the transcript of `{}`", thread())
    );
    let broken = format!(
        "the transcript of `{}` is not continued after a write that failed; resume the thread",
        thread()
    );
    assert_eq!(transcript.append(&start(&key), AT).unwrap_err().to_string(), broken);
    assert_eq!(transcript.sync().unwrap_err().to_string(), broken);
    assert_eq!((transcript.records(), transcript.head()), (0, &Head::genesis()));
}

/// A power loss may take the last record, which is written and not synced.
#[test]
fn rule_02_a_claim_holds_only_what_is_synced() {
    let mut written = Written::new();
    let claim = written.transcript.claim();
    assert_eq!((claim.records, claim.is_open), (5, true));
    written.transcript.sync().unwrap();
    let claim = written.transcript.claim();
    assert_eq!((claim.records, claim.is_open), (6, false));
}
