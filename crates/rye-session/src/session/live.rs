//! The partial text of an answer that is being received, for readers in other processes (SPEC
//! 11.3).

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rye_files::read_unlinked;
use rye_thread::transcript::Event;
use rye_thread::{Delta, Observer, OutputPiece, ThreadId};

/// The file beside the transcript; its first line is the answer's number, the rest is its text.
///
/// It is no part of the record: nothing is signed, chained or read back from it. The file is
/// emptied when the answer is recorded, and removed when the driver stops.
const NAME: &str = "live";

/// The most that is read of it.
const MOST: u64 = 4 * 1024 * 1024;

/// An answer that is on its way, as far as it has come. Nothing vouches for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnfinishedAnswer {
    /// Counts the answers of one opening of the thread, so that one is told from the next.
    pub number: u64,
    /// Its text so far.
    pub text: String,
}

impl UnfinishedAnswer {
    /// Reads what there is in a thread's folder; nothing where no answer is on its way.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        // A link could lead to any file.
        let bytes = read_unlinked(&folder.join(NAME), MOST).ok()?;
        // The last character may not be whole yet.
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
        };
        let (number, text) = text.split_once('\n')?;
        Some(Self { number: number.parse().ok()?, text: text.to_owned() })
    }
}

/// Writes the text of answers down while they come, and lets another observer see everything too.
///
/// A thread never fails for it: where the file cannot be written, there is none.
pub(super) struct Live<'a> {
    observer: &'a dyn Observer,
    path: PathBuf,
    answer: Mutex<Answer>,
}

struct Answer {
    file: Option<File>,
    number: u64,
    has_begun: bool,
}

impl<'a> Live<'a> {
    /// Begins with an empty file, whatever a program that was killed has left.
    pub(super) fn new(folder: &Path, observer: &'a dyn Observer) -> Self {
        let path = folder.join(NAME);
        let _there_was_none = fs::remove_file(&path);
        // A new file is never one that a link leads to.
        let file = OpenOptions::new().append(true).create_new(true).open(&path).ok();
        Self { observer, path, answer: Mutex::new(Answer { file, number: 0, has_begun: false }) }
    }

    fn grow(&self, piece: &str) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let Answer { file: Some(file), number, has_begun } = &mut *answer else { return };
        let written = if std::mem::replace(has_begun, true) {
            file.write_all(piece.as_bytes())
        } else {
            *number += 1;
            file.write_all(format!("{number}\n{piece}").as_bytes())
        };
        if written.is_err() {
            answer.file = None;
            let _looks_whole_otherwise = fs::remove_file(&self.path);
        }
    }

    fn end(&self) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut answer.has_begun)
            && answer.file.as_ref().is_some_and(|file| file.set_len(0).is_err())
        {
            answer.file = None;
            let _looks_unfinished_otherwise = fs::remove_file(&self.path);
        }
    }
}

impl Observer for Live<'_> {
    /// Nothing is recorded while an answer comes, so whatever is recorded ends it.
    fn event(&self, event: &Event) {
        self.end();
        self.observer.event(event);
    }

    fn record(&self, line: &str) {
        self.observer.record(line);
    }

    fn delta(&self, delta: Delta<'_>) {
        if let Delta::Text(piece) = delta {
            self.grow(piece);
        }
        self.observer.delta(delta);
    }

    fn output(&self, piece: OutputPiece<'_>) {
        self.observer.output(piece);
    }

    fn notice(&self, text: &str) {
        self.observer.notice(text);
    }

    fn below(&self, thread: &ThreadId, depth: usize, event: &Event) {
        self.observer.below(thread, depth, event);
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        let _may_be_gone = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(folder: &Path) -> Option<(u64, String)> {
        UnfinishedAnswer::read(folder).map(|answer| (answer.number, answer.text))
    }

    fn recorded() -> Event {
        Event::UserMessage(rye_thread::transcript::payload::Said::new(""))
    }

    #[test]
    fn an_answer_grows_until_something_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let live = Live::new(folder.path(), &());
        assert_eq!(read(folder.path()), None);
        live.delta(Delta::Reasoning("Hm."));
        live.delta(Delta::Text("On"));
        assert_eq!(read(folder.path()), Some((1, "On".to_owned())));
        live.delta(Delta::Text("e\nTwo é"));
        assert_eq!(read(folder.path()), Some((1, "One\nTwo é".to_owned())));
        live.event(&recorded());
        assert_eq!(read(folder.path()), None);
        live.delta(Delta::Text("2"));
        assert_eq!(read(folder.path()), Some((2, "2".to_owned())));
        drop(live);
        assert!(!folder.path().join(NAME).exists());
    }

    #[test]
    fn half_a_character_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), b"7\nA\xc3").unwrap();
        assert_eq!(read(folder.path()), Some((7, "A".to_owned())));
    }

    /// A thread's folder may come from somebody else's repository.
    #[cfg(unix)]
    #[test]
    fn a_link_that_lies_in_wait_is_neither_written_through_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let link = folder.path().join(NAME);
        fs::write(&target, "1\nmine").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(read(folder.path()), None);
        let live = Live::new(folder.path(), &());
        live.delta(Delta::Text("piece"));
        assert_eq!(fs::read_to_string(&target).unwrap(), "1\nmine");
        assert_eq!(read(folder.path()), Some((1, "piece".to_owned())));
    }

    #[test]
    fn what_cannot_be_written_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let live = Live::new(&folder.path().join("gone"), &());
        live.delta(Delta::Text("piece"));
        live.event(&recorded());
        assert_eq!(read(folder.path()), None);
    }
}
