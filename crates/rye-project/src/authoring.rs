//! New items from templates (SPEC 12.1).

mod complexity;
mod configuration;
mod directive;
mod permissions;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rye_resolve::ItemId;
use rye_types::ItemKind;

pub use self::complexity::{ClassLimits, Complexity, UnknownComplexity};
pub use self::configuration::{DRAFTED_CONFIGS, draft_config, draft_hook, draft_provider};
pub(crate) use self::directive::DirectiveDraft;
pub(crate) use self::permissions::Permissions;
use crate::config::{RESILIENCE_FILE, complexity_limits};
use crate::plan::PrepareError;
use crate::project::Project;

/// The file of a new item: where it belongs below `.ai`, and a text that passes its check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Draft {
    /// The path below `.ai`, with `/`.
    pub path: String,
    /// The text, unsigned.
    pub text: String,
}

/// Drafts an item; `None` for kinds that have no template.
#[must_use]
pub fn draft(kind: ItemKind, id: &ItemId) -> Option<Draft> {
    let (template, extension, category) = match kind {
        ItemKind::Directive => (include_str!("templates/directive.md"), "md", xml_category(id)),
        ItemKind::Knowledge => (include_str!("templates/knowledge.md"), "md", yaml_category(id)),
        ItemKind::Tool => (include_str!("templates/tool.yaml"), "yaml", String::new()),
        ItemKind::Config => return None,
    };
    let text = fill(template, id, &category);
    Some(Draft { path: format!("{}/{id}.{extension}", kind.folder()), text })
}

/// The languages that [`draft_script`] has a template for, by the extensions of their files.
pub const DRAFTED_SCRIPTS: [&str; 3] = ["js", "py", "sh"];

/// Drafts a tool that is a script; `None` for an extension that is none of [`DRAFTED_SCRIPTS`].
#[must_use]
pub fn draft_script(id: &ItemId, extension: &str) -> Option<Draft> {
    let template = match extension {
        "js" => include_str!("templates/tool.js"),
        "py" => include_str!("templates/tool.py"),
        "sh" => include_str!("templates/tool.sh"),
        _ => return None,
    };
    let path = format!("{}/{id}.{extension}", ItemKind::Tool.folder());
    Some(Draft { path, text: template.to_owned() })
}

