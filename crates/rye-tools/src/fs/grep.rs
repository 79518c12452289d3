//! Searching the content of files, with the libraries of ripgrep.

mod hits;
mod reader;

use std::ops::ControlFlow;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};

use self::hits::Hits;
use super::error::refuse_over;
use super::patterns::Filter;
use super::protected::Access;
use super::tree::{File, Start};
use super::walk::{Parents, Place, prepare, walk};
use super::{Cut, Error, MAX_VISITED, Root, Skipped, Stop, View};

/// The largest number of matching lines, or files, that a call returns.
pub const MAX_MATCHES: usize = 1_000;

/// The largest number of context lines before and after a matching line.
pub const MAX_CONTEXT: usize = 20;

/// The largest number of globs in a call.
pub const MAX_GLOBS: usize = 20;

/// The size of the largest file that is searched, in bytes.
pub const MAX_SEARCHED_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The largest number of bytes that a call searches.
pub const MAX_SEARCHED_BYTES: u64 = 1024 * 1024 * 1024;

/// The length of the longest pattern, in bytes.
const MAX_PATTERN: usize = 1024;

/// The limits of memory for a compiled pattern and for its lazily built automaton, in bytes.
const MAX_PROGRAM: usize = 1024 * 1024;
const MAX_AUTOMATON: usize = 8 * 1024 * 1024;

/// The limit of memory for searched lines, in bytes. A file with a longer line is skipped.
const MAX_LINES: usize = 4 * 1024 * 1024;

/// The parameters of [`grep`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepQuery {
    /// The pattern that a matching line contains.
    pub pattern: String,
    /// The syntax of `pattern`.
    pub syntax: Syntax,
    /// The case sensitivity of `pattern`.
    pub case: Case,
    /// The file or folder to search, relative to the root.
    pub path: String,
    /// Globs relative to `path`. A file is searched if no glob with `!` matches it, and if one of the others
    /// does or there are no others.
    pub globs: Vec<String>,
    /// The kinds of entries that are included.
    pub view: View,
    /// The form of the results.
    pub show: Show,
    /// The number of context lines before and after each match.
    pub context: usize,
    /// The number of matching lines, or files, to leave out at the start, to continue after a search that was
    /// cut.
    pub skip: usize,
    /// The largest number of matching lines, or files, to return.
    pub limit: usize,
}

impl GrepQuery {
    /// Creates a query for a regular expression over the whole root, with at most 100 lines and no context.
    pub fn new(pattern: &str) -> Self {
        Self {
            pattern: pattern.to_owned(),
            syntax: Syntax::Regex,
            case: Case::Sensitive,
            path: ".".to_owned(),
            globs: Vec::new(),
            view: View::usual(),
            show: Show::Lines,
            context: 0,
            skip: 0,
            limit: 100,
        }
    }

    /// Searches in one folder or file.
    #[must_use]
    pub fn below(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Searches only the files that the globs select.
    #[must_use]
    pub fn globs(self, globs: &[&str]) -> Self {
        Self { globs: globs.iter().map(|glob| (*glob).to_owned()).collect(), ..self }
    }

    /// Adds context lines around each match.
    #[must_use]
    pub fn context(self, lines: usize) -> Self {
        Self { context: lines, ..self }
    }

    /// Includes other entries than the usual ones.
    #[must_use]
    pub fn view(self, view: View) -> Self {
        Self { view, ..self }
    }
}

/// The syntax of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a choice of two by name")]
pub enum Syntax {
    /// A regular expression of the `regex` crate: without look-around and back-references, in linear time.
    Regex,
    /// Literal text.
    Literal,
}

/// The case sensitivity of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a choice of two by name")]
pub enum Case {
    /// `a` does not match `A`.
    Sensitive,
    /// `a` matches `A`.
    Insensitive,
}

/// The form of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Show {
    /// Matching lines.
    Lines,
    /// Only the paths of the files.
    Files,
}

/// The results of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepMatches {
    /// The files with a match, in the order of their paths' parts.
    pub files: Vec<FileMatches>,
    /// The number of matching lines, or files, in `files`.
    pub count: usize,
    /// The number of files that were searched.
    pub searched: u64,
    /// The number of entries that were not searched, by reason.
    pub skipped: Skipped,
    /// The reason why there may be more matches.
    pub cut: Option<Cut>,
}

