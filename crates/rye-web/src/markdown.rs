//! Conversion of pages to Markdown or plain text.
//!
//! The page is processed as a sequence of tags and not as a tree. A tree needs recursion, and a page with a
//! hundred thousand nested elements would crash the program. The sequence takes time and memory in proportion
//! to its length.

mod writer;

use std::cell::RefCell;
use std::time::{Duration, Instant};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use reqwest::Url;

use self::writer::{Mark, Writer};

/// The format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Markdown,
    Text,
}

/// The syntax of a page. Only its media type decides, as in browsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    Html,
    /// XML: an element that is closed where it opens is empty, and the content of every element is markup.
    Xml,
}

/// A converted page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    /// `true` if there is more text.
    pub(crate) is_cut: bool,
}

/// Converts a page from `url` until `limit`, to at most about `most` bytes of text.
///
/// The time is limited because the tokenizer compares each attribute of a tag with all earlier ones.
pub(crate) fn page(
    html: &str,
    url: &Url,
    grammar: Grammar,
    style: Style,
    most: usize,
    limit: Duration,
) -> Page {
    let reader = Reader {
        grammar,
        base: url.clone(),
        writer: Writer::new(style, most),
        left_out: None,
        title: None,
        in_title: false,
    };
    let tokenizer = Tokenizer::new(Sink(RefCell::new(reader)), TokenizerOpts::default());
    let input = BufferQueue::default();
    let start = Instant::now();
    let mut rest = html;
    let mut is_late = false;
    while !rest.is_empty() && !is_late {
        let (piece, after) = rest.split_at(whole(rest, PIECE));
        input.push_back(StrTendril::from(piece));
        while !matches!(tokenizer.feed(&input), html5ever::TokenizerResult::Done) {}
        (rest, is_late) = (after, start.elapsed() > limit);
    }
    let is_late = is_late && !rest.is_empty();
    tokenizer.end();
    let Reader { writer, title, .. } = tokenizer.sink.0.into_inner();
    let title = title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    let (text, is_full) = writer.finish();
    let title = title.filter(|title| !title.is_empty());
    Page { title, text, is_cut: is_late || is_full }
}

/// Returns the last character boundary at or before `at`.
pub(crate) fn whole(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The number of bytes between two checks of the time.
const PIECE: usize = 16 * 1024;

struct Sink(RefCell<Reader>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut reader = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => reader.text(&text),
            Token::TagToken(tag) => return reader.tag(&tag),
            _ => {}
        }
        TokenSinkResult::Continue
    }

    /// Returns `true` if `<![CDATA[` begins text.
    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.0.borrow().grammar == Grammar::Xml
    }
}

struct Reader {
    grammar: Grammar,
    base: Url,
    writer: Writer,
    /// The element whose content is left out, and the number of open elements with its name.
    left_out: Option<(String, usize)>,
    title: Option<String>,
    in_title: bool,
}

/// The elements without readable text.
const SILENT: [&str; 10] = [
    "audio", "canvas", "datalist", "iframe", "object", "script", "style", "svg", "template",
    "video",
];

/// The elements that begin a new line.
const LINES: [&str; 25] = [
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "dd",
    "details",
    "dialog",
    "div",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "legend",
    "main",
    "nav",
    "option",
    "section",
    "summary",
    "tbody",
    "tfoot",
    "thead",
];

impl Reader {
    fn text(&mut self, text: &str) {
        match (&self.left_out, self.in_title) {
            (Some(_), _) => {}
            (None, true) => {
                let title = self.title.get_or_insert_default();
                if title.len() < MAX_TITLE {
                    title.extend(text.chars().take(MAX_TITLE));
                }
            }
            (None, false) => self.writer.text(text),
        }
    }

    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = tag.name.as_ref();
        if tag.kind == TagKind::EndTag {
            self.end(name);
            return TokenSinkResult::Continue;
        }
        if self.grammar == Grammar::Xml {
            self.element(tag, name);
            return TokenSinkResult::Continue;
        }
        self.start(tag, name);
        // In SVG, an element that is closed where it opens is empty.
        if tag.self_closing && self.in_svg() {
            return TokenSinkResult::Continue;
        }
        // The content of these elements is not markup.
        match name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "iframe" | "xmp" | "noembed" | "noframes" => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "title" if !self.in_svg() => TokenSinkResult::RawData(RawKind::Rcdata),
            "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }

    /// Handles an element of XML, including the end of one that is closed where it opens.
    fn element(&mut self, tag: &Tag, name: &str) {
        if tag.self_closing && (self.left_out.is_some() || SILENT.contains(&name)) {
            return;
        }
        self.start(tag, name);
        if tag.self_closing {
            self.end(name);
        }
    }

    fn start(&mut self, tag: &Tag, name: &str) {
        if let Some((silent, open)) = &mut self.left_out {
            *open += usize::from(silent == name && !tag.self_closing);
            return;
        }
        if SILENT.contains(&name) {
            if !(name == "svg" && tag.self_closing) {
                self.left_out = Some((name.to_owned(), 1));
            }
            return;
        }
        match name {
            "title" if self.title.is_some() => self.left_out = Some((name.to_owned(), 1)),
            "title" => self.in_title = true,
            "base" => self.rebase(tag),
            "a" => {
                let link = attribute(tag, "href").and_then(|href| self.link(href));
                self.writer.open(Mark::Link(link));
            }
            "img" => self.image(tag),
            _ => self.writer.start(name),
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((silent, open)) = &mut self.left_out {
            *open -= usize::from(silent == name);
            if *open == 0 {
                self.left_out = None;
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "a" => self.writer.close(&Mark::Link(None)),
            _ => self.writer.end(name),
        }
    }

    /// Returns `true` inside of SVG, where a title is ordinary markup.
    fn in_svg(&self) -> bool {
        self.left_out.as_ref().is_some_and(|(silent, _)| silent == "svg")
    }

    /// Sets the base of relative links.
    fn rebase(&mut self, tag: &Tag) {
        if let Some(url) = attribute(tag, "href").and_then(|href| self.base.join(href).ok()) {
            self.base = url;
        }
    }

    fn image(&mut self, tag: &Tag) {
        let alt = attribute(tag, "alt").unwrap_or_default().trim();
        if alt.is_empty() {
            return;
        }
        let source = attribute(tag, "src").and_then(|source| self.link(source));
        self.writer.image(alt, source.as_deref());
    }

    /// Returns a link as an absolute URL, if its scheme is usable.
    fn link(&self, href: &str) -> Option<String> {
        if href.len() > MAX_LINK || href.starts_with('#') {
            return None;
        }
        let url = self.base.join(href.trim()).ok()?;
        let text = url.as_str();
        let asks = ["http", "https", "mailto"].contains(&url.scheme()) && text.len() <= MAX_LINK;
        // A parenthesis would end the link.
        asks.then(|| text.replace('(', "%28").replace(')', "%29"))
    }
}

const MAX_TITLE: usize = 500;
const MAX_LINK: usize = 2_000;

fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    let found = tag.attrs.iter().find(|attribute| attribute.name.local.as_ref() == name);
    found.map(|attribute| attribute.value.as_ref())
}

#[cfg(test)]
mod tests;
