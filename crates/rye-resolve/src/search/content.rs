//! The searched text of verified and parsed items.

use rye_parse::{Directive, Knowledge, ToolManifest};
use rye_types::ItemKind;

use crate::{Item, ResolveError, library};

/// The searched text of one item.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) body: String,
    /// The offset of the body in the file, or `None` if the body was put together from several places.
    pub(crate) body_start: Option<usize>,
}

/// Parses the item's text by its kind, and returns the searched part.
pub(crate) fn content(item: Item<String>) -> Result<Item<Content>, ResolveError> {
    let kind = item.kind;
    let is_provider = item.id.as_str().starts_with(PROVIDERS);
    library::parse(item, |source, extension| match kind {
        ItemKind::Directive => {
            rye_parse::directive(source).map(|parsed| of_directive(parsed, source))
        }
        ItemKind::Knowledge => {
            library::knowledge(source, extension).map(|parsed| of_knowledge(parsed, source))
        }
        ItemKind::Tool if !is_provider => {
            rye_parse::tool(source, extension).map(|parsed| of_tool(parsed, source))
        }
        ItemKind::Tool | ItemKind::Config => {
            rye_parse::config(source, extension).map(|_| whole(Content::default(), source))
        }
    })
}

/// The folder of the tools that holds provider configurations (SPEC 11.1).
const PROVIDERS: &str = "rye/agent/providers/";

fn of_directive(directive: Directive, source: &str) -> Content {
    let body = directive.body;
    Content {
        title: directive.title.map(|title| title.value),
        description: directive.description.map(|description| description.value),
        tags: Vec::new(),
        body_start: place(source, body.span.start, &body.value),
        body: body.value,
    }
}

fn of_knowledge(knowledge: Knowledge, source: &str) -> Content {
    let body = knowledge.body;
    Content {
        title: knowledge.title,
        description: knowledge.description,
        tags: knowledge.tags,
        body_start: place(source, body.span.start, &body.value),
        body: body.value,
    }
}

/// The content of a tool: the whole file, because the schema and the script also tell what the tool does.
fn of_tool(tool: ToolManifest, source: &str) -> Content {
    let description = Some(tool.description).filter(|text| !text.is_empty());
    whole(Content { description, ..Content::default() }, source)
}

fn whole(content: Content, source: &str) -> Content {
    let start = below_signature(source);
    let body = source.get(start..).unwrap_or_default().to_owned();
    Content { body, body_start: Some(start), ..content }
}

fn place(source: &str, start: usize, body: &str) -> Option<usize> {
    source.get(start..).is_some_and(|rest| rest.starts_with(body)).then_some(start)
}

/// Returns the offset of the text below the signature line, which is line 1, or line 2 below a `#!` line
/// (SPEC 2.1).
fn below_signature(source: &str) -> usize {
    let mut end = 0;
    for line in source.split_inclusive('\n').take(2) {
        end += line.len();
        if line.contains("rye:signed:") {
            return end;
        }
    }
    0
}
