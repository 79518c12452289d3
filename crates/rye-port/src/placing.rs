//! Placeholders of other formats, written as Rye's (SPEC 17.2).

use std::ops::Range;

use rye_parse::placeholders;

use crate::names;

/// The placeholders that a format has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// None: the text is as it is.
    None,
    /// `$ARGUMENTS`, `$1`, `$ARGUMENTS[0]`.
    Arguments,
    /// `$ARGUMENTS` alone. A `$1` is part of some program there.
    WholeArguments,
    /// `{{name}}`, as in Mustache, Handlebars and Jinja, and without blocks.
    Mustache,
    /// `{name}`.
    Braces,
    /// `${input:name}` and `${input:name:what to write}` of VS Code.
    EditorInput,
    /// `${{ dotted.name }}` of GitHub Actions.
    Expressions,
}

/// A text with the placeholders of Rye.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    pub(crate) text: String,
    /// The inputs that it has places for, in the order of their first places, each with the text of the place.
    pub(crate) inputs: Vec<PlacedInput>,
    /// Markup of the format that has no counterpart, and stays in the text.
    pub(crate) unmeant: Vec<String>,
}

/// An input that a text has a place for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedInput {
    /// The name in the draft.
    pub(crate) name: String,
    /// The name in the source.
    pub(crate) source: String,
    /// The words that describe it, where the place has some.
    pub(crate) hint: Option<String>,
    /// It is a word behind a command, and empty where there is none.
    pub(crate) is_argument: bool,
}

/// Writes the placeholders of a format as Rye's. Where the text has what only Rye takes for a placeholder, a backslash keeps it.
///
/// With `names`, only these are inputs, and every other name stays as it is.
pub(crate) fn place(text: &str, style: Style, names: Option<&[String]>) -> Placed {
    let mut placed = Placed::default();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for found in scan(text, style) {
        match found.what {
            What::Unmeant => {
                let markup = text.get(found.span.clone()).unwrap_or_default().to_owned();
                // A report of a hundred rows tells enough of one text.
                if placed.unmeant.len() < 100 && !placed.unmeant.contains(&markup) {
                    placed.unmeant.push(markup);
                }
                // Its parts may be what Rye takes for a placeholder.
            }
            What::Input { source, hint } => {
                if names.is_some_and(|names| !names.contains(&source)) {
                    continue;
                }
                let name = names::input(&source);
                edits.push((found.span, format!("{{input:{name}}}")));
                if !placed.inputs.iter().any(|known| known.name == name) {
                    let is_argument = matches!(style, Style::Arguments | Style::WholeArguments);
                    placed.inputs.push(PlacedInput { name, source, hint, is_argument });
                }
            }
        }
    }
    edits.sort_by_key(|(span, _)| span.start);
    let is_edited = |span: &Range<usize>| {
        let first = edits.partition_point(|(edit, _)| edit.end <= span.start);
        edits.get(first).is_some_and(|(edit, _)| edit.start < span.end)
    };
    let kept: Vec<(Range<usize>, String)> = placeholders(text)
        .into_iter()
        .filter(|found| !is_edited(&found.span))
        .map(|found| (found.span.start..found.span.start, "\\".to_owned()))
        .collect();
    edits.extend(kept);
    edits.sort_by_key(|(span, _)| span.start);
    let mut end = 0;
    for (span, replacement) in &edits {
        placed.text.push_str(text.get(end..span.start).unwrap_or_default());
        placed.text.push_str(replacement);
        end = span.end;
    }
    placed.text.push_str(text.get(end..).unwrap_or_default());
    placed
}

struct Found {
    span: Range<usize>,
    what: What,
}

enum What {
    Input { source: String, hint: Option<String> },
    Unmeant,
}

