//! Text of bytes, or the encoding that they seem to have.

use std::fmt;

/// The reason why bytes are no text: they are not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotText {
    /// The number of bytes at the beginning that are UTF-8.
    pub valid: usize,
    is_utf16: bool,
    bytes: Vec<u8>,
}

impl NotText {
    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.is_utf16 {
            true => "is UTF-16 text; save it as UTF-8",
            false => "is not UTF-8 text; save it as UTF-8",
        })
    }
}

impl std::error::Error for NotText {}

/// Returns the text that the bytes are.
///
/// # Errors
///
/// [`NotText`], which names UTF-16 by its byte order mark.
pub fn text(bytes: Vec<u8>) -> Result<String, NotText> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        NotText { valid, is_utf16, bytes }
    })
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn another_encoding_is_named() {
        #[track_caller]
        fn check(bytes: &[u8], told: Result<&str, &str>) {
            let text = text(bytes.to_vec()).map_err(|error| error.to_string());
            assert_eq!(text.as_deref().map_err(String::as_str), told);
        }
        check(b"a\xc3\xbc", Ok("a\u{fc}"));
        check(b"a\xfc", Err("is not UTF-8 text; save it as UTF-8"));
        check(b"\xff\xfea\0", Err("is UTF-16 text; save it as UTF-8"));
        check(b"\xfe\xff\0a", Err("is UTF-16 text; save it as UTF-8"));
    }
}
