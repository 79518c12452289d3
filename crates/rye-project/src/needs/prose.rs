//! The text of a directive that only a model follows.

use rye_parse::Directive;

/// Returns `true` if the body has text for a model beside its steps with calls: a step without a call is one of the steps.
///
/// Headings, tags, comments and criteria of success are no instructions.
pub(super) fn has_prose(directive: &Directive) -> bool {
    let body = &directive.body;
    let mut rest = String::new();
    let mut end = 0;
    for step in &directive.steps {
        let start = step.span.start.saturating_sub(body.span.start);
        let text = body.value.get(start..step.span.end.saturating_sub(body.span.start));
        // The text of a section is a part of its step, and is for a model as all text beside the steps is.
        if text.is_some_and(|text| !text.starts_with("<step")) && !step.value.description.is_empty()
        {
            return true;
        }
        rest.push_str(body.value.get(end..start).unwrap_or_default());
        end = end.max(step.span.end.saturating_sub(body.span.start));
    }
    rest.push_str(body.value.get(end..).unwrap_or_default());
    let rest = without(&without(&rest, "<!--", "-->"), "<success_criteria>", "</success_criteria>");
    without_tags(&rest).lines().any(is_instruction)
}

fn is_instruction(line: &str) -> bool {
    let line = line.trim();
    let is_heading = line.starts_with('#') || (line.starts_with("**") && line.ends_with("**"));
    !is_heading && line.contains(char::is_alphanumeric)
}

fn without_tags(text: &str) -> String {
    ["<process>", "</process>"].iter().fold(text.to_owned(), |text, tag| text.replace(tag, ""))
}

/// Returns the text without each part from `start` to `end`. A part that does not end stays.
fn without(text: &str, start: &str, end: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(start) {
        let Some((_, after)) = after.split_once(end) else { break };
        result.push_str(before);
        rest = after;
    }
    result.push_str(rest);
    result
}
