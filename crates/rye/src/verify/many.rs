//! Many files, read and verified on all processors.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rye_thread::read_plain;

use super::{Subject, Verification, VerifyError};
use crate::Rye;
use crate::place::{kind_of, place};

/// How many files a thread takes at a time: few, so that one whose processor is busy with other things holds up no more.
const AT_ONCE: usize = 32;

const MOST_THREADS: usize = 16;

impl Rye {
    /// Reads and verifies files as [`verify`](Self::verify) does, on all processors; the answers are in the order of
    /// `paths`, which must be absolute. That a file cannot be read, or is no text, is its answer.
    pub fn verify_files(&self, paths: &[PathBuf]) -> Vec<Verification> {
        let parts: Vec<&[PathBuf]> = paths.chunks(AT_ONCE).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(index) else { return done };
                done.push((index, part.iter().map(|path| self.verify_file(path)).collect()));
            }
        };
        let mut done: Vec<(usize, Vec<_>)> = on_threads(parts.len(), &work);
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().flat_map(|(_, answers)| answers).collect()
    }

    fn verify_file(&self, path: &Path) -> Verification {
        match read_plain(path, MAX_BYTES).map(String::from_utf8) {
            Ok(Ok(text)) => self.verify(path, &text),
            Ok(Err(_)) => refused(path, VerifyError::NotText),
            Err(error) => refused(path, VerifyError::Unreadable(error)),
        }
    }
}

/// Four times the longest item, so that the parser says what is too long.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The answer for a file whose text nobody knows.
fn refused(path: &Path, error: VerifyError) -> Verification {
    let (kind, id) =
        place(path).map_or_else(|| (kind_of(path, ""), None), |(kind, id)| (kind, Some(id)));
    Verification { path: path.to_owned(), subject: Subject::Item(kind), id, result: Err(error) }
}

/// What `work` gives on this thread and on one more for each further processor, all together.
fn on_threads<R: Send>(most: usize, work: &(impl Fn() -> Vec<R> + Sync)) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let others: Vec<_> =
            (1..processors.min(MOST_THREADS).min(most)).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().expect("because verifying does not panic"));
        }
        done
    })
}
