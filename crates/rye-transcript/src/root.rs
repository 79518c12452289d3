//! The root of a thread's tree, found without reading the whole transcript.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;

use crate::ThreadId;

/// Returns the root that the first record of a thread's transcript names, or `None` without such a record.
///
/// A reader uses it to find the owner of the tree. The record is not verified, so no decision may depend on it.
#[must_use]
pub fn thread_root(threads: &Path, thread: &ThreadId) -> Option<ThreadId> {
    let line = first_line(&threads.join(thread.as_str()).join("transcript.jsonl"))?;
    let record: Wire = serde_json::from_slice(&line).ok()?;
    record.payload.root.parse().ok()
}

/// Returns the first line of a plain file, with its line end if the file has one.
///
/// Returns `None` if the file cannot be read or is empty. The length of the line is bounded.
#[must_use]
pub fn first_line(path: &Path) -> Option<Vec<u8>> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut line = Vec::new();
    let file = File::open(path).ok()?.take(MOST_BYTES);
    BufReader::new(file).read_until(b'\n', &mut line).ok()?;
    Some(line).filter(|line| !line.is_empty())
}

/// The maximum length of the first record in bytes. It holds the inputs of the thread.
const MOST_BYTES: u64 = 64 * 1_024 * 1_024;

#[derive(Deserialize)]
struct Wire {
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    root: String,
}
