//! Listing a folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;

use cap_std::fs::{Dir, FileType};

use super::protected::{Access, Guard};
use super::read::Source;
use super::walk::{Parents, Place, prepare, walk};
use super::{Error, Root};

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

/// The entries of one folder, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The path as asked, `.` for the root.
    pub path: String,
    /// How many entries the folder has.
    pub count: usize,
    /// The first [`MAX_ENTRIES`] of them by name.
    pub entries: Vec<Entry>,
}

impl Listing {
    /// How many entries were left out of `entries`.
    pub fn omitted(&self) -> usize {
        self.count - self.entries.len()
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
/// entry that cannot be looked at fails the call: a listing with holes would not say so.
pub fn ls(root: &Root, path: &str, first_lines: FirstLines) -> Result<Listing, Error> {
    let (asked, guard) = prepare(root, path, Access::Read)?;
    let path = asked.text();
    let folder = match walk(root, &asked, &guard, Parents::Required)? {
        Place::Folder(folder) => folder,
        Place::File { .. } => return Err(Error::NotFolder { path }),
        Place::Missing { .. } => return Err(Error::NotFound { path }),
    };
    let (count, names) = first_names(&folder, &path)?;
    let look = Look { folder: &folder, guard: &guard, path: &path, first_lines };
    let entries = names.into_iter().filter_map(|(name, kind)| look.entry(&name, kind).transpose());
    Ok(Listing { count, entries: entries.collect::<Result<_, _>>()?, path: asked.text() })
}

/// The number of entries and the first of them by name, without holding more than those.
fn first_names(folder: &Dir, path: &str) -> Result<(usize, BTreeMap<OsString, EntryKind>), Error> {
    let io = |source| Error::Io { action: "list", path: path.to_owned(), source };
    let mut names = BTreeMap::new();
    let mut count = 0;
    for entry in folder.entries().map_err(io)? {
        let entry = entry.map_err(io)?;
        count += 1;
        names.insert(entry.file_name(), EntryKind::of(entry.file_type().map_err(io)?));
        if names.len() > MAX_ENTRIES {
            names.pop_last();
        }
    }
    Ok((count, names))
}

struct Look<'a> {
    folder: &'a Dir,
    guard: &'a Guard,
    path: &'a str,
    first_lines: FirstLines,
}

impl Look<'_> {
    /// The entry, or nothing when it was removed in the meantime.
    fn entry(&self, name: &OsString, kind: EntryKind) -> Result<Option<Entry>, Error> {
        let shown = name.to_string_lossy().into_owned();
        if kind != EntryKind::File {
            return Ok(Some(Entry { name: shown, kind, bytes: None, first_line: None }));
        }
        match self.folder.symlink_metadata(name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Io { action: "list", path: self.path.to_owned(), source }),
            Ok(metadata) => {
                let first_line = self.first_line(name);
                Ok(Some(Entry { name: shown, kind, bytes: Some(metadata.len()), first_line }))
            }
        }
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
