//! Follows the help of findings: what shows code to write is written, and the finding is gone.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Checked, Finding, check};
use crate::place::place;

/// A directive with these contents of its fence and this body.
fn directive(fence: &str, body: &str) -> String {
    format!(
        "# D\n\n```xml\n<directive name=\"d\" version=\"1.0.0\">\n{fence}\n</directive>\n```\n\n{body}\n"
    )
}

fn metadata(inside: &str) -> String {
    directive(&format!("<metadata>\n{inside}\n</metadata>"), "Do it.")
}

fn hook(inside: &str) -> String {
    let action = "<action primary=\"execute\" item_type=\"tool\" item_id=\"a/b\" />";
    metadata(&format!("<hooks><hook id=\"h\" event=\"limit\">{inside}{action}</hook></hooks>"))
}

/// Directives with mistakes in their fence.
fn fences() -> Vec<String> {
    vec![
        metadata("<limits turn=\"6\" />"),
        metadata("<limits turns=\"6\" max_turns=\"8\" />"),
        metadata("<limits turns=\"6\" /><limits spend=\"0.10\" />"),
        metadata("<limits turns=\"0\" />"),
        metadata("<limits><turns>6</turns></limits>"),
        directive("<limits turns=\"6\" />", "Do it."),
        directive("<metadata><limits turns=\"6\" /></metadata><limits spend=\"1\" />", "Do it."),
        directive("<metadat></metadat>", "Do it."),
        metadata("<modl tier=\"fast\" />"),
        metadata("<model teir=\"fast\" />"),
        metadata("<author></author><author>a</author>"),
        metadata("<permissions><exectue><tool>a.b</tool></exectue></permissions>"),
        metadata("<permissions><execute><tol>a.b</tol></execute></permissions>"),
        metadata("<permissions><cap>rye.execute.tool.a.b</cap></permissions>"),
        metadata("<context><befor>a</befor></context>"),
        metadata("<description>a & b</description>"),
        metadata("<description>a < b</description>"),
        directive("<inputs><input name=\"a\" type=\"strng\" /></inputs>", "{input:a}"),
        directive("<inputs><input name=\"a\" required=\"yes\" /></inputs>", "{input:a}"),
    ]
}

/// Directives with mistakes in their body or in their hooks.
fn bodies_and_hooks() -> Vec<String> {
    let inputs = "<inputs><input name=\"topic\" /><input name=\"n\" type=\"integer\" /></inputs>";
    vec![
        directive(inputs, "About {input:topci}, {{topic}}, {n}, ${input.topic} and $ARGUMENTS."),
        directive("<process><step name=\"s\">a</step></process>", ""),
        directive(
            "",
            "<process><step name=\"s\"><excute item_type=\"tool\" item_id=\"a\" /></step></process>",
        ),
        directive(
            "",
            "<process><step name=\"s\">`rye_exec(item_type=\"tool\", item_id=\"a\")`</step></process>",
        ),
        hook("<when>cost.spend gt limits.spend</when>"),
        hook("<when>limit eq limits.spend</when>"),
        hook("<when>limit eq spend</when>"),
        hook("<when>limit in spend</when>"),
        hook("<when>limit equals \"spend\"</when>"),
        hook("<condition path=\"limit\" op=\"eqal\" value=\"spend\" />"),
        hook(
            "<condition path=\"limit\" value=\"spend\" /><condition path=\"limit\" value=\"x\" />",
        ),
        metadata(
            "<hooks><hook id=\"h\" event=\"limt\"><action primary=\"sign\" item_type=\"tool\" item_id=\"a\" /></hook></hooks>",
        ),
        metadata(
            "<hooks><hook id=\"h\" event=\"limit\"><action primary=\"exec\" item_type=\"tool\" item_id=\"a\" /></hook></hooks>",
        ),
    ]
}

/// Files with one mistake or more, each with the place of a file of its kind.
fn mistakes() -> Vec<(&'static str, String)> {
    let knowledge = [
        "```yaml\nname: k\ntitle: K\nversion: 1.10\n```\n\nB\n",
        "```yaml\nname: k\ntitle: K\nversion: 1.0 # first\n```\n\nB\n",
        "```yaml\nname: k\ntitle: yes\nversion: true\n```\n\nB\n",
        "---\nname: k\ntitle: K\n---\n\nB\n",
    ];
    let tools = [
        "description: D\nversion: 2.50\nexecutor: command\ncommand: wc\ninput_schema: {type: object}\n",
        "description: D\nversion: \"1.0.0\"\nexecutr: command\ncommand: wc\ninput_schema: {type: object}\n",
        "description: D\nversion: \"1.0.0\"\nexecutor: comand\ncommand: wc\ninput_schema: {type: object}\n",
        "description: D\nversion: \"1.0.0\"\nexecutor: command\ncommand: wc\ninput_schema: {type: objct}\n",
    ];
    let configs = [
        (".ai/config/agent/resilience.yaml", "limitz: {turns: 1}\n"),
        (".ai/config/agent/approval.yaml", "aks: []\n"),
        (
            ".ai/config/agent/hooks.yaml",
            "hooks:\n  - id: a\n    evnt: limit\n    action: {primary: sign, item_type: tool, item_id: a}\n",
        ),
    ];
    let of = |path: &'static str| move |text: &str| (path, text.to_owned());
    let directives = fences().into_iter().chain(bodies_and_hooks());
    let directives = directives.map(|text| (".ai/directives/d.md", text));
    directives
        .chain(knowledge.into_iter().map(of(".ai/knowledge/k.md")))
        .chain(tools.into_iter().map(of(".ai/tools/t.yaml")))
        .chain(configs.into_iter().map(|(path, text)| (path, text.to_owned())))
        .collect()
}

