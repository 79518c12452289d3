//! The 64 bytes of a signature and their two base64 spellings.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// An Ed25519 signature that is well-formed as text, but not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignatureBytes([u8; 64]);

impl SignatureBytes {
    pub(crate) fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// Decodes either alphabet, with both padding characters or with none. Returns `None` for a mix, or for stray bits
    /// after the 64 bytes.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let digits = match text.len() {
            88 => text.strip_suffix("==")?,
            _ => text,
        };
        let engine = if digits.contains(['+', '/']) { STANDARD_NO_PAD } else { URL_SAFE_NO_PAD };
        let bytes = engine.decode(digits).ok()?;
        bytes.try_into().map(Self).ok()
    }

    /// Encodes in the URL-safe alphabet without padding (SPEC 2.1).
    pub(crate) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::SignatureBytes;

    const BYTES: [u8; 64] = [0xfb; 64];

    #[test]
    fn reads_both_alphabets_padded_or_not() {
        let expected = SignatureBytes::from_bytes(BYTES);
        for padded in [STANDARD.encode(BYTES), URL_SAFE.encode(BYTES)] {
            assert_eq!(SignatureBytes::decode(&padded), Some(expected.clone()));
            assert_eq!(
                SignatureBytes::decode(padded.trim_end_matches('=')),
                Some(expected.clone())
            );
        }
        assert_eq!(SignatureBytes::decode(&expected.encode()), Some(expected));
    }

    #[test]
    fn reads_64_bytes_and_no_other_number() {
        for length in (0..=200).filter(|length| *length != 64) {
            check_refused(&URL_SAFE.encode(vec![0xfb; length]));
            check_refused(URL_SAFE.encode(vec![0xfb; length]).trim_end_matches('='));
        }
    }

    /// The last letter of 64 encoded bytes has four unused bits. They must be zero, so that there is one spelling.
    #[test]
    fn reads_a_last_letter_without_stray_bits() {
        let text = SignatureBytes::from_bytes(BYTES).encode();
        let letters = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_']);
        let read: String = letters
            .filter(|letter| SignatureBytes::decode(&format!("{}{letter}", &text[..85])).is_some())
            .collect();
        assert_eq!(read, "AQgw");
    }

    #[track_caller]
    fn check_refused(text: &str) {
        assert_eq!(SignatureBytes::decode(text), None, "{text}");
    }

    #[test]
    fn refuses_every_other_spelling() {
        let text = SignatureBytes::from_bytes(BYTES).encode();
        check_refused("");
        check_refused(&text.replacen('-', "+", 1));
        check_refused(&format!("{text}="));
        check_refused(&format!("{text}==="));
        check_refused(&format!("{text}A"));
        check_refused(&text[..85]);
        check_refused(&format!(" {text}"));
        check_refused(&format!("{}x", &text[..85]));
    }
}
