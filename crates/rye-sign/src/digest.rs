//! SHA-256 of bytes, and of text independent of its line ends.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use sha2::Digest as _;

/// A SHA-256 digest, written as 64 lowercase hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is not a [`Digest`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a SHA-256 digest; write 64 lowercase hex digits")]
#[non_exhaustive]
pub struct DigestError {
    /// The given text.
    pub text: String,
}

impl Digest {
    /// Digests the bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Digests a text, with CRLF read as LF. A signature that is kept beside the text states this digest, and
    /// [`Digest::of_content`] is that of a text that carries its signature.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self::of_parts(&[text])
    }

    /// Digests the pieces one after the other.
    pub(crate) fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let digest = pieces.into_iter().fold(sha2::Sha256::new(), sha2::Digest::chain_update);
        Self(digest.finalize().into())
    }

    /// Digests the parts as one text, with CRLF read as LF.
    pub(crate) fn of_parts(parts: &[&str]) -> Self {
        // Nearly all text has no CR and need not be copied.
        if !parts.iter().any(|part| part.contains('\r')) {
            return Self::of_pieces(parts.iter().map(|part| part.as_bytes()));
        }
        // The parts are joined first, because a CR at the end of one part and an LF at the start of the next are one
        // line end.
        Self::of(normalize_line_ends(&parts.concat()).as_bytes())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest as hex digits.
    pub(crate) fn digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 0xf)]);
        }
        digits
    }

    /// The first twelve digits and an ellipsis, for messages.
    pub fn shortened(&self) -> String {
        self.to_string().chars().take(12).chain(['…']).collect()
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        from_hex(text).map(Self).ok_or_else(|| DigestError { text: text.to_owned() })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written in one piece: every verification writes a digest, and formatting 32 bytes one by one costs more than
        // hashing.
        f.write_str(str::from_utf8(&self.digits()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// Turns CRLF into LF. A lone CR stays, so that replacing an LF by a CR changes the digest.
pub(crate) fn normalize_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}

/// Returns the hex digit of a value below 16.
fn digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + nibble - 10,
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    /// FIPS 180-2, appendix B.1.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn agrees_with_the_standard() {
        assert_eq!(Digest::of(b"abc").to_string(), ABC);
        assert_eq!(ABC.parse(), Ok(Digest::of(b"abc")));
        assert_eq!(Digest::of(b"abc").shortened(), "ba7816bf8f01…");
        assert_eq!(Digest::of(b"abc").as_bytes()[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(format!("{:?}", Digest::of(b"abc")), format!("Digest({ABC})"));
    }

    #[test]
    fn content_is_all_but_the_signature_line() {
        for text in ["a\nb\n", "<!-- rye:unsigned -->\r\na\r\nb\r\n", "# rye:unsigned\na\nb\n"] {
            assert_eq!(Digest::of_content(text), Digest::of(b"a\nb\n"), "{text}");
        }
        let script = "#!/bin/sh\n# rye:unsigned\ntrue\n";
        assert_eq!(Digest::of_content(script), Digest::of(b"#!/bin/sh\ntrue\n"));
    }

    #[test]
    fn only_a_whole_line_end_is_normalized() {
        assert_eq!(Digest::of_parts(&["a\r\nb\r", "\n"]), Digest::of(b"a\nb\n"));
        assert_eq!(Digest::of_parts(&["a\rb"]), Digest::of(b"a\rb"));
    }

    #[test]
    fn refuses_other_spellings() {
        for text in ["", "ba78", &ABC.to_uppercase(), &format!("{ABC}0"), &ABC.replace('b', "é")] {
            let message =
                format!("`{text}` is not a SHA-256 digest; write 64 lowercase hex digits");
            assert_eq!(text.parse::<Digest>().map_err(|error| error.to_string()), Err(message));
        }
    }
}