fn scan(text: &str, style: Style) -> Vec<Found> {
    match style {
        Style::None => Vec::new(),
        Style::Arguments => dollar_words(text),
        Style::WholeArguments => {
            let mut found = dollar_words(text);
            found.retain(
                |found| matches!(&found.what, What::Input { source, .. } if source == "arguments"),
            );
            found
        }
        Style::Mustache => {
            let names = loop_variables(text);
            let mut found = between(text, "{{", "}}", |inside| mustache(inside, &names));
            found.extend(between(text, "{%", "%}", |_| Some(What::Unmeant)));
            found.sort_by_key(|found| found.span.start);
            found
        }
        Style::Braces => between(text, "{", "}", plain_name),
        Style::EditorInput => between(text, "${", "}", editor_input),
        Style::Expressions => between(text, "${{", "}}", |inside| {
            // A secret of the runner is no input: it would stand in the prompt and in the record.
            let name = inside.trim();
            let input = plain_name(name).filter(|_| !name.starts_with("secrets."));
            Some(input.unwrap_or(What::Unmeant))
        }),
    }
}

/// Finds what stands between two marks on one line.
fn between(text: &str, open: &str, close: &str, read: impl Fn(&str) -> Option<What>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    // No place ends after the last mark.
    let last = text.rfind(close).unwrap_or(0);
    while let Some(start) = text.get(at..last).and_then(|rest| rest.find(open)) {
        let start = at + start;
        let inside = start + open.len();
        let rest = text.get(inside..).unwrap_or_default();
        let line = window(rest).split('\n').next().unwrap_or_default();
        let Some(length) = line.find(close) else {
            at = inside;
            continue;
        };
        let end = inside + length + close.len();
        match read(text.get(inside..inside + length).unwrap_or_default()) {
            Some(what) => {
                found.push(Found { span: start..end, what });
                at = end;
            }
            None => at = inside,
        }
    }
    found
}

