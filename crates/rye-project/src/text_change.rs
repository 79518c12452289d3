//! The change of one text, for reviewers.

use rye_parse::LineComparer;

/// A text that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextChange {
    /// The name of the message.
    pub name: String,
    /// The change as [`LineComparer::unified_diff`] writes it.
    pub diff: String,
}

impl TextChange {
    /// The change of a text; `None` when there is none.
    #[must_use]
    pub fn between(
        comparer: &mut LineComparer,
        name: &str,
        before: &str,
        after: &str,
    ) -> Option<Self> {
        if before == after {
            return None;
        }
        let names = [format!("{name}, before"), format!("{name}, after")];
        let diff = comparer.unified_diff(names.each_ref().map(String::as_str), before, after);
        Some(Self { name: name.to_owned(), diff })
    }
}
