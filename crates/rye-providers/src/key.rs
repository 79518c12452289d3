//! Keys of providers.

use std::fmt;
use std::str::FromStr;

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A provider's key. It is never shown, and is wiped from memory when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ApiKey(String);

impl ApiKey {
    /// The key itself, for the header and for redaction.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The key, if it is too long to occur in text by chance. The key of a local server may be any word.
    pub(crate) fn secret(&self) -> Option<&str> {
        (self.0.len() >= SHORTEST_SECRET).then_some(self.0.as_str())
    }
}

const SHORTEST_SECRET: usize = 16;

impl FromStr for ApiKey {
    type Err = ApiKeyError;

    /// Parses a key and trims white space. A key that cannot be sent in a header is refused.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let key = text.trim();
        if key.is_empty() {
            Err(ApiKeyError::Empty)
        } else if key.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(key.to_owned()))
        } else {
            Err(ApiKeyError::NotAscii)
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").finish_non_exhaustive()
    }
}

/// The reason why a text is not a key. It never shows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiKeyError {
    /// The text is empty or white space.
    #[error("the key is empty")]
    Empty,
    /// The text has a character that is not visible ASCII.
    #[error("the key has a character that is not visible ASCII; copy it again")]
    NotAscii,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key: ApiKey = " sk-secret\n".parse().unwrap();
        assert_eq!(key.expose(), "sk-secret");
        assert_eq!(format!("{key:?}"), "ApiKey { .. }");
    }

    #[test]
    fn a_text_that_is_no_key_is_refused_without_being_shown() {
        assert_eq!("  ".parse::<ApiKey>().unwrap_err().to_string(), "the key is empty");
        let message = "the key has a character that is not visible ASCII; copy it again";
        assert_eq!("sk secret".parse::<ApiKey>().unwrap_err().to_string(), message);
        assert_eq!("sk-é".parse::<ApiKey>().unwrap_err().to_string(), message);
    }
}
