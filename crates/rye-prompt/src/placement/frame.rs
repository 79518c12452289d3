//! Text that records which of its bytes came from values, so that no value can close the frame around it.

use std::ops::Range;

use rye_parse::hidden_characters;

/// The beginning of the name of the frame's tags. Models read it in any case.
const NAME: &str = "directive";

/// Text that contains values.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    text: String,
    // Invariant: ascending, disjoint and not empty.
    values: Vec<Range<usize>>,
}

impl Placed {
    /// Makes a text without values.
    pub(crate) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), values: Vec::new() }
    }

    /// Makes an empty text with room for this many bytes and a quarter more, because values tend to be longer than
    /// their placeholders.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes + bytes / 4), values: Vec::new() }
    }

    pub(super) fn push_literal(&mut self, literal: &str) {
        self.text.push_str(literal);
    }

    pub(super) fn push_value(&mut self, value: &str) {
        let start = self.text.len();
        self.text.push_str(value);
        if !value.is_empty() {
            self.values.push(start..self.text.len());
        }
    }

    /// Returns the text unchanged, for use outside a frame.
    pub(crate) fn verbatim(self) -> String {
        self.text
    }

    /// Returns the text for use inside `<directive>`. A `<` at the start of a directive tag is escaped if any part of
    /// that tag comes from a value (SPEC 6.3).
    ///
    /// This includes tags that are composed of two values, or of a value and the author's own text. Tags that the
    /// author wrote alone stay.
    pub(crate) fn in_frame(self) -> String {
        self.escape(|placed, at| placed.forges_a_tag(at))
    }

    /// Returns the text for use inside an XML element. Every `<` of a value is escaped, so that the element ends at the
    /// author's closing tag.
    pub(crate) fn in_element(self) -> String {
        self.escape(|placed, at| placed.touches_a_value(&(at..at + 1)) || placed.forges_a_tag(at))
    }

    fn escape(self, is_escaped: impl Fn(&Self, usize) -> bool) -> String {
        let places: Vec<usize> = self.near_values().filter(|at| is_escaped(&self, *at)).collect();
        if places.is_empty() {
            return self.text;
        }
        let mut escaped = String::with_capacity(self.text.len() + 4 * places.len());
        let mut end = 0;
        for at in places {
            escaped.extend([self.text.get(end..at).unwrap_or_default(), "&lt;"]);
            end = at + 1;
        }
        escaped.push_str(self.text.get(end..).unwrap_or_default());
        escaped
    }

    /// Returns the positions of every `<` that is in a value, or that may begin a tag which extends into a value: the last one before
    /// the value. No other `<` is ever escaped.
    fn near_values(&self) -> impl Iterator<Item = usize> {
        let mut seen = 0;
        let windows = self.values.iter().map(move |value| {
            let before = self.text.get(seen..value.start).unwrap_or_default();
            let start = before.rfind('<').map_or(value.start, |at| seen + at);
            seen = value.end;
            start..value.end
        });
        windows.flat_map(|window| {
            let bytes = self.text.as_bytes().get(window.clone()).unwrap_or_default();
            let found = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'<');
            found.map(move |(at, _)| window.start + at)
        })
    }

    fn forges_a_tag(&self, at: usize) -> bool {
        let from_here = self.text.get(at..).unwrap_or_default();
        length_of_tag(from_here).is_some_and(|length| self.touches_a_value(&(at..at + length)))
    }

    fn touches_a_value(&self, range: &Range<usize>) -> bool {
        let next = self.values.partition_point(|value| value.end <= range.start);
        self.values.get(next).is_some_and(|value| value.start < range.end)
    }
}

/// Returns the length of the beginning of a directive tag at the start of the text, if it has one. White space and slashes may come
/// before the name, and hidden characters may be anywhere, because a model does not read as strictly as a parser.
fn length_of_tag(text: &str) -> Option<usize> {
    let mut expected = NAME.chars().peekable();
    let mut is_in_name = false;
    for (at, c) in text.strip_prefix('<')?.char_indices() {
        let is_before = !is_in_name && (c.is_whitespace() || c == '/');
        if is_before || is_invisible(c) {
            continue;
        }
        is_in_name = true;
        expected.next_if(|next| c.eq_ignore_ascii_case(next))?;
        if expected.peek().is_none() {
            return Some('<'.len_utf8() + at + c.len_utf8());
        }
    }
    None
}

