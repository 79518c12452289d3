//! Listing a folder.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::io;

use cap_std::fs::{Dir, FileType};

use super::error::refuse_over;
use super::protected::{Access, Guard};
use super::read::Source;
use super::sieve::Sieve;
use super::tree::entries;
use super::walk::{Parents, Place, prepare, walk};
use super::{Error, MAX_VISITED, Root, Skipped, View};

/// The most entries that one call lists.
pub const MAX_ENTRIES: usize = 1_000;

/// Whether the first line of each file is read for the listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a yes or no by name")]
pub enum FirstLines {
    /// Names, kinds and sizes alone.
    Omit,
    /// The first line of each text file too, without a heading's `#`.
    Read,
}

/// Which folder is listed, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LsQuery {
    /// The folder, relative to the root.
    pub path: String,
    /// Whether to say how files begin.
    pub first_lines: FirstLines,
    /// Which entries are shown.
    pub view: View,
    /// How many of them are passed over, to go on where another listing was cut.
    pub skip: usize,
}

impl LsQuery {
    /// The usual entries of a folder, from the first on.
    pub fn new(path: &str) -> Self {
        let (first_lines, view) = (FirstLines::Omit, View::usual());
        Self { path: path.to_owned(), first_lines, view, skip: 0 }
    }

    /// With the first line of each text file.
    #[must_use]
    pub fn first_lines(self) -> Self {
        Self { first_lines: FirstLines::Read, ..self }
    }

    /// With other entries than the usual ones.
    #[must_use]
    pub fn view(self, view: View) -> Self {
        Self { view, ..self }
    }

    /// Without the first so many entries.
    #[must_use]
    pub fn skip(self, skip: usize) -> Self {
        Self { skip, ..self }
    }
}

/// The entries of one folder, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The path as asked, `.` for the root.
    pub path: String,
    /// How many entries the view shows.
    pub count: usize,
    /// Of these, [`MAX_ENTRIES`] by name after those that were to be skipped.
    pub entries: Vec<Entry>,
    /// The number of the first of them, counted from 0.
    pub first: usize,
    /// How many entries the view does not show, by reason.
    pub skipped: Skipped,
}

impl Listing {
    /// How many entries come after the last of `entries`.
    pub fn omitted(&self) -> usize {
        self.count - self.first - self.entries.len()
    }

    /// A Markdown bullet for each entry, with its first line where one was read, and one for what was left out.
    pub fn listing(&self) -> String {
        let mut bullets: Vec<String> = self.entries.iter().map(Entry::bullet).collect();
        if self.omitted() > 0 {
            bullets.push(format!("- … and {} more, not shown", self.omitted()));
        }
        bullets.join("\n")
    }
}

/// One name in a folder; links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name; what is not UTF-8 in it is replaced.
    pub name: String,
    /// What it names.
    pub kind: EntryKind,
    /// The size in bytes, of files alone.
    pub bytes: Option<u64>,
    /// The first line without a heading's `#`, at most 200 characters; `None` when not asked for, empty or not text.
    pub first_line: Option<String>,
}

impl Entry {
    fn bullet(&self) -> String {
        let mut bullet = format!("- {}", one_line(&self.name));
        if let Some(line) = &self.first_line {
            let _ = write!(bullet, ": {line}");
        }
        bullet
    }
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, wherever it leads.
    Link,
    /// A device, FIFO or socket.
    Other,
}

