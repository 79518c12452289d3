//! Reading lines of a file.

use std::io::{self, Read};

use cap_std::fs::{Dir, File, Metadata};

use super::protected::{Access, Guard};
use super::root::open_file;
use super::walk::{Parents, Place, prepare, walk};
use super::{Error, Root};

/// The size of the largest file that can be read, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The largest content that a call returns, in bytes.
pub const MAX_CONTENT_BYTES: usize = 256 * 1024;

/// The requested lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lines {
    /// The first line, counted from 1.
    pub offset: u64,
    /// The largest number of lines. `None` for all that fit.
    pub limit: Option<u64>,
}

impl Lines {
    /// Requests all lines, up to [`MAX_CONTENT_BYTES`].
    pub fn all() -> Self {
        Self::from(1)
    }

    /// Requests the lines from `offset`, counted from 1. 0 is read as 1.
    pub fn from(offset: u64) -> Self {
        Self { offset: offset.max(1), limit: None }
    }

    /// Requests at most `limit` lines.
    #[must_use]
    pub fn at_most(self, limit: u64) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

/// The requested text, and its position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileText {
    /// The path as asked, with `/` between its parts.
    pub path: String,
    /// The requested lines with their original line ends.
    pub content: String,
    /// The size of the whole file in bytes.
    pub bytes: u64,
    /// The number of lines in the whole file. The last line needs no line end.
    pub lines: u64,
    /// `true` if text after `content` was left out because of the limit or of [`MAX_CONTENT_BYTES`].
    pub truncated: bool,
    /// The first line of `content`, counted from 1.
    pub first_line: u64,
    /// The line to continue with, if there is one after `content`.
    pub next_line: Option<u64>,
    /// The line that `content` ends within, because this line alone is longer than [`MAX_CONTENT_BYTES`]. Its
    /// rest cannot be read.
    pub cut_line: Option<u64>,
}

impl FileText {
    /// Returns the content with a number and a tab before each line.
    pub fn with_line_numbers(&self) -> String {
        let lines = self.content.split_inclusive('\n').zip(self.first_line..);
        lines.map(|(line, number)| format!("{number}\t{line}")).collect()
    }
}

/// Reads lines of a UTF-8 file below the root.
///
/// # Errors
///
/// Refuses paths outside of the root, below `.ai/config/keys/signing` and to anything but regular files (SPEC
/// 5.5). Fails for folders, for files over [`MAX_FILE_BYTES`] or that are not UTF-8, and for a first line
/// after the end.
pub fn read(root: &Root, path: &str, lines: Lines) -> Result<FileText, Error> {
    let (asked, guard) = prepare(root, path, Access::Read)?;
    let path = asked.text();
    match walk(root, &asked, &guard, Parents::Required)? {
        Place::Folder { .. } => Err(Error::IsFolder { path }),
        Place::Missing { .. } => Err(Error::NotFound { path }),
        Place::File { folder, name, .. } => {
            let source = Source { folder: &folder, name: &name, guard: &guard, path: &path };
            let (text, _) = source.text()?;
            select(&text, path, lines)
        }
    }
}

/// A file that was found and is not open yet.
pub(super) struct Source<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: &'a std::ffi::OsStr,
    pub(super) guard: &'a Guard,
    pub(super) path: &'a str,
}

impl Source<'_> {
    /// Opens the file and reads at most `maximum` bytes.
    pub(super) fn bytes(&self, maximum: u64) -> Result<Vec<u8>, Error> {
        let (file, _) = self.open()?;
        let mut bytes = Vec::new();
        file.take(maximum).read_to_end(&mut bytes).map_err(|source| self.io("read", source))?;
        Ok(bytes)
    }

    /// Opens the file and returns its metadata. Refuses anything but a regular file that may be read.
    pub(super) fn open(&self) -> Result<(File, Metadata), Error> {
        let file = open_file(self.folder, self.name).map_err(|source| self.io("open", source))?;
        let metadata = file.metadata().map_err(|source| self.io("look at", source))?;
        if !metadata.is_file() {
            return Err(Error::Special { path: self.path.to_owned() });
        }
        if let Some(area) = self.guard.by_file(&metadata) {
            return Err(Error::Protected { path: self.path.to_owned(), area });
        }
        Ok((file, metadata))
    }

    /// Reads the whole file. Returns its text, and its metadata from before the reading.
    pub(super) fn text(&self) -> Result<(String, Metadata), Error> {
        let (file, metadata) = self.open()?;
        self.refuse_size(metadata.len())?;
        let mut bytes = Vec::new();
        // The file may grow meanwhile, and the files of `/proc` report a size of 0.
        file.take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| self.io("read", source))?;
        self.refuse_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok((text, metadata)),
            Err(_) => Err(Error::NotText { path: self.path.to_owned() }),
        }
    }

    fn refuse_size(&self, bytes: u64) -> Result<(), Error> {
        if bytes <= MAX_FILE_BYTES {
            return Ok(());
        }
        Err(Error::TooLarge { path: self.path.to_owned(), bytes, maximum: MAX_FILE_BYTES })
    }

    fn io(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io { action, path: self.path.to_owned(), source }
    }
}

