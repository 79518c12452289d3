//! The reasons why an edit cannot be applied.

use std::fmt;

/// The largest number to which occurrences are counted.
pub(super) const MAX_COUNT: usize = 1_000;

/// An edit that cannot be applied to the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditProblem {
    /// The number of the edit, counted from 1.
    pub edit: usize,
    /// The reason.
    pub fault: EditFault,
}

/// The reasons why an edit cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditFault {
    /// `old` is empty.
    Empty,
    /// `old` and `new` are equal.
    Same,
    /// `old` is not in the file.
    NotFound {
        /// The first line of the only text that differs from `old` in white space alone.
        near: Option<usize>,
    },
    /// `old` occurs more than once, and the edit expects one occurrence.
    Ambiguous {
        /// The number of occurrences, at most 1,000.
        count: usize,
        /// The lines where the first occurrences begin, counted from 1.
        lines: Vec<usize>,
    },
    /// `old` occurs more often than one call may replace.
    TooMany {
        /// The largest allowed number.
        maximum: usize,
    },
    /// The edit replaces a part of the text that another edit replaces.
    Overlaps {
        /// The other edit, counted from 1.
        other: usize,
        /// The line where they overlap, counted from 1.
        line: usize,
    },
}

impl fmt::Display for EditProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edit {}: ", self.edit)?;
        match &self.fault {
            EditFault::Empty => f.write_str("`old` is empty; give the text to replace"),
            EditFault::Same => f.write_str("`old` and `new` are the same"),
            EditFault::NotFound { near: None } => {
                f.write_str("`old` is not in the file; read it and copy the text exactly")
            }
            EditFault::NotFound { near: Some(line) } => write!(
                f,
                "`old` is not in the file, but differs in white space alone from what begins in line {line}; copy that exactly"
            ),
            EditFault::Ambiguous { count, lines } => {
                let (count, more) = count_with_prefix(*count);
                write!(f, "`old` occurs {more}{count} times, at lines {}", numbers(lines, count))?;
                f.write_str("; add surrounding lines to say which, or `all: true` for all of them")
            }
            EditFault::TooMany { maximum } => {
                write!(f, "`old` occurs more than {maximum} times, which is too many for one call")
            }
            EditFault::Overlaps { other, line } => {
                write!(f, "it overlaps with edit {other} in line {line}; make one edit of the two")
            }
        }
    }
}

/// Returns the count, with the words before it if it may be larger.
fn count_with_prefix(count: usize) -> (usize, &'static str) {
    (count, if count == MAX_COUNT { "at least " } else { "" })
}

/// Lists lines as text: `4`, `4 and 9`, `4, 9 and 20`, or `4, 9, 20 and more` if `count` is larger than the
/// list.
fn numbers(lines: &[usize], count: usize) -> String {
    let mut words: Vec<String> = lines.iter().map(ToString::to_string).collect();
    if lines.len() < count {
        words.push("more".to_owned());
    }
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
