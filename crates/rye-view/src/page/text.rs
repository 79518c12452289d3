//! Texts of a thread inside markup.
//!
//! A text may hold anything: markup, commands for a terminal, marks that turn the direction of writing, or a line of 20 MB. Markup
//! is escaped, hidden characters are spelled out, and long texts are cut where they would make a page slow.

use maud::{Markup, Render, html};
use rye_parse::hidden_characters;

use super::figures::{bytes, count_noun};

/// A text as it is shown: escaped, with each hidden character as its code.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl Render for Shown<'_> {
    fn render_to(&self, markup: &mut String) {
        let mut hidden = hidden_characters(self.0).peekable();
        let mut end = 0;
        let mut marks = 0;
        while let Some((at, character)) = hidden.next() {
            self.0.get(end..at).unwrap_or_default().render_to(markup);
            end = at + character.len_utf8();
            let mut count = 1;
            while hidden.next_if_eq(&(end, character)).is_some() {
                end += character.len_utf8();
                count += 1;
            }
            let code = code(character, count);
            marks += 1;
            if marks <= MOST_MARKS {
                html! { span.hc title="a character that is not shown" { (code) } }
                    .render_to(markup);
            } else {
                code.render_to(markup);
            }
        }
        self.0.get(end..).unwrap_or_default().render_to(markup);
    }
}

/// The most codes of one text that have an element of their own. A hostile text may hold a hidden character at every place.
const MOST_MARKS: usize = 200;

/// The code of a hidden character, with the number of times that it follows itself.
fn code(character: char, count: usize) -> String {
    let code = format!("U+{:04X}", u32::from(character));
    if count == 1 { code } else { format!("{code} ×{count}") }
}

/// A text with the code of each hidden character in its place, for attributes, titles and pictures, which hold no elements.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut end = 0;
    for (at, hidden) in hidden_characters(text) {
        plain.push_str(text.get(end..at).unwrap_or_default());
        plain.push_str(&format!("U+{:04X} ", u32::from(hidden)));
        end = at + hidden.len_utf8();
    }
    plain.push_str(text.get(end..).unwrap_or_default());
    plain
}

/// The text as one line of at most `most` characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut chars = text.trim().chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let mut line: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        line.push('…');
    }
    line
}

/// The longest text that is shown in full at once, in lines and in bytes.
const SHORT_LINES: usize = 14;
const SHORT_BYTES: usize = 2_000;

/// The most bytes of one text that a page holds. A browser lays out more than that too slowly.
pub(crate) const MOST_BYTES: usize = 64 * 1024;

/// A block of text. Of a long one the beginning is shown, and the rest unfolds.
pub(crate) fn block(text: &str) -> Markup {
    let text = text.trim_end_matches('\n');
    let first = cut(text, SHORT_LINES, SHORT_BYTES);
    let rest = text.get(first.len()..).unwrap_or_default();
    html! {
        pre.blk tabindex=[(!rest.is_empty()).then_some("0")] { (Shown(first)) }
        @if !rest.is_empty() { (folded_rest(text, rest)) }
    }
}

fn folded_rest(text: &str, rest: &str) -> Markup {
    let shown = cut(rest, usize::MAX, MOST_BYTES);
    let missing = rest.len() - shown.len();
    let lines = text.lines().count();
    html! {
        details.rest {
            summary {
                @if lines > 1 { "Show all " (count_noun(lines, "line")) }
                @else { "Show all " (bytes(text.len())) }
            }
            pre.blk { (Shown(shown.strip_prefix('\n').unwrap_or(shown))) }
            @if missing > 0 { (left_out(missing)) }
        }
    }
}

/// The sentence about a part of a text that a page does not hold.
fn left_out(missing: usize) -> Markup {
    html! {
        p.t3 {
            (bytes(missing)) " more are not on this page; "
            code { "rye threads export --format jsonl" } " has all of it."
        }
    }
}

/// A text behind a summary that says how long it is.
pub(crate) fn fold_text(text: &str) -> Markup {
    let lines = text.lines().count();
    let size = text.len();
    let shown = cut(text, usize::MAX, MOST_BYTES);
    html! {
        details {
            summary { (count_noun(lines, "line")) ", " (bytes(size)) }
            pre.blk { (Shown(shown)) }
            @if shown.len() < size { (left_out(size - shown.len())) }
        }
    }
}

