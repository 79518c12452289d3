//! Parsing of the root element.

use super::{
    Directive, context, cost,
    fence::{self, Fence},
    hooks, limits, model, permissions, ports,
};
use crate::{
    Problem, ProblemKind, Spanned,
    problem::Report,
    steps,
    suggest::nearest_name,
    xml::{self, Element, expect},
};

/// The longest allowed file (SPEC 3.8).
const LONGEST: usize = 4 * 1024 * 1024;

/// The children of `<directive>`.
const CHILDREN: [&str; 7] =
    ["metadata", "inputs", "outputs", "permissions", "description", "process", "success_criteria"];

/// The known children of `<metadata>`.
const METADATA: [&str; 10] = [
    "description",
    "category",
    "author",
    "model",
    "limits",
    "permissions",
    "context",
    "hooks",
    "cost",
    "continuation_directive",
];

/// Parses the file. If the result is `None`, the report contains the reason.
pub(super) fn read(report: &mut Report<'_>) -> Option<Directive> {
    report.check_size("file", report.source.len(), LONGEST, 0..0, "this file")?;
    let fence = fence::find(report)?;
    let root = xml::read(report, fence.content.clone())?;
    root_element(report, &root, fence)
}

fn root_element(report: &mut Report<'_>, root: &Element<'_>, fence: Fence) -> Option<Directive> {
    expect::attributes(report, root, &["name", "version", "extends"]);
    expect::no_text(report, root);
    let name = expect::require(report, root, "name");
    let version = expect::optional(report, root, "version");
    let extends = expect::optional(report, root, "extends");
    let extends = extends.and_then(|id| expect::item_id(report, "extends", id));
    let mut directive =
        empty(name.unwrap_or_else(|| Spanned::new(String::new(), root.name.span.clone())));
    directive.title = fence.title;
    directive.version = version;
    directive.extends = extends;
    let mut seen = Vec::new();
    let mut inside = Vec::new();
    for child in root.elements() {
        match child.name.value {
            name if METADATA.contains(&name) && !CHILDREN.contains(&name) => {
                report_outside_metadata(report, root, child);
            }
            name if !CHILDREN.contains(&name) => {
                expect::unknown_child(report, root, child, &CHILDREN)
            }
            "process" | "success_criteria" => inside.push(body_in_fence(report, child)),
            _ if !expect::first(report, child, &mut seen) => {}
            "metadata" => metadata(report, child, &mut directive, &mut seen),
            "inputs" => directive.inputs = ports::inputs(report, child),
            "outputs" => directive.outputs = ports::outputs(report, child),
            _ => metadatum(report, child, &mut directive),
        }
    }
    directive.body = body(report, &fence.body, &inside);
    directive.steps = steps::read(report, &fence.body, &inside);
    Some(directive)
}

/// Reports metadata directly below the root. It may only be moved if `<metadata>` has none of its name yet.
fn report_outside_metadata(report: &mut Report<'_>, root: &Element<'_>, child: &Element<'_>) {
    let name = child.name.value;
    let kind =
        ProblemKind::UnknownElement { parent: root.name.value.to_owned(), name: name.to_owned() };
    let metadata = root.elements().filter(|element| element.name.value == "metadata");
    let is_there = metadata.flat_map(Element::elements).any(|element| element.name.value == name);
    let problem = Problem::new(kind, child.name.span.clone(), "belongs into `<metadata>`");
    report.error(problem.help(match is_there {
        true => format!(
            "`<metadata>` has a `<{name}>`: put what this one adds into that one, and remove this one"
        ),
        false => "move it into `<metadata>`".to_owned(),
    }));
}

/// Parses `<metadata>`. In old files, some of its elements are directly below the root and count as part of it.
fn metadata<'s>(
    report: &mut Report<'_>,
    element: &Element<'s>,
    directive: &mut Directive,
    seen: &mut Vec<&'s str>,
) {
    expect::attributes(report, element, &[]);
    expect::no_text(report, element);
    for child in element.elements() {
        let name = child.name.value;
        if !METADATA.contains(&name) {
            let kind = ProblemKind::UnknownMetadata { name: name.to_owned() };
            let problem = Problem::new(kind, child.name.span.clone(), "nothing reads this");
            report.note(match nearest_name(name, METADATA) {
                _ if CHILDREN.contains(&name) => {
                    problem.help("move it behind `</metadata>`: it counts there alone".to_owned())
                }
                Some(known) => problem.help(format!("did you mean `{known}`?")),
                None => problem,
            });
        } else if expect::first(report, child, seen) {
            metadatum(report, child, directive);
        }
    }
}

fn metadatum(report: &mut Report<'_>, element: &Element<'_>, directive: &mut Directive) {
    match element.name.value {
        "description" => directive.description = simple(report, element),
        "category" => directive.category = simple(report, element),
        "author" => directive.author = simple(report, element),
        "model" => directive.model = Some(model::read(report, element)),
        "limits" => directive.limits = limits::read(report, element),
        "permissions" => directive.permissions = Some(permissions::read(report, element)),
        "context" => directive.context = context::read(report, element),
        "hooks" => directive.hooks = hooks::read(report, element),
        "cost" => directive.cost = Some(cost::read(report, element)),
        _ => {
            expect::attributes(report, element, &[]);
            directive.continuation_directive = expect::some_text(report, element)
                .and_then(|id| expect::item_id(report, "continuation_directive", id));
        }
    }
}

/// Parses text that counts as absent if it is empty.
fn simple(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<String>> {
    expect::attributes(report, element, &[]);
    let text = expect::text(report, element);
    (!text.value.is_empty()).then_some(text)
}

/// Returns the place of a part of the body inside the fence.
fn body_in_fence(report: &mut Report<'_>, element: &Element<'_>) -> std::ops::Range<usize> {
    let kind = ProblemKind::BodyInFence { element: element.name.value.to_owned() };
    let problem = Problem::new(kind, element.name.span.clone(), "better after the fence");
    report.note(problem.help("move it behind the fence"));
    element.span.clone()
}

/// Joins the text after the fence and the parts inside it with line feeds.
fn body(
    report: &Report<'_>,
    after: &std::ops::Range<usize>,
    inside: &[std::ops::Range<usize>],
) -> Spanned<String> {
    let mut value = report.text(after).to_owned();
    for place in inside {
        if !value.is_empty() {
            value.push('\n');
        }
        value.push_str(report.text(place));
    }
    let span = match (after.is_empty(), inside) {
        (true, [first, .., last]) => first.start..last.end,
        (true, [only]) => only.clone(),
        _ => after.clone(),
    };
    Spanned::new(value, span)
}

/// Makes a directive with only a name.
fn empty(name: Spanned<String>) -> Directive {
    let place = name.span.clone();
    Directive {
        title: None,
        name,
        version: None,
        extends: None,
        description: None,
        category: None,
        author: None,
        model: None,
        limits: limits::Limits::default(),
        permissions: None,
        context: Vec::new(),
        hooks: Vec::new(),
        cost: None,
        continuation_directive: None,
        inputs: Vec::new(),
        outputs: ports::Outputs::None,
        body: Spanned::new(String::new(), place),
        steps: Vec::new(),
        notes: Vec::new(),
    }
}
