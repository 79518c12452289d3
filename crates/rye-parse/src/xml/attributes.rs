//! The attributes of a start tag.

use std::ops::Range;

use quick_xml::events::BytesStart;

use super::{
    Attribute,
    escape::{Space, unescape},
};
use crate::{Problem, ProblemKind, Spanned, problem::Report, span::place_in};

/// The greatest number of attributes of one element.
const MOST: usize = 64;

/// Parses the attributes of the tag at `place`.
pub(super) fn read<'s>(
    report: &mut Report<'s>,
    tag: &BytesStart<'_>,
    place: &Range<usize>,
) -> Vec<Attribute<'s>> {
    let element = tag.name().0;
    let mut attributes: Vec<Attribute<'s>> = Vec::new();
    let mut malformed = false;
    for attribute in tag.attributes().with_checks(false) {
        let Ok(attribute) = attribute else {
            malformed = true;
            continue;
        };
        let Some((name, value)) = places(report.source, attribute.key.0, &attribute.value) else {
            continue;
        };
        let name = Spanned::new(report.text(&name), name);
        if attributes.len() == MOST {
            let kind = ProblemKind::TooMany { what: "attributes".to_owned(), limit: MOST };
            report.error(Problem::new(kind, name.span, "one too many"));
            break;
        }
        malformed |= !is_name(name.value);
        if attributes.iter().any(|known| known.name.value == name.value) {
            let kind = ProblemKind::DuplicateAttribute {
                element: element.to_owned(),
                name: name.value.to_owned(),
            };
            report.error(Problem::new(kind, name.span, "given before"));
            continue;
        }
        let value = Spanned::new(unescape(report, value.clone(), Space::Attribute), value);
        attributes.push(Attribute { name, value });
    }
    if malformed {
        let kind = ProblemKind::MalformedAttribute { element: element.to_owned() };
        let problem = Problem::new(kind, place.clone(), "not `name=\"value\"`");
        report.error(
            problem.help("quote every value; if this is text, write `<` as `&lt;` or use CDATA"),
        );
    }
    attributes
}

/// Returns `true` if the text can be the name of an element or attribute.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.starts_with(is_name_start)
        && (name.bytes().all(is_plain)
            || name.chars().all(|c| is_name_start(c) || c.is_numeric() || matches!(c, '-' | '.')))
}

/// Returns `true` if a name can begin with the character.
pub(super) fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | ':')
}

/// Returns the places of a name and a value in the file.
fn places(source: &str, name: &str, value: &str) -> Option<(Range<usize>, Range<usize>)> {
    Some((place_in(source, name)?, place_in(source, value)?))
}
