//! A grant written as a `<permissions>` block (SPEC 3.5).

use std::collections::BTreeMap;

use rye_caps::risk::Acknowledgement;
use rye_caps::{Grant, Kind, Pattern};

/// The block, with two spaces for each level and a line end at the end. It grants what `grant` does.
#[must_use]
pub fn block(grant: &Grant, acknowledged: &[Acknowledgement]) -> String {
    let mut lines: Vec<String> = acknowledged.iter().map(acknowledgement).collect();
    if *grant == Grant::everything() {
        lines.push("  *".to_owned());
    } else {
        lines.extend(elements(grant.patterns()));
    }
    match lines.as_slice() {
        [] => "<permissions></permissions>\n".to_owned(),
        lines => format!("<permissions>\n{}\n</permissions>\n", lines.join("\n")),
    }
}

fn acknowledgement(known: &Acknowledgement) -> String {
    format!("  <acknowledge risk=\"{}\">{}</acknowledge>", known.risk(), escape(known.reason()))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// One element for each action, with its kinds in order; then what elements cannot say.
fn elements(patterns: &[Pattern]) -> Vec<String> {
    let mut actions: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut others = Vec::new();
    for pattern in patterns {
        match parts(pattern.as_str()) {
            Some((action, line)) => actions.entry(action).or_default().push(line),
            None => others.push(format!("  <cap>{pattern}</cap>")),
        }
    }
    let element = |(action, lines): (usize, Vec<String>)| {
        let name = ACTIONS.get(action).copied().unwrap_or_default();
        let inside: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        format!("  <{name}>\n{inside}  </{name}>")
    };
    actions.into_iter().map(element).chain(others).collect()
}

/// The place of the action in [`ACTIONS`], and the line that stands in its element.
fn parts(pattern: &str) -> Option<(usize, String)> {
    let (action, rest) = pattern.strip_prefix("rye.")?.split_once('.')?;
    let action = ACTIONS.iter().position(|name| *name == action)?;
    if rest == "*" {
        return Some((action, rest.to_owned()));
    }
    let (kind, items) = rest.split_once('.')?;
    let kind: Kind = kind.parse().ok()?;
    Some((action, format!("<{kind}>{items}</{kind}>")))
}

/// The pattern as one element of a `<permissions>` block.
pub(crate) fn element(pattern: &Pattern) -> String {
    match parts(pattern.as_str()) {
        Some((action, line)) => {
            let name = ACTIONS.get(action).copied().unwrap_or_default();
            format!("<{name}>{line}</{name}>")
        }
        None => format!("<cap>{pattern}</cap>"),
    }
}

const ACTIONS: [&str; 5] = ["execute", "search", "load", "fetch", "sign"];

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the block, and that reading it back gives the same grant.
    #[track_caller]
    fn check(patterns: &[&str], acknowledged: &[(&str, &str)], expected: &str) {
        let grant: Grant = patterns.iter().map(|text| text.parse::<Pattern>().unwrap()).collect();
        let known: Vec<_> = acknowledged
            .iter()
            .map(|(risk, reason)| Acknowledgement::new(risk, reason).unwrap())
            .collect();
        let written = block(&grant, &known);
        assert_eq!(written, expected);
        let source = format!(
            "```xml\n<directive name=\"x\"><metadata>{written}</metadata></directive>\n```\n"
        );
        let read = rye_parse::directive(&source).unwrap().permissions.unwrap().value;
        assert!(rye_resolve::permission_problems(&read).is_empty());
        let granted =
            read.entries.iter().map(|entry| rye_resolve::permission_grant(&entry.value).unwrap());
        let granted = granted.fold(Grant::nothing(), |grant, more| grant.union(&more));
        assert_eq!(granted, grant);
        let back: Vec<_> = read
            .acknowledged
            .iter()
            .map(|row| (row.value.risk.as_str(), row.value.reason.as_str()))
            .collect();
        assert_eq!(back, acknowledged);
    }

    #[test]
    fn nothing_and_everything() {
        check(&[], &[], "<permissions></permissions>\n");
        check(&["rye.*"], &[], "<permissions>\n  *\n</permissions>\n");
    }

    #[test]
    fn each_action_once_with_its_kinds() {
        check(
            &[
                "rye.load.tool.a",
                "rye.execute.tool.b.*",
                "rye.execute.directive.x",
                "rye.search.*",
                "rye.fetch.knowledge.?*",
            ],
            &[],
            "<permissions>\n  <execute>\n    <directive>x</directive>\n    <tool>b.*</tool>\n  </execute>\n  <search>\n    *\n  \
             </search>\n  <load>\n    <tool>a</tool>\n  </load>\n  <fetch>\n    <knowledge>?*</knowledge>\n  </fetch>\n\
             </permissions>\n",
        );
    }

    #[test]
    fn what_elements_cannot_say_keeps_the_old_form() {
        check(&["rye.*.tool.x"], &[], "<permissions>\n  <cap>rye.*.tool.x</cap>\n</permissions>\n");
    }

    #[test]
    fn acknowledgements_are_escaped() {
        check(
            &["rye.sign.*"],
            &[("elevated", "a < b & c > d")],
            "<permissions>\n  <acknowledge risk=\"elevated\">a &lt; b &amp; c &gt; d</acknowledge>\n  <sign>\n    *\n  </sign>\n</permissions>\n",
        );
    }
}
