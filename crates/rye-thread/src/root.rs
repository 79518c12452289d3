//! The root of a thread's tree, found without reading the whole transcript.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;

use crate::ThreadId;

/// The root that the first record of a thread's transcript names, for a reader that looks for the owner of its tree; `None` where
/// there is no such record. The record is not verified, so that nothing is decided by it.
#[must_use]
pub fn thread_root(threads: &Path, thread: &ThreadId) -> Option<ThreadId> {
    let path = threads.join(thread.as_str()).join("transcript.jsonl");
    fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let mut line = Vec::new();
    let file = File::open(path).ok()?.take(MOST_BYTES);
    BufReader::new(file).read_until(b'\n', &mut line).ok()?;
    let record: Wire = serde_json::from_slice(&line).ok()?;
    record.payload.root.parse().ok()
}

/// The longest first record that is looked at, in bytes: it holds the inputs of the thread.
const MOST_BYTES: u64 = 64 * 1_024 * 1_024;

#[derive(Deserialize)]
struct Wire {
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    root: String,
}
