//! The text of a directive that only a model follows.
//!
//! Text beside the steps, and a step without a call, may need anything. Every step has a description and many a directive has context of
//! its own, so that these may need what they name.

use rye_caps::Pattern;
use rye_parse::{ContextContent, Directive};

/// The words of texts that are no instructions of their own and that a model reads beside them: descriptions of steps with calls, own
/// context, criteria of success, headings.
#[derive(Debug, Clone, Default)]
pub(super) struct Mentions {
    text: String,
}

impl Mentions {
    /// Adds the texts of a directive.
    pub(super) fn add(&mut self, directive: &Directive) {
        let descriptions = directive.steps.iter().map(|step| step.value.description.as_str());
        let context = directive.context.iter().filter_map(|entry| match &entry.value.content {
            ContextContent::Inline(text) => Some(text.as_str()),
            ContextContent::Knowledge(_) | ContextContent::File(_) => None,
        });
        let criteria = directive.body.value.split("<success_criteria>").skip(1);
        let criteria = criteria.filter_map(|rest| rest.split("</success_criteria>").next());
        let headings = directive.body.value.lines().filter(|line| is_heading(line.trim()));
        for text in descriptions.chain(context).chain(criteria).chain(headings) {
            self.text.push(' ');
            self.text.push_str(&text.to_lowercase());
        }
    }

    /// Returns `true` if a text names what the pattern grants: its id, or the last part of it. A pattern with wildcards is named by any
    /// of its parts.
    pub(super) fn name(&self, pattern: &Pattern) -> bool {
        let id = pattern.as_str().splitn(4, '.').nth(3).unwrap_or_default().to_lowercase();
        let is_wild = |part: &&str| part.contains(['*', '?', '[']);
        let parts: Vec<&str> = id.split('.').collect();
        let is_name = |part: &&str| !is_wild(part) && !["", "rye"].contains(part);
        let mut names = match parts.last().filter(|last| is_name(last)) {
            Some(last) => vec![*last],
            None => parts.iter().copied().filter(is_name).collect(),
        }
        .into_iter();
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        names.any(|name| {
            // `write` is named by `writing`, too.
            let stem = if name.len() < 4 { name } else { name.trim_end_matches('e') };
            let is_short = name.len() < 4;
            let mut words = self.text.split(|c: char| !is_word(c));
            words.any(|word| if is_short { word == name } else { word.starts_with(stem) })
                || (name.contains(['_', '-']) && self.text.contains(&name.replace(['_', '-'], " ")))
        })
    }
}

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
    !is_heading(line) && line.contains(char::is_alphanumeric)
}

/// Returns `true` for a heading, which a bold line without an end of a sentence is, too.
fn is_heading(line: &str) -> bool {
    let bold = line.strip_prefix("**").and_then(|line| line.strip_suffix("**"));
    let is_bold_heading =
        bold.is_some_and(|bold| !bold.contains("**") && !bold.ends_with(['.', '!', ';']));
    line.starts_with('#') || is_bold_heading
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::{CalledDirective, CalledItems, GivenInputs, Use, needs_of, uses_as_written};
    use rye_caps::{Grant, Layer};
    use rye_resolve::ItemId;
    use rye_types::ItemKind;

    struct Nothing;

    impl CalledItems for Nothing {
        fn called_directive(&self, _: &ItemId) -> Option<CalledDirective> {
            None
        }

        fn has(&self, _: ItemKind, _: &ItemId) -> bool {
            true
        }

        fn starts_threads(&self, _: &ItemId) -> bool {
            false
        }

        fn bounds_of_taken(&self, _: ItemKind, _: &ItemId) -> Vec<(String, Layer)> {
            Vec::new()
        }
    }

    /// Checks what becomes of `granted` in a directive with one step, which calls another tool.
    #[track_caller]
    fn check(
        name: &str,
        context: &str,
        description: &str,
        beside: &str,
        granted: &str,
        expected: &Use,
    ) {
        let source = format!(
            "```xml\n<directive name=\"d\"><metadata><context>{context}</context></metadata></directive>\n```\n\n{beside}\n\n\
             <process>\n<step name=\"s\"><description>{description}</description>\
             <execute item_type=\"tool\" item_id=\"a/b\" /></step>\n</process>\n"
        );
        let directive = rye_parse::directive(&source).unwrap();
        let pattern: Pattern = granted.parse().unwrap();
        let needs = needs_of(&directive, &GivenInputs::new(), [], &Nothing);
        let uses = uses_as_written(&Grant::from_iter([pattern.clone()]), &needs);
        assert_eq!(uses, [(pattern, expected.clone())], "{name}");
    }

    /// What an input names bounds the calls after it by its signer, which nobody knows before.
    #[test]
    fn an_item_that_an_input_names_is_not_judged() {
        let of = |kind: &str, id: &str| {
            let source = format!(
                "```xml\n<directive name=\"d\"><inputs><input name=\"id\" type=\"string\">An item</input></inputs>\
                 </directive>\n```\n\n<process>\n<step name=\"s\"><execute item_type=\"{kind}\" item_id=\"{id}\" /></step>\n\
                 </process>\n"
            );
            needs_of(&rye_parse::directive(&source).unwrap(), &GivenInputs::new(), [], &Nothing)
                .unjudged
        };
        for kind in ["directive", "knowledge"] {
            let told = format!("step `s` executes a {kind} that is known when it runs");
            let told = told.replace("a knowledge", "knowledge");
            assert_eq!(of(kind, "{input:id}"), [told.as_str()]);
            assert_eq!(of(kind, "notes/{input:id}"), [told.as_str()]);
        }
        assert_eq!(of("knowledge", "notes/style"), [] as [&str; 0]);
    }

    #[test]
    fn a_permission_that_a_text_names_may_be_needed() {
        let mail = "rye.execute.tool.team.send_mail";
        let write = "rye.execute.tool.rye.file-system.write";
        let (unknown, unused) = (&Use::Unknown, &Use::Unused);
        let rows = [
            ("nothing", "", "List.", "", mail, unused),
            ("own context", "<after>Then send mail to the team.</after>", "", "", mail, unknown),
            ("before", "<before>Use `team/send_mail`.</before>", "", "", mail, unknown),
            ("a description", "", "List, and write a summary.", "", write, unknown),
            ("another form", "", "Before writing, list.", "", write, unknown),
            (
                "criteria",
                "",
                "",
                "<success_criteria>Use glob.</success_criteria>",
                "rye.execute.tool.rye.file-system.glob",
                unknown,
            ),
            ("a heading", "", "", "**Send mail**", mail, unknown),
            ("a bold sentence", "", "", "**Tell the team.**", mail, unknown),
            ("a heading of nothing", "", "", "**Process**", mail, unused),
            (
                "a longer word",
                "",
                "The false ones.",
                "",
                "rye.execute.tool.rye.file-system.ls",
                unused,
            ),
            ("a wildcard", "", "Look at the team.", "", "rye.execute.tool.team.*", unknown),
            ("a wildcard of all", "", "Look at all.", "", "rye.load.*", unused),
            ("another wildcard", "", "Look.", "", "rye.execute.tool.team.*", unused),
        ];
        for (name, context, description, beside, granted, expected) in rows {
            check(name, context, description, beside, granted, expected);
        }
    }
}
