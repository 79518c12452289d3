//! Checks of elements, with reports.

use std::{borrow::Cow, str::FromStr};

use strum::VariantNames;

use super::{Element, Node};
use crate::{
    Problem, ProblemKind, Spanned, name, problem::Report, span::trim_range, suggest::suggestion,
};

/// Reports attributes that are not in `known`.
pub(crate) fn attributes(report: &mut Report<'_>, element: &Element<'_>, known: &[&str]) {
    for attribute in &element.attributes {
        let given = attribute.name.value;
        if !known.contains(&given) {
            let kind = ProblemKind::UnknownAttribute {
                element: element.name.value.to_owned(),
                name: given.to_owned(),
            };
            let problem =
                Problem::new(kind, attribute.name.span.clone(), "not an attribute of this element");
            report.error(match known {
                [] => problem.help(format!("`<{}>` has no attributes", element.name.value)),
                known => problem.help(suggestion(given, known)),
            });
        }
    }
}

/// Reports a child element that its parent does not allow.
pub(crate) fn unknown_child(
    report: &mut Report<'_>,
    parent: &Element<'_>,
    child: &Element<'_>,
    known: &[&str],
) {
    let given = child.name.value;
    let kind = ProblemKind::UnknownElement {
        parent: parent.name.value.to_owned(),
        name: given.to_owned(),
    };
    let problem = Problem::new(kind, child.name.span.clone(), "not an element of this place");
    report.error(match known {
        [] => problem.help("write `<` as `&lt;`, or put the text in CDATA or `<raw>`"),
        known => problem.help(suggestion(given, known)),
    });
}

/// Reports text in an element that contains only elements.
pub(crate) fn no_text(report: &mut Report<'_>, element: &Element<'_>) {
    for text in element.texts() {
        let kind = ProblemKind::UnexpectedText { element: element.name.value.to_owned() };
        report.error(Problem::new(
            kind,
            trim_range(report.source, text.span.clone()),
            "text is not read here",
        ));
    }
}

/// Returns the trimmed text of an element. Only opaque elements are allowed in it.
pub(crate) fn text(report: &mut Report<'_>, element: &Element<'_>) -> Spanned<String> {
    // Nearly every element contains only one text, which is then copied once.
    if let [Node::Text(text)] = element.children.as_slice() {
        let span = trim_range(report.source, text.span.clone());
        return Spanned::new(text.value.trim().to_owned(), span);
    }
    let mut value = String::new();
    let mut span = None;
    for node in &element.children {
        match node {
            Node::Text(text) => extend(&mut value, &mut span, text),
            Node::Element(child) if child.is_opaque() => {
                for text in child.texts() {
                    extend(&mut value, &mut span, text);
                }
            }
            Node::Element(child) => unknown_child(report, element, child, &[]),
        }
    }
    let span = span.map_or(element.span.clone(), |span| trim_range(report.source, span));
    Spanned::new(value.trim().to_owned(), span)
}

/// Returns the text of an element as a value. White space at its ends that only lays out the file is trimmed. White space from
/// CDATA, from character references and from opaque elements stays.
pub(crate) fn value(report: &mut Report<'_>, element: &Element<'_>) -> String {
    let mut value = String::new();
    let mut trailing = 0;
    for (place, node) in element.children.iter().enumerate() {
        match node {
            Node::Text(text) => {
                let layout = layout(report.source, &text.span);
                let skip = if place == 0 { layout.start.min(text.value.len()) } else { 0 };
                value.push_str(text.value.get(skip..).unwrap_or_default());
                trailing = layout.end.min(text.value.len() - skip);
            }
            Node::Element(child) if child.is_opaque() => {
                child.texts().for_each(|text| value.push_str(&text.value));
                trailing = 0;
            }
            Node::Element(child) => unknown_child(report, element, child, &[]),
        }
    }
    value.truncate(value.len() - trailing);
    value
}

/// Returns how many bytes of a text are layout, at its start and at its end.
fn layout(source: &str, span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let raw = source.get(span.clone()).unwrap_or_default();
    let length = |layout: &str| layout.replace("\r\n", "\n").len();
    let is_cdata = |before: &str| before.ends_with("<![CDATA[");
    let starts = match source.get(..span.start).is_some_and(is_cdata) {
        true => 0,
        false => length(raw.get(..raw.len() - raw.trim_start().len()).unwrap_or_default()),
    };
    let ends = match source.get(span.end..).is_some_and(|after| after.starts_with("]]>")) {
        true => 0,
        false => length(raw.get(raw.trim_end().len()..).unwrap_or_default()),
    };
    starts..ends
}

/// Returns the trimmed text of an element, and reports an empty one.
pub(crate) fn some_text(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<String>> {
    let text = text(report, element);
    if text.value.is_empty() {
        let name = &element.name.value;
        let problem = empty_element(element);
        report.error(problem.help(format!("write `<{name}>…</{name}>`, or remove it")));
        return None;
    }
    Some(text)
}

/// Returns a required attribute, which must not be blank.
pub(crate) fn require(
    report: &mut Report<'_>,
    element: &Element<'_>,
    attribute: &str,
) -> Option<Spanned<String>> {
    require_str(report, element, attribute).map(|text| text.map(str::to_owned))
}

/// Like [`require`], without a copy of the value.
pub(crate) fn require_str<'e>(
    report: &mut Report<'_>,
    element: &'e Element<'_>,
    attribute: &str,
) -> Option<Spanned<&'e str>> {
    if element.attribute(attribute).is_some() {
        return optional_str(report, element, attribute);
    }
    let kind = ProblemKind::MissingAttribute {
        element: element.name.value.to_owned(),
        name: attribute.to_owned(),
    };
    let problem =
        Problem::new(kind, element.name.span.clone(), format!("`{attribute}` is missing"));
    report.error(problem.help(format!("add `{attribute}=\"…\"`")));
    None
}

