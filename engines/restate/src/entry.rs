//! A change of a transcript, as far as the queue reads its records.

use serde::Deserialize;

use crate::activity::Note;
use crate::records::Change;

/// The extent of a transcript.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    pub bytes: u64,
    /// The number of whole records.
    pub records: u64,
}

impl Extent {
    /// Returns the extent of this text.
    pub fn of(text: &str) -> Self {
        let records = text.bytes().filter(|byte| *byte == b'\n').count();
        Self { bytes: text.len() as u64, records: records as u64 }
    }
}

/// A change with the meaning of its records.
#[derive(Debug)]
pub struct Entry {
    pub change: Change,
    pub notes: Vec<Note>,
}

impl Entry {
    /// Returns `true` if a request to a model follows the records.
    pub fn is_request(&self) -> bool {
        self.notes.contains(&Note::Asks)
    }
}

/// The number of a record in its transcript.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

/// Returns the number of the first record.
pub fn number(text: &str) -> Option<u64> {
    let line = text.lines().next()?;
    serde_json::from_str(line).ok().map(|Numbered { seq }| seq)
}

/// Divides a change before the first record of a request.
pub fn entries_of(mut change: Change) -> Vec<Entry> {
    let mut notes = Vec::new();
    let mut length = 0;
    let mut request = None;
    for line in change.text.split_inclusive('\n') {
        let note = Note::of(line);
        if note == Some(Note::Asks) && request.is_none() {
            request = Some((length, notes.len()));
        }
        length += line.len();
        notes.extend(note);
    }
    let Some((length @ 1.., number)) = request else { return vec![Entry { change, notes }] };
    let after = Entry { change: split(&mut change, length), notes: notes.split_off(number) };
    vec![Entry { change, notes }, after]
}

/// Splits a change after at most so many bytes, and returns the rest.
pub fn split(change: &mut Change, most: usize) -> Change {
    let end = (0..=most).rev().find(|end| change.text.is_char_boundary(*end)).unwrap_or(0);
    let text = change.text.split_off(end);
    Change { thread: change.thread.clone(), at: change.at + end as u64, text }
}
