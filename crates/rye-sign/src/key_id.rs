//! The two notations of a key id.

use std::fmt;
use std::str::FromStr;

/// The id of a public key (SPEC 2.1): 16 hex digits of SHA-256 over its PEM text, or 64 of SHA-256 over its 32 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

/// A text that is not a [`KeyId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a key id; write the 16 or 64 lowercase hex digits that `rye keys show` and trust documents show"
)]
#[non_exhaustive]
pub struct KeyIdError {
    /// The given text.
    pub text: String,
}

impl KeyId {
    pub(crate) fn of_digits(digits: &str) -> Self {
        Self(digits.to_owned())
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyId {
    type Err = KeyIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && matches!(text.len(), 16 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(KeyIdError { text: text.to_owned() })
        }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::KeyId;

    #[test]
    fn both_notations_are_read() {
        for text in ["6ea18199041a1ea8", &"0f".repeat(32)] {
            assert_eq!(text.parse::<KeyId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn refuses_other_lengths_and_digits() {
        for text in ["", "6ea18199041a1ea", "6EA18199041A1EA8", "6ea18199041a1eag", &"0".repeat(32)]
        {
            let message = format!(
                "`{text}` is not a key id; write the 16 or 64 lowercase hex digits that `rye keys show` and trust documents show"
            );
            assert_eq!(text.parse::<KeyId>().map_err(|error| error.to_string()), Err(message));
        }
    }
}
