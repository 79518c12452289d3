//! Context that hooks add (SPEC 8.5 and 8.6).

use rye_types::Position;

use crate::context::Context;

/// Knowledge that a `thread_started` hook puts into the context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "built by callers, and all of SPEC 8.6")]
pub struct HookEntry {
    /// The position of the entry.
    pub position: Position,
    /// The knowledge id.
    pub id: String,
    /// The `name` of the knowledge item, in any case.
    pub name: String,
    /// The body of the knowledge item.
    pub content: String,
    /// The form of the content.
    pub wrap: Wrap,
}

/// The form of hook context in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two values of a hook's `wrap`")]
pub enum Wrap {
    /// In `<Name id="…" type="knowledge">`, which is the default.
    Element,
    /// Only the text: `wrap: false`.
    Bare,
}

impl Context {
    /// Adds the entries of hooks in the given order, except those that the chain suppresses.
    #[must_use]
    pub fn with_hooks(mut self, entries: &[HookEntry]) -> Self {
        for entry in entries
            .iter()
            .filter(|entry| !self.suppressed.iter().any(|suppressed| suppressed.id == entry.id))
        {
            let layer = match entry.position {
                Position::System => &mut self.hooks.system,
                Position::Before => &mut self.hooks.before,
                Position::After => &mut self.hooks.after,
            };
            layer.push(entry.text());
        }
        self
    }
}

impl HookEntry {
    /// The content as the model reads it, in its element or bare.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { id, content, .. } = self;
        match self.wrap {
            Wrap::Bare => content.clone(),
            Wrap::Element => {
                let name = self.element_name();
                format!("<{name} id=\"{id}\" type=\"knowledge\">\n{content}\n</{name}>")
            }
        }
    }

    /// Returns the name of the item or, if it has none, the last segment of its id.
    fn element_name(&self) -> String {
        Some(pascal_case(&self.name))
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| element_name(&self.id))
    }
}

/// Returns the name of the element in which what the item `id` says stands: its last segment in PascalCase (SPEC 8.6).
#[must_use]
pub fn element_name(id: &str) -> String {
    pascal_case(id.rsplit('/').next().unwrap_or_default())
}

/// Turns `coding-standards` and `coding standards` into `CodingStandards`, and keeps `DirectiveInstruction`.
fn pascal_case(name: &str) -> String {
    let mut pascal = String::with_capacity(name.len());
    for word in name.split(|c: char| !c.is_alphanumeric()) {
        let mut letters = word.chars();
        pascal.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        pascal.push_str(letters.as_str());
    }
    pascal
}
