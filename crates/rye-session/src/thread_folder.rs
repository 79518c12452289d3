//! The files in the folder of a thread.

use std::io::{self, BufRead as _};
use std::path::Path;

use rye_files::open_plain;

/// The signed summary of a thread.
pub(crate) const RECORD: &str = "thread.json";
/// The records of a thread.
pub(crate) const TRANSCRIPT: &str = "transcript.jsonl";

/// Returns `true` if the thread of a folder has a record, or began.
pub(crate) fn has_record(folder: &Path) -> bool {
    folder.join(RECORD).exists() || has_whole_line(&folder.join(TRANSCRIPT))
}

/// Returns `true` if a plain file holds a line end. It is read in pieces, and a file of more bytes than a transcript has counts as one.
pub(crate) fn has_whole_line(path: &Path) -> bool {
    let Ok(file) = open_plain(path) else { return false };
    let mut pieces = io::BufReader::new(file);
    let mut read = 0;
    loop {
        match pieces.fill_buf() {
            Ok([]) | Err(_) => return false,
            Ok(piece) if piece.contains(&b'\n') || MOST_TORN <= read => return true,
            Ok(piece) => {
                let length = piece.len();
                read += length;
                pieces.consume(length);
            }
        }
    }
}

/// The most bytes of half a line that are looked through.
const MOST_TORN: usize = 1 << 30;
