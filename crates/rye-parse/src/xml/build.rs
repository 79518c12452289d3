//! Construction of the tree from events.

use std::{borrow::Cow, ops::Range};

use quick_xml::events::BytesStart;

use super::{
    Element, Node, attributes,
    escape::{Space, check_characters, unescape},
};
use crate::{
    Problem, ProblemKind, Spanned, problem::Report, span::trim_range, suggest::nearest_name,
};

/// The greatest depth of elements (SPEC 3.8).
const DEPTH: usize = 64;

/// The greatest number of elements (SPEC 3.8).
const ELEMENTS: usize = 10_000;

/// The state of the construction.
pub(super) struct Builder<'r, 's> {
    pub(super) report: &'r mut Report<'s>,
    /// The open elements, the root first.
    open: Vec<Open<'s>>,
    /// The children of all open elements, those of the innermost last, so that each element gets a list of the right
    /// size.
    nodes: Vec<Node<'s>>,
    root: Option<Element<'s>>,
    /// Text that is not yet added to its element.
    text: Option<Range<usize>>,
    elements: usize,
    /// `true` if all tags match so far.
    sound: bool,
}

/// An element whose end is not parsed yet.
struct Open<'s> {
    element: Element<'s>,
    /// The index of its first child among the nodes.
    first: usize,
}

/// Too many elements, or too deep ones. The problem is already reported.
pub(super) struct TooMuch;

impl<'r, 's> Builder<'r, 's> {
    /// Makes a builder without elements.
    pub(super) fn new(report: &'r mut Report<'s>) -> Self {
        Self {
            report,
            open: Vec::new(),
            nodes: Vec::new(),
            root: None,
            text: None,
            elements: 0,
            sound: true,
        }
    }

    /// Opens an element and reads its attributes.
    pub(super) fn open(
        &mut self,
        tag: &BytesStart<'_>,
        place: Range<usize>,
    ) -> Result<(), TooMuch> {
        let span = place.start + 1..place.start + 1 + tag.name().0.len();
        let name = Spanned::new(self.report.text(&span), span);
        self.elements += 1;
        if ELEMENTS < self.elements {
            return Err(self.stop(
                ProblemKind::TooMany { what: "elements".to_owned(), limit: ELEMENTS },
                name.span,
            ));
        }
        if self.open.len() == DEPTH {
            return Err(self.stop(
                ProblemKind::TooDeep { what: "elements".to_owned(), limit: DEPTH },
                name.span,
            ));
        }
        if self.open.is_empty() && self.root.is_some() {
            self.outside(place.clone());
        }
        if !attributes::is_name(name.value) {
            let kind = ProblemKind::MalformedAttribute { element: name.value.to_owned() };
            let problem = Problem::new(kind, name.span.clone(), "not a name");
            self.report
                .error(problem.help("write `<` in text as `&lt;`, or put the text in CDATA"));
        }
        let attributes = attributes::read(self.report, tag, &place);
        let element = Element { name, attributes, children: Vec::new(), span: place };
        self.open.push(Open { element, first: self.nodes.len() });
        Ok(())
    }

    /// Closes the innermost element with this name. Open elements inside it are reported and closed.
    pub(super) fn end(&mut self, name: &str, place: Range<usize>) {
        if !self.open.iter().any(|open| open.element.name.value == name) {
            self.sound = false;
            let kind = ProblemKind::UnexpectedClose { name: name.to_owned() };
            let problem = Problem::new(kind, place.clone(), "no open element of this name");
            let innermost = self.open.last().map(|open| open.element.name.value);
            let misspelt = innermost.filter(|innermost| nearest_name(name, [*innermost]).is_some());
            let Some(meant) = misspelt else {
                let help = format!("remove it, or write `<{name}>` before it");
                return self.report.error(problem.help(help));
            };
            self.report.error(problem.help(format!("did you mean `</{meant}>`?")));
            return self.close(place.end);
        }
        while let Some(innermost) = self.open.last() {
            let fits = innermost.element.name.value == name;
            if !fits {
                let innermost = innermost.element.name.clone();
                self.report_unclosed(innermost);
            }
            self.close(place.end);
            if fits {
                return;
            }
        }
    }

