//! Parsing of text into events, with errors that are not events.

use std::ops::Range;

use quick_xml::{
    Error, Reader,
    errors::SyntaxError,
    events::{BytesStart, Event},
};

use super::{
    Element, OPAQUE,
    attributes::is_name_start,
    build::{Builder, TooMuch},
    escape::check_characters,
};
use crate::{Problem, ProblemKind, problem::Report, span::char_at};

/// Parses the single element in `range` of the file.
///
/// Problems are added to the report. The element is returned only if all tags match, so that consequences of an
/// unclosed tag are not reported.
pub(crate) fn read<'s>(report: &mut Report<'s>, range: Range<usize>) -> Option<Element<'s>> {
    let mut document = Document { builder: Builder::new(report), end: range.end };
    let mut from = range.start;
    while let Some(next) = document.events(from) {
        from = next;
    }
    document.builder.finish()
}

/// Parses `range` of the file as a start tag. Returns an element without content.
pub(crate) fn read_tag<'s>(report: &mut Report<'s>, range: Range<usize>) -> Option<Element<'s>> {
    let mut reader = Reader::from_str(report.text(&range));
    let (Event::Start(tag) | Event::Empty(tag)) = reader.read_event().ok()? else { return None };
    let mut builder = Builder::new(report);
    builder.open(&tag, range).ok()?;
    builder.pop()
}

/// The text and the tree so far.
struct Document<'r, 's> {
    builder: Builder<'r, 's>,
    /// The end of the text.
    end: usize,
}

/// The next action after an event.
enum Next {
    /// Reads the next event.
    Event,
    /// Continues with a new reader at this offset, because a part of the text was parsed without events.
    Restart(usize),
    /// Stops, because the rest cannot be parsed.
    Stop,
}

impl<'s> Document<'_, 's> {
    /// Reads events until the end, or up to the offset at which a new reader must start.
    fn events(&mut self, from: usize) -> Option<usize> {
        let text = self.text(from);
        // A new reader would drop a byte order mark without counting its bytes.
        if text.starts_with('\u{feff}') {
            let after = from + '\u{feff}'.len_utf8();
            self.builder.add_text(from..after);
            return Some(after);
        }
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        loop {
            let start = from + offset(reader.buffer_position());
            if is_bare(self.text(start)) {
                self.bare(start);
                return Some(start + 1);
            }
            let event = reader.read_event();
            let place = start..from + offset(reader.buffer_position());
            let next = match event {
                Ok(Event::Eof) => Next::Stop,
                Ok(event) => self.event(&event, place),
                Err(error) => {
                    self.report_unclosed_markup(&error, from + offset(reader.error_position()))
                }
            };
            match next {
                Next::Event => {}
                Next::Restart(at) => return Some(at),
                Next::Stop => return None,
            }
        }
    }

    fn text(&self, from: usize) -> &'s str {
        self.builder.report.source.get(from..self.end).unwrap_or("")
    }

    fn event(&mut self, event: &Event<'s>, place: Range<usize>) -> Next {
        if let Event::Text(_) | Event::GeneralRef(_) = event {
            self.builder.add_text(place);
            return Next::Event;
        }
        self.builder.flush_text();
        match event {
            Event::Start(tag) => return self.start(tag, place),
            Event::Empty(tag) => {
                let behind = place.end;
                let Ok(()) = self.builder.open(tag, place) else { return Next::Stop };
                self.builder.close(behind);
            }
            Event::End(tag) => self.builder.end(tag.name().0, place),
            Event::CData(_) => self.builder.cdata(place),
            Event::Comment(_) => check_characters(self.builder.report, place),
            Event::DocType(_) => self.forbidden("a DOCTYPE", place),
            Event::PI(_) => self.forbidden("a processing instruction", place),
            Event::Decl(_) => self.forbidden("an XML declaration", place),
            Event::Text(_) | Event::GeneralRef(_) | Event::Eof => {}
        }
        Next::Event
    }

    /// Processes a start tag. If the element is opaque, its text and its end tag are processed as well.
    fn start(&mut self, tag: &BytesStart<'s>, place: Range<usize>) -> Next {
        let behind = place.end;
        if let Err(TooMuch) = self.builder.open(tag, place) {
            return Next::Stop;
        }
        let name = tag.name().0;
        if !OPAQUE.contains(&name) {
            return Next::Event;
        }
        match end_tag(self.text(behind), name) {
            Some(end) => {
                self.builder.opaque(behind..behind + end.start);
                self.builder.close(behind + end.end);
                Next::Restart(behind + end.end)
            }
            None => {
                // The rest of the file is its text, so missing end tags of its ancestors are not reported.
                if let Some(element) = self.builder.pop() {
                    self.builder.report_unclosed(element.name);
                }
                self.builder.give_up();
                Next::Stop
            }
        }
    }

    fn bare(&mut self, start: usize) {
        let problem = Problem::new(ProblemKind::BareLessThan, start..start + 1, "not a tag");
        self.builder.report.error(problem.help("write `&lt;`, or put the text in CDATA"));
        self.builder.add_text(start..start + 1);
    }

    fn forbidden(&mut self, what: &str, place: Range<usize>) {
        let kind = ProblemKind::ForbiddenMarkup { what: what.to_owned() };
        let problem = Problem::new(kind, place, "not allowed here");
        self.builder.report.error(problem.help("remove it"));
    }

    /// Reports markup that runs to the end of the text.
    fn report_unclosed_markup(&mut self, error: &Error, at: usize) -> Next {
        let (what, end) = unclosed_markup(error);
        let kind = ProblemKind::UnclosedMarkup { what: what.to_owned() };
        let place = char_at(self.builder.report.source, at.min(self.end));
        let problem = Problem::new(kind, place, "opened here");
        self.builder.report.error(problem.help(format!("write `{end}` where it ends")));
        self.builder.give_up();
        Next::Stop
    }
}

