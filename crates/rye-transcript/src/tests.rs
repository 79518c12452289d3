//! Transcripts that are written and read in memory.

use std::fs;
use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use rye_sign::SigningKey;
use rye_sign::chain::{Head, sign_checkpoint};
use rye_types::{LimitSet, Moment, Nanos};
use serde_json::json;

use super::*;
use crate::payload::{Said, SignedHead, ThreadResumed, ThreadStart};
use crate::{ProviderInfo, ToolResult};

mod approvals;
mod damage;
mod ends;
pub(crate) mod events;
mod failures;
mod files;
mod generated;
mod messages;
mod money;
mod readable;
mod samples;
#[cfg(feature = "schema")]
mod schemas;
mod signing;

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

/// A transcript in memory, without any owner.
struct Transcript {
    thread: ThreadId,
    lines: Vec<u8>,
    head: Head,
    records: u64,
    /// The time of the next record.
    at: Moment,
    /// The wait for an approval before the next record.
    approval_wait_millis: u64,
}

impl Transcript {
    fn new(thread: &ThreadId) -> Self {
        let (thread, head) = (thread.clone(), Head::genesis());
        Self { thread, lines: Vec::new(), head, records: 0, at: AT, approval_wait_millis: 0 }
    }

    fn append(&mut self, event: &Event) {
        let start = self.lines.len();
        let record = NewRecord {
            seq: self.records,
            prev: self.head,
            at: self.at,
            approval_wait_millis: self.approval_wait_millis,
            thread: &self.thread,
            directive: "greet/hello",
            event,
        };
        record.write(&mut self.lines);
        self.head = self.head.link(&self.lines[start..]);
        self.records += 1;
        self.lines.push(b'\n');
    }

    /// Appends a record with another payload, as another program could.
    fn append_with(&mut self, event: &Event, payload: &str) {
        self.append_changed(event, event.payload().get(), payload);
    }

    /// Appends a record with `to` in place of `from`, as another program could.
    fn append_changed(&mut self, event: &Event, from: &str, to: &str) {
        let start = self.lines.len();
        self.append(event);
        let line = String::from_utf8(self.lines.split_off(start)).unwrap();
        let line = line.replacen(from, to, 1);
        assert!(line.contains(to), "{line}");
        let prev = line.split(r#""prev":""#).nth(1).unwrap().split('"').next().unwrap();
        self.head = prev.parse::<Head>().unwrap().link(line.trim_end().as_bytes());
        self.lines.extend(line.as_bytes());
    }

    fn checkpoint(&mut self, key: &SigningKey) {
        let thread = self.thread.as_str();
        let checkpoint = sign_checkpoint(&self.head, self.records, thread, key).unwrap();
        self.append(&Event::Checkpoint(SignedHead(checkpoint.to_json())));
    }

    fn text(&self) -> String {
        String::from_utf8(self.lines.clone()).unwrap()
    }
}

/// The key of threads whose signatures are not the subject of a test. It is the one of the examples.
static KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::from_pkcs8_pem(include_str!("tests/key.pem")).unwrap());

/// Returns the transcript of [`thread`] with these events, each with the checkpoint that it needs.
fn told(events: &[Event]) -> Reading {
    let mut transcript = Transcript::new(&thread());
    transcript.tell(events);
    transcript.reading()
}

impl Transcript {
    /// Appends the events, each with the checkpoint that it needs.
    fn tell(&mut self, events: &[Event]) {
        for event in events {
            self.append(event);
            if event.kind().needs_checkpoint() {
                self.checkpoint(&KEY);
            }
        }
    }

    /// Appends an event of a newer version.
    fn tell_newer(&mut self, event: &str, members: &str) {
        let known = r#""event":"user_message","payload":{"text":"x"}"#;
        self.append_changed(
            &user("x"),
            known,
            &format!(r#""event":"{event}","payload":{{}}{members}"#),
        );
    }

    fn reading(&self) -> Reading {
        read(&self.lines, &self.thread, &[KEY.public()]).unwrap()
    }
}

fn user(text: &str) -> Event {
    Event::UserMessage(Said::new(text))
}

fn resumed(key: &SigningKey, limits: Option<LimitSet>) -> Event {
    Event::ThreadResumed(ThreadResumed {
        opening: 2,
        cut_bytes: 0,
        facts: serde_json::Map::new(),
        cost: Nanos::ZERO,
        elapsed: Duration::ZERO,
        signed_by: key.public().to_pem(),
        limits,
    })
}

/// Six records: start, text, checkpoint, text, checkpoint, text.
struct Written {
    key: SigningKey,
    transcript: Transcript,
}

impl Written {
    fn new() -> Self {
        let key = SigningKey::generate().unwrap();
        let mut transcript = Transcript::new(&thread());
        transcript.append(&start(&key));
        transcript.append(&user("one\nline"));
        transcript.checkpoint(&key);
        transcript.append(&user("two"));
        transcript.checkpoint(&key);
        transcript.append(&user("three"));
        Self { key, transcript }
    }

    fn text(&self) -> String {
        self.transcript.text()
    }

    fn read(&self, text: &str) -> Result<Reading, String> {
        read(text.as_bytes(), &thread(), &[self.key.public()]).map_err(|damage| {
            let cause = std::error::Error::source(&damage).map(|cause| format!(": {cause}"));
            format!("{damage}{}", cause.unwrap_or_default())
        })
    }

    /// Changes the lines and reads them.
    #[track_caller]
    fn check(&self, change: impl FnOnce(&mut Vec<String>), expected: &str) {
        let mut lines: Vec<String> = self.text().lines().map(str::to_owned).collect();
        change(&mut lines);
        let error = self.read(&(lines.join("\n") + "\n")).unwrap_err();
        assert_eq!(error, expected);
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
fn is_read_as_it_was_written() {
    let written = Written::new();
    let reading = written.read(&written.text()).unwrap();
    let events: Vec<&str> = reading.records.iter().map(|record| record.name()).collect();
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
        (&written.transcript.head, 4, &None)
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
            r#"{{"seq":0,"ts":"2026-11-20T18:00:00.250Z","thread_id":"{}","directive":"greet/hello","event":"thread_start","payload":{{"format":"rye-transcript","version":2,"provider":"p","model":"m","nanos_per_million_tokens":null,"limits":{{"turns":10,"tokens":200000,"spend_nanos":{{"at_most":500000000}},"duration_seconds":600,"spawns":10,"depth":5}},"tools":[],"palette":{{"a_b":"a/b"}},"facts":{{}},"root":"{}","created":"2026-11-20T18:00:00.250Z","signed_by":{}}},"prev":"{prev}"}}"#,
            thread(),
            thread(),
            json!(written.key.public().to_pem()),
        )
    );
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

proptest! {
    /// No bytes make the reader panic, and every changed byte before the last checkpoint is detected.
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