/// Returns an optional attribute, trimmed. It must not be blank.
pub(crate) fn optional(
    report: &mut Report<'_>,
    element: &Element<'_>,
    attribute: &str,
) -> Option<Spanned<String>> {
    optional_str(report, element, attribute).map(|text| text.map(str::to_owned))
}

/// Like [`optional`], without a copy of the value.
pub(crate) fn optional_str<'e>(
    report: &mut Report<'_>,
    element: &'e Element<'_>,
    attribute: &str,
) -> Option<Spanned<&'e str>> {
    let value = element.attribute(attribute)?;
    let span = trim_range(report.source, value.span.clone());
    if value.value.trim().is_empty() {
        let kind =
            ProblemKind::Empty { what: format!("`{attribute}` of `<{}>`", element.name.value) };
        report.error(Problem::new(kind, element.name.span.clone(), "a value is missing"));
        return None;
    }
    Some(Spanned::new(value.value.trim(), span))
}

/// Returns a boolean attribute; `false` if it is absent.
pub(crate) fn flag(report: &mut Report<'_>, element: &Element<'_>, attribute: &str) -> bool {
    let Some(value) = optional_str(report, element, attribute) else { return false };
    match value.value {
        "true" => true,
        "false" => false,
        _ => {
            bad_value(report, attribute, &value, "`true` or `false`");
            false
        }
    }
}

/// Parses a number without sign, fraction or separators.
pub(crate) fn whole_number(
    report: &mut Report<'_>,
    what: &str,
    text: &Spanned<String>,
) -> Option<u64> {
    let digits = text.value.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.value.parse().ok().filter(|_| digits);
    if number.is_none() {
        bad_value(report, what, text, "a whole number such as `4096`");
    }
    number
}

/// Parses a word of a closed list.
pub(crate) fn word<T: FromStr + VariantNames>(
    report: &mut Report<'_>,
    what: &str,
    text: &Spanned<impl AsRef<str>>,
) -> Option<T> {
    let word = text.value.as_ref().parse().ok();
    if word.is_none() {
        unknown_word(report, what, text, T::VARIANTS);
    }
    word
}

/// Reports a word that is not in a closed list.
pub(crate) fn unknown_word(
    report: &mut Report<'_>,
    what: &str,
    text: &Spanned<impl AsRef<str>>,
    valid: &[&str],
) {
    let value = text.value.as_ref();
    let kind = ProblemKind::UnknownValue { what: what.to_owned(), value: shorten(value) };
    let problem = Problem::new(kind, text.span.clone(), format!("not a known {what}"));
    report.error(problem.help(suggestion(value, valid)));
}

/// Checks that a text has the form of an item id (SPEC 1.3).
pub(crate) fn item_id(
    report: &mut Report<'_>,
    what: &str,
    text: Spanned<String>,
) -> Option<Spanned<String>> {
    if name::is_item_id(&text.value) {
        return Some(text);
    }
    bad_value(report, what, &text, "an item id such as `project/rules`");
    None
}

/// Reports a value of the wrong form.
pub(crate) fn bad_value(
    report: &mut Report<'_>,
    what: &str,
    text: &Spanned<impl AsRef<str>>,
    expected: &str,
) {
    report.error(bad(text, what, expected));
}

/// Returns the problem of a value of the wrong form.
pub(crate) fn bad(text: &Spanned<impl AsRef<str>>, what: &str, expected: &str) -> Problem {
    let kind = ProblemKind::BadValue {
        what: format!("`{what}`"),
        value: shorten(text.value.as_ref()),
        expected: expected.to_owned(),
    };
    Problem::new(kind, text.span.clone(), format!("not {expected}"))
}

/// Reports a second element if only one is allowed. Returns `true` for the first.
pub(crate) fn first<'s>(
    report: &mut Report<'_>,
    element: &Element<'s>,
    seen: &mut Vec<&'s str>,
) -> bool {
    let name = element.name.value;
    if seen.contains(&name) {
        let kind = ProblemKind::Duplicate { what: format!("`<{name}>`") };
        let problem = Problem::new(kind, element.name.span.clone(), "declared before");
        report.error(problem.help(match element.attributes.is_empty() {
            true => "keep one of them",
            false => "keep one of them, with the attributes of both",
        }));
        return false;
    }
    seen.push(name);
    true
}

/// Returns the problem of an empty element.
pub(crate) fn empty_element(element: &Element<'_>) -> Problem {
    let kind = ProblemKind::Empty { what: format!("`<{}>`", element.name.value) };
    Problem::new(kind, element.span.clone(), "nothing in it")
}

/// Returns the first forty characters, for a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
        None => text.to_owned(),
    }
}

fn extend(
    value: &mut String,
    span: &mut Option<std::ops::Range<usize>>,
    text: &Spanned<Cow<'_, str>>,
) {
    value.push_str(&text.value);
    match span {
        Some(span) => span.end = text.span.end,
        None => *span = Some(text.span.clone()),
    }
}
