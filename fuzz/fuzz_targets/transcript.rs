//! Transcripts: any bytes are read or refused at a place, what decides is read, and a chain that holds breaks when a byte of it
//! changes.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rye_sign::SigningKey;
use rye_sign::chain::{Head, sign_checkpoint};
use rye_transcript::payload::{SignedHead, ThreadStart};
use rye_transcript::{Event, EventKind, NewRecord, ProviderInfo, Reading, ThreadId, read};
use rye_types::{LimitSet, Moment};

static THREAD: LazyLock<ThreadId> = LazyLock::new(|| {
    ThreadId::new("index", "0199a3f0-0000-7000-8000-000000000000").expect("an id that is one")
});

/// It is public. It is the same in each process, so that a finding can be repeated.
static KEY: LazyLock<SigningKey> = LazyLock::new(|| {
    let pem = include_str!("../../examples/keys/example-signing-key.pem");
    SigningKey::from_pkcs8_pem(pem).expect("a key that is one")
});

const AT: Moment = Moment::from_unix_millis(1_795_197_600_250);

fuzz_target!(|input: &[u8]| {
    check(input);
    let Some((&place, lines)) = input.split_first() else { return };
    let bytes = Chained::of(lines);
    if let Some(reading) = check(&bytes) {
        assert!(reading.torn.is_none(), "every line has its end, and a checkpoint is the last");
        check_edit(bytes, usize::from(place));
    }
});

/// Reads the bytes, and holds the answer against them.
fn check(bytes: &[u8]) -> Option<Reading> {
    match read(bytes, &THREAD, &[KEY.public()]) {
        Ok(reading) => {
            let torn = reading.torn.as_ref().map_or(0, |torn| {
                assert_eq!(torn.end, bytes.len(), "only the last lines can be torn");
                torn.len()
            });
            let whole = bytes.get(..bytes.len() - torn).expect("torn lines are of the bytes");
            let again = read(whole, &THREAD, &[KEY.public()]).expect("what was read is whole");
            assert_eq!((again.head, again.torn), (reading.head, None));
            for (record, event) in reading.events() {
                let is_read = event.is_ok() || !record.kind.decides() || has_content(record.kind);
                assert!(is_read, "record {} decides something and cannot be read", record.seq);
            }
            Some(reading)
        }
        Err(damage) => {
            let place = bytes.get(damage.bytes.clone()).expect("damage is at a place of the bytes");
            assert!(place.ends_with(b"\n"), "a line without its end is torn, not damaged");
            None
        }
    }
}

/// Returns `true` if an event has a long member that decides nothing, which may be unreadable for itself.
const fn has_content(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::HookTriggered
            | EventKind::StepFinish
            | EventKind::ToolCallResult
            | EventKind::ToolCallStart
    )
}

/// A transcript in which a beginning, its checkpoint, the lines of the input and a last checkpoint follow each other.
///
/// The first byte of a line chooses the kind, and the rest is the payload.
struct Chained {
    head: Head,
    records: u64,
    bytes: Vec<u8>,
}

impl Chained {
    fn of(lines: &[u8]) -> Vec<u8> {
        let mut chained = Self { head: Head::genesis(), records: 0, bytes: Vec::new() };
        let model = ProviderInfo::new("p", "m", 1_000, 100);
        let pem = KEY.public().to_pem();
        chained.write(&Event::ThreadStart(ThreadStart::new(
            &model,
            LimitSet::default(),
            THREAD.clone(),
            AT,
            pem,
        )));
        chained.sign();
        for line in lines.split(|byte| *byte == b'\n') {
            let Some((&kind, payload)) = line.split_first() else { continue };
            let kind = EventKind::ALL.get(usize::from(kind) % (EventKind::ALL.len() + 1));
            chained.write_raw(kind.map_or("dream", |kind| kind.name()), payload);
        }
        chained.sign();
        chained.bytes
    }

    fn write(&mut self, event: &Event) {
        let mut line = Vec::new();
        let record = NewRecord {
            seq: self.records,
            prev: self.head,
            at: AT,
            approval_wait_millis: 0,
            thread: &THREAD,
            directive: "index",
            event,
        };
        record.write(&mut line);
        self.push(&line);
    }

    fn write_raw(&mut self, event: &str, payload: &[u8]) {
        let Self { head, records, .. } = self;
        let mut line = format!(
            r#"{{"seq":{records},"ts":"{AT}","thread_id":"{}","directive":"index","event":"{event}","prev":"{head}","payload":"#,
            *THREAD
        )
        .into_bytes();
        line.extend_from_slice(payload);
        line.push(b'}');
        self.push(&line);
    }

    fn sign(&mut self) {
        let checkpoint = sign_checkpoint(&self.head, self.records, THREAD.as_str(), &KEY);
        let checkpoint = checkpoint.expect("a thread's name can be signed");
        self.write(&Event::Checkpoint(SignedHead(checkpoint.to_json())));
    }

    fn push(&mut self, line: &[u8]) {
        self.head = self.head.link(line);
        self.records += 1;
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
    }
}

/// Any change before the last record is seen at once, and one in it changes the head.
fn check_edit(mut bytes: Vec<u8>, place: usize) {
    let keys = [KEY.public()];
    let head = read(&bytes, &THREAD, &keys).expect("it was read before").head;
    let place = place * 251 % bytes.len();
    let Some(byte) = bytes.get_mut(place) else { return };
    *byte ^= 1;
    if let Ok(reading) = read(&bytes, &THREAD, &keys) {
        assert_ne!(reading.head, head, "an edit at byte {place} is not seen");
    }
}
