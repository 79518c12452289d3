//! Errors as text, for records and lists that hold nothing else.

/// Returns an error with its causes in one line, for records that hold text alone.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let sentence = error.to_string();
        if !text.ends_with(&sentence) {
            text = format!("{text}: {sentence}");
        }
        cause = error.source();
    }
    text
}
