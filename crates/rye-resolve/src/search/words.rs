//! Text cut into words, the same way for items and for queries.

use std::ops::Range;

/// Calls `visit` with each word of `text`, in lower case, and the bytes of `text` that it stands at.
///
/// A word is a run of letters and digits, so `file-system/read` is three words. Chinese and Japanese are
/// written without spaces, so each of their characters is a word. Only about the first [`LONGEST`] bytes of a
/// word count.
pub(crate) fn each_word(text: &str, mut visit: impl FnMut(&str, Range<usize>)) {
    let mut word = String::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let single = is_ideograph(c);
        if (single || !c.is_alphanumeric()) && !word.is_empty() {
            visit(&word, start..at);
            word.clear();
        }
        if single {
            visit(&text[at..at + c.len_utf8()], at..at + c.len_utf8());
        } else if c.is_alphanumeric() {
            if word.is_empty() {
                start = at;
            }
            push_folded(&mut word, c);
        }
    }
    if !word.is_empty() {
        visit(&word, start..text.len());
    }
}

/// The words of `text`.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, |word, _| words.push(word.to_owned()));
    words
}

fn push_folded(word: &mut String, c: char) {
    if word.len() >= LONGEST {
        return;
    }
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
    } else {
        word.extend(c.to_lowercase());
    }
}

/// Returns `true` if `c` is a character of Chinese or Japanese, which are written without spaces.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
        && c.is_alphanumeric()
}

/// The longest word, in bytes. A longer run of letters is data, such as a digest.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected);
    }

    #[test]
    fn letters_and_digits_make_words() {
        check("", &[]);
        check(" -- ", &[]);
        check("Deploy the API, v2.1!", &["deploy", "the", "api", "v2", "1"]);
        check("rye/file-system/read_all", &["rye", "file", "system", "read", "all"]);
    }

    #[test]
    fn other_scripts() {
        check("Größe ÉTÉ", &["größe", "été"]);
        check("検索です v2", &["検", "索", "で", "す", "v2"]);
        check("한국어 검색", &["한국어", "검색"]);
    }

    #[test]
    fn a_very_long_word_counts_by_its_start() {
        let word = words(&"ab".repeat(500)).remove(0);
        assert_eq!(word, "ab".repeat(32));
    }

    proptest! {
        #[test]
        fn every_word_stands_where_it_says(text in "\\PC{0,60}") {
            let mut end = 0;
            each_word(&text, |word, place| {
                assert!(place.start >= end && !place.is_empty() && !word.is_empty());
                assert!(text[place.clone()].chars().all(char::is_alphanumeric));
                end = place.end;
            });
        }
    }
}
