//! Transcripts: any bytes are read or refused at a place, and a chain that holds breaks when a byte of it changes.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rye_sign::chain::Head;
use rye_transcript::{EventKind, Reading, ThreadId, read};

static THREAD: LazyLock<ThreadId> = LazyLock::new(|| {
    ThreadId::new("index", "0199a3f0-0000-7000-8000-000000000000").expect("an id that is one")
});

fuzz_target!(|input: &[u8]| {
    check(input);
    let Some((&place, payloads)) = input.split_first() else { return };
    let bytes = chained(payloads);
    if let Some(reading) = check(&bytes) {
        assert!(reading.torn.is_none(), "every line has its end");
        check_edit(bytes, usize::from(place));
    }
});

/// Reads the bytes, and holds the answer against them.
fn check(bytes: &[u8]) -> Option<Reading> {
    match read(bytes, &THREAD, &[]) {
        Ok(reading) => {
            let torn = reading.torn.as_ref().map_or(0, |torn| {
                assert_eq!(torn.end, bytes.len(), "only the last line can be torn");
                torn.len()
            });
            let whole = bytes.get(..bytes.len() - torn).expect("a torn line is of the bytes");
            let again = read(whole, &THREAD, &[]).expect("what was read is whole");
            assert_eq!((again.head, again.torn), (reading.head, None));
            assert_eq!(reading.signed, 0, "no key is trusted");
            Some(reading)
        }
        Err(damage) => {
            let place = bytes.get(damage.bytes.clone()).expect("damage is at a place of the bytes");
            assert!(place.ends_with(b"\n"), "a line without its end is torn, not damaged");
            None
        }
    }
}

/// A transcript whose payloads are the lines of the input, with the hashes that belong to them.
fn chained(payloads: &[u8]) -> Vec<u8> {
    let (mut head, mut bytes) = (Head::genesis(), Vec::new());
    let start: &[u8] = br#"{"format":"rye-transcript","version":1}"#;
    for (seq, payload) in
        std::iter::once(start).chain(payloads.split(|byte| *byte == b'\n')).enumerate()
    {
        let kind = if seq == 0 { EventKind::ThreadStart } else { EventKind::UserMessage };
        let event = kind.name();
        let mut line = format!(
            r#"{{"seq":{seq},"ts":"2026-11-20T18:00:00.000Z","thread_id":"{}","directive":"a","event":"{event}","prev":"{head}","payload":"#,
            *THREAD
        )
        .into_bytes();
        line.extend_from_slice(payload);
        line.push(b'}');
        head = head.link(&line);
        bytes.extend_from_slice(&line);
        bytes.push(b'\n');
    }
    bytes
}

/// Any change before the last record is seen at once, and one in it changes the head.
fn check_edit(mut bytes: Vec<u8>, place: usize) {
    let head = read(&bytes, &THREAD, &[]).expect("it was read before").head;
    let place = place % bytes.len();
    let Some(byte) = bytes.get_mut(place) else { return };
    *byte ^= 1;
    if let Ok(reading) = read(&bytes, &THREAD, &[]) {
        assert_ne!(reading.head, head, "an edit at byte {place} is not seen");
    }
}
