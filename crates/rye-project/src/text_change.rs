//! The change of one text, for reviewers.

use similar::TextDiff;

/// A text that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextChange {
    /// The name of the message.
    pub name: String,
    /// The change as a unified diff, three lines of context around each place.
    pub diff: String,
}

impl TextChange {
    /// The change of a text; `None` when there is none.
    #[must_use]
    pub fn between(name: &str, before: &str, after: &str) -> Option<Self> {
        if before == after {
            return None;
        }
        let diff = TextDiff::from_lines(before, after);
        let from = format!("{name}, before");
        let to = format!("{name}, after");
        let diff = diff.unified_diff().context_radius(3).header(&from, &to).to_string();
        Some(Self { name: name.to_owned(), diff })
    }
}
