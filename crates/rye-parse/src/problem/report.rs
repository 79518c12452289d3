//! The list of problems during the parsing of a file.

use std::ops::Range;

use super::{ParseError, Problem, ProblemKind};
use crate::condition::pattern::PatternBudget;
use crate::span::floor_boundary;

/// The most problems, and the most notes, that are kept for one file.
const KEPT: usize = 200;

/// The problems and notes of one file.
#[derive(Debug)]
pub(crate) struct Report<'s> {
    /// The whole file.
    pub(crate) source: &'s str,
    problems: Vec<Problem>,
    notes: Vec<Problem>,
    dropped: usize,
    /// The patterns that conditions of the file may still have.
    pub(crate) patterns: PatternBudget,
}

impl<'s> Report<'s> {
    /// Makes an empty report for a file.
    pub(crate) fn new(source: &'s str) -> Self {
        Self {
            source,
            problems: Vec::new(),
            notes: Vec::new(),
            dropped: 0,
            patterns: PatternBudget::default(),
        }
    }

    /// Adds a problem that makes the file invalid.
    pub(crate) fn error(&mut self, problem: Problem) {
        if self.problems.len() < KEPT {
            self.problems.push(self.align_span(problem));
        } else {
            self.dropped += 1;
        }
    }

    /// Adds a remark on a valid file.
    pub(crate) fn note(&mut self, problem: Problem) {
        if self.notes.len() < KEPT {
            self.notes.push(self.align_span(problem));
        }
    }

    /// Reports a part of the file that has more bytes than the limit, and returns `None` for it.
    pub(crate) fn check_size(
        &mut self,
        what: &str,
        bytes: usize,
        limit: usize,
        place: Range<usize>,
        label: &str,
    ) -> Option<()> {
        if bytes <= limit {
            return Some(());
        }
        let kind = ProblemKind::TooLarge { what: what.to_owned(), bytes, limit };
        self.error(Problem::new(kind, place, label));
        None
    }

    /// Returns `true` if the file is valid so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns the text of a span.
    pub(crate) fn text(&self, span: &Range<usize>) -> &'s str {
        self.source.get(span.clone()).unwrap_or("")
    }

    /// Returns the notes of a valid file, or all problems of an invalid one.
    pub(crate) fn finish(mut self) -> Result<Vec<Problem>, ParseError> {
        if self.is_clean() {
            self.notes.sort_by_key(|note| (note.span.start, note.span.end));
            return Ok(self.notes);
        }
        if 0 < self.dropped {
            let end = self.source.len();
            let kind = ProblemKind::TooMany { what: "problems".to_owned(), limit: KEPT };
            let label = format!("{} more are not shown", self.dropped);
            self.problems.push(Problem::new(kind, end..end, label));
        }
        Err(ParseError::new(self.problems))
    }

    /// Returns the problem with its span moved to character boundaries inside the file.
    fn align_span(&self, mut problem: Problem) -> Problem {
        let start = floor_boundary(self.source, problem.span.start);
        let end = floor_boundary(self.source, problem.span.end).max(start);
        problem.span = start..end;
        problem
    }
}
