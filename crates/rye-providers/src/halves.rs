//! Characters that JSON writes as two escapes: halves that meet are one character, and a lone half is U+FFFD.
//!
//! Servers cut text anywhere, also within a character. A JSON string with a lone half is no text, so most readers
//! refuse it.

use std::borrow::Cow;

use rye_thread::mend_halves;
use serde_json::value::RawValue;

/// Returns the text of a JSON string, or `None` if the value is no string.
pub(crate) fn text(json: &str) -> Option<String> {
    borrowed_text(json).map(Cow::into_owned)
}

/// Returns the text of a JSON string, which is part of the JSON if it has no escapes.
pub(crate) fn borrowed_text(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if !has_escapes(inner) {
        return Some(Cow::Borrowed(inner));
    }
    let mended = || serde_json::from_str(&mend_halves(json)?).ok();
    serde_json::from_str(json).ok().or_else(mended).map(Cow::Owned)
}

/// A JSON string without escapes is the text itself.
fn has_escapes(inner: &str) -> bool {
    inner.as_bytes().contains(&b'\\')
}

/// The number of bytes of an escape such as `\ud83d`.
const HALF_BYTES: usize = 6;

/// Returns `true` if the text has the first letters of such an escape, which is found far faster than a half.
fn may_have_halves(json: &str) -> bool {
    json.contains("\\ud") || json.contains("\\uD")
}

/// A text that arrives in pieces, each a JSON string.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    text: String,
    /// The first half of a character at the end of the last piece.
    half: Option<u16>,
    is_mended: bool,
}

impl Pieces {
    /// Adds a piece and returns the new text, or `None` if the piece is no JSON string.
    pub(crate) fn push(&mut self, piece: &RawValue) -> Option<&str> {
        let json = piece.get();
        let from = self.text.len();
        let inner = json.strip_prefix('"')?.strip_suffix('"')?;
        if self.half.is_some() || may_have_halves(inner) {
            self.join(inner)?;
        } else if has_escapes(inner) {
            self.text.push_str(&serde_json::from_str::<String>(json).ok()?);
        } else {
            self.text.push_str(inner);
        }
        self.text.get(from..)
    }

    /// Adds plain text.
    pub(crate) fn push_str(&mut self, text: &str) {
        if !text.is_empty() {
            self.end_half();
            self.text.push_str(text);
        }
    }

    /// Adds the inner part of a JSON string to the half that is held back, and holds back a half at its end.
    fn join(&mut self, inner: &str) -> Option<()> {
        if inner.is_empty() {
            return Some(());
        }
        let first = self.half.take().map(|unit| format!("\\u{unit:04x}")).unwrap_or_default();
        let mut json = format!("\"{first}{inner}");
        self.half = half_at_end(&json);
        if self.half.is_some() {
            json.truncate(json.len() - HALF_BYTES);
        }
        json.push('"');
        if let Some(mended) = mend_halves(&json) {
            (self.is_mended, json) = (true, mended);
        }
        self.text.push_str(&serde_json::from_str::<String>(&json).ok()?);
        Some(())
    }

    fn end_half(&mut self) {
        if self.half.take().is_some() {
            self.is_mended = true;
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// The text so far, without a half at its end.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.half.is_none()
    }

    /// Returns the whole text, and whether a lone half of it was replaced.
    pub(crate) fn finish(mut self) -> (String, bool) {
        self.end_half();
        (self.text, self.is_mended)
    }
}

/// Returns the first half of a character that the open JSON string ends with.
fn half_at_end(json: &str) -> Option<u16> {
    let at = json.len().checked_sub(HALF_BYTES)?;
    let digits = json.get(at..)?.strip_prefix("\\u")?;
    let unit =
        u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..=0xdbff).contains(unit))?;
    // A backslash that is escaped itself begins no escape.
    let before = json.get(..at)?.bytes().rev().take_while(|byte| *byte == b'\\').count();
    (before % 2 == 0).then_some(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], shown: &[&str], whole: (&str, bool)) {
        let mut text = Pieces::default();
        for (piece, shown) in pieces.iter().zip(shown) {
            let piece = RawValue::from_string((*piece).to_owned()).unwrap();
            assert_eq!(text.push(&piece), Some(*shown), "{piece}");
        }
        assert_eq!(text.finish(), (whole.0.to_owned(), whole.1));
    }

    #[test]
    fn halves_of_two_pieces_meet() {
        check(&[r#""a\ud83d""#, r#""\ude00b""#], &["a", "😀b"], ("a😀b", false));
        check(&[r#""\ud83d""#, r#""""#, r#""\ude00""#], &["", "", "😀"], ("😀", false));
        check(&[r#""\ud83d""#, r#""b""#], &["", "\u{fffd}b"], ("\u{fffd}b", true));
        check(&[r#""\ud83d""#], &[""], ("\u{fffd}", true));
        check(
            &[r#""\\ud83d""#, r#""\ude00""#],
            &["\\ud83d", "\u{fffd}"],
            ("\\ud83d\u{fffd}", true),
        );
        check(&[r#""é\n""#, r#""x""#], &["é\n", "x"], ("é\nx", false));
    }

    #[test]
    fn what_is_no_text_is_told() {
        for json in ["null", "1", "[]", "{}"] {
            let value = RawValue::from_string(json.to_owned()).unwrap();
            assert_eq!((Pieces::default().push(&value), text(json)), (None, None), "{json}");
        }
        assert_eq!(text(r#""a\ud83d""#).as_deref(), Some("a\u{fffd}"));
    }

    /// Writes code units as a JSON string of escapes.
    fn escaped(units: &[u16]) -> Box<RawValue> {
        let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        RawValue::from_string(format!("\"{escapes}\"")).unwrap()
    }

    proptest! {
        /// However code units are cut into pieces, the text is that of the units.
        #[test]
        fn the_text_is_that_of_the_units(
            units in proptest::collection::vec(
                prop_oneof![Just(0x61_u16), Just(0x5c), Just(0xd83d), Just(0xde00), any::<u16>()], 0..12),
            cuts in proptest::collection::vec(0_usize..12, 0..4),
        ) {
            let expected = String::from_utf16_lossy(&units);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(units.len())).collect();
            cuts.extend([0, units.len()]);
            cuts.sort_unstable();
            let mut pieces = Pieces::default();
            for pair in cuts.windows(2) {
                pieces.push(&escaped(&units[pair[0]..pair[1]])).unwrap();
            }
            prop_assert_eq!(&pieces.finish().0, &expected);
            prop_assert_eq!(text(escaped(&units).get()).unwrap(), expected);
        }
    }
}