fn is_invisible(c: char) -> bool {
    hidden_characters(c.encode_utf8(&mut [0; 4])).next().is_some()
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};

    use super::*;

    /// Makes a text from pieces: the author's text and values in turn, beginning with the author's text.
    fn placed(pieces: &[&str]) -> Placed {
        let mut placed = Placed::default();
        for (index, piece) in pieces.iter().enumerate() {
            if index % 2 == 0 { placed.push_literal(piece) } else { placed.push_value(piece) }
        }
        placed
    }

    #[track_caller]
    fn check(pieces: &[&str], in_frame: &str, in_element: &str) {
        assert_eq!(placed(pieces).in_frame(), in_frame, "in a frame");
        assert_eq!(placed(pieces).in_element(), in_element, "in an element");
    }

    #[test]
    fn a_closing_tag_in_a_value() {
        check(&["a ", "x</directive>y", " b"], "a x&lt;/directive>y b", "a x&lt;/directive>y b");
    }

    #[test]
    fn an_opening_tag_in_a_value() {
        check(
            &["", "<directive name=\"x\">", ""],
            "&lt;directive name=\"x\">",
            "&lt;directive name=\"x\">",
        );
    }

    #[test]
    fn a_tag_that_only_a_strict_reader_refuses() {
        for tag in [
            "</DIRECTIVE>",
            "</Directive>",
            "</ directive>",
            "< /directive>",
            "< / dIrEcTiVe >",
            "<\n/\u{a0}\tdirective>",
            "< directive name=\"x\">",
            "<DIRECTIVE>",
            "<//directive>",
            "</ /directive>",
            "<\u{200b}/directive>",
            "</\u{feff}directive>",
            "</direc\u{200b}tive>",
            "<d\u{ad}irective>",
        ] {
            let escaped = tag.replace('<', "&lt;");
            check(&["a ", tag, " b"], &format!("a {escaped} b"), &format!("a {escaped} b"));
            // The author's part may be any one.
            let (author, value) = tag.split_at(1);
            check(&[author, value], &escaped, &escaped);
            check(&["", author, value], &escaped, &escaped);
            check(&[tag, "v"], &format!("{tag}v"), &format!("{tag}v"));
        }
        check(&["<", " ", "", "/", " directive>"], "&lt; / directive>", "&lt; / directive>");
        check(&["", "a < b / directive", ""], "a < b / directive", "a &lt; b / directive");
        check(&["", "</ direct ive>", ""], "</ direct ive>", "&lt;/ direct ive>");
    }

    #[test]
    fn a_longer_name_that_starts_alike() {
        check(&["", "<directive_return>", ""], "&lt;directive_return>", "&lt;directive_return>");
    }

    #[test]
    fn other_tags_are_text_in_a_frame() {
        check(
            &["", "a < b, <b>, </permissions>", ""],
            "a < b, <b>, </permissions>",
            "a &lt; b, &lt;b>, &lt;/permissions>",
        );
    }

    #[test]
    fn the_authors_own_tags_stay() {
        check(
            &["<directive> ", "v", " </directive>"],
            "<directive> v </directive>",
            "<directive> v </directive>",
        );
    }

    #[test]
    fn a_tag_from_two_values() {
        check(&["", "</dir", "", "ective>", ""], "&lt;/directive>", "&lt;/directive>");
    }

    #[test]
    fn a_tag_from_a_value_and_the_authors_text() {
        check(&["", "</", "directive>"], "&lt;/directive>", "&lt;/directive>");
        check(&["<", "/directive", ">"], "&lt;/directive>", "&lt;/directive>");
        check(&["</", "directive", ">"], "&lt;/directive>", "&lt;/directive>");
    }

    #[test]
    fn an_empty_value_has_no_part_in_a_tag() {
        check(&["</dir", "", "ective>"], "</directive>", "</directive>");
    }

    #[test]
    fn a_value_after_the_tag_has_no_part_in_it() {
        check(&["<directive", "-x", ">"], "<directive-x>", "<directive-x>");
    }

    #[test]
    fn verbatim_is_verbatim() {
        assert_eq!(placed(&["<", "/directive", ">"]).verbatim(), "</directive>");
    }

    /// Returns the text with each `<` escaped for which `is_escaped` returns `true`, at any position.
    fn escaped_one_by_one(placed: &Placed, is_escaped: impl Fn(&Placed, usize) -> bool) -> String {
        let escaped = placed.text.char_indices().map(|(at, c)| match c {
            '<' if is_escaped(placed, at) => "&lt;".to_owned(),
            c => c.to_string(),
        });
        escaped.collect()
    }

    /// More cases than other properties have, because each is quick.
    ///
    /// The macro `proptest!` would take `PROPTEST_CASES` in the place of any other number.
    fn many_cases() -> ProptestConfig {
        let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::default() };
        ProptestConfig { cases: (config.cases * 8).min(config.cases.max(2000)), ..config }
    }

    #[test]
    fn looking_near_values_alone_misses_nothing() {
        const PIECES: [&str; 18] = [
            "",
            "<",
            "/",
            "</",
            "<directive",
            "</directive",
            "</direc",
            "</directiv",
            "e>",
            "tive>",
            "directive",
            "é",
            "a<b",
            " ",
            "\n ",
            "DIREC",
            "Directive",
            "< / ",
        ];
        let pieces = vec(select(PIECES.to_vec()), 0..9);
        let tried = TestRunner::new(many_cases()).run(&pieces, |pieces| {
            let in_frame = escaped_one_by_one(&placed(&pieces), Placed::forges_a_tag);
            prop_assert_eq!(placed(&pieces).in_frame(), in_frame);
            let in_element = escaped_one_by_one(&placed(&pieces), |placed, at| {
                placed.touches_a_value(&(at..at + 1)) || placed.forges_a_tag(at)
            });
            prop_assert_eq!(placed(&pieces).in_element(), in_element);
            Ok(())
        });
        assert!(tried.is_ok(), "{}", tried.unwrap_err());
    }
}