/// Returns `true` if a text is shown in full at once.
pub(crate) fn is_short(text: &str) -> bool {
    cut(text, SHORT_LINES, SHORT_BYTES).len() == text.len()
}

/// The beginning of a text, of at most so many lines and bytes. It ends at the end of a line, or at least of a character.
pub(crate) fn cut(text: &str, lines: usize, size: usize) -> &str {
    let by_lines = match lines {
        usize::MAX => text.len(),
        _ => text.match_indices('\n').nth(lines.saturating_sub(1)).map_or(text.len(), |(at, _)| at),
    };
    if by_lines <= size {
        return text.get(..by_lines).unwrap_or(text);
    }
    let part = (0..=size).rev().find_map(|end| text.get(..end)).unwrap_or_default();
    match part.rfind('\n') {
        Some(at) if size / 2 < at => part.get(..at).unwrap_or(part),
        _ => part,
    }
}

/// The text of a model: paragraphs, blocks of code between fences, and pieces of code between backticks.
pub(crate) fn prose(text: &str) -> Markup {
    let shown = cut(text, usize::MAX, MOST_BYTES);
    html! {
        div.say {
            @for (place, part) in shown.split("```").enumerate() {
                @if place % 2 == 1 {
                    pre.blk { (Shown(part.split_once('\n').map_or(part, |(_, code)| code).trim_end())) }
                } @else {
                    @for paragraph in part.split("\n\n").filter(|it| !it.trim().is_empty()) {
                        p { (inline(paragraph.trim())) }
                    }
                }
            }
            @if shown.len() < text.len() { (left_out(text.len() - shown.len())) }
        }
    }
}

fn inline(paragraph: &str) -> Markup {
    html! {
        @for (place, part) in paragraph.split('`').enumerate() {
            @if place % 2 == 1 { code { (Shown(part)) } } @else { (Shown(part)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_and_hidden_characters_are_spelled_out() {
        let shown = Shown("a<b>\u{202e}\u{1b}[31m&\"").render().into_string();
        let code = |code| {
            format!("<span class=\"hc\" title=\"a character that is not shown\">{code}</span>")
        };
        assert_eq!(shown, format!("a&lt;b&gt;{}{}[31m&amp;&quot;", code("U+202E"), code("U+001B")));
    }

    /// Neither a run of hidden characters nor one at every place makes much more markup than text.
    #[test]
    fn many_hidden_characters_make_little_markup() {
        assert!(Shown("\u{202e}\u{202e}\u{202e}").render().into_string().contains(">U+202E ×3<"));
        for text in ["\u{202e}", "\u{202e}\u{200b}", "a\u{202e}"] {
            let text = text.repeat(MOST_BYTES / text.len());
            let shown = Shown(&text).render().into_string();
            assert!(shown.len() < 3 * MOST_BYTES, "{}", shown.len());
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_line_and_says_what_is_left_out() {
        assert_eq!(cut("a\nb\nc", 2, 100), "a\nb");
        assert_eq!(cut("aaaa\nbbbb", 9, 6), "aaaa");
        assert_eq!(cut("ééé", 9, 3), "é");
        let long = "x".repeat(20_000_000);
        let shown = block(&long).into_string();
        assert!(shown.len() < 70_000 && shown.contains("19.9 MB more are not on this page"));
    }

    proptest! {
        #[test]
        fn a_cut_is_a_beginning_within_its_bounds(text in "\\PC{0,40}(\n\\PC{0,9}){0,5}", lines in 1_usize..5, size in 0_usize..60) {
            let part = cut(&text, lines, size);
            prop_assert!(text.starts_with(part) && part.len() <= size && part.lines().count() <= lines);
        }

        #[test]
        fn nothing_that_is_shown_opens_a_tag(text in ".{0,40}") {
            let shown = Shown(&text).render().into_string();
            let rest = shown.replace("<span class=\"hc\" title=\"a character that is not shown\">", "").replace("</span>", "");
            prop_assert!(!rest.contains(['<', '>', '"']), "{}", rest);
        }
    }
}
