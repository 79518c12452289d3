//! Hooks files, whose hooks apply to every directive (SPEC 4.4, 10.3).

use rye_types::{HookLayer, Position};
use serde_json::Value;

use crate::{
    Hook, ParseError, Spanned,
    config::document,
    problem::Report,
    strict::{Document, wrong_type},
};

mod action;
mod condition;
mod entry;
mod node;

/// One hook of a hooks file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigHook {
    /// The part that is common with the hooks of directives. A hook on `resolve_extends` has no actions.
    pub hook: Hook,
    /// The layer among all hooks of the event. If absent, the space of the file decides.
    pub layer: Option<Spanned<HookLayer>>,
    /// The order among the hooks of the layer, lowest first; 0 if not written.
    pub order: i64,
    /// The position of the knowledge that the action adds; `Before` if not written.
    pub position: Position,
    /// `true` if an element around that knowledge names it for the model, which is the default.
    pub wrap: bool,
    /// The id of the directive to extend. Present exactly for `resolve_extends` (SPEC 7.3).
    pub extends: Option<Spanned<String>>,
}

/// Parses a hooks file with the extension `yaml`, `yml`, `toml` or `json`: a mapping whose `hooks` is a list.
///
/// # Errors
///
/// Every problem of the file, with its place.
///
/// ```
/// let file = "hooks:\n  - id: base\n    event: resolve_extends\n    when: directive.category eq \"deploy\"\n    extends: team/base\n";
/// let hooks = rye_parse::hooks(file, "yaml")?;
/// assert_eq!(hooks[0].value.hook.id.value, "base");
/// let condition = &hooks[0].value.hook.condition.as_ref().unwrap().value;
/// assert!(condition.holds(&serde_json::json!({"directive": {"category": "deploy"}})));
/// # Ok::<(), rye_parse::ParseError>(())
/// ```
pub fn hooks(source: &str, extension: &str) -> Result<Vec<Spanned<ConfigHook>>, ParseError> {
    let mut report = Report::new(source);
    let hooks = document(&mut report, extension)
        .map(|document| read(&mut report, &document))
        .unwrap_or_default();
    report.finish()?;
    Ok(hooks)
}

fn read(report: &mut Report<'_>, document: &Document) -> Vec<Spanned<ConfigHook>> {
    for key in document.value.keys().filter(|key| *key != "hooks") {
        document.unknown(report, key, &["hooks"]);
    }
    match document.value.get("hooks") {
        None => {
            document.missing(report, "hooks");
            Vec::new()
        }
        Some(Value::Array(values)) => entry::all(report, document, values),
        Some(other) => {
            let place = document.place(&["hooks"]);
            let problem = wrong_type(report.source, "`hooks`".to_owned(), other, "a list", place);
            report.error(problem.help("begin each hook with `- id: …`"));
            Vec::new()
        }
    }
}