impl EntryKind {
    /// The word in a tool's result: `file`, `folder`, `link` or `other`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Other => "other",
        }
    }

    /// The kind that a folder tells of a name, looked up where the folder does not say; nothing when it is gone.
    pub(super) fn told(folder: &Dir, name: &OsStr, told: FileType) -> io::Result<Option<Self>> {
        if told != FileType::unknown() {
            return Ok(Some(Self::of(told)));
        }
        match folder.symlink_metadata(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            metadata => Ok(Some(Self::of(metadata?.file_type()))),
        }
    }

    fn of(file_type: FileType) -> Self {
        if file_type.is_symlink() {
            Self::Link
        } else if file_type.is_dir() {
            Self::Folder
        } else if file_type.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

/// Lists a folder below the root.
///
/// # Errors
///
/// Refused outside of the root and for `.ai/config/keys/signing` (SPEC 5.5); fails for what is missing or no folder. An
/// entry that cannot be looked at fails the call: a listing with holes would not say so. [`Error::OverLimit`] for more to
/// skip than [`MAX_VISITED`].
pub fn ls(root: &Root, query: &LsQuery) -> Result<Listing, Error> {
    let (asked, guard) = prepare(root, &query.path, Access::Read)?;
    let path = asked.text();
    refuse_over("the number of entries to skip", query.skip, MAX_VISITED)?;
    let (folder, trail) = match walk(root, &asked, &guard, Parents::Required)? {
        Place::Folder { folder, trail } => (folder, trail),
        Place::File { .. } => return Err(Error::NotFolder { path }),
        Place::Missing { .. } => return Err(Error::NotFound { path }),
    };
    let (mut sieve, place) = Sieve::new(root, &trail, &guard, query.view);
    let most = query.skip.saturating_add(MAX_ENTRIES);
    let (count, names) = entries(&folder, most, &mut |name, kind| sieve.admits(&place, name, kind))
        .map_err(|source| Error::Io { action: "list", path: asked.text(), source })?;
    let look = Look { folder: &folder, guard: &guard, path: &path, first_lines: query.first_lines };
    let (first, skipped) = (query.skip.min(count), sieve.skipped);
    let entries = names
        .into_iter()
        .skip(query.skip)
        .map(|(name, kind)| look.entry(&name, kind))
        .collect::<Result<_, _>>()?;
    Ok(Listing { count, first, entries, skipped, path })
}

struct Look<'a> {
    folder: &'a Dir,
    guard: &'a Guard,
    path: &'a str,
    first_lines: FirstLines,
}

impl Look<'_> {
    /// The entry; one that was removed since it was counted has no size.
    fn entry(&self, name: &OsString, kind: EntryKind) -> Result<Entry, Error> {
        let mut entry = Entry {
            name: name.to_string_lossy().into_owned(),
            kind,
            bytes: None,
            first_line: None,
        };
        if kind == EntryKind::File {
            match self.folder.symlink_metadata(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(Error::Io { action: "list", path: self.path.to_owned(), source });
                }
                Ok(metadata) => {
                    entry.bytes = Some(metadata.len());
                    entry.first_line = self.first_line(name);
                }
            }
        }
        Ok(entry)
    }

    /// A file that may not be read, or is not text, has no first line; its name is listed all the same.
    fn first_line(&self, name: &OsString) -> Option<String> {
        if self.first_lines == FirstLines::Omit {
            return None;
        }
        let source = Source { folder: self.folder, name, guard: self.guard, path: self.path };
        heading(&source.bytes(FIRST_LINE_BYTES).ok()?)
    }
}

const FIRST_LINE_BYTES: u64 = 4096;

fn heading(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let line = match std::str::from_utf8(line) {
        Ok(line) => line,
        // The last character may have been cut by the size that is read.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(line.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let line = line.trim_start_matches('\u{feff}').trim();
    let unmarked = line.trim_start_matches('#');
    let text = if unmarked.starts_with([' ', '\t']) || unmarked.is_empty() {
        unmarked.trim()
    } else {
        line
    };
    let text: String = one_line(text).chars().take(200).collect();
    (!text.is_empty()).then_some(text)
}

/// Control characters made visible, so that a name cannot add a bullet.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<&str>) {
        assert_eq!(heading(bytes).as_deref(), expected, "{}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn a_first_line_loses_its_heading_mark_and_nothing_else() {
        check(b"# Groceries for the week\n\n- flour\n", Some("Groceries for the week"));
        check(b"### Deep\r\nx", Some("Deep"));
        check(b"#!/bin/sh\n", Some("#!/bin/sh"));
        check(b"#hashtag", Some("#hashtag"));
        check("\u{feff}# Marked".as_bytes(), Some("Marked"));
        check(b"plain", Some("plain"));
        check(b"a\tb\x1b[31m", Some("a\\tb\\u{1b}[31m"));
        check(b"\nsecond", None);
        check(b"#\n", None);
        check(b"", None);
        check(b"\xff\xfe\x00", None);
    }

    #[test]
    fn a_cut_character_is_dropped() {
        check(&"é".as_bytes()[..1], None);
        check(b"caf\xc3", Some("caf"));
    }
}
