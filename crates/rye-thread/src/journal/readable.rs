//! `transcript.md`, the transcript for people. It is derived from the records, and written whenever the thread stops.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rye_files::open_with;
use rye_types::Moment;

use crate::store::has_other_names;
use crate::transcript::{Event, Markdown, Reading};

/// The text of the file, from the first record on.
#[derive(Debug)]
pub(super) struct Readable {
    path: PathBuf,
    /// `None` once it was taken.
    text: Option<String>,
    shown: Markdown,
}

impl Readable {
    /// Begins the text of a new thread.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            path: folder.join("transcript.md"),
            text: Some(String::new()),
            shown: Markdown::default(),
        }
    }

    /// Renders the records of an existing thread. What cannot be read and may be gone on without is left out.
    pub(super) fn of_reading(folder: &Path, reading: &Reading) -> Self {
        let mut readable = Self::new(folder);
        for (record, event) in reading.events() {
            if let Ok(event) = event {
                readable.push(&event, record.at);
            }
        }
        readable
    }

    pub(super) fn push(&mut self, event: &Event, at: Moment) {
        if let Some(all) = &mut self.text {
            all.push_str(&self.shown.of(event, at));
        }
    }

    /// Takes the text, for [`Rendered::write`].
    pub(super) fn take(&mut self) -> Rendered {
        Rendered { path: self.path.clone(), text: self.text.take() }
    }
}

/// A whole text, and the file for it.
#[derive(Debug)]
pub(super) struct Rendered {
    path: PathBuf,
    text: Option<String>,
}

impl Rendered {
    /// Writes the file, and returns the reason if it cannot be written. The thread does not need the file.
    pub(super) fn write(&self) -> Option<String> {
        let error = write(&self.path, self.text.as_ref()?).err()?;
        Some(format!(
            "cannot write `{}`: {error}; `transcript.jsonl` is complete, and resuming the thread writes the file again",
            self.path.display()
        ))
    }
}

/// Replaces the content of a plain file.
///
/// A folder from elsewhere may hold something else under this name, such as a link to another file.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let other = || io::Error::other("it is not a plain file; remove it");
    let is_other = || fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
    let opened = open_with(path, File::options().write(true).create(true));
    let mut file = opened.map_err(|error| if is_other() { other() } else { error })?;
    if has_other_names(&file)? {
        return Err(other());
    }
    file.set_len(0)?;
    file.write_all(text.as_bytes())
}
