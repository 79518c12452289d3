//! `transcript.md`, the transcript for people. It is not a record, so text that cannot be written is kept for the next
//! write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::handle::Handle;
use crate::read_plain;
use crate::transcript::{Reading, markdown_of};

/// The file, and the text that must still be written.
#[derive(Debug)]
pub(super) struct Readable {
    path: PathBuf,
    /// `None` if too many files are open.
    file: Option<Handle>,
    text: String,
    /// The number of bytes that were written completely.
    whole: u64,
    /// `true` if the file may hold more than those bytes.
    is_torn: bool,
    warning: Option<String>,
}

impl Readable {
    /// Creates the file in a new folder.
    pub(super) fn create(folder: &Path) -> Self {
        let mut readable = Self::new(folder);
        let created = OpenOptions::new().append(true).create_new(true).open(&readable.path);
        readable.set_file(created);
        readable
    }

    /// Opens the file of an existing thread. It is rewritten from the records if its text differs from them.
    pub(super) fn open(folder: &Path, reading: &Reading) -> Self {
        let mut readable = Self::new(folder);
        readable.set_file(open(&readable.path));
        let length = readable.length();
        // Only a newer program can render the records that it wrote.
        match markdown_of(&reading.records) {
            Some(text) if !readable.says(&text) => (readable.text, readable.is_torn) = (text, true),
            _ => readable.whole = length,
        }
        readable.write();
        readable
    }

    fn new(folder: &Path) -> Self {
        let path = folder.join("transcript.md");
        Self { path, file: None, text: String::new(), whole: 0, is_torn: false, warning: None }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes the pending text. If that fails, the text stays pending.
    pub(super) fn write(&mut self) {
        if self.text.is_empty() && !self.is_torn {
            return;
        }
        match self.try_write() {
            Ok(()) => {
                self.whole += u64::try_from(self.text.len()).unwrap_or(u64::MAX);
                self.text.clear();
                self.is_torn = false;
                self.warning = None;
            }
            Err(error) => self.note_failure(&error),
        }
    }

    /// Returns the reason why the file lacks a part of the records.
    pub(super) fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    fn try_write(&mut self) -> io::Result<()> {
        let open = || open(&self.path).map(Handle::new);
        let file = self.file.take().map_or_else(open, Ok)?;
        if self.is_torn && self.whole < file.metadata()?.len() {
            file.set_len(self.whole)?;
        }
        (&*file).write_all(self.text.as_bytes())?;
        self.file = Some(file).filter(Handle::may_stay);
        Ok(())
    }

    fn set_file(&mut self, opened: io::Result<File>) {
        match opened {
            Ok(file) => self.file = Some(Handle::new(file)).filter(Handle::may_stay),
            Err(error) => self.note_failure(&error),
        }
    }

    fn note_failure(&mut self, error: &io::Error) {
        self.is_torn = true;
        self.warning = Some(format!(
            "cannot write `{}`: {error}; `transcript.jsonl` is complete, and resuming the thread writes the file again",
            self.path.display()
        ));
    }

    fn length(&self) -> u64 {
        fs::symlink_metadata(&self.path).map_or(0, |found| found.len())
    }

    fn says(&self, text: &str) -> bool {
        self.length() == u64::try_from(text.len()).unwrap_or(u64::MAX)
            && read_plain(&self.path, self.length()).is_ok_and(|found| found == text.as_bytes())
    }
}

/// Opens the readable transcript of an existing thread.
///
/// A folder from elsewhere may hold something else under this name, such as a link to another file.
fn open(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("it is not a plain file; remove it"));
    }
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full disk that has room again.
    #[test]
    fn what_cannot_be_written_waits_and_is_whole_once_it_can() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("transcript.md");
        let mut readable = Readable::create(place.path());
        let found = || fs::read_to_string(&path).unwrap();
        let steps = [
            ("one ", false, "one "),
            ("two ", true, "one half"),
            ("three ", true, "one half"),
            ("four ", false, "one two three four "),
            ("five ", false, "one two three four five "),
        ];
        for (text, is_full, expected) in steps {
            if is_full {
                fs::write(&path, "one half").unwrap();
                readable.file = Some(Handle::new(File::open(&path).unwrap()));
            }
            readable.push(text);
            readable.write();
            assert_eq!((found().as_str(), readable.warning().is_some()), (expected, is_full));
        }
    }

    /// If the file was removed, its former content is not written again.
    #[test]
    fn a_file_that_is_gone_begins_again_at_its_beginning() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("transcript.md");
        let mut readable = Readable::create(place.path());
        readable.push("one ");
        readable.write();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        readable.file = None;
        readable.push("two ");
        readable.write();
        let warning = format!(
            "cannot write `{}`: it is not a plain file; remove it; `transcript.jsonl` is complete, and resuming the \
             thread writes the file again",
            path.display()
        );
        assert_eq!(readable.warning(), Some(warning.as_str()));
        fs::remove_dir(&path).unwrap();
        readable.write();
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), readable.warning()),
            ("two ", None)
        );
    }
}
