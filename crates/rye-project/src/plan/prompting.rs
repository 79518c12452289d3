//! From an id to the two texts that a thread begins with, one function per arrow.

use std::collections::BTreeMap;

use rye_parse::{ContextContent, Knowledge};
use rye_prompt::{
    Context, ContextReference, Inputs, Link, Opening, compose, context_references, opening, render,
    template,
};
use rye_resolve::{ExtendsChain, Item, ItemId, Library, ResolveError, Space};
use rye_types::{ItemKind, ReturnStyle};

use super::error::PrepareError;
use super::hooking::{Hooking, hooking};
pub(crate) use super::request::Placing;

/// A directive with its chain, inputs and context: all that its prompt is made of.
#[derive(Debug)]
#[non_exhaustive]
pub struct Composed {
    /// The directive with what it extends.
    pub chain: ExtendsChain,
    pub(crate) placing: Placing,
    /// The bound inputs; none where the placeholders stay as written.
    pub inputs: Inputs,
    /// The context, with what hooks add to it.
    pub context: Context,
    /// The knowledge and the files that the context holds, and the knowledge that hooks may add, for the record of what was trusted.
    pub knowledge: Vec<Item<Knowledge>>,
    /// The hooks.
    pub hooking: Hooking,
}

/// Resolves and verifies `id`, binds its inputs, walks its chain and composes its context.
pub(crate) fn compose_prompt(
    library: &Library,
    id: &ItemId,
    placing: &Placing,
) -> Result<Composed, PrepareError> {
    let Chained { chain, inputs, mut knowledge, context } = resolve_chain(library, id, placing)?;
    let mut hooking = hooking(library, &chain, &context, &inputs)?;
    for item in hooking.take_knowledge() {
        if !knowledge.iter().any(|known| known.id == item.id) {
            knowledge.push(item);
        }
    }
    let context = context.with_hooks(&hooking.entries());
    Ok(Composed { chain, placing: placing.clone(), inputs, context, knowledge, hooking })
}

/// A directive with what its chain adds to it, before any hook acts.
#[derive(Debug)]
#[non_exhaustive]
pub struct Chained {
    /// The directive with what it extends.
    pub chain: ExtendsChain,
    pub(crate) inputs: Inputs,
    /// The knowledge and the files of its context.
    pub knowledge: Vec<Item<Knowledge>>,
    pub(crate) context: Context,
}

/// Resolves and verifies `id`, binds its inputs, walks its chain and loads the context of that.
///
/// # Errors
///
/// The function fails if an item cannot be found, verified or read, and if an input does not fit.
pub fn resolve_chain(
    library: &Library,
    id: &ItemId,
    placing: &Placing,
) -> Result<Chained, PrepareError> {
    let leaf = library.directive(id)?;
    let inputs = match placing {
        Placing::AsWritten => Inputs::default(),
        Placing::Values(given) => Inputs::bind(&leaf.content.value().inputs, given)
            .map_err(|source| PrepareError::Inputs { id: id.clone(), source })?,
    };
    let chain = library.chain(leaf)?;
    let knowledge = knowledge(library, &chain)?;
    let context = context(&chain, &knowledge)?;
    Ok(Chained { chain, inputs, knowledge, context })
}

/// Renders the prompt and joins it with the context.
pub(crate) fn render_opening(
    composed: &Composed,
    style: ReturnStyle,
    system_template: Option<&str>,
) -> Result<(String, Opening), PrepareError> {
    let leaf = leaf(&composed.chain);
    let permissions = permissions(&composed.chain);
    let prompt = match composed.placing {
        Placing::AsWritten => template(leaf, permissions, style),
        Placing::Values(_) => {
            render(leaf, permissions, &composed.inputs, style).map_err(|source| {
                PrepareError::Prompt { id: composed.chain.leaf().id.clone(), source }
            })?
        }
    };
    let opening = opening(&composed.context, &prompt, system_template);
    Ok((prompt, opening))
}

/// The leaf as the prompt crate takes it.
pub(crate) fn leaf(chain: &ExtendsChain) -> Link<'_> {
    link(chain.leaf())
}

/// The raw `<permissions>` of the declaring directive (SPEC D3, D5).
pub(crate) fn permissions(chain: &ExtendsChain) -> Option<&str> {
    let declaring = chain.declaring()?.content.value();
    declaring.permissions.as_ref().map(|permissions| permissions.value.raw.as_str())
}

fn link(item: &Item<rye_parse::Directive>) -> Link<'_> {
    Link::new(item.id.as_str(), item.content.value())
}

/// Loads the knowledge and the files that the chain asks for. A missing item is left out, and a refused item is
/// an error (SPEC D14).
fn knowledge(
    library: &Library,
    chain: &ExtendsChain,
) -> Result<Vec<Item<Knowledge>>, PrepareError> {
    refuse_files_of_others(chain)?;
    let links: Vec<Link<'_>> = chain.root_first().map(link).collect();
    let mut found = BTreeMap::new();
    let mut problems = Vec::new();
    for wanted in context_references(&links) {
        if found.contains_key(&wanted.id) {
            continue;
        }
        match load(library, &wanted) {
            Ok(item) => drop(item.map(|item| found.insert(wanted.id, item))),
            Err(problem) => problems.push(problem),
        }
    }
    match PrepareError::gather(problems) {
        Some(error) => Err(error),
        None => Ok(found.into_values().collect()),
    }
}

/// Refuses a directive of another space that takes a file of the project into its context: it would be another file in each project
/// (SPEC 17.3).
fn refuse_files_of_others(chain: &ExtendsChain) -> Result<(), PrepareError> {
    let others = chain.root_first().filter(|link| link.location.space != Space::Project);
    for link in others {
        let mut context = link.content.value().context.iter();
        let named = context.find_map(|entry| match &entry.value.content {
            ContextContent::File(path) => entry.value.position.in_prompt().map(|_| path),
            _ => None,
        });
        if let Some(path) = named {
            return Err(PrepareError::FileOfProject {
                id: link.id.clone(),
                path: path.clone(),
                space: link.location.space,
            });
        }
    }
    Ok(())
}

fn load(
    library: &Library,
    wanted: &ContextReference,
) -> Result<Option<Item<Knowledge>>, ResolveError> {
    let id = ItemId::of_context(&wanted.id).map_err(|source| {
        let kind = ItemKind::Knowledge;
        let text = wanted.id.clone();
        ResolveError::InvalidId { kind, text, source }
    })?;
    match library.knowledge(&id) {
        Ok(item) => Ok(Some(item)),
        Err(ResolveError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn context(chain: &ExtendsChain, knowledge: &[Item<Knowledge>]) -> Result<Context, PrepareError> {
    let links: Vec<Link<'_>> = chain.root_first().map(link).collect();
    let texts: BTreeMap<String, String> = knowledge
        .iter()
        .map(|item| (item.id.as_str().to_owned(), item.content.value().body.value.clone()))
        .collect();
    compose(&links, &texts)
        .map_err(|source| PrepareError::Context { id: chain.leaf().id.clone(), source })
}
