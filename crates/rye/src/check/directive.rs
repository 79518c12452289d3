//! What only a directive can get wrong.

use std::collections::BTreeSet;
use std::ops::Range;

use rye_parse::{Directive, Placeholder, Spanned, placeholders};
use rye_resolve::{ItemId, declared_problems, permission_problems};

use super::Finding;

pub(super) fn findings(source: &str, id: Option<&ItemId>) -> Vec<Finding> {
    let directive = match rye_parse::directive(source) {
        Ok(directive) => directive,
        Err(error) => return super::errors(&error),
    };
    let mut findings: Vec<Finding> = directive.notes.iter().map(Finding::note).collect();
    findings.extend(id.into_iter().flat_map(|id| claims(&directive, id)));
    findings.extend(extends(&directive));
    findings.extend(permissions(&directive));
    findings.extend(undeclared(&directive, source));
    findings
}

fn claims(directive: &Directive, id: &ItemId) -> Vec<Finding> {
    let problems = declared_problems(directive, id);
    problems
        .iter()
        .map(|problem| Finding::claim(problem.code(), &problem.to_string(), problem.span().clone()))
        .collect()
}

fn extends(directive: &Directive) -> Option<Finding> {
    let extends = directive.extends.as_ref()?;
    let error = extends.value.parse::<ItemId>().err()?;
    let message = format!("`extends` is not an item id: {error}");
    Some(Finding::error("invalid-extends", &message, extends.span.clone()))
}

fn permissions(directive: &Directive) -> Vec<Finding> {
    let Some(permissions) = &directive.permissions else { return Vec::new() };
    let problems = permission_problems(&permissions.value);
    problems
        .iter()
        .map(|problem| {
            Finding::error("invalid-pattern", &problem.to_string(), problem.span.clone())
        })
        .collect()
}

/// Placeholders of inputs that nobody declares (SPEC 6.2), in the body and in the permissions.
fn undeclared(directive: &Directive, source: &str) -> Vec<Finding> {
    let declared: BTreeSet<&str> =
        directive.inputs.iter().map(|input| input.value.name.value.as_str()).collect();
    let body = &directive.body;
    let raw = directive
        .permissions
        .as_ref()
        .map(|block| Spanned::new(block.value.raw.clone(), block.span.clone()));
    [Some(body), raw.as_ref()]
        .into_iter()
        .flatten()
        .flat_map(|text| placeholders(&text.value).into_iter().map(move |found| (text, found)))
        .filter_map(|(text, found)| match &found.value {
            Placeholder::Input { name, .. } if !declared.contains(name.as_str()) => {
                Some(undeclared_input(name, &declared, place(text, &found.span, source)))
            }
            _ => None,
        })
        .collect()
}

fn undeclared_input(name: &str, declared: &BTreeSet<&str>, span: Range<usize>) -> Finding {
    let names: Vec<&str> = declared.iter().copied().collect();
    let mut finding =
        Finding::error("undeclared-input", &format!("input `{name}` is not declared"), span);
    finding.label = "no input has this name".to_owned();
    finding.help = Some(match names.as_slice() {
        [] => "declare it in `<inputs>`".to_owned(),
        names => format!("declare it in `<inputs>`, or use one of `{}`", names.join("`, `")),
    });
    finding
}

/// Where a part of `text` stands in the file; all of `text` when it was put together from several places.
fn place(text: &Spanned<String>, part: &Range<usize>, source: &str) -> Range<usize> {
    if source.get(text.span.clone()) != Some(text.value.as_str()) {
        return text.span.clone();
    }
    text.span.start + part.start..text.span.start + part.end
}
