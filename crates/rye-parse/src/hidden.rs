//! Characters that a person does not see, or by which text is shown in another order than a model reads it.

/// Returns the characters that hide a part of a text from its reader, each with the offset of its first byte.
///
/// These are control characters except line ends, carriage returns and tabs, and the marks that change the
/// direction of writing. Unicode's default ignorable characters are among them too, such as zero width spaces
/// and tags. Letters of every script are shown and never among these.
///
/// A character that a writing system or an emoji needs is left out. Examples are a joiner or non-joiner after
/// a letter of a script that joins its letters, and a joiner between emoji. Others are one variation selector
/// after a character that has variants, and the tags of a flag.
pub fn hidden_characters(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    let text = if text.bytes().all(is_plain) { "" } else { text };
    text.char_indices().filter(|&(at, c)| is_hidden(c) && !is_needed(text, at, c))
}

/// Returns `true` if the character is shown as nothing, or changes the view of the text around it.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' => false,
        // Default_Ignorable_Code_Point of Unicode, together with the separators and annotations that nothing shows.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

/// Returns `true` if the text around the character cannot be written without it.
fn is_needed(text: &str, at: usize, c: char) -> bool {
    let (before, rest) = text.split_at_checked(at).unwrap_or_default();
    let mut following = rest.chars().skip(1);
    let before = before.chars().next_back().unwrap_or_default();
    match c {
        '\u{200c}' => joins(before),
        '\u{200d}' => {
            joins(before) || is_pictograph(before) && following.next().is_some_and(is_emoji)
        }
        '\u{fe0f}' if matches!(before, '0'..='9' | '#' | '*') => {
            following.next() == Some('\u{20e3}')
        }
        '\u{fe0e}' | '\u{fe0f}' => is_emoji(before),
        '\u{fe00}'..='\u{fe0d}' => is_han(before) || matches!(before, '\u{2200}'..='\u{22ff}'),
        '\u{e0100}'..='\u{e01ef}' => is_han(before),
        '\u{180b}'..='\u{180f}' => matches!(before, '\u{1820}'..='\u{18aa}'),
        '\u{115f}'..='\u{1160}' => {
            let is_jamo = |c| matches!(c, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}');
            is_jamo(before) || following.next().is_some_and(is_jamo)
        }
        '\u{e0020}'..='\u{e007f}' => is_of_flag(text, at),
        _ => false,
    }
}

/// Returns `true` if the character is of a script in which joiners and non-joiners change the spelling of a
/// word.
fn joins(c: char) -> bool {
    let is_of_script = matches!(
        c,
        '\u{620}'..='\u{109f}' | '\u{1780}'..='\u{18aa}' | '\u{1b00}'..='\u{1b7c}' | '\u{a840}'..='\u{abff}'
            | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}'
    );
    is_of_script && !is_hidden(c)
}

/// Returns `true` if a joiner may follow: after an emoji, its selector, or its colour of skin.
fn is_pictograph(c: char) -> bool {
    c == '\u{fe0f}' || is_emoji(c)
}

/// Returns `true` if the character is of the blocks of symbols that emoji are from.
fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}'
            | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}'
    )
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff1f}' | '\u{20000}'..='\u{3fffd}')
}

