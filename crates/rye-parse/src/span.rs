//! The places of values in their file.

use std::ops::Range;

/// A value and its bytes in the whole file, in which a signature line counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a value and its place are all there is")]
pub struct Spanned<T> {
    /// The value, with entities and escapes resolved.
    pub value: T,
    /// Byte offsets in the file; both ends are character boundaries.
    pub span: Range<usize>,
}

impl<T> Spanned<T> {
    /// Makes a value with a place.
    pub fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }

    /// Converts the value and keeps its place.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: convert(self.value), span: self.span }
    }
}

/// A place as a line and a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "a line and a column are all there is")]
pub struct Position {
    /// The line, starting at 1.
    pub line: usize,
    /// The column in characters, starting at 1.
    pub column: usize,
}

/// Returns the line and column of a byte offset.
///
/// An offset inside a character counts as the start of that character, and an offset after the end as the end.
pub fn position(source: &str, offset: usize) -> Position {
    let before = source.get(..floor_boundary(source, offset)).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or("").chars().count() + 1,
    }
}

/// Returns the nearest character boundary at or before `offset`.
pub(crate) fn floor_boundary(source: &str, offset: usize) -> usize {
    let mut offset = offset.min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Returns the span of the character at `offset`, or an empty span at the end of the text.
pub(crate) fn char_at(source: &str, offset: usize) -> Range<usize> {
    let start = floor_boundary(source, offset);
    let width = source.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    start..start + width
}

/// Returns `range` without the white space at both ends.
pub(crate) fn trim_range(source: &str, range: Range<usize>) -> Range<usize> {
    let text = source.get(range.clone()).unwrap_or("");
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

/// Returns the position of a slice in `text`; `None` if the slice is not a part of it.
pub(crate) fn place_in(text: &str, slice: &str) -> Option<Range<usize>> {
    let start = (slice.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let end = start.checked_add(slice.len())?;
    (text.get(start..end)? == slice).then_some(start..end)
}