/// Returns the unclosed markup and the text that would close it.
fn unclosed_markup(error: &Error) -> (&'static str, &'static str) {
    match error {
        Error::Syntax(SyntaxError::UnclosedComment) => ("a comment", "-->"),
        Error::Syntax(SyntaxError::UnclosedCData) => ("a CDATA section", "]]>"),
        Error::Syntax(SyntaxError::UnclosedPI | SyntaxError::UnclosedXmlDecl) => {
            ("a processing instruction", "?>")
        }
        Error::Syntax(SyntaxError::UnclosedDoctype) => ("a DOCTYPE", ">"),
        Error::Syntax(
            SyntaxError::UnclosedSingleQuotedAttributeValue
            | SyntaxError::UnclosedDoubleQuotedAttributeValue,
        ) => ("a quoted attribute value", "\""),
        _ => ("a tag", ">"),
    }
}

/// Returns the place of the end tag of `name` in `text`.
fn end_tag(text: &str, name: &str) -> Option<Range<usize>> {
    text.match_indices("</").find_map(|(start, _)| {
        let rest = text.get(start + 2..)?.strip_prefix(name)?;
        let after = rest.trim_start().strip_prefix('>')?;
        Some(start..text.len() - after.len())
    })
}

/// Returns `true` if the text begins with a `<` that does not start markup.
fn is_bare(rest: &str) -> bool {
    let Some(after) = rest.strip_prefix('<') else { return false };
    let known = |prefix: &str| {
        after.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    match after.chars().next() {
        Some('!') => !(known("!--") || known("![CDATA[") || known("!DOCTYPE")),
        Some('?') => false,
        Some('/') => {
            !after.get(1..).and_then(|name| name.chars().next()).is_some_and(is_name_start)
        }
        Some(c) => !is_name_start(c),
        None => true,
    }
}

/// Converts an offset of quick-xml, which fits because the text is in memory.
fn offset(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}
