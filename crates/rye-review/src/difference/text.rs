//! The difference as a page for people, what matters most first.

use std::fmt;

use unicode_width::UnicodeWidthStr as _;

use super::{Change, Difference, PatternChange};
use crate::one_line::one_line;

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "no difference");
        }
        patterns(f, "capabilities gained", '+', &self.gained)?;
        if !self.widened.is_empty() {
            writeln!(f, "may do more")?;
            self.widened.iter().try_for_each(|widened| writeln!(f, "  + {widened}"))?;
        }
        patterns(f, "capabilities lost", '-', &self.lost)?;
        for section in &self.sections {
            writeln!(f, "{}", section.name)?;
            section.changes.iter().try_for_each(|row| change(f, row))?;
        }
        for text in &self.prompt {
            write!(f, "{}", text.diff)?;
        }
        Ok(())
    }
}

fn patterns(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    sign: char,
    changes: &[PatternChange],
) -> fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(f, "{title}")?;
    for PatternChange { pattern, example } in changes {
        match example {
            Some(example) if example.as_str() != pattern.as_str() => {
                writeln!(f, "  {sign} {pattern}, such as {example}")?;
            }
            Some(_) => writeln!(f, "  {sign} {pattern}")?,
            None => writeln!(f, "  {sign} {pattern}, which takes too long to decide")?,
        }
    }
    Ok(())
}

fn change(f: &mut fmt::Formatter<'_>, change: &Change) -> fmt::Result {
    let name = one_line(&change.name);
    let [before, after] = [&change.before, &change.after].map(|text| text.as_deref().map(one_line));
    match (before, after) {
        (None, after) => writeln!(f, "  + {name}: {}", after.unwrap_or_default()),
        (Some(before), None) => writeln!(f, "  - {name}: {before}"),
        (Some(before), Some(after)) => {
            writeln!(f, "  ~ {name}: {before}")?;
            writeln!(f, "  {:>width$} {after}", "→", width = name.width() + 3)
        }
    }
}