    /// Closes the innermost open element and adds it to its parent.
    pub(super) fn close(&mut self, end: usize) {
        let Some(mut element) = self.pop() else { return };
        element.span.end = end;
        if self.open.is_empty() {
            self.root.get_or_insert(element);
        } else {
            self.push(Node::Element(element));
        }
    }

    /// Removes the innermost open element and returns it with its children.
    pub(super) fn pop(&mut self) -> Option<Element<'s>> {
        let Open { mut element, first } = self.open.pop()?;
        element.children = self.nodes.drain(first..).collect();
        Some(element)
    }

    /// Adds the text of an opaque element without changes.
    pub(super) fn opaque(&mut self, place: Range<usize>) {
        check_characters(self.report, place.clone());
        let raw = self.report.text(&place);
        let value = match raw.contains("\r\n") {
            true => Cow::Owned(raw.replace("\r\n", "\n")),
            false => Cow::Borrowed(raw),
        };
        self.push(Node::Text(Spanned::new(value, place)));
    }

    /// Adds the text of a CDATA section.
    pub(super) fn cdata(&mut self, place: Range<usize>) {
        let inside = place.start + "<![CDATA[".len()..place.end.saturating_sub("]]>".len());
        if self.open.is_empty() {
            self.outside(place);
        } else {
            self.opaque(inside);
        }
    }

    /// Adds a piece of text that directly follows the pieces before it.
    pub(super) fn add_text(&mut self, place: Range<usize>) {
        match &mut self.text {
            Some(text) => text.end = place.end,
            None => self.text = Some(place),
        }
    }

    /// Adds the collected pieces to their element as one text.
    pub(super) fn flush_text(&mut self) {
        let Some(place) = self.text.take() else { return };
        if !self.open.is_empty() {
            let value = unescape(self.report, place.clone(), Space::Text);
            self.push(Node::Text(Spanned::new(value, place)));
        } else if !self.report.text(&place).trim().is_empty() {
            self.outside(trim_range(self.report.source, place));
        }
    }

    /// Reports a start tag without its end tag.
    pub(super) fn report_unclosed(&mut self, name: Spanned<&str>) {
        self.sound = false;
        let help = format!("write `</{}>`", name.value);
        let kind = ProblemKind::UnclosedElement { name: name.value.to_owned() };
        self.report.error(Problem::new(kind, name.span, "opened here").help(help));
    }

    /// Drops all open elements without reports, because the rest cannot be parsed.
    pub(super) fn give_up(&mut self) {
        self.sound = false;
        self.open.clear();
        self.nodes.clear();
    }

    /// Returns the root, if all tags match.
    pub(super) fn finish(mut self) -> Option<Element<'s>> {
        self.flush_text();
        while let Some(innermost) = self.open.pop() {
            self.report_unclosed(innermost.element.name);
        }
        self.root.filter(|_| self.sound)
    }

    fn push(&mut self, node: Node<'s>) {
        let Some(parent) = self.open.last() else { return };
        match (self.nodes.get_mut(parent.first..).and_then(<[_]>::last_mut), node) {
            (Some(Node::Text(before)), Node::Text(text)) => {
                before.value.to_mut().push_str(&text.value);
                before.span.end = text.span.end;
            }
            (_, node) => self.nodes.push(node),
        }
    }

    fn outside(&mut self, place: Range<usize>) {
        let problem = Problem::new(ProblemKind::OutsideRoot, place, "outside of the directive");
        self.report.error(problem.help("move it behind the fence"));
    }

    fn stop(&mut self, kind: ProblemKind, place: Range<usize>) -> TooMuch {
        self.report.error(Problem::new(kind, place, "one too many"));
        self.give_up();
        TooMuch
    }
}
