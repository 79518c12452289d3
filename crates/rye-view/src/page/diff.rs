//! A unified difference as a table.

use maud::{Markup, html};

use super::text::{Shown, cut};

/// The most lines of a difference that are shown at once.
const MOST_LINES: usize = 60;

/// One line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(u64, u64, &'a str),
    Removed(u64, &'a str),
    Added(u64, &'a str),
    /// A header or a remark.
    Note(&'a str),
}

/// The numbers of added and removed lines.
pub(crate) fn counts(diff: &str) -> (usize, usize) {
    let lines = lines(diff);
    let count = |is: fn(&Line<'_>) -> bool| lines.iter().filter(|line| is(line)).count();
    (count(|line| matches!(line, Line::Added(..))), count(|line| matches!(line, Line::Removed(..))))
}

/// The difference with line numbers. A long one unfolds.
pub(crate) fn table(diff: &str) -> Markup {
    let lines = lines(cut(diff, usize::MAX, 64 * 1024));
    let (first, rest) = lines.split_at(lines.len().min(MOST_LINES));
    html! {
        (body(first))
        @if !rest.is_empty() {
            details.rest { summary { "Show " (rest.len()) " more lines" } (body(rest)) }
        }
    }
}

fn body(lines: &[Line<'_>]) -> Markup {
    html! {
        table.diff {
            tbody {
                @for line in lines {
                    @match *line {
                        Line::Same(old, new, text) => tr { td { (old) } td { (new) } td {} td { (Shown(text)) } },
                        Line::Removed(old, text) => tr.d { td { (old) } td {} td { span.vh { "removed " } "−" } td { (Shown(text)) } },
                        Line::Added(new, text) => tr.a { td {} td { (new) } td { span.vh { "added " } "+" } td { (Shown(text)) } },
                        Line::Note(text) => tr.h { td {} td {} td {} td { (Shown(text)) } },
                    }
                }
            }
        }
    }
}

fn lines(diff: &str) -> Vec<Line<'_>> {
    let mut old = 0;
    let mut new = 0;
    let mut is_inside = false;
    let mut lines = Vec::new();
    for text in diff.lines() {
        if let Some((from, to)) = hunk(text) {
            (old, new, is_inside) = (from, to, true);
            if !lines.is_empty() {
                lines.push(Line::Note("⋯"));
            }
            continue;
        }
        let rest = text.get(1..).unwrap_or_default();
        match text.as_bytes().first() {
            Some(b'+') if is_inside => {
                lines.push(Line::Added(new, rest));
                new += 1;
            }
            Some(b'-') if is_inside => {
                lines.push(Line::Removed(old, rest));
                old += 1;
            }
            Some(b' ') | None if is_inside => {
                lines.push(Line::Same(old, new, rest));
                (old, new) = (old + 1, new + 1);
            }
            // The names of the files stand before the table.
            Some(b'+' | b'-') => {}
            _ => lines.push(Line::Note(text)),
        }
    }
    lines
}

/// The first line numbers that a header of a hunk names: `@@ -1,4 +1,5 @@`.
fn hunk(text: &str) -> Option<(u64, u64)> {
    let mut words = text.strip_prefix("@@ ")?.split(' ');
    let mut number = |sign: char| -> Option<u64> {
        words.next()?.strip_prefix(sign)?.split(',').next()?.parse().ok()
    };
    Some((number('-')?, number('+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_on_both_sides() {
        let diff = "--- a\n+++ b\n@@ -3,2 +3,3 @@\n # Log\n-old\n+new\n+++ more\n@@ -9 +10 @@\n-x\n\\ No newline\n";
        let expected = vec![
            Line::Same(3, 3, "# Log"),
            Line::Removed(4, "old"),
            Line::Added(4, "new"),
            Line::Added(5, "++ more"),
            Line::Note("⋯"),
            Line::Removed(9, "x"),
            Line::Note("\\ No newline"),
        ];
        assert_eq!(lines(diff), expected);
        assert_eq!(counts(diff), (2, 2));
    }
}
