//! `transcript.md`: the transcript for people, which is no record. What cannot be written of it waits for the next chance.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::handle::Handle;
use crate::read_plain;
use crate::transcript::{Reading, markdown_of};

/// The file, and what is to be written there.
#[derive(Debug)]
pub(super) struct Readable {
    path: PathBuf,
    /// Closed where too many are open.
    file: Option<Handle>,
    text: String,
    /// How many bytes of the file are known to be as they were written.
    whole: u64,
    /// Whether there may be more than those.
    is_torn: bool,
    warning: Option<String>,
}

impl Readable {
    /// That of a thread whose folder is new.
    pub(super) fn create(folder: &Path) -> Self {
        let mut readable = Self::closed(folder);
        let created = OpenOptions::new().append(true).create_new(true).open(&readable.path);
        readable.opened(created);
        readable
    }

    /// That of a thread that is there: written anew from its records, unless it says what they do.
    pub(super) fn open(folder: &Path, reading: &Reading) -> Self {
        let mut readable = Self::closed(folder);
        readable.opened(open(&readable.path));
        let length = readable.length();
        // What a newer program recorded only that one can show.
        match markdown_of(&reading.records) {
            Some(text) if !readable.says(&text) => (readable.text, readable.is_torn) = (text, true),
            _ => readable.whole = length,
        }
        readable.write();
        readable
    }

    fn closed(folder: &Path) -> Self {
        let path = folder.join("transcript.md");
        Self { path, file: None, text: String::new(), whole: 0, is_torn: false, warning: None }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes what waits; where that fails, it waits on.
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
            Err(error) => self.failed(&error),
        }
    }

    /// Why the file does not say all that the records do.
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

    fn opened(&mut self, opened: io::Result<File>) {
        match opened {
            Ok(file) => self.file = Some(Handle::new(file)).filter(Handle::may_stay),
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &io::Error) {
        self.is_torn = true;
        self.warning = Some(format!(
            "cannot write `{}`: {error}; `transcript.jsonl` has all of it, and a thread that goes on writes it anew",
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

/// Opens the readable transcript of a thread that is there. Whoever sent the folder may have put something else in its place,
/// which would lead what is written elsewhere.
fn open(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("it is no file of its own; remove it"));
    }
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full, and has room again.
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

    /// Who took the file away is not answered with what was in it.
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
            "cannot write `{}`: it is no file of its own; remove it; `transcript.jsonl` has all of it, and a thread that goes on \
             writes it anew",
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