/// The matches in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMatches {
    /// The path relative to the root. [`read`](super::read) accepts it.
    pub path: String,
    /// The number of matching lines in `lines`, or 0 for [`Show::Files`].
    pub count: usize,
    /// The lines: `N:TEXT` for a match, `N-TEXT` for context, and `--` where lines are left out between them.
    /// A long line is cut to the text around the match.
    pub lines: Vec<String>,
}

/// Searches the files below a folder of the root, or one file, line by line. Links are not followed.
///
/// Files with a NUL byte are skipped. No file is read into memory as a whole. The time is proportional to the
/// size of the searched text and to the length of the pattern. `stop` ends the search early.
///
/// # Errors
///
/// Refuses paths outside of the root and private keys (SPEC 5.5). Fails if `path` is missing, if a pattern or
/// a glob is invalid, or with [`Error::OverLimit`]. Files that cannot be searched are counted and are not
/// errors.
pub fn grep(root: &Root, query: &GrepQuery, stop: &Stop) -> Result<GrepMatches, Error> {
    refuse_over("`context`", query.context, MAX_CONTEXT)?;
    refuse_over("`limit`", query.limit, MAX_MATCHES)?;
    refuse_over("the number of matches to skip", query.skip, MAX_VISITED)?;
    refuse_over("the number of globs", query.globs.len(), MAX_GLOBS)?;
    let matcher = matcher(query)?;
    let filter = Filter::new(&query.globs)?;
    let mut hits = Hits::new(query, matcher, searcher(query), stop);
    let (asked, guard) = prepare(root, &query.path, Access::Read)?;
    let path = asked.text();
    let cut = match walk(root, &asked, &guard, Parents::Required)? {
        Place::Missing { .. } => return Err(Error::NotFound { path }),
        Place::File { folder, name, .. } => {
            let file = File { folder: &folder, name: &name, path: &path };
            // Opened once only to check, because an unreadable file is an error if the caller named it.
            drop(file.source(&guard).open()?);
            let mut skipped = Skipped::default();
            let flow = hits.search(&file, &guard, &mut skipped);
            hits.found.skipped = skipped;
            flow.break_value()
        }
        Place::Folder { folder, trail } => {
            let start = Start::new(folder, trail, guard, path);
            search_all(root, start, query, &filter, stop, &mut hits)?
        }
    };
    hits.found.cut = cut;
    Ok(hits.found)
}

fn search_all(
    root: &Root,
    start: Start,
    query: &GrepQuery,
    filter: &Filter,
    stop: &Stop,
    hits: &mut Hits<'_>,
) -> Result<Option<Cut>, Error> {
    let n_shown = start.shown.len();
    let (skipped, cut) = start.walk(root, query.view, stop, &mut |file, guard, skipped| {
        if file.path.get(n_shown..).is_some_and(|path| filter.admits(path)) {
            hits.search(file, guard, skipped)
        } else {
            ControlFlow::Continue(())
        }
    })?;
    hits.found.skipped = skipped;
    Ok(cut)
}

fn matcher(query: &GrepQuery) -> Result<RegexMatcher, Error> {
    let refused = |reason: String| Error::Pattern {
        language: "regular expression",
        pattern: super::path::quote(&query.pattern),
        reason,
    };
    if query.pattern.is_empty() {
        return Err(refused("it is empty, which every line has in it".to_owned()));
    }
    if query.pattern.len() > MAX_PATTERN {
        return Err(refused(format!("it has more than {MAX_PATTERN} bytes")));
    }
    RegexMatcherBuilder::new()
        .fixed_strings(query.syntax == Syntax::Literal)
        .case_insensitive(query.case == Case::Insensitive)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_PROGRAM)
        .dfa_size_limit(MAX_AUTOMATON)
        .build(&query.pattern)
        .map_err(|error| refused(last_line(&error.to_string())))
}

/// Returns the line of an error's text with the reason, without the illustration above it.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn searcher(query: &GrepQuery) -> Searcher {
    let (before, after) =
        if query.show == Show::Lines { (query.context, query.context) } else { (0, 0) };
    SearcherBuilder::new()
        .line_terminator(grep_matcher::LineTerminator::crlf())
        .line_number(true)
        .before_context(before)
        .after_context(after)
        .heap_limit(Some(MAX_LINES))
        .memory_map(MmapChoice::never())
        .binary_detection(BinaryDetection::quit(0))
        .build()
}
