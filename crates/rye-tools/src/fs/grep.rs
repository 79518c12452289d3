//! Searching what files say, with the parts of ripgrep.

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

/// The most matching lines, or files, that one call gives.
pub const MAX_MATCHES: usize = 1_000;

/// The most lines of context before and after a matching line.
pub const MAX_CONTEXT: usize = 20;

/// The most globs of one call.
pub const MAX_GLOBS: usize = 20;

/// The largest file that is searched, in bytes.
pub const MAX_SEARCHED_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The most that one call searches, in bytes.
pub const MAX_SEARCHED_BYTES: u64 = 1024 * 1024 * 1024;

/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 1024;

/// The most memory that a compiled pattern takes, and that its lazily built automaton does.
const MAX_PROGRAM: usize = 1024 * 1024;
const MAX_AUTOMATON: usize = 8 * 1024 * 1024;

/// The most memory for lines that are searched: a file with a longer one is given up.
const MAX_LINES: usize = 4 * 1024 * 1024;

/// What is looked for, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepQuery {
    /// What a line has to have in it.
    pub pattern: String,
    /// What `pattern` is.
    pub syntax: Syntax,
    /// Whether capitals count.
    pub case: Case,
    /// The file or folder that is searched, relative to the root.
    pub path: String,
    /// Globs relative to `path`: a file is searched when one of them covers it, or there is none, and no glob with `!` does.
    pub globs: Vec<String>,
    /// Which entries of folders are looked at.
    pub view: View,
    /// What is told of the matches.
    pub show: Show,
    /// How many lines before and after each match are shown.
    pub context: usize,
    /// How many matching lines, or files, are passed over, to go on where another search was cut.
    pub skip: usize,
    /// How many matching lines, or files, are shown.
    pub limit: usize,
}

impl GrepQuery {
    /// A regular expression over the whole root, 100 lines of what it matches, and no context.
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

    /// In one folder or file.
    #[must_use]
    pub fn below(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// In the files that one of these globs covers.
    #[must_use]
    pub fn globs(self, globs: &[&str]) -> Self {
        Self { globs: globs.iter().map(|glob| (*glob).to_owned()).collect(), ..self }
    }

    /// With lines around each match.
    #[must_use]
    pub fn context(self, lines: usize) -> Self {
        Self { context: lines, ..self }
    }

    /// With other entries than the usual ones.
    #[must_use]
    pub fn view(self, view: View) -> Self {
        Self { view, ..self }
    }
}

/// How a pattern is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a choice of two by name")]
pub enum Syntax {
    /// A regular expression of the `regex` crate: no look-around, no back-references, and linear time.
    Regex,
    /// The text itself.
    Literal,
}

/// Whether capitals count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a choice of two by name")]
pub enum Case {
    /// `a` is not `A`.
    Sensitive,
    /// `a` is `A`.
    Insensitive,
}

/// What is told of matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Show {
    /// The lines.
    Lines,
    /// The paths of the files alone.
    Files,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrepMatches {
    /// The files with a match, in the order of their paths' parts.
    pub files: Vec<FileMatches>,
    /// How many matching lines, or files, there are in `files`.
    pub count: usize,
    /// How many files were searched.
    pub searched: u64,
    /// What was met and not searched, by reason.
    pub skipped: Skipped,
    /// Why there may be more.
    pub cut: Option<Cut>,
}

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileMatches {
    /// Its path relative to the root, as [`read`](super::read) takes it.
    pub path: String,
    /// How many of its lines are shown as matches; 0 when files alone were asked for.
    pub count: usize,
    /// The lines: `N:TEXT` for a match, `N-TEXT` for context, and `--` where lines are left out between them. Of a long
    /// line, what is around the match.
    pub lines: Vec<String>,
}

/// Searches the files below a folder of the root, or one file, line by line. Links are not followed.
///
/// Files with a NUL byte are not searched. Nothing is read into memory as a whole, and time is in proportion to what is
/// searched and to the length of the pattern; `stop` ends it earlier.
///
/// # Errors
///
/// Refused outside of the root and for private keys (SPEC 5.5); fails for a `path` that is missing, for a pattern or glob
/// that is none, and with [`Error::OverLimit`]. Files that cannot be searched are counted, not errors.
pub fn grep(root: &Root, query: &GrepQuery, stop: &Stop) -> Result<GrepMatches, Error> {
    refuse_over("`context`", query.context, MAX_CONTEXT)?;
    refuse_over("`limit`", query.limit, MAX_MATCHES)?;
    refuse_over("the number of matches to skip", query.skip, MAX_VISITED)?;
    refuse_over("the number of globs", query.globs.len(), MAX_GLOBS)?;
    let (matcher, filter) = (matcher(query)?, Filter::new(&query.globs)?);
    let mut hits = Hits::new(query, matcher, searcher(query), stop);
    let (asked, guard) = prepare(root, &query.path, Access::Read)?;
    let path = asked.text();
    let cut = match walk(root, &asked, &guard, Parents::Required)? {
        Place::Missing { .. } => return Err(Error::NotFound { path }),
        Place::File { folder, name, .. } => {
            let file = File { folder: &folder, name: &name, path: &path };
            // One that may not be read is an error here, as it was named.
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
        pattern: super::path::shown(&query.pattern),
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

/// The part of an error's text that says what is wrong, without the picture above it.
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
