//! The texts of drafts, in one layout.

pub(crate) mod directive;
pub(crate) mod knowledge;
pub(crate) mod manifest;
pub(crate) mod script;
pub(crate) mod servers;

/// The text as XML has it. A character that XML forbids becomes U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\n' | '\t' => escaped.push(letter),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if letter.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// The text as an attribute in double quotes has it.
pub(crate) fn attribute(text: &str) -> String {
    escape(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

/// The text as a YAML scalar: plain where nothing can misread it, else in double quotes.
pub(crate) fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " _-./".contains(c))
        && !text.ends_with(' ')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// The text in double quotes, as JSON and YAML read it alike.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text on one line, without the white space around it.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text as it may stand in an XML comment, where two hyphens end it.
pub(crate) fn comment(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars() {
        let is_second = letter == '-' && safe.ends_with('-');
        if is_second {
            safe.push(' ');
        }
        safe.push(if letter.is_control() && letter != '\n' { ' ' } else { letter });
    }
    if safe.ends_with('-') {
        safe.push(' ');
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_so_that_they_are_read_back() {
        assert_eq!(escape("a < b & c\u{1}"), "a &lt; b &amp; c\u{fffd}");
        assert_eq!(attribute("\"a\"\nb"), "&quot;a&quot;&#10;b");
        for (text, expected) in [
            ("Reads files", "Reads files"),
            ("yes", "\"yes\""),
            ("1.0", "\"1.0\""),
            ("a: b", "\"a: b\""),
            ("", "\"\""),
            ("a\nb", "\"a\\nb\""),
        ] {
            assert_eq!(scalar(text), expected);
        }
        assert_eq!(comment("a -- b --- c-"), "a - - b - - - c- ");
    }
}
