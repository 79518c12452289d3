//! A thread as a file.

use rye_sign::chain::Head;
use rye_transcript::Reading;

pub use crate::unread::UnreadError;
use crate::{Charset, Source, atif as trajectories, page, terminal};

/// Returns the thread as one HTML page that needs no server and no network.
///
/// The page holds the data of the thread, its style and its script. Its content policy allows these two by their hashes, and
/// nothing else. It has no signature of its own.
#[must_use]
pub fn html(source: &Source<'_>) -> String {
    page::file(source)
}

/// Returns the thread as a trajectory of ATIF, version 1.8, with its children inside: JSON with a line feed.
///
/// The events that the format has no place for are steps of the system. Hashes and signatures are left out, apart from the hash
/// of the last record.
///
/// # Errors
///
/// [`UnreadError`] if this version cannot read a record of the thread or of a child.
pub fn atif(source: &Source<'_>) -> Result<String, UnreadError> {
    Ok(format!("{:#}\n", trajectories::trajectory(source)?))
}

/// Returns the page of [`html`] with the pages of all children inside, below that of their parent.
#[must_use]
pub fn html_tree(source: &Source<'_>) -> String {
    page::tree_file(source)
}

/// Returns the turns, waits, children and money of the thread as bars of text, 80 columns wide.
#[must_use]
pub fn timeline(source: &Source<'_>, charset: Charset) -> String {
    terminal::timeline(source, charset)
}

/// Returns the lines of the verified records, byte for byte, out of the bytes of `transcript.jsonl`. What a killed program left
/// at its end is no record and is left out (SPEC 10.7).
///
/// # Errors
///
/// [`ChangedError`] if these are not the bytes that were verified.
pub fn jsonl<'a>(transcript: &'a [u8], reading: &Reading) -> Result<&'a [u8], ChangedError> {
    let lines = transcript.split_inclusive(|byte| *byte == b'\n').take(reading.records.len());
    let mut head = Head::genesis();
    let mut length = 0;
    for line in lines {
        head = head.link(line.strip_suffix(b"\n").ok_or(ChangedError)?);
        length += line.len();
    }
    let lines = transcript.get(..length).ok_or(ChangedError)?;
    if head == reading.head { Ok(lines) } else { Err(ChangedError) }
}

/// A transcript that is not the one that was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the transcript changed while it was read; export it again")]
pub struct ChangedError;