/// Help that shows code and cannot be put in the place of the finding, by its beginning, with the reason.
const NOT_APPLIED: &[(&str, &str)] = &[
    ("add `", "the author knows the value, and the code has dots in its place"),
    ("declare it in `<inputs>`", "a choice among several, or a new element elsewhere"),
    ("move it into `<metadata>`", "moves an element; `limits_in_two_places` follows it"),
    ("`<metadata>` has a `<limits>`", "joins two elements; `limits_in_two_places` follows it"),
    ("put it into a ```yaml fence", "moves lines of the file"),
    ("write limits as attributes", "the code is an example, with another value than the author's"),
    ("write `<execute><tool>…", "the code has dots in the place of the pattern"),
    (
        "`rye schema ",
        "a command that prints what the file may hold; `schemas_that_help_names` follows it",
    ),
];

fn judge(path: &str, text: &str) -> Checked {
    let path = Path::new("/p").join(path);
    let (kind, id) = place(&path).expect("the place of an item");
    check(&path, kind, Some(&id), text.to_owned())
}

/// The code that help says to write in the place of a finding.
fn code(help: &str) -> Option<&str> {
    let starts = [
        "did you mean `",
        "write `",
        "quote it: `",
        "quote a text: `",
        "write a number such as `",
        "write a list such as `",
    ];
    let rest = starts.iter().find_map(|start| help.strip_prefix(start))?;
    rest.split('`').next()
}

/// The file with the help of a finding followed.
fn follow(source: &str, finding: &Finding, code: &str) -> String {
    let help = finding.help.as_deref().unwrap_or_default();
    let replace = |span: std::ops::Range<usize>| {
        format!("{}{code}{}", &source[..span.start], &source[span.end..])
    };
    // The finding may be at the key of a value.
    let behind = |word: &str| {
        let at = finding.span.start;
        let found = source[at..].find(word).expect("the word that is wrong") + at;
        found..found + word.len()
    };
    if help.starts_with("quote it") {
        return replace(behind(code.trim_matches('"')));
    }
    if !help.starts_with("did you mean") {
        return replace(finding.span.clone());
    }
    let wrong = finding.message.split('`').nth(1).expect("the word that is wrong");
    let word = wrong.trim_matches(['<', '>']).trim_start_matches("rye_").trim_end_matches("(…)");
    if wrong.starts_with('<') {
        let renamed = source.replace(&format!("<{word}"), &format!("<{code}"));
        return renamed.replace(&format!("</{word}>"), &format!("</{code}>"));
    }
    replace(behind(word))
}

/// Every schema that help names is there, and so is the one of each file of configuration.
#[test]
fn schemas_that_help_names() {
    for file in crate::config::FILES {
        let Some(rules) = crate::config::rules_of_file(file) else { continue };
        assert!(crate::schema(rules.schema).is_some(), "{file}: {}", rules.schema);
    }
}

/// Help about limits in two places leads to a file without mistakes.
#[test]
fn limits_in_two_places() {
    let one = "<metadata><limits turns=\"6\" spend=\"1\" /></metadata>";
    for (fence, help, followed) in [
        (
            "<metadata></metadata><limits turns=\"6\" spend=\"1\" />",
            "move it into `<metadata>`",
            one,
        ),
        (
            "<metadata><limits turns=\"6\" /></metadata><limits spend=\"1\" />",
            "`<metadata>` has a `<limits>`: put what this one adds into that one, and remove this one",
            one,
        ),
        (
            "<metadata><limits turns=\"6\" /><limits spend=\"1\" /></metadata>",
            "keep one of them, with the attributes of both",
            one,
        ),
    ] {
        let found = judge(".ai/directives/d.md", &directive(fence, "Do it.")).findings;
        let told: Vec<_> = found.iter().filter_map(|it| it.help.as_deref()).collect();
        assert_eq!(told, [help], "{fence}");
        assert_eq!(judge(".ai/directives/d.md", &directive(followed, "Do it.")).findings, []);
    }
}

#[test]
fn help_that_shows_code_works_when_it_is_followed() {
    let (mut followed, mut left, mut failed) = (0, BTreeSet::new(), Vec::new());
    for (path, text) in mistakes() {
        let checked = judge(path, &text);
        assert!(!checked.findings.is_empty(), "no mistake in {text}");
        for finding in &checked.findings {
            let Some(help) = finding.help.as_deref().filter(|help| help.contains('`')) else {
                continue;
            };
            let listed = NOT_APPLIED.iter().find(|(begins, _)| help.starts_with(begins));
            let Some(code) = code(help).filter(|_| listed.is_none()) else {
                match listed {
                    Some((begins, _)) => drop(left.insert(*begins)),
                    None => failed.push(format!("{}: not followed: {help}", finding.code)),
                }
                continue;
            };
            followed += 1;
            let now = follow(&checked.source, finding, code);
            let again = judge(path, &now);
            let is_same =
                |other: &Finding| other.code == finding.code && other.message == finding.message;
            let is_new = |other: &Finding| {
                other.severity >= finding.severity
                    && !checked.findings.iter().any(|it| it.code == other.code)
            };
            if let Some(bad) = again.findings.iter().find(|it| is_same(it) || is_new(it)) {
                failed.push(format!(
                    "{}: {help}: leads to {}: {}",
                    finding.code, bad.code, bad.message
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(20 < followed, "{followed}");
    let unused: Vec<_> = NOT_APPLIED.iter().filter(|(begins, _)| !left.contains(begins)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}
