//! Inputs whose values reach no prompt: placeholders of other formats, and inputs that are placed nowhere (SPEC 17.2).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rye_parse::{Directive, Placeholder, placeholders};

use super::catalog::Chain;
use super::{Finding, KEPT};

/// The placeholders of other formats in the body that name an input, each text at its first place.
pub(super) fn foreign_placeholders(directive: &Directive, source: &str) -> Vec<Finding> {
    let body = &directive.body;
    let text = body.value.as_str();
    let mut found: BTreeMap<&str, (Range<usize>, Option<&str>)> = BTreeMap::new();
    for (place, input) in foreign_places(directive) {
        if let Some(written) = text.get(place.clone()).filter(|_| found.len() <= KEPT) {
            found.entry(written).or_insert((place, input));
        }
    }
    // The body may stand in several places of the file; then the first of them is shown.
    let is_whole = source.get(body.span.clone()) == Some(text);
    let place = |at: Range<usize>| match is_whole {
        true => body.span.start + at.start..body.span.start + at.end,
        false => body.span.clone(),
    };
    found.into_iter().map(|(written, (at, input))| foreign(written, input, place(at))).collect()
}

/// The places of the body that name an input in another format, with the input. The arguments of a command name the only input, if
/// there is one alone.
fn foreign_places(directive: &Directive) -> Vec<(Range<usize>, Option<&str>)> {
    let inputs: BTreeSet<&str> =
        directive.inputs.iter().map(|input| input.value.name.value.as_str()).collect();
    let text = directive.body.value.as_str();
    let own: Vec<Range<usize>> = placeholders(text).into_iter().map(|found| found.span).collect();
    let is_foreign = |place: &Range<usize>| {
        // They are in order and do not overlap.
        let next = own.partition_point(|own| own.end <= place.start);
        own.get(next).is_none_or(|own| place.end <= own.start)
    };
    let named = |place: Range<usize>| {
        let name = *inputs.get(named_input(text.get(place.clone())?)?)?;
        Some((place, Some(name)))
    };
    let only = inputs.first().copied().filter(|_| inputs.len() == 1);
    let arguments = text.match_indices(ARGUMENTS).filter(|_| !inputs.is_empty());
    let arguments = arguments.map(|(at, _)| (at..at + ARGUMENTS.len(), only));
    let found = texts_in_braces(text).filter_map(named).chain(arguments);
    found.filter(|(place, _)| is_foreign(place)).collect()
}

/// The arguments of a command, as Claude Code writes them.
const ARGUMENTS: &str = "$ARGUMENTS";

fn foreign(written: &str, input: Option<&str>, place: Range<usize>) -> Finding {
    let message =
        format!("`{written}` is no placeholder here: the model reads it as it is written");
    let help = match input {
        Some(input) => format!("write `{{input:{input}}}`"),
        None => "write `{input:NAME}` with the name of an input".to_owned(),
    };
    let finding = Finding::warning("foreign-placeholder", &message, place);
    finding.with_label("stays as it is").with_help(&help)
}

/// The places of texts in braces on one line, with the dollar sign before and all braces.
fn texts_in_braces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut after = 0;
    std::iter::from_fn(move || {
        loop {
            let open = after + text.get(after..)?.find('{')?;
            let inside = open + bytes.get(open..)?.iter().take_while(|byte| **byte == b'{').count();
            let rest = text.get(inside..)?;
            let length = rest.find(['{', '}', '\n'])?;
            let close = inside + length;
            after = close.max(inside);
            if bytes.get(close) != Some(&b'}') || MOST_INSIDE < length {
                continue;
            }
            let closing = bytes.get(close..)?.iter().take_while(|byte| **byte == b'}').count();
            after = close + closing;
            let pairs = closing.min(inside - open);
            let dollar = usize::from(text.get(..inside - pairs)?.ends_with('$'));
            return Some(inside - pairs - dollar..close + pairs);
        }
    })
}

/// The longest text in braces that is looked at, in bytes.
const MOST_INSIDE: usize = 200;

/// The name of the input that a text in braces may mean: `x`, `.x`, `input: x`, `inputs.x`, `x | upper`; and behind any path in
/// the expressions of workflows (`${{ github.event.inputs.x }}`).
fn named_input(written: &str) -> Option<&str> {
    let is_expression = written.starts_with("${{");
    let inside = written.trim_matches(['$', '{', '}']).split('|').next()?.trim();
    let (path, name) = inside.rsplit_once(['.', ':']).unwrap_or(("", inside));
    let path = path.trim().to_ascii_lowercase();
    let known = ["", "input", "inputs", "arg", "args", "arguments", "param", "params", "vars"];
    (is_expression || known.contains(&path.as_str())).then(|| name.trim())
}

