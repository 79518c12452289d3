//! The results of a search so far.

use std::io;
use std::ops::ControlFlow;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::super::protected::Guard;
use super::super::tree::File;
use super::reader::{BoundedReader, EndReason};
use super::{
    Cut, FileMatches, GrepMatches, GrepQuery, MAX_SEARCHED_BYTES, MAX_SEARCHED_FILE_BYTES, Show,
    Skipped, Stop,
};

/// The largest size of the text that a call returns, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// The length of the longest line, in characters, and the part of it before the match. Longer lines are cut.
const MAX_LINE: usize = 400;
const BEFORE_MATCH: usize = 100;

/// A search over many files.
pub(super) struct Hits<'a> {
    query: &'a GrepQuery,
    matcher: RegexMatcher,
    searcher: Searcher,
    stop: &'a Stop,
    /// The number of bytes left to search.
    budget: u64,
    so_far: SoFar,
    pub(super) found: GrepMatches,
}

/// The totals of the files so far.
#[derive(Clone, Copy, Default)]
struct SoFar {
    n_passed: usize,
    n_matches: usize,
    n_text: usize,
}

impl<'a> Hits<'a> {
    pub(super) fn new(
        query: &'a GrepQuery,
        matcher: RegexMatcher,
        searcher: Searcher,
        stop: &'a Stop,
    ) -> Self {
        let budget = MAX_SEARCHED_BYTES;
        let found = GrepMatches::default();
        Self { query, matcher, searcher, stop, budget, so_far: SoFar::default(), found }
    }

    /// Searches one file. Returns a reason if no other is to be searched.
    pub(super) fn search(
        &mut self,
        file: &File<'_>,
        guard: &Guard,
        skipped: &mut Skipped,
    ) -> ControlFlow<Cut> {
        let opened = match file.source(guard).open() {
            Ok((_, metadata)) if metadata.len() > MAX_SEARCHED_FILE_BYTES => {
                skipped.too_large += 1;
                return ControlFlow::Continue(());
            }
            Ok((opened, _)) => opened,
            Err(error) if error.is_refusal() => {
                skipped.protected += 1;
                return ControlFlow::Continue(());
            }
            Err(_) => {
                skipped.unreadable += 1;
                return ControlFlow::Continue(());
            }
        };
        self.found.searched += 1;
        let mut reader = BoundedReader::new(opened, self.stop, &mut self.budget);
        let mut hits = FileHits::new(self.query, &self.matcher, self.so_far);
        let result = self.searcher.search_reader(&self.matcher, &mut reader, &mut hits);
        let ended = reader.ended;
        let hits = hits.done;
        if hits.is_binary {
            skipped.binary += 1;
            return ControlFlow::Continue(());
        }
        let cut = hits.cut;
        self.take(file.path, hits);
        let reason = match (cut, ended, result) {
            (Some(cut), ..) => return ControlFlow::Break(cut),
            (_, Some(EndReason::Stopped), _) => return ControlFlow::Break(Cut::Stopped),
            (_, Some(EndReason::Budget), _) => return ControlFlow::Break(Cut::Bytes),
            (_, Some(EndReason::TooLarge), _) => &mut skipped.too_large,
            (_, Some(EndReason::Unreadable), _) => &mut skipped.unreadable,
            // The reader did not fail, so a line was larger than the buffer.
            (_, None, Err(_)) => &mut skipped.long_lines,
            (_, None, Ok(())) => return ControlFlow::Continue(()),
        };
        *reason += 1;
        ControlFlow::Continue(())
    }

    fn take(&mut self, path: &str, hits: Done) {
        self.so_far = hits.so_far;
        self.found.count = hits.so_far.n_matches;
        if hits.count > 0 {
            // Paths count as text, because a thousand of them are large.
            self.so_far.n_text += path.len();
            let count = if self.query.show == Show::Lines { hits.count } else { 0 };
            self.found.files.push(FileMatches { path: path.to_owned(), count, lines: hits.lines });
        }
    }
}

/// The results of one file.
#[derive(Default)]
struct Done {
    so_far: SoFar,
    count: usize,
    lines: Vec<String>,
    is_binary: bool,
    cut: Option<Cut>,
}

/// A search in one file.
struct FileHits<'a> {
    query: &'a GrepQuery,
    matcher: &'a RegexMatcher,
    done: Done,
    /// Context lines that are added if the next match is shown.
    pending: Vec<(u64, String)>,
    /// The number of the last line that was shown.
    last: Option<u64>,
    /// `true` if the last match was shown, so that the context after it is shown too.
    shows: bool,
}

impl<'a> FileHits<'a> {
    fn new(query: &'a GrepQuery, matcher: &'a RegexMatcher, so_far: SoFar) -> Self {
        let done = Done { so_far, ..Done::default() };
        Self { query, matcher, done, pending: Vec::new(), last: None, shows: false }
    }

    fn push(&mut self, number: u64, sign: char, text: &str) {
        let is_gap = self.last.is_some_and(|last| last + 1 < number);
        if is_gap && self.query.context > 0 {
            self.done.lines.push("--".to_owned());
        }
        let line = format!("{number}{sign}{text}");
        self.done.so_far.n_text += line.len();
        self.done.lines.push(line);
        self.last = Some(number);
    }

    /// Returns `true` if there is no room for another match, and sets the reason.
    fn is_full(&mut self) -> bool {
        self.done.cut = if self.done.so_far.n_matches == self.query.limit {
            Some(Cut::Results)
        } else if self.done.so_far.n_text > MAX_TEXT {
            Some(Cut::Text)
        } else {
            None
        };
        self.done.cut.is_some()
    }
}

impl Sink for FileHits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let is_lines = self.query.show == Show::Lines;
        if self.done.so_far.n_passed < self.query.skip {
            self.done.so_far.n_passed += 1;
            self.pending.clear();
            self.shows = false;
            return Ok(is_lines);
        }
        if self.is_full() {
            return Ok(false);
        }
        self.done.so_far.n_matches += 1;
        self.done.count += 1;
        if !is_lines {
            return Ok(false);
        }
        for (number, text) in std::mem::take(&mut self.pending) {
            self.push(number, '-', &text);
        }
        let at = self.matcher.find(found.bytes()).ok().flatten().map_or(0, |found| found.start());
        self.push(found.line_number().unwrap_or_default(), ':', &excerpt(found.bytes(), at));
        self.shows = true;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let number = line.line_number().unwrap_or_default();
        let text = excerpt(line.bytes(), 0);
        match line.kind() {
            grep_searcher::SinkContextKind::Before => self.pending.push((number, text)),
            _ if self.shows => self.push(number, '-', &text),
            _ => {}
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.done.is_binary = true;
        Ok(false)
    }
}

/// Returns a line without its end. A long line is cut to the text around the byte `at`.
fn excerpt(line: &[u8], at: usize) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    if text.chars().nth(MAX_LINE).is_none() {
        return text.to_owned();
    }
    let n_before = String::from_utf8_lossy(line.get(..at).unwrap_or_default()).chars().count();
    let n_skipped = n_before.saturating_sub(BEFORE_MATCH);
    let mut characters = text.chars().skip(n_skipped);
    let mut shown = if n_skipped > 0 { "…".to_owned() } else { String::new() };
    shown.extend(characters.by_ref().take(MAX_LINE));
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}
