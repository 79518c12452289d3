//! The scanner for `${steps.NAME.key}`.

/// A piece of a text with references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Reference(Reference<'a>),
}

/// A reference `${steps.STEP.key.key}`. Without a key it means the whole result (SPEC 10.13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    pub(super) step: &'a str,
    pub(super) path: Vec<&'a str>,
    pub(super) written: &'a str,
}

/// Splits a text at its references. A piece that only resembles a reference is text, as for every placeholder
/// (SPEC 6.2).
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(start) = text.get(at..).and_then(|rest| rest.find(OPEN)).map(|found| at + found)
    {
        at = start + OPEN.len();
        let Some(reference) = text.get(start..).and_then(reference) else { continue };
        pieces.extend(text.get(done..start).filter(|text| !text.is_empty()).map(Piece::Text));
        done = start + reference.written.len();
        at = done;
        pieces.push(Piece::Reference(reference));
    }
    pieces.extend(text.get(done..).filter(|text| !text.is_empty()).map(Piece::Text));
    pieces
}

const OPEN: &str = "${steps.";

fn reference(text: &str) -> Option<Reference<'_>> {
    let inside = text.strip_prefix(OPEN)?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (names, rest) = inside.split_at(inside.find(|c| !is_part(c))?);
    let mut names = names.split('.');
    let (step, path): (&str, Vec<&str>) = (names.next()?, names.collect());
    let is_whole =
        rest.starts_with('}') && !step.is_empty() && path.iter().all(|key| !key.is_empty());
    let length = text.len() - rest.len() + 1;
    is_whole.then_some(Reference { step, path, written: text.get(..length)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let shown = pieces(text).into_iter().map(|piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Reference(Reference { step, path, written }) => {
                format!("<{step}|{}|{written}>", path.join("|"))
            }
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn references_are_found_among_text() {
        check("${steps.list.listing}", &["<list|listing|${steps.list.listing}>"]);
        check("a ${steps.a-b.c.0.d_e} b", &["a ", "<a-b|c|0|d_e|${steps.a-b.c.0.d_e}>", " b"]);
        check("${steps.a}${steps.b.c}", &["<a||${steps.a}>", "<b|c|${steps.b.c}>"]);
        check("é${steps.a.b}é", &["é", "<a|b|${steps.a.b}>", "é"]);
    }

    #[test]
    fn what_only_resembles_one_is_text() {
        for text in [
            "${steps.}",
            "${steps.a.}",
            "${steps..a}",
            "${steps.a b}",
            "${steps.a",
            "${steps.a.b",
            "{steps.a}",
            "${inputs.a}",
        ] {
            check(text, &[text]);
        }
        check("", &[]);
        check("${steps.${steps.a.b}", &["${steps.", "<a|b|${steps.a.b}>"]);
    }
}
