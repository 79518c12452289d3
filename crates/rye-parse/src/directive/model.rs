//! `<model>`: the model that a directive requests.

use crate::{
    Problem, ProblemKind, Spanned,
    problem::Report,
    span::trim_range,
    xml::{Element, expect},
};

/// The attributes of `<model>`, each as written (SPEC 3.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// A provider's tier, such as `fast`.
    pub tier: Option<Spanned<String>>,
    /// A provider's name of one model.
    pub id: Option<Spanned<String>>,
    /// The tier or model to use if the first one is not available.
    pub fallback: Option<Spanned<String>>,
    /// The required provider.
    pub provider: Option<Spanned<String>>,
}

/// Parses `<model>`.
pub(super) fn read(report: &mut Report<'_>, element: &Element<'_>) -> Spanned<Model> {
    expect::attributes(report, element, &["tier", "id", "fallback", "provider"]);
    for text in element.texts() {
        let kind = ProblemKind::UnusedText { element: element.name.value.to_owned() };
        report.note(Problem::new(kind, trim_range(report.source, text.span.clone()), "not used"));
    }
    for child in element.elements() {
        expect::unknown_child(report, element, child, &[]);
    }
    let model = Model {
        tier: expect::optional(report, element, "tier"),
        id: expect::optional(report, element, "id"),
        fallback: expect::optional(report, element, "fallback"),
        provider: expect::optional(report, element, "provider"),
    };
    Spanned::new(model, element.span.clone())
}