/// The regions that have a flag of their own in Unicode's list, as the tags behind a black flag.
const REGIONS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// Returns `true` if the tag at this offset is a part of a flag.
fn is_of_flag(text: &str, at: usize) -> bool {
    const FLAG: char = '\u{1f3f4}';
    let before = text.get(..at).unwrap_or_default();
    // All characters of a flag have four bytes.
    let start = before.char_indices().rev().take(6).find(|&(_, c)| c == FLAG).map(|(at, _)| at);
    let rest = start.and_then(|start| text.get(start + FLAG.len_utf8()..)).unwrap_or_default();
    let tag = |letter: u8| char::from_u32(0xe0000 + u32::from(letter));
    REGIONS.iter().any(|region| {
        let tags = region.bytes().filter_map(tag).chain(['\u{e007f}']);
        rest.chars().take(region.len() + 1).eq(tags)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(usize, char)]) {
        assert_eq!(hidden_characters(text).collect::<Vec<_>>(), expected, "{text:?}");
    }

    #[test]
    fn what_hides_something_is_found_at_its_place() {
        let rows = [
            '\u{0}',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202b}',
            '\u{202c}',
            '\u{202d}',
            '\u{202e}',
            '\u{2060}',
            '\u{2064}',
            '\u{2066}',
            '\u{2067}',
            '\u{2068}',
            '\u{2069}',
            '\u{206f}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0e}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fffb}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{e01ef}',
        ];
        for hidden in rows {
            check(&format!("é{hidden}b"), &[(2, hidden)]);
            check(&hidden.to_string(), &[(0, hidden)]);
        }
    }

    #[test]
    fn what_a_language_is_written_with_is_not() {
        let rows = [
            ("plain", "a\tb\r\nc é ß – … \u{a0}"),
            ("hebrew", "שלום עולם, זה טקסט רגיל (כן) 12."),
            ("arabic", "السَّلامُ عَلَيْكُمْ، هذا نصٌّ عاديّ."),
            ("persian", "می\u{200c}خواهم کتاب\u{200c}ها را بخوانم"),
            ("an abbreviation in arabic", "١٤٤٥ ه\u{200d} ـ"),
            ("hindi", "क्\u{200d}ष और क्\u{200c}ष"),
            ("sinhala", "ශ්\u{200d}රී ලංකා"),
            ("khmer, thai, chinese", "ភាសាខ្មែរ ภาษาไทย 中文字"),
            ("a variant of an ideograph", "葛\u{e0100}城 ，\u{fe00}"),
            ("mongolian", "ᠮᠣᠩᠭᠣᠯ\u{180e}ᠠ ᠰᠠᠢ\u{180b}ᠨ"),
            ("old korean", "\u{115f}\u{1161} \u{1100}\u{1160}"),
            ("emoji", "👍🏽 ❤\u{fe0f} ☎\u{fe0e} 1\u{fe0f}\u{20e3} ©\u{fe0f} 🇩🇪"),
            ("a family", "👩\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}💻 🏳\u{fe0f}\u{200d}🌈"),
            ("a flag", "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}!"),
        ];
        for (name, text) in rows {
            let found: Vec<_> = hidden_characters(text).collect();
            assert_eq!(found, [], "{name}");
        }
    }

    #[test]
    fn the_same_characters_elsewhere_are() {
        check("pay\u{200c}pal", &[(3, '\u{200c}')]);
        check("a\u{200d}👩", &[(1, '\u{200d}')]);
        check("👩\u{200d}a", &[(4, '\u{200d}')]);
        check("می\u{200c}\u{200c}خ", &[(7, '\u{200c}')]);
        // One selector has a meaning; bytes can be written with more.
        check("😀\u{fe0f}\u{fe0f}\u{e0121}", &[(7, '\u{fe0f}'), (10, '\u{e0121}')]);
        check("1\u{fe0f}2", &[(1, '\u{fe0f}')]);
        check("葛\u{e0100}\u{e0101}", &[(7, '\u{e0101}')]);
        // A flag that no region has may say anything.
        check("🏴\u{e0068}\u{e007f}", &[(4, '\u{e0068}'), (8, '\u{e007f}')]);
        let flag = "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
        check(&format!("{flag}\u{e0041}"), &[(28, '\u{e0041}')]);
    }

    #[test]
    fn no_ordinary_letter_is_hidden() {
        let letters = (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| c.is_alphanumeric());
        // The fillers stand for letters that are left out; Unicode counts them among the letters.
        let hidden: Vec<char> = letters.filter(|&c| is_hidden(c)).collect();
        assert_eq!(hidden, ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}']);
    }
}