/// The required inputs that the directive places nowhere. A directive without a body has no place for a value.
pub(super) fn unplaced_inputs(
    directive: &Directive,
    chain: &Chain<'_>,
    source: &str,
) -> Vec<Finding> {
    if directive.body.value.trim().is_empty() || chain.broken.is_some() {
        return Vec::new();
    }
    let mut placed: BTreeSet<String> = names(source).collect();
    for (_, link) in chain.links.iter().skip(1) {
        placed.extend(link.permissions.iter().flat_map(|block| names(&block.value.raw)));
        placed.extend(hook_texts(link).iter().flat_map(|text| names(text)));
    }
    // They have a finding already.
    placed.extend(
        foreign_places(directive).into_iter().filter_map(|(_, name)| Some(name?.to_owned())),
    );
    let required = directive.inputs.iter().map(|input| &input.value).filter(|it| it.required);
    let unplaced = required.filter(|input| {
        let name = input.name.value.as_str();
        // Conditions of hooks have the path without braces.
        !placed.contains(name) && !source.contains(&format!("inputs.{name}"))
    });
    unplaced
        .map(|input| {
            let name = &input.name.value;
            let message = format!(
                "the required input `{name}` is placed nowhere, so that its value reaches no prompt and no call"
            );
            let finding = Finding::warning("unplaced-input", &message, input.name.span.clone());
            finding.with_label("asked for in vain").with_help(&format!(
                "place it in the steps below the fence with `{{input:{name}}}`, or leave the input out"
            ))
        })
        .collect()
}

fn names(text: &str) -> impl Iterator<Item = String> {
    placeholders(text).into_iter().filter_map(|found| match found.value {
        Placeholder::Input { name, .. } => Some(name),
        Placeholder::Escaped { .. } | Placeholder::Step(_) => None,
    })
}

fn hook_texts(directive: &Directive) -> Vec<String> {
    let actions = directive.hooks.iter().flat_map(|hook| &hook.value.actions);
    let text = |parameters: &serde_json::Map<String, serde_json::Value>| {
        serde_json::Value::Object(parameters.clone()).to_string()
    };
    actions.map(|action| text(&action.value.parameters)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: &[&str]) {
        let source = format!(
            "```xml\n<directive name=\"d\"><inputs><input name=\"topic\"/><input name=\"max-n\"/></inputs></directive>\n```\n\n{body}\n"
        );
        let directive = rye_parse::directive(&source).unwrap();
        let shown = |it: Finding| {
            assert_eq!(it.message.split('`').nth(1), source.get(it.span));
            format!("{} {}", it.message.split('`').nth(1).unwrap(), it.help.unwrap())
        };
        let found: Vec<String> =
            foreign_placeholders(&directive, &source).into_iter().map(shown).collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn placeholders_of_other_formats_that_name_an_input() {
        let rows = [
            ("{{topic}}", "{{topic}}"),
            ("Is {{ topic }} so?", "{{ topic }}"),
            ("{topic}", "{topic}"),
            ("{input: topic}", "{input: topic}"),
            ("{ input:topic }", "{ input:topic }"),
            ("{inputs.topic}", "{inputs.topic}"),
            ("${input.topic}", "${input.topic}"),
            ("${topic}", "${topic}"),
            ("${{ topic }}", "${{ topic }}"),
            ("${{ github.event.inputs.topic }}", "${{ github.event.inputs.topic }}"),
            ("{{ topic | upper }}", "{{ topic | upper }}"),
            ("{{.topic}}", "{{.topic}}"),
            ("{{{topic}}}", "{{{topic}}}"),
            ("{topic}}", "{topic}"),
            ("{{topic} and {topic}", "{topic}"),
        ];
        for (body, written) in rows {
            check(body, &[&format!("{written} write `{{input:topic}}`")]);
        }
        check("{{max-n}}", &["{{max-n}} write `{input:max-n}`"]);
        check("$ARGUMENTS", &["$ARGUMENTS write `{input:NAME}` with the name of an input"]);
    }

    #[test]
    fn what_is_a_placeholder_or_names_no_input_is_fine() {
        for body in [
            "{input:topic} ${inputs.topic} {input:topic?} {input:topic:topic} {input:max-n|{topic}",
            "\\{input:topic} \\${inputs.topic}",
            "{{input:topic}}",
            "{other} {{ other }} ${HOME} {topics} {my topic} {a.topic} ${steps.topic.x} ${steps.topic}",
            "{topic\n} { {topic} x",
            "",
        ] {
            let expected: &[&str] = match body.contains("{ {topic}") {
                true => &["{topic} write `{input:topic}`"],
                false => &[],
            };
            check(body, expected);
        }
    }
}
