//! Every example of the founding documents: each is parsed, or refused for the given reason.
//!
//! Examples are the fenced blocks of XML and YAML. In the document that has lost its fences, they are the
//! elements that begin in the first column. Calls in JSON, code and diagrams are not examples of files.

use rye::parse::{self, ParseError, Problem};
use rye_tests::seed;

use super::forms::file;

/// A directive file with `inside` in its metadata.
fn metadata(inside: &str) -> String {
    file(&format!("<metadata>{inside}</metadata>"))
}

/// The outcome of a call with `{...}`.
const CALL_OF_DOTS: &str =
    "noted: `rye_execute(…)` cannot be read as a step; the value of `parameters` is not JSON";

const BODY_IN_FENCE: &str = "noted: `<process>` stands inside the fence; move it behind the fence \
    | `<execute>` cannot be read as a step; text in `<execute>`; write `<param name=\"…\">…</param>` \
    | `<success_criteria>` stands inside the fence; move it behind the fence";

/// An example: its first line and its text.
pub(super) struct Example {
    pub(super) line: usize,
    pub(super) text: String,
}

/// The examples of a document, in order.
pub(super) fn examples(text: &str) -> Vec<Example> {
    let lines: Vec<&str> = text.lines().collect();
    let mut examples = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let rest = lines.get(at + 1..).unwrap_or_default();
        let (length, skip) = if let Some(language) = line.strip_prefix("```") {
            let end = rest.iter().position(|line| *line == "```").unwrap_or(rest.len());
            let is_cut = matches!(language, "xml" | "yaml");
            (end + 2, if is_cut { Some(1..end + 1) } else { None })
        } else if let Some(length) = element(&lines[at..]) {
            (length, Some(0..length))
        } else {
            (1, None)
        };
        if let Some(range) = skip {
            let inside = lines.get(at + range.start..at + range.end).unwrap_or_default();
            let text = format!("{}\n", inside.join("\n"));
            examples.push(Example { line: at + range.start + 1, text });
        }
        at += length;
    }
    examples
}

/// Returns the number of lines of the element that begins in the first column of the first line.
fn element(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?;
    let name: String =
        first.strip_prefix('<')?.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if name.is_empty() {
        return None;
    }
    if first.contains("/>") || first.contains(&format!("</{name}>")) {
        return Some(1);
    }
    let end = format!("</{name}>");
    Some(lines.iter().position(|line| line.starts_with(&end))? + 1)
}

/// Parses an example, placed where its first element belongs in a file, and returns the outcome.
fn outcome(text: &str) -> String {
    let directive = |text: &str| parse::directive(text).map(|directive| directive.notes);
    let first = text.trim_start().trim_start_matches('<');
    let name: String = first.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let result = match name.as_str() {
        "directive" => directive(&format!("```xml\n{text}```\n")),
        "metadata" | "inputs" | "outputs" => directive(&file(text)),
        "model" | "limits" | "permissions" | "context" | "cost" | "hooks" => {
            directive(&metadata(text))
        }
        "execute" | "fetch" => directive(&metadata(&format!("<permissions>{text}</permissions>"))),
        "process" | "success_criteria" => directive(&format!("{}\n{text}", file(""))),
        "step" => directive(&format!("{}\n<process>\n{text}</process>\n", file(""))),
        "name" => parse::knowledge_yaml(text).map(|knowledge| knowledge.notes),
        "" if text.starts_with("- id:") => {
            parse::hooks(&format!("hooks:\n{text}"), "yaml").map(|_| Vec::new())
        }
        name => return format!("no part of a file: <{name}>"),
    };
    describe(result)
}

fn describe(result: Result<Vec<Problem>, ParseError>) -> String {
    let list = |problems: &[Problem]| {
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
    };
    match result {
        Ok(notes) if notes.is_empty() => "read".to_owned(),
        Ok(notes) => format!("noted: {}", list(&notes)),
        Err(error) => format!("refused: {}", list(error.problems())),
    }
}

/// Checks the outcome of every example of a document, each named by its line.
#[track_caller]
fn check(number: &str, expected: &[(usize, &str)]) {
    let text = seed(number);
    let found: Vec<(usize, String)> =
        examples(&text).into_iter().map(|example| (example.line, outcome(&example.text))).collect();
    let found: Vec<(usize, &str)> =
        found.iter().map(|(line, outcome)| (*line, outcome.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn of_the_text_on_rendering() {
    check(
        "000",
        &[
            (5, "read"),
            // An example of a hook's context in a prompt (SPEC 8.6).
            (202, "no part of a file: <Identity>"),
            (214, "read"),
            (245, "read"),
            (259, "read"),
            (317, "read"),
        ],
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn of_the_guide_to_authoring() {
    check(
        "001",
        &[
            (46, "read"),
            // `{...}` stands for parameters that are left out (SPEC 3.9: a note).
            (79, CALL_OF_DOTS),
            (86, "read"),
            (117, "read"),
            (120, "read"),
            (123, "read"),
            (134, "read"),
            (137, "read"),
            (149, "read"),
            (168, "read"),
            (169, "read"),
            (170, "read"),
            (174, "read"),
            (183, "read"),
            (196, "read"),
            // An example of outputs in a prompt (SPEC D1).
            (203, "no part of a file: <returns>"),
            (224, "read"),
            (261, "read"),
            (266, "read"),
            (278, "read"),
            (288, "read"),
            // The body in the fence (SPEC D9), with dots in place of a parameter.
            (312, BODY_IN_FENCE),
            (404, "read"),
            (452, CALL_OF_DOTS),
            (480, "read"),
            // Dots stand for omitted parts, and text is not allowed there (SPEC 3.2, 3.3).
            (499, "refused: text in `<directive>`"),
            (517, "refused: text in `<metadata>` | text in `<directive>`"),
            (542, "read"),
            (566, "read"),
            (593, "read"),
            (627, "read"),
        ],
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn of_the_text_on_agents() {
    check("002", &[(252, "read"), (277, "read"), (298, "read")]);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn of_the_text_on_extending() {
    check(
        "003",
        &[(5, "read"), (34, "read"), (95, "read"), (140, "read"), (157, "read"), (180, "read")],
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn of_the_directive_that_writes_directives() {
    check("004", &[(8, "read"), (63, "read"), (139, "read")]);
}

/// The steps of the guide that are written as Markdown.
#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn of_steps_in_markdown() {
    let text = seed("001");
    let (_, rest) = text.split_once("\n## Process\n").expect("the example");
    let (steps, _) = rest.split_once("\nSteps can also").expect("its end");
    let directive =
        parse::directive(&format!("{}\n## Process\n{steps}", file(""))).expect("readable");
    let found: Vec<_> = directive
        .steps
        .iter()
        .map(|step| (step.value.name.as_deref().unwrap_or(""), step.value.actions.len()))
        .collect();
    assert_eq!(
        found,
        [("Check for duplicates", 1), ("Write directive file", 1), ("Sign the directive", 1)]
    );
    assert_eq!(directive.notes, []);
}