/// Drafts a directive with the limits and the tier of a complexity class.
#[must_use]
pub fn draft_directive(id: &ItemId, class: Complexity, limits: &ClassLimits) -> Draft {
    let tier = format!(r#"<model tier="{}" />"#, class.tier());
    let text = fill(include_str!("templates/directive.md"), id, &xml_category(id))
        .replacen(MODEL, &tier, 1)
        .replacen(LIMITS, &limits.element(), 1);
    Draft { path: format!("{}/{id}.md", ItemKind::Directive.folder()), text }
}

impl Project {
    /// Returns the limits of a complexity class, as `config/agent/resilience.yaml` of the spaces sets them.
    ///
    /// # Errors
    ///
    /// When that configuration is refused or broken.
    pub fn class_limits(&self, class: Complexity) -> Result<ClassLimits, PrepareError> {
        let config = self.library.config(RESILIENCE_FILE)?;
        Ok(complexity_limits(config.as_ref(), class)?)
    }
}

/// The model and the limits of the template.
const MODEL: &str = r#"<model tier="fast" />"#;
const LIMITS: &str = r#"<limits turns="8" tokens="50000" spend="0.10" />"#;

fn fill(template: &str, id: &ItemId, category: &str) -> String {
    template
        .replace("{{name}}", id.name())
        .replace("{{title}}", &title(id.name()))
        .replace("{{category}}", category)
}

/// The items of a project that begins: what agents should know of it, what its directives extend, and a first directive that
/// needs no model.
#[must_use]
pub fn starter() -> Vec<Draft> {
    [
        ("knowledge/project/about.md", include_str!("templates/about.md")),
        ("directives/project/base.md", include_str!("templates/base.md")),
        ("directives/project/hello.md", include_str!("templates/hello.md")),
    ]
    .map(|(path, text)| Draft { path: path.to_owned(), text: text.to_owned() })
    .into()
}

/// The texts of the templates that a model would read, and that tell their author what to write in their place.
#[derive(Debug, Default)]
pub(crate) struct TemplateTexts {
    /// The bodies of knowledge.
    pub(crate) bodies: BTreeSet<String>,
    /// The descriptions of directives.
    pub(crate) descriptions: BTreeSet<String>,
}

/// The texts of the drafts, as they are parsed. What the first directives of a project say holds as it is.
pub(crate) static TEMPLATE_TEXTS: LazyLock<TemplateTexts> = LazyLock::new(|| {
    let mut texts = TemplateTexts::default();
    let id: ItemId = "x".parse().expect("because it is an id");
    let starter = starter().into_iter().map(|draft| draft.text);
    let new = draft(ItemKind::Knowledge, &id).map(|draft| draft.text);
    let knowledge = starter.chain(new).filter_map(|text| rye_parse::knowledge(&text).ok());
    texts.bodies = knowledge
        .filter(|knowledge| knowledge.title.is_some())
        .map(|knowledge| knowledge.body.value.trim().to_owned())
        .collect();
    let new = draft(ItemKind::Directive, &id);
    let directive = new.and_then(|draft| rye_parse::directive(&draft.text).ok());
    texts.descriptions =
        directive.and_then(|it| it.description).map(|text| text.value).into_iter().collect();
    texts
});

fn xml_category(id: &ItemId) -> String {
    id.folder().map(|folder| format!("    <category>{folder}</category>\n")).unwrap_or_default()
}

fn yaml_category(id: &ItemId) -> String {
    id.folder().map(|folder| format!("category: {folder}\n")).unwrap_or_default()
}

/// `tidy_notes` becomes `Tidy notes`.
fn title(name: &str) -> String {
    let words = name.replace(['_', '-', '.'], " ");
    let mut letters = words.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", letters.as_str()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::check;

    #[test]
    fn every_draft_passes_its_check() {
        for kind in [ItemKind::Directive, ItemKind::Knowledge, ItemKind::Tool] {
            for id in ["plain", "notes/tidy_notes", "a/b.c/d-e", "_x"] {
                let id: ItemId = id.parse().unwrap();
                let draft = draft(kind, &id).unwrap();
                let checked = check(Path::new(&draft.path), kind, Some(&id), draft.text);
                assert!(checked.findings.is_empty(), "{}: {:?}", draft.path, checked.findings);
            }
        }
    }

    #[test]
    fn every_draft_of_a_configuration_passes_its_check() {
        let id: ItemId = "local".parse().unwrap();
        let configs = DRAFTED_CONFIGS.iter().map(|name| draft_config(name).unwrap());
        for draft in configs.chain([draft_provider(&id), draft_hook(&id)]) {
            let path = Path::new(".ai").join(&draft.path);
            let path = Path::new("/project").join(path);
            let (kind, id) = crate::place(&path).unwrap();
            let checked = check(&path, kind, Some(&id), draft.text);
            assert!(checked.findings.is_empty(), "{}: {:?}", draft.path, checked.findings);
        }
    }

    #[test]
    fn texts_to_replace_are_those_of_the_templates() {
        let TemplateTexts { bodies, descriptions } = &*TEMPLATE_TEXTS;
        let begins = |texts: &BTreeSet<String>| -> Vec<String> {
            texts.iter().map(|text| text.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(begins(bodies), ["Say here what", "Say what a"]);
        assert_eq!(begins(descriptions), ["Says what this"]);
    }

    #[test]
    fn a_class_sets_limits_and_tier() {
        let id: ItemId = "notes/tidy".parse().unwrap();
        let limits = ClassLimits::new(15, 200_000, "0.50");
        let text = draft_directive(&id, Complexity::Moderate, &limits).text;
        assert!(text.contains(r#"<model tier="standard" />"#), "{text}");
        assert!(text.contains(r#"<limits turns="15" tokens="200000" spend="0.50" />"#), "{text}");
    }

    #[test]
    fn a_name_becomes_a_title() {
        assert_eq!(title("tidy_notes"), "Tidy notes");
        assert_eq!(title("éclair-2.0"), "Éclair 2 0");
    }
}
