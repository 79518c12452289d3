//! `<permissions>`: the permissions that a directive declares.

use std::ops::Range;

use crate::{
    Problem, ProblemKind, Spanned,
    problem::Report,
    span::trim_range,
    xml::{Element, expect},
};

/// A declaration of permissions. The parser does not check that patterns are well-formed, and does not decide what they
/// cover.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Permissions {
    /// The element byte for byte, from `<permissions` to the end of its end tag (SPEC D3).
    pub raw: String,
    /// The declared permissions, in document order. If empty, nothing is permitted.
    pub entries: Vec<Spanned<PermissionEntry>>,
    /// The risks that the author accepts, in document order.
    pub acknowledged: Vec<Spanned<Acknowledge>>,
}

/// One declared permission (SPEC 3.5).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a reader that skipped a form would misjudge authority"
)]
pub enum PermissionEntry {
    /// `*` as the whole content of `<permissions>`.
    Everything,
    /// `*` as the whole content of a primary, such as `<search>*</search>`.
    Primary {
        /// `execute`, `search`, `load`, `sign` or `fetch`.
        primary: String,
    },
    /// A pattern for one kind of item below a primary.
    Item {
        /// `execute`, `search`, `load`, `sign` or `fetch`.
        primary: String,
        /// `tool`, `directive` or `knowledge`.
        kind: String,
        /// The pattern over item ids, as written.
        pattern: String,
    },
    /// The old `<cap>`: a whole capability pattern, as written.
    Literal {
        /// The pattern, such as `rye.execute.tool.x`.
        pattern: String,
    },
}

/// `<acknowledge risk="…">reason</acknowledge>`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledge {
    /// The name of the accepted risk, as written.
    pub risk: String,
    /// The author's reason for accepting it; never empty.
    pub reason: String,
}

/// The most permissions of one directive. Authors write some tens, and each is compared with all others.
const MOST: usize = 1_000;

/// The elements that are allowed in `<permissions>`.
const CHILDREN: [&str; 6] = ["execute", "search", "load", "sign", "fetch", "acknowledge"];

/// The elements that are allowed in a primary.
const KINDS: [&str; 3] = ["tool", "directive", "knowledge"];

/// Parses `<permissions>`.
pub(super) fn read(report: &mut Report<'_>, element: &Element<'_>) -> Spanned<Permissions> {
    expect::attributes(report, element, &[]);
    let mut permissions = Permissions {
        raw: report.text(&element.span).to_owned(),
        entries: Vec::new(),
        acknowledged: Vec::new(),
    };
    if let Some(place) = wildcard(report, element) {
        permissions.entries.push(Spanned::new(PermissionEntry::Everything, place));
        if element.elements().any(|child| child.name.value != "acknowledge") {
            beside(report, element);
        }
    }
    for child in element.elements() {
        match child.name.value {
            "acknowledge" => permissions.acknowledged.extend(acknowledge(report, child)),
            "cap" => permissions.entries.extend(capability(report, child)),
            name if CHILDREN.contains(&name) => primary(report, child, &mut permissions.entries),
            _ => expect::unknown_child(report, element, child, &CHILDREN),
        }
    }
    if permissions.entries.len() > MOST {
        let kind = ProblemKind::TooMany { what: "permissions".to_owned(), limit: MOST };
        let problem = Problem::new(kind, element.name.span.clone(), "too many to compare");
        report.error(problem.help("grant them with fewer patterns, such as `notes/*`"));
    }
    Spanned::new(permissions, element.span.clone())
}

/// Returns the place of `*` as text, and reports other text.
fn wildcard(report: &mut Report<'_>, element: &Element<'_>) -> Option<Range<usize>> {
    let mut place = None;
    for text in element.texts() {
        if text.value.trim() == "*" {
            place = Some(trim_range(report.source, text.span.clone()));
        } else {
            let kind = ProblemKind::UnexpectedText { element: element.name.value.to_owned() };
            let problem = Problem::new(
                kind,
                trim_range(report.source, text.span.clone()),
                "not a permission",
            );
            report.error(problem.help("write `*` alone, or elements"));
        }
    }
    place
}

fn primary(
    report: &mut Report<'_>,
    element: &Element<'_>,
    entries: &mut Vec<Spanned<PermissionEntry>>,
) {
    expect::attributes(report, element, &[]);
    let primary = element.name.value;
    let mut children = element.elements().peekable();
    if let Some(place) = wildcard(report, element) {
        if children.peek().is_some() {
            beside(report, element);
        }
        let primary = primary.to_owned();
        entries.push(Spanned::new(PermissionEntry::Primary { primary }, place));
    } else if children.peek().is_none() && element.texts().next().is_none() {
        report.error(
            expect::empty_element(element)
                .help("write `*`, or `<tool>`, `<directive>`, `<knowledge>`"),
        );
    }
    for child in children {
        let kind = child.name.value;
        if !KINDS.contains(&kind) {
            expect::unknown_child(report, element, child, &KINDS);
            continue;
        }
        expect::attributes(report, child, &[]);
        if let Some(pattern) = expect::some_text(report, child) {
            let primary = primary.to_owned();
            let kind = kind.to_owned();
            entries.push(pattern.map(|pattern| PermissionEntry::Item { primary, kind, pattern }));
        }
    }
}

fn capability(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<PermissionEntry>> {
    expect::attributes(report, element, &[]);
    let problem = Problem::new(ProblemKind::OldCapability, element.span.clone(), "old form");
    report.note(problem.help("write `<execute><tool>…</tool></execute>` and the like"));
    Some(expect::some_text(report, element)?.map(|pattern| PermissionEntry::Literal { pattern }))
}

fn acknowledge(report: &mut Report<'_>, element: &Element<'_>) -> Option<Spanned<Acknowledge>> {
    expect::attributes(report, element, &["risk"]);
    let risk = expect::require(report, element, "risk");
    let reason = expect::some_text(report, element);
    let acknowledge = Acknowledge { risk: risk?.value, reason: reason?.value };
    Some(Spanned::new(acknowledge, element.span.clone()))
}

fn beside(report: &mut Report<'_>, element: &Element<'_>) {
    let kind = ProblemKind::WildcardBeside { element: element.name.value.to_owned() };
    let problem = Problem::new(kind, element.name.span.clone(), "`*` already covers the rest");
    report.error(problem.help("keep `*`, or take it away to grant only the rest"));
}
