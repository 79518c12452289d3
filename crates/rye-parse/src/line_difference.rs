//! The difference of two texts, line by line, within a bound of work.

use similar::{DiffableStr, TextDiff};

/// The most lines that are compared with each other, those of both texts together. The work grows with the square of their
/// number. Equal lines at the beginning and at the end of the texts do not count.
const MOST_LINES: usize = 4_000;

/// The most lines that are compared in all comparisons of one [`LineComparer`] together.
const MOST_TOGETHER: usize = 10 * MOST_LINES;

/// The most lines of a comparison that does not count among [`MOST_TOGETHER`], so that small changes are always shown.
const SMALL: usize = 100;

/// The number of equal lines around each change.
const CONTEXT: usize = 3;

/// Returns the difference of two texts as [`LineComparer::unified_diff`] does for the first one.
///
/// ```
/// let diff = rye_parse::unified_diff(["old", "new"], "a\nb\n", "a\nc\n");
/// assert_eq!(diff, "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
/// ```
#[must_use]
pub fn unified_diff(names: [&str; 2], old: &str, new: &str) -> String {
    LineComparer::default().unified_diff(names, old, new)
}

/// The comparison of texts within a bound of work for each and for all together.
#[derive(Debug)]
pub struct LineComparer {
    lines_left: usize,
}

impl Default for LineComparer {
    fn default() -> Self {
        Self { lines_left: MOST_TOGETHER }
    }
}

impl LineComparer {
    /// Returns the difference as a unified diff with the names of both texts, or an empty text for equal ones.
    ///
    /// If too many lines differ, a sentence says from which line on. The number of lines decides that, and no clock.
    #[must_use]
    pub fn unified_diff(
        &mut self,
        [old_name, new_name]: [&str; 2],
        old: &str,
        new: &str,
    ) -> String {
        let (old, new) = (old.tokenize_lines(), new.tokenize_lines());
        let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let (rest_of_old, rest_of_new) = (rest(&old, same), rest(&new, same));
        let ends = rest_of_old.iter().rev().zip(rest_of_new.iter().rev());
        let same_ends = ends.take_while(|(old, new)| old == new).count();
        let lines = [rest_of_old.len() - same_ends, rest_of_new.len() - same_ends];
        // If one of them has no lines left, there is nothing to compare.
        if !lines.contains(&0) && !self.admit(lines[0] + lines[1]) {
            let from = same + 1;
            return format!(
                "--- {old_name}\n+++ {new_name}\ndiffers from line {from} on: {} old and {} new lines, too many to compare\n",
                lines[0], lines[1]
            );
        }
        let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
        diff.unified_diff().context_radius(CONTEXT).header(old_name, new_name).to_string()
    }

    /// Returns `true` if so many lines may be compared, and counts them.
    fn admit(&mut self, lines: usize) -> bool {
        if lines <= SMALL {
            return true;
        }
        let left = self.lines_left.checked_sub(lines).filter(|_| lines <= MOST_LINES);
        self.lines_left = left.unwrap_or(self.lines_left);
        left.is_some()
    }
}

fn rest<'a>(lines: &'a [&'a str], same: usize) -> &'a [&'a str] {
    lines.get(same..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn lines(name: &str, count: usize, end: &str) -> String {
        (0..count).fold(String::new(), |mut text, number| {
            write!(text, "{name}{number}{end}").unwrap();
            text
        })
    }

    #[track_caller]
    fn check(old: &str, new: &str, expected: &str) {
        let expected = match expected {
            "" => String::new(),
            expected => format!("--- a\n+++ b\n{expected}"),
        };
        assert_eq!(unified_diff(["a", "b"], old, new), expected);
    }

    #[test]
    fn the_difference_is_a_unified_diff() {
        check("", "", "");
        check("a\n", "a\n", "");
        check("", "a\n", "@@ -0,0 +1 @@\n+a\n");
        check("a\n", "", "@@ -1 +0,0 @@\n-a\n");
        check("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
        let five = "1\n2\n3\n4\n5\n";
        check(five, &format!("{five}6\n"), "@@ -3,3 +3,4 @@\n 3\n 4\n 5\n+6\n");
    }

    /// Lines that end in a carriage return count, too.
    #[test]
    fn too_many_lines_are_not_compared() {
        let half = MOST_LINES / 2;
        for end in ["\n", "\r\n", "\r"] {
            let shown = |count| {
                let (old, new) = (lines("old", count, end), lines("new", count, end));
                let (old, new) = (format!("same\n{old}end\n"), format!("same\n{new}end\n"));
                unified_diff(["a", "b"], &old, &new)
            };
            assert_eq!(shown(half).matches("+new").count(), half, "{end:?}");
            let more = half + 1;
            let sentence = format!(
                "--- a\n+++ b\ndiffers from line 2 on: {more} old and {more} new lines, too many to compare\n"
            );
            assert_eq!(shown(more), sentence, "{end:?}");
        }
    }

    #[test]
    fn comparisons_are_bounded_together() {
        let mut comparer = LineComparer::default();
        let mut is_compared = |count| {
            let (old, new) = (lines("old", count, "\n"), lines("new", count, "\n"));
            !comparer.unified_diff(["a", "b"], &old, &new).contains("differs from line 1 on")
        };
        let half = SMALL / 2 + 1;
        let compared = (0..MOST_TOGETHER).take_while(|_| is_compared(half)).count();
        assert_eq!(compared, MOST_TOGETHER / (2 * half));
        assert!(is_compared(SMALL / 2));
    }

    /// However many lines a text has, a change of a few of them in one place is shown.
    #[test]
    fn equal_lines_around_a_change_do_not_count() {
        let around = lines("same", 10 * MOST_LINES, "\n");
        let changed = format!("{around}new\n{around}");
        let diff = unified_diff(["a", "b"], &format!("{around}{around}"), &changed);
        assert!(diff.contains("\n+new\n"), "{diff}");
        assert_eq!(diff.lines().count(), 10, "{diff}");
        let added = unified_diff(["a", "b"], "", &around);
        assert_eq!(added.lines().count(), 3 + 10 * MOST_LINES);
    }
}
