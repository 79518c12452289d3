//! Where a value stands in its file.

use std::ops::Range;

/// A value and the bytes of the whole file that it was read from, signature line included.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a value and its place are all there is")]
pub struct Spanned<T> {
    /// What was read, with entities and escapes already resolved.
    pub value: T,
    /// Byte offsets into the file; both ends lie on character boundaries.
    pub span: Range<usize>,
}

impl<T> Spanned<T> {
    /// Puts a value at a place.
    pub fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }

    /// Turns the value into another one that stands at the same place.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: convert(self.value), span: self.span }
    }
}

/// A place as people and editors count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "a line and a column are all there is")]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// The line and column of a byte offset.
///
/// An offset inside a character counts as that character's start, one past the end as the end.
pub fn position(source: &str, offset: usize) -> Position {
    let before = source.get(..floor_boundary(source, offset)).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or("").chars().count() + 1,
    }
}

/// The nearest character boundary at or before `offset`.
pub(crate) fn floor_boundary(source: &str, offset: usize) -> usize {
    let mut offset = offset.min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The character at `offset`, or an empty span at the end of the text.
pub(crate) fn char_at(source: &str, offset: usize) -> Range<usize> {
    let start = floor_boundary(source, offset);
    let width = source.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    start..start + width
}

/// The part of `range` that is left after white space at both ends is taken away.
pub(crate) fn trimmed(source: &str, range: Range<usize>) -> Range<usize> {
    let text = source.get(range.clone()).unwrap_or("");
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

/// Where a slice of `text` stands in it; `None` for text from elsewhere.
pub(crate) fn place_in(text: &str, slice: &str) -> Option<Range<usize>> {
    let start = (slice.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let end = start.checked_add(slice.len())?;
    (text.get(start..end)? == slice).then_some(start..end)
}
