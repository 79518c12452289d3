//! Characters that JSON writes as two escapes, and the halves of such characters.

/// Returns JSON in which each lone half of a character is written as U+FFFD, or `None` if there is none.
///
/// Programs cut text anywhere, also within a character that JSON writes as two escapes. A JSON string with a lone half is no text, so
/// that most readers refuse it. Halves that meet are one character and stay.
#[must_use]
pub fn mend_halves(json: &str) -> Option<String> {
    if !may_have_halves(json) {
        return None;
    }
    let mut mended = String::new();
    let (mut from, mut at) = (0, 0);
    while let Some(step) = json.get(at..)?.bytes().position(|byte| byte == b'\\') {
        at += step;
        at += match half(json.get(at..)?) {
            None => ESCAPE_BYTES,
            Some(Half::First) if is_second(json.get(at + HALF_BYTES..)?) => 2 * HALF_BYTES,
            Some(_) => {
                mended.push_str(json.get(from..at)?);
                mended.push_str("\\ufffd");
                from = at + HALF_BYTES;
                HALF_BYTES
            }
        };
    }
    mended.push_str(json.get(from..)?);
    (from > 0).then_some(mended)
}

/// Looks only for the first letters of the escapes, which takes far less time than parsing.
fn may_have_halves(json: &str) -> bool {
    json.contains("\\u") && (json.contains("\\ud") || json.contains("\\uD"))
}

/// The number of bytes of most escapes, such as `\n`. The digits of `\u` are no escapes.
const ESCAPE_BYTES: usize = 2;

/// The number of bytes of an escape such as `\ud83d`.
const HALF_BYTES: usize = 6;

enum Half {
    First,
    Second,
}

/// Reads the half at the start of the text, if there is one.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

fn is_second(text: &str) -> bool {
    matches!(half(text), Some(Half::Second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_halves_are_replaced_and_nothing_else() {
        for (json, mended) in [
            (r#""a \ud83d b""#, Some(r#""a \ufffd b""#)),
            (r#""\ude00""#, Some(r#""\ufffd""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#"{"\uD83D":["\uDE00"]}"#, Some(r#"{"\ufffd":["\ufffd"]}"#)),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\udf""#, None),
            (r#""\u00e9 é""#, None),
        ] {
            assert_eq!(mend_halves(json).as_deref(), mended, "{json}");
        }
    }
}
