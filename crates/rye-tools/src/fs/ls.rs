//! Listing of a folder.

use std::ffi::OsString;
use std::fmt::Write;
use std::io;

use cap_std::fs::Dir;

use super::entry_filter::EntryFilter;
use super::error::refuse_over;
use super::protected::{Access, Guard};
use super::read::Source;
use super::tree::entries;
use super::walk::{Parents, Place, prepare, walk};
use super::{EntryKind, Error, MAX_VISITED, Root, Skipped, View};

/// The largest number of entries that a call lists.
pub const MAX_ENTRIES: usize = 1_000;

/// The choice whether a listing has the first line of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a yes or no by name")]
pub enum FirstLines {
    /// Only names, kinds and sizes.
    Omit,
    /// Also the first line of each text file, without the `#` of a heading.
    Read,
}

/// The parameters of [`ls`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LsQuery {
    /// The folder, relative to the root.
    pub path: String,
    /// The choice whether to read the first lines of files.
    pub first_lines: FirstLines,
    /// The kinds of entries that are included.
    pub view: View,
    /// The number of entries to leave out at the start, to continue after a listing that was cut.
    pub skip: usize,
}

impl LsQuery {
    /// Creates a query for the usual entries of a folder.
    pub fn new(path: &str) -> Self {
        let first_lines = FirstLines::Omit;
        let view = View::usual();
        Self { path: path.to_owned(), first_lines, view, skip: 0 }
    }

    /// Adds the first line of each text file.
    #[must_use]
    pub fn first_lines(self) -> Self {
        Self { first_lines: FirstLines::Read, ..self }
    }

    /// Includes other entries than the usual ones.
    #[must_use]
    pub fn view(self, view: View) -> Self {
        Self { view, ..self }
    }

    /// Leaves out the first `skip` entries.
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
    /// The number of entries in the view.
    pub count: usize,
    /// At most [`MAX_ENTRIES`] of them, after the skipped ones.
    pub entries: Vec<Entry>,
    /// The index of the first of `entries`, counted from 0.
    pub first: usize,
    /// The number of entries outside of the view, by reason.
    pub skipped: Skipped,
}

impl Listing {
    /// Returns the number of entries after the last of `entries`.
    pub fn omitted_count(&self) -> usize {
        self.count - self.first - self.entries.len()
    }

    /// Returns a Markdown list of the entries, with their first lines if they were read. A last item counts
    /// the entries that are left out.
    pub fn listing(&self) -> String {
        let mut bullets: Vec<String> = self.entries.iter().map(Entry::bullet).collect();
        if self.omitted_count() > 0 {
            bullets.push(format!("- … and {} more, not shown", self.omitted_count()));
        }
        bullets.join("\n")
    }
}

/// A name in a folder. Links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The name. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The size in bytes. `None` if it is not a file.
    pub bytes: Option<u64>,
    /// The first line without the `#` of a heading, at most 200 characters. `None` if it was not requested,
    /// is empty or is not text.
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

/// Lists a folder below the root.
///
/// # Errors
///
/// Refuses paths outside of the root and below `.ai/config/keys/signing` (SPEC 5.5). Fails if the path is
/// missing or not a folder. Fails if the metadata of an entry cannot be read, because the listing would be
/// incomplete without a sign of it. [`Error::OverLimit`] if more than [`MAX_VISITED`] entries are to be
/// skipped.
pub fn ls(root: &Root, query: &LsQuery) -> Result<Listing, Error> {
    let (asked, guard) = prepare(root, &query.path, Access::Read)?;
    let path = asked.text();
    refuse_over("the number of entries to skip", query.skip, MAX_VISITED)?;
    let (folder, trail) = match walk(root, &asked, &guard, Parents::Required)? {
        Place::Folder { folder, trail } => (folder, trail),
        Place::File { .. } => return Err(Error::NotFolder { path }),
        Place::Missing { .. } => return Err(Error::NotFound { path }),
    };
    let (mut filter, place) = EntryFilter::new(root, &trail, &guard, query.view);
    let most = query.skip.saturating_add(MAX_ENTRIES);
    let (count, names) =
        entries(&folder, most, &mut |name, kind| filter.admits(&place, name, kind))
            .map_err(|source| Error::Io { action: "list", path: asked.text(), source })?;
    let look = Look { folder: &folder, guard: &guard, path: &path, first_lines: query.first_lines };
    let first = query.skip.min(count);
    let skipped = filter.skipped;
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
    /// Makes the entry of a name. If the file was removed since it was counted, it has no size.
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

    /// Returns the first line of a file, or `None` if the file cannot be read or is not text.
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
        // The last character may be cut, because only the start of the file is read.
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

/// Escapes control characters, so that a name cannot add an item to the list.
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
