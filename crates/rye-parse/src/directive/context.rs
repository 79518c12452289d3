//! `<context>`: text, knowledge and files around a directive's prompt.

use std::borrow::Cow;

use rye_types::Position;
use strum::IntoStaticStr;

use crate::{
    Problem, ProblemKind, Spanned,
    name::is_item_id,
    problem::Report,
    span::trim_range,
    xml::{Element, Node, expect},
};

/// One piece of context at one position (SPEC 3.6, D7).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextEntry {
    /// The position of the text.
    pub position: ContextPosition,
    /// `true` if a missing reference is skipped instead of refused (SPEC D14).
    pub optional: bool,
    /// The text, the id of a knowledge entry, or the path of a file. Never a text for `Suppress`.
    pub content: ContextContent,
}

/// The position of a piece of context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "composition must handle every position")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ContextPosition {
    /// In the system message.
    System,
    /// Before the directive's prompt.
    Before,
    /// After the directive's prompt.
    After,
    /// At no position: removes inherited references to the same id.
    Suppress,
}

impl ContextPosition {
    /// The name of the element.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the position in the prompt; `None` for what is suppressed.
    pub fn in_prompt(self) -> Option<Position> {
        match self {
            Self::System => Some(Position::System),
            Self::Before => Some(Position::Before),
            Self::After => Some(Position::After),
            Self::Suppress => None,
        }
    }
}

/// The content of a piece of context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a piece is text or a reference (SPEC D7, 17.3)")]
pub enum ContextContent {
    /// The trimmed text.
    Inline(String),
    /// The id of a knowledge entry.
    Knowledge(String),
    /// The path of a plain file of the project. It has the form of an item id, with the extension as part of its last segment.
    File(String),
}

impl ContextContent {
    /// The beginning of the id of a plain file. No id of an item has it, because an item id has no `:`.
    pub const FILE: &'static str = "file:";

    /// Returns the id of what the piece refers to: that of a knowledge entry, or `file:` and the path of a file. `None` for text.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Inline(_) => None,
            Self::Knowledge(id) => Some(Cow::Borrowed(id)),
            Self::File(path) => Some(Cow::Owned(format!("{}{path}", Self::FILE))),
        }
    }
}

/// Parses `<context>`.
pub(super) fn read(report: &mut Report<'_>, element: &Element<'_>) -> Vec<Spanned<ContextEntry>> {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    let mut entries = Vec::new();
    for child in element.elements() {
        match child.name.value {
            "system" => pieces(report, child, ContextPosition::System, &mut entries),
            "before" => pieces(report, child, ContextPosition::Before, &mut entries),
            "after" => pieces(report, child, ContextPosition::After, &mut entries),
            "suppress" => entries.extend(suppress(report, child)),
            _ => expect::unknown_child(
                report,
                element,
                child,
                &["system", "before", "after", "suppress"],
            ),
        }
    }
    entries
}

/// Parses the pieces of one position in order (SPEC D7).
fn pieces(
    report: &mut Report<'_>,
    element: &Element<'_>,
    position: ContextPosition,
    entries: &mut Vec<Spanned<ContextEntry>>,
) {
    expect::attributes(report, element, &[FILE, "optional"]);
    let optional = expect::flag(report, element, "optional");
    if element.attribute(FILE).is_some() {
        let content = file(report, element);
        entries.extend(
            content.map(|path| path.map(|content| ContextEntry { position, optional, content })),
        );
        return;
    }
    let before = entries.len();
    for node in &element.children {
        let piece = match node {
            Node::Text(text) => piece_of_text(report, text),
            Node::Element(child) if child.is_opaque() => opaque(report, child),
            Node::Element(child) if child.name.value == "knowledge" => {
                expect::attributes(report, child, &["optional"]);
                let optional = optional | expect::flag(report, child, "optional");
                let content = knowledge(report, child);
                entries.extend(
                    content
                        .map(|id| id.map(|content| ContextEntry { position, optional, content })),
                );
                continue;
            }
            Node::Element(child) => {
                expect::unknown_child(report, element, child, &[]);
                continue;
            }
        };
        entries.extend(
            piece.map(|piece| piece.map(|content| ContextEntry { position, optional, content })),
        );
    }
    if entries.len() == before {
        report.note(expect::empty_element(element));
    }
}

fn piece_of_text(
    report: &Report<'_>,
    text: &Spanned<Cow<'_, str>>,
) -> Option<Spanned<ContextContent>> {
    let value = text.value.trim();
    let content = match value {
        "" => return None,
        id if is_item_id(id) => ContextContent::Knowledge(id.to_owned()),
        text => ContextContent::Inline(text.to_owned()),
    };
    Some(Spanned::new(content, trim_range(report.source, text.span.clone())))
}

/// Parses the text of an opaque element, which is never an id.
fn opaque(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<ContextContent>> {
    expect::attributes(report, element, &[]);
    let text = expect::text(report, element);
    (!text.value.is_empty()).then(|| text.map(ContextContent::Inline))
}

fn knowledge(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<ContextContent>> {
    let id = expect::some_text(report, element)?;
    expect::item_id(report, element.name.value, id).map(|id| id.map(ContextContent::Knowledge))
}

/// The attribute that names a plain file of the project.
const FILE: &str = "file";

/// Parses the attribute `file`, beside which the element is empty (SPEC 17.3).
fn file(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<ContextContent>> {
    let is_blank =
        |node: &&Node<'_>| matches!(node, Node::Text(text) if text.value.trim().is_empty());
    if element.children.iter().any(|node| !is_blank(&node)) {
        let name = element.name.value;
        let kind = ProblemKind::UnexpectedText { element: name.to_owned() };
        let problem = Problem::new(kind, element.span.clone(), "has `file` and content");
        report.error(problem.help(format!("put the content into a `<{name}>` of its own")));
    }
    let path = expect::optional(report, element, FILE)?;
    if is_item_id(&path.value) {
        return Some(path.map(ContextContent::File));
    }
    let problem = expect::bad(&path, FILE, "the path of a file in the project such as `AGENTS.md`");
    report.error(problem.help(
        "write `/` between its parts; each begins with a letter, a digit or `_`, and goes on with these, `.` and `-`",
    ));
    None
}

fn suppress(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<ContextEntry>> {
    expect::attributes(report, element, &[FILE]);
    let content = match element.attribute(FILE) {
        Some(_) => file(report, element)?,
        None => knowledge(report, element)?,
    };
    let position = ContextPosition::Suppress;
    Some(content.map(|content| ContextEntry { position, optional: false, content }))
}