fn select(text: &str, path: String, wanted: Lines) -> Result<FileText, Error> {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let n_lines = count(text.split_inclusive('\n').count());
    if wanted.offset > n_lines.max(1) {
        return Err(Error::PastEnd { path, offset: wanted.offset, lines: n_lines });
    }
    let position = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let limit = wanted.limit.map_or(usize::MAX, position);
    let start = length_of(text.split_inclusive('\n').take(position(wanted.offset - 1)));
    let rest = text.get(start..).unwrap_or_default();
    let end = length_of(rest.split_inclusive('\n').take(limit));
    let wanted_text = rest.get(..end).unwrap_or_default();
    let content = fitting(wanted_text);
    let after = wanted.offset + count(content.split_inclusive('\n').count());
    let is_within = content.len() < wanted_text.len() && !content.ends_with('\n');
    Ok(FileText {
        path,
        content: content.to_owned(),
        bytes: count(text.len()),
        lines: n_lines,
        truncated: content.len() < rest.len(),
        first_line: wanted.offset,
        next_line: (after <= n_lines).then_some(after),
        cut_line: is_within.then(|| after - 1),
    })
}

fn length_of<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    lines.map(str::len).sum()
}

/// Returns as many whole lines as a call may return, or the start of a single line that is too long.
fn fitting(text: &str) -> &str {
    if text.len() <= MAX_CONTENT_BYTES {
        return text;
    }
    let cut =
        (0..=MAX_CONTENT_BYTES).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0);
    let head = text.get(..cut).unwrap_or_default();
    head.rfind('\n').and_then(|end| head.get(..=end)).unwrap_or(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: Lines, expected: Result<(&str, u64, bool), &str>) {
        let actual = select(text, "a.txt".to_owned(), wanted);
        let actual = actual
            .map(|text| (text.content, text.lines, text.truncated))
            .map_err(|error| error.to_string());
        let expected =
            expected.map(|(content, lines, truncated)| (content.to_owned(), lines, truncated));
        assert_eq!(actual, expected.map_err(str::to_owned), "{text:?} {wanted:?}");
    }

    #[test]
    fn lines_are_counted_from_one_and_keep_their_ends() {
        check("", Lines::all(), Ok(("", 0, false)));
        check("a\nb\n", Lines::all(), Ok(("a\nb\n", 2, false)));
        check("a\r\nb", Lines::all(), Ok(("a\r\nb", 2, false)));
        check("a\nb\nc\n", Lines::from(2), Ok(("b\nc\n", 3, false)));
        check("a\nb\nc\n", Lines::from(2).at_most(1), Ok(("b\n", 3, true)));
        check("a\nb\nc", Lines::from(3).at_most(9), Ok(("c", 3, false)));
        check("a\nb", Lines::all().at_most(0), Ok(("", 2, true)));
    }

    #[test]
    fn a_start_past_the_end_says_how_long_the_file_is() {
        check("a\nb\n", Lines::from(3), Err("`a.txt` has 2 lines, so there is no line 3"));
        check("", Lines::from(1), Ok(("", 0, false)));
    }

    #[test]
    fn too_much_content_is_cut_after_a_whole_line() {
        let line = "é".repeat(1000) + "\n";
        let text = line.repeat(200);
        let cut = fitting(&text);
        assert_eq!(
            (cut.len() % line.len(), cut.len() / line.len()),
            (0, MAX_CONTENT_BYTES / line.len())
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters() {
        let text = format!("x{}", "é".repeat(MAX_CONTENT_BYTES));
        assert_eq!(fitting(&text).len(), MAX_CONTENT_BYTES - 1);
    }
}
