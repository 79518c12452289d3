//! The arguments of `create_item`, and the text that they make.

use rye_resolve::{ItemId, ItemIdError, Library};
use rye_types::ItemKind;
use serde::Deserialize;
use serde_json::json;

use crate::authoring::{ClassLimits, Complexity, DirectiveDraft, Permissions, UnknownComplexity};
use crate::causes::with_causes;
use crate::config::{RESILIENCE_FILE, complexity_limits, is_provider};

/// The arguments, which the tool's schema has accepted. An optional one that is empty counts as absent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    item_type: ItemType,
    name: String,
    category: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    author: String,
    #[serde(default)]
    complexity: String,
    #[serde(default)]
    permissions: String,
    #[serde(default)]
    extends: String,
    #[serde(default)]
    steps: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    pub(super) if_exists: IfExists,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ItemType {
    Directive,
    Knowledge,
    Tool,
}

/// The treatment of an item that the project has already.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum IfExists {
    #[default]
    Refuse,
    Keep,
}

impl Arguments {
    pub(super) fn kind(&self) -> ItemKind {
        match self.item_type {
            ItemType::Directive => ItemKind::Directive,
            ItemType::Knowledge => ItemKind::Knowledge,
            ItemType::Tool => ItemKind::Tool,
        }
    }

