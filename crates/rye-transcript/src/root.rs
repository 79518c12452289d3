//! The root of a thread's tree, found without reading the whole transcript.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use rye_files::open_unlinked;

use crate::{ThreadId, UnverifiedRecord};

/// Returns the root that the first record of a thread's transcript names, or `None` without such a record.
///
/// A reader uses it to find the owner of the tree. The record is not verified, so no money and no authority may depend on it.
#[must_use]
pub fn thread_root(threads: &Path, thread: &ThreadId) -> Option<ThreadId> {
    let line = first_line(&threads.join(thread.as_str()).join("transcript.jsonl")).ok()?;
    UnverifiedRecord::read(&line)?.root()
}

/// Returns the first line of a plain file, with its line end if the file has one, and no more than the first record may have. A link
/// is not followed.
///
/// # Errors
///
/// When the file cannot be read, or is not a plain file.
pub fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let file = open_unlinked(path)?.take(MAX_LINE_BYTES);
    BufReader::new(file).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// The maximum length of a record in bytes that is read before the record is verified. The first record holds the inputs of the
/// thread.
pub const MAX_LINE_BYTES: u64 = 64 * 1_024 * 1_024;
