//! The list that problems are written to while a file is read.

use std::ops::Range;

use super::{ParseError, Problem, ProblemKind};
use crate::span::floor_boundary;

/// How many problems, and how many notes, are kept of one file.
const KEPT: usize = 200;

/// Problems and notes of one file.
#[derive(Debug)]
pub(crate) struct Report<'s> {
    /// The whole file.
    pub(crate) source: &'s str,
    problems: Vec<Problem>,
    notes: Vec<Problem>,
    dropped: usize,
}

impl<'s> Report<'s> {
    /// An empty report on a file.
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, problems: Vec::new(), notes: Vec::new(), dropped: 0 }
    }

    /// Adds what makes the file unreadable.
    pub(crate) fn error(&mut self, problem: Problem) {
        if self.problems.len() < KEPT {
            self.problems.push(self.placed(problem));
        } else {
            self.dropped += 1;
        }
    }

    /// Adds what is worth saying of a readable file.
    pub(crate) fn note(&mut self, problem: Problem) {
        if self.notes.len() < KEPT {
            self.notes.push(self.placed(problem));
        }
    }

    /// Whether the file is readable so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// The text of a place.
    pub(crate) fn text(&self, span: &Range<usize>) -> &'s str {
        self.source.get(span.clone()).unwrap_or("")
    }

    /// The notes of a readable file, or all problems of an unreadable one.
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

    /// The problem with its span moved onto character boundaries inside the file.
    fn placed(&self, mut problem: Problem) -> Problem {
        let start = floor_boundary(self.source, problem.span.start);
        let end = floor_boundary(self.source, problem.span.end).max(start);
        problem.span = start..end;
        problem
    }
}
