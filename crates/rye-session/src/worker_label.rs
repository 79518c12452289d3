//! The label of a group of workers of a durable engine.

use std::fmt;
use std::str::FromStr;

/// The label of a group of workers of a durable engine, such as `gpu`. A thread with a label runs on workers with that label alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerLabel(String);

/// The most characters of a label.
const MOST: usize = 32;

impl WorkerLabel {
    /// Returns the label as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for WorkerLabel {
    type Err = WorkerLabelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if text.is_empty() || MOST < text.len() || !text.bytes().all(is_part) {
            return Err(WorkerLabelError(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The error for a text that is no label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no label of workers; write 1 to 32 lowercase letters, digits and `-`")]
pub struct WorkerLabelError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_short_plain_name() {
        for label in ["gpu", "a", "site-2", "01234567890123456789012345678901"] {
            assert_eq!(
                label.parse::<WorkerLabel>().map(|label| label.to_string()),
                Ok(label.to_owned())
            );
        }
        for text in ["", "GPU", "a/b", "a b", "é", "012345678901234567890123456789012"] {
            let told = text.parse::<WorkerLabel>().map_err(|error| error.to_string());
            let expected = format!(
                "`{text}` is no label of workers; write 1 to 32 lowercase letters, digits and `-`"
            );
            assert_eq!(told, Err(expected));
        }
    }
}
