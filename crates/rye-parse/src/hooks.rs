//! Hooks files, whose hooks apply to every directive (SPEC 4.4, 10.3).

use std::fmt;

use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::{
    Hook, ParseError, ParseNameError, Spanned,
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
    pub position: HookPosition,
    /// `true` if an element around that knowledge names it for the model, which is the default.
    pub wrap: bool,
    /// The id of the directive to extend. Present exactly for `resolve_extends` (SPEC 7.3).
    pub extends: Option<Spanned<String>>,
}

/// The layers of hooks, which run from the lowest to the highest (SPEC 10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 10.3 numbers these five")]
#[derive(VariantArray)]
pub enum HookLayer {
    /// 0: the hooks of the operator.
    User,
    /// 1: the hooks of the directive and of those that it extends.
    Directive,
    /// 2: the hooks that come with the program.
    BuiltIn,
    /// 3: the hooks of the project.
    Project,
    /// 4: the hooks that run regardless of earlier decisions.
    Infrastructure,
}

impl HookLayer {
    /// All layers, in order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The number in files.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for HookLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// The position of knowledge from a hook (SPEC 8.4, 8.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "composition must handle every position")]
#[derive(EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_fn = unknown_name, parse_err_ty = ParseNameError)]
pub enum HookPosition {
    /// In the system message.
    System,
    /// Before the directive's prompt.
    #[default]
    Before,
    /// After the directive's prompt.
    After,
}

impl HookPosition {
    /// All positions.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

fn unknown_name(text: &str) -> ParseNameError {
    ParseNameError::new("position", text)
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