/// The beginning of a text, in which a place ends.
pub(crate) fn window(text: &str) -> &str {
    const LONGEST: usize = 512;
    let end = (0..=LONGEST.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// A name alone is an input; blocks, helpers and filters are other markup.
fn mustache(inside: &str, loop_variables: &[&str]) -> Option<What> {
    // The third brace of `{{{name}}}` belongs to it.
    let trimmed = inside.trim().trim_start_matches('{').trim();
    // Words of the language, which mean something inside of a block alone.
    let name = trimmed.split('.').next().unwrap_or_default();
    let is_word = ["this", "else", "history", "loop", "end"].contains(&name)
        || loop_variables.contains(&name);
    Some(plain_name(trimmed).filter(|_| !is_word).unwrap_or(What::Unmeant))
}

/// The names that blocks declare: `{% for NAME in … %}`, `{% set NAME = … %}`, `{{#each … as |NAME|}}`.
fn loop_variables(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for block in text.split("{%").skip(1) {
        let inside = block.split("%}").next().unwrap_or_default().trim_start_matches('-').trim();
        let declared = inside.strip_prefix("for ").and_then(|rest| rest.split(" in ").next());
        let declared = declared.or_else(|| inside.strip_prefix("set ")?.split('=').next());
        names.extend(declared.into_iter().flat_map(|names| names.split(',')).map(str::trim));
    }
    for block in text.split("{{#").skip(1) {
        let inside = block.split("}}").next().unwrap_or_default();
        if let Some((_, declared)) = inside.split_once("as |") {
            names.extend(declared.split(['|', ' ']).filter(|name| !name.is_empty()));
        }
    }
    names
}

fn plain_name(inside: &str) -> Option<What> {
    let is_name = inside.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (is_name && inside != "input" && !inside.starts_with("input."))
        .then(|| What::Input { source: inside.to_owned(), hint: None })
}

fn editor_input(inside: &str) -> Option<What> {
    let name = inside.strip_prefix("input:");
    let Some(name) = name else {
        let is_variable = !inside.is_empty()
            && inside.chars().all(|c| c.is_ascii_alphanumeric() || "_.:".contains(c));
        return is_variable.then_some(What::Unmeant);
    };
    let (name, hint) = match name.split_once(':') {
        Some((name, hint)) => (name, Some(hint.to_owned())),
        None => (name, None),
    };
    (!name.trim().is_empty()).then(|| What::Input { source: name.trim().to_owned(), hint })
}

/// `$ARGUMENTS`, `$ARGUMENTS[N]` and `$N`, where no letter follows.
fn dollar_words(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices('$') {
        let is_escaped = text.get(..start).is_some_and(|before| before.ends_with(['\\', '$']));
        let rest = text.get(start + 1..).unwrap_or_default();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (source, length) = if let Some(after) = rest.strip_prefix("ARGUMENTS") {
            match after.strip_prefix('[').and_then(|after| window(after).split_once(']')) {
                Some((place, _)) if place.parse::<u8>().is_ok() => {
                    let place = place.parse::<u8>().map_or(1, |place| u16::from(place) + 1);
                    (place.to_string(), "ARGUMENTS[]".len() + after.find(']').unwrap_or(0) - 1)
                }
                _ if after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') => continue,
                _ => ("arguments".to_owned(), "ARGUMENTS".len()),
            }
        } else if digits == 1 && !is_price(rest, digits) {
            (rest.get(..digits).unwrap_or_default().to_owned(), digits)
        } else {
            continue;
        };
        if !is_escaped {
            let span = start..start + 1 + length;
            found.push(Found { span, what: What::Input { source, hint: None } });
        }
    }
    found
}

/// `$5.00` and `$0` are no arguments.
fn is_price(rest: &str, digits: usize) -> bool {
    let after = rest.get(digits..).unwrap_or_default();
    let is_decimal = after
        .strip_prefix(['.', ','])
        .is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()));
    is_decimal
        || rest.starts_with('0')
        || after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_ryes() {
        for (style, text, expected) in [
            (Style::Arguments, "Fix $ARGUMENTS now", "Fix {input:arguments} now"),
            (Style::Arguments, "Fix $1 in $2.", "Fix {input:arg1} in {input:arg2}."),
            (Style::Arguments, "Fix $ARGUMENTS[0].", "Fix {input:arg1}."),
            (
                Style::Arguments,
                "costs $5.00, $ARGUMENTSX, \\$1, $HOME, $0, $1k",
                "costs $5.00, $ARGUMENTSX, \\$1, $HOME, $0, $1k",
            ),
            (Style::Mustache, "Hi {{ name }} and {{{raw}}}", "Hi {input:name} and {input:raw}}"),
            (Style::Mustache, "{{#if a}}x{{/if}} {{b|upper}}", "{{#if a}}x{{/if}} {{b|upper}}"),
            (
                Style::Braces,
                "About {topic}: { x } {\"a\": 1}",
                "About {input:topic}: { x } {\"a\": 1}",
            ),
            (
                Style::EditorInput,
                "Make ${input:name:the name} in ${workspaceFolder}",
                "Make {input:name} in ${workspaceFolder}",
            ),
            (
                Style::None,
                "Say {input:x} and ${inputs.y} and ${steps.a.b}",
                "Say \\{input:x} and \\${inputs.y} and \\${steps.a.b}",
            ),
            (Style::Mustache, "{{a}} {input:x}", "{input:a} \\{input:x}"),
        ] {
            assert_eq!(place(text, style, None).text, expected, "{text}");
        }
    }

    #[test]
    fn only_named_inputs_are_placed() {
        let names = ["topic".to_owned()];
        let placed = place("{topic} {other}", Style::Braces, Some(&names));
        assert_eq!(placed.text, "{input:topic} {other}");
        assert_eq!(placed.inputs.len(), 1);
    }

    #[test]
    fn hints_and_other_markup_are_told() {
        let placed = place("${input:a:the A} ${file} {{#x}}", Style::EditorInput, None);
        assert_eq!(placed.inputs[0].hint.as_deref(), Some("the A"));
        assert_eq!(placed.unmeant, ["${file}"]);
    }
}