    pub(super) fn extension(&self) -> &'static str {
        match self.item_type {
            ItemType::Directive | ItemType::Knowledge => "md",
            ItemType::Tool => "yaml",
        }
    }

    /// The id, or everything that is wrong with the name and the category.
    pub(super) fn id(&self) -> Result<ItemId, Vec<String>> {
        let Self { name, category, .. } = self;
        let mut problems = Vec::new();
        let hyphens = matches!(self.item_type, ItemType::Knowledge);
        if !is_word(name, hyphens) {
            problems.push(format!(
                "the name `{name}` is not in snake_case; use small letters, digits and `_`, a letter first, as in `tidy_notes`"
            ));
        }
        if !category.split('/').all(|part| is_word(part, true)) {
            problems.push(format!(
                "the category `{category}` is no folder of an item; use small letters, digits, `_`, `-` and `/`, as in `project/build`"
            ));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let id: ItemId = format!("{category}/{name}")
            .parse()
            .map_err(|error: ItemIdError| vec![with_causes(&error)])?;
        if matches!(self.item_type, ItemType::Tool) && is_provider(&id) {
            let problem = format!("`{id}` would be a provider, which is for the operator alone");
            return Err(vec![problem]);
        }
        Ok(id)
    }

    /// The text of the file, given or made.
    pub(super) fn text(&self, library: &Library, id: &ItemId) -> Result<String, Vec<String>> {
        let mut text = match self.item_type {
            _ if !self.text.is_empty() => self.whole()?,
            ItemType::Directive => self.directive(library, id)?,
            ItemType::Knowledge => self.knowledge(id)?,
            ItemType::Tool => self.tool()?,
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }

    fn whole(&self) -> Result<String, Vec<String>> {
        let beside = self.parts().into_iter().filter(|(_, value)| !value.is_empty());
        let beside: Vec<String> = beside
            .map(|(name, _)| format!("`{name}` is part of `text`; leave one of them out"))
            .collect();
        if beside.is_empty() { Ok(self.text.clone()) } else { Err(beside) }
    }

    /// Returns the parts from which a file can be made, by name.
    fn parts(&self) -> [(&'static str, &str); 9] {
        [
            ("description", &self.description),
            ("author", &self.author),
            ("complexity", &self.complexity),
            ("permissions", &self.permissions),
            ("extends", &self.extends),
            ("steps", &self.steps),
            ("title", &self.title),
            ("content", &self.content),
            ("command", &self.command),
        ]
    }

    /// Refuses arguments that a file of this kind needs and that are absent, and those that it has no place for.
    fn hold(&self, needed: &[&str], optional: &[&str]) -> Result<(), Vec<String>> {
        let problems = self.parts().into_iter().filter_map(|(name, value)| {
            let kind = self.kind();
            let is_given = !value.trim().is_empty();
            match (needed.contains(&name), is_given) {
                (true, false) => Some(format!("a {kind} needs `{name}`, or `text`")),
                // The first fence of a file is its own; one in a text above it would take its place.
                _ if name == "description" && value.contains("```") => {
                    Some("`description` holds a fence; write plain text".to_owned())
                }
                (false, true) if !optional.contains(&name) => {
                    Some(format!("a {kind} has no `{name}`; leave it out"))
                }
                _ => None,
            }
        });
        let problems: Vec<String> = problems.collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn directive(&self, library: &Library, id: &ItemId) -> Result<String, Vec<String>> {
        let optional = ["author", "complexity", "permissions", "extends", "steps"];
        let mut problems = self.hold(&["description"], &optional).err().unwrap_or_default();
        let class = keep_value(&mut problems, self.class());
        let limits =
            class.and_then(|class| keep_value(&mut problems, class_limits(library, class)));
        let permissions = keep_value(&mut problems, Permissions::read(&self.permissions));
        let extends = keep_value(&mut problems, parent(library, &self.extends));
        let (Some(class), Some(limits), Some(permissions), Some(extends)) =
            (class, limits, permissions, extends)
        else {
            return Err(problems);
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        let draft = DirectiveDraft {
            id,
            description: &self.description,
            author: or(&self.author, AUTHOR),
            extends: extends.as_ref(),
            class,
            limits: &limits,
            permissions: &permissions,
            steps: or(&self.steps, STEPS),
        };
        Ok(draft.text())
    }

    fn class(&self) -> Result<Complexity, Vec<String>> {
        let written = or(&self.complexity, Complexity::Simple.as_str());
        written.parse().map_err(|error: UnknownComplexity| vec![error.to_string()])
    }

    fn knowledge(&self, id: &ItemId) -> Result<String, Vec<String>> {
        self.hold(&["title", "content"], &["author"])?;
        // Text in JSON is text in YAML, whatever it holds.
        let title = json!(self.title.trim());
        let author = json!(or(&self.author, AUTHOR));
        let name = id.name();
        let category = &self.category;
        let content = self.content.trim();
        Ok(format!(
            "```yaml\nname: {name}\ntitle: {title}\nentry_type: reference\ncategory: {category}\nversion: \"0.1.0\"\n\
             author: {author}\ntags: []\n```\n\n{content}\n"
        ))
    }

    fn tool(&self) -> Result<String, Vec<String>> {
        self.hold(&["description", "command"], &[])?;
        let description = json!(self.description.trim());
        let command = json!(self.command.trim());
        Ok(format!(
            "description: {description}\nversion: \"0.1.0\"\nexecutor: command\ncommand: {command}\n{}",
            include_str!("tool.yaml")
        ))
    }
}

/// The author of what is created without naming one.
const AUTHOR: &str = "project";

/// The step of a directive that is created without steps.
const STEPS: &str = "Say what is to be done.";

/// The text, or another one where it is empty.
fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.trim().is_empty() { other } else { text }
}

/// The value, or nothing and its problems beside the others.
fn keep_value<T>(problems: &mut Vec<String>, read: Result<T, Vec<String>>) -> Option<T> {
    read.map_err(|more| problems.extend(more)).ok()
}

fn class_limits(library: &Library, class: Complexity) -> Result<ClassLimits, Vec<String>> {
    let config = library.config(RESILIENCE_FILE).map_err(|error| vec![with_causes(&error)])?;
    complexity_limits(config.as_ref(), class).map_err(|error| vec![with_causes(&error)])
}

/// The directive to extend, which has to exist.
fn parent(library: &Library, text: &str) -> Result<Option<ItemId>, Vec<String>> {
    if text.is_empty() {
        return Ok(None);
    }
    let id: ItemId = text.parse().map_err(|error: ItemIdError| {
        vec![format!("`{text}` is no item id: {}", with_causes(&error))]
    })?;
    library.locate(ItemKind::Directive, &id).map_err(|error| vec![with_causes(&error)])?;
    Ok(Some(id))
}

/// Returns `true` for a word in snake_case, in which hyphens may be allowed too.
fn is_word(text: &str, hyphens: bool) -> bool {
    let is_inner =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || (hyphens && c == '-');
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_inner)
}
