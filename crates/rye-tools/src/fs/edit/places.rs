//! Places in a text that edits replace.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use super::problem::{EditFault, EditProblem, MAX_COUNT};
use super::{Edit, Occurrences};

/// The largest number of places that a call replaces.
pub(super) const MAX_PLACES: usize = 100_000;

/// The largest number of lines that an error lists.
const MAX_LINES: usize = 10;

/// The largest number of line comparisons for a hint.
const MAX_COMPARISONS: usize = 10_000_000;

/// A part of the text, and its new text.
pub(super) struct Replacement {
    pub(super) range: Range<usize>,
    pub(super) new: Rc<str>,
    /// The number of the edit, counted from 1.
    edit: usize,
}

/// Returns the places of all edits in the order of the text, or every edit that cannot be applied.
pub(super) fn find(text: &str, edits: &[Edit]) -> Result<Vec<Replacement>, Vec<EditProblem>> {
    let crlf = is_crlf(text);
    let mut places = Vec::new();
    let mut problems = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        match places_of(text, edit, index + 1, crlf) {
            Ok(found) if places.len() + found.len() > MAX_PLACES => {
                let fault = EditFault::TooMany { maximum: MAX_PLACES };
                problems.push(EditProblem { edit: index + 1, fault });
            }
            Ok(found) => places.extend(found),
            Err(fault) => problems.push(EditProblem { edit: index + 1, fault }),
        }
    }
    places.sort_by_key(|place| (place.range.start, place.edit));
    for pair in places.windows(2) {
        if let [one, two] = pair
            && one.range.end > two.range.start
            && problems.iter().all(|problem| problem.edit != two.edit)
        {
            let line = line_of(text, two.range.start);
            let fault = EditFault::Overlaps { other: one.edit, line };
            problems.push(EditProblem { edit: two.edit, fault });
        }
    }
    problems.sort_by_key(|problem| problem.edit);
    if problems.is_empty() { Ok(places) } else { Err(problems) }
}

fn places_of(
    text: &str,
    edit: &Edit,
    number: usize,
    crlf: bool,
) -> Result<Vec<Replacement>, EditFault> {
    if edit.old.is_empty() {
        return Err(EditFault::Empty);
    }
    let old = with_ends(&edit.old, crlf);
    let new = with_ends(&edit.new, crlf);
    if old == new {
        return Err(EditFault::Same);
    }
    let starts = match edit.occurrences {
        Occurrences::Only => vec![only(text, &old)?],
        Occurrences::All => all(text, &old)?,
    };
    let new: Rc<str> = new.as_ref().into();
    let place =
        |start| Replacement { range: start..start + old.len(), new: Rc::clone(&new), edit: number };
    Ok(starts.into_iter().map(place).collect())
}

fn only(text: &str, old: &str) -> Result<usize, EditFault> {
    let starts: Vec<usize> = overlapping(text, old).take(MAX_COUNT).collect();
    match starts.as_slice() {
        [] => Err(EditFault::NotFound { near: near(text, old) }),
        [start] => Ok(*start),
        several => {
            let lines = several.iter().take(MAX_LINES).map(|start| line_of(text, *start)).collect();
            Err(EditFault::Ambiguous { count: several.len(), lines })
        }
    }
}

fn all(text: &str, old: &str) -> Result<Vec<usize>, EditFault> {
    let starts: Vec<usize> =
        text.match_indices(old).map(|(start, _)| start).take(MAX_PLACES + 1).collect();
    match starts.len() {
        0 => Err(EditFault::NotFound { near: near(text, old) }),
        n if n > MAX_PLACES => Err(EditFault::TooMany { maximum: MAX_PLACES }),
        _ => Ok(starts),
    }
}

/// Returns all starts of `old`, including those inside an earlier occurrence, because these are ambiguous
/// too.
fn overlapping<'a>(text: &'a str, old: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text.get(from..)?.find(old)?;
        from = start + step;
        Some(start)
    })
}

/// Returns the line of an offset, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// Returns `true` if the text has line ends and all of them are CRLF.
fn is_crlf(text: &str) -> bool {
    let mut ends = text.match_indices('\n').peekable();
    ends.peek().is_some()
        && ends.all(|(at, _)| text.as_bytes().get(..at).is_some_and(|head| head.ends_with(b"\r")))
}

fn with_ends(text: &str, crlf: bool) -> Cow<'_, str> {
    if !crlf || !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
}

/// Returns the line where the text begins that differs from `old` only in white space at the ends of lines,
/// if there is exactly one.
fn near(text: &str, old: &str) -> Option<usize> {
    let wanted: Vec<&str> = old.trim().lines().map(str::trim).collect();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let [first, ..] = wanted.as_slice() else { return None };
    if first.is_empty() || wanted.len().saturating_mul(lines.len()) > MAX_COMPARISONS {
        return None;
    }
    let mut found = lines.windows(wanted.len()).enumerate().filter(|(_, some)| *some == wanted);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Some(index + 1),
        _ => None,
    }
}
