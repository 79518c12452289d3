//! The provenance of the items of a plan, and the warnings that it gives reason for.

use rye_resolve::{Config, ExtendsChain, Item, declared_problems, declared_problems_of_knowledge};
use rye_sign::Provenance;
use rye_types::ItemKind;
use serde_json::{Value, json};

use super::prompting::Composed;
use crate::project::Project;

/// The provenance of an item outside the chain and its knowledge: a tool, a configuration such as a
/// provider's, or a directive that a hook or a continuation puts before the model.
#[derive(Debug)]
#[non_exhaustive]
pub struct ItemProvenance {
    /// The kind of the item.
    pub kind: ItemKind,
    /// The kind and the id, as warnings name the item.
    pub name: String,
    /// The signature, or why there is none.
    pub provenance: Provenance,
    /// The row of the item in the record of a thread.
    pub row: Value,
}

impl ItemProvenance {
    /// Returns the provenance of a verified item.
    #[must_use]
    pub fn of<T>(item: &Item<T>) -> Self {
        let kind = item.kind;
        let name = format!("{} `{}`", item.kind, item.id);
        Self { kind, name, provenance: item.content.provenance().clone(), row: row(item) }
    }

    pub(crate) fn of_layers(config: &Config) -> Vec<Self> {
        config.layers().iter().map(Self::of).collect()
    }
}

/// Returns the row of an item among the facts, and what vouches for it.
pub(crate) fn row_and_provenance<T>(item: &Item<T>) -> (Value, Provenance) {
    (row(item), item.content.provenance().clone())
}

impl Composed {
    /// Returns the warnings for the operator: claims that a directive's place contradicts, weak
    /// signatures, unsigned items, and skipped context. `vouched` are the items beside the chain and its knowledge.
    #[must_use]
    pub fn item_warnings(&self, vouched: &[ItemProvenance], project: &Project) -> Vec<String> {
        let mut warnings = chain_warnings(&self.chain);
        for item in &self.knowledge {
            let name = format!("knowledge `{}`", item.id);
            let claims =
                declared_problems_of_knowledge(item.content.value(), &item.source, &item.id);
            warnings.extend(claims.iter().map(|claim| format!("{name}: {claim}")));
            warnings.extend(weaknesses(item.content.provenance(), &name));
        }
        for item in vouched {
            warnings.extend(weaknesses(&item.provenance, &item.name));
        }
        warnings.extend(
            self.context
                .skipped
                .iter()
                .map(|wanted| format!("optional {wanted} was not found and is left out")),
        );
        warnings.extend(unused_knowledge(self));
        let notes = project.trust_notes().iter().filter(|note| note.is_warning());
        warnings.extend(notes.map(ToString::to_string));
        warnings
    }
}

impl Composed {
    /// Returns the sentences about the items of the chain and its knowledge whose provenance is meant.
    pub(crate) fn weaknesses_of(&self, is_meant: &impl Fn(&Provenance) -> bool) -> Vec<String> {
        let mut told = chain_weaknesses(&self.chain, is_meant);
        let knowledge = self.knowledge.iter().filter(|item| is_meant(item.content.provenance()));
        for item in knowledge {
            let name = format!("knowledge `{}`", item.id);
            told.extend(weaknesses(item.content.provenance(), &name));
        }
        told
    }
}

/// Returns a warning for each knowledge item that the directive asks for and that has no text.
fn unused_knowledge(composed: &Composed) -> impl Iterator<Item = String> {
    let textless =
        composed.knowledge.iter().filter(|item| item.content.value().body.value.trim().is_empty());
    textless.map(|item| format!("knowledge `{}` has no text to take into the context", item.id))
}

/// Returns the warnings about the directives of a chain.
pub(crate) fn chain_warnings(chain: &ExtendsChain) -> Vec<String> {
    let mut warnings = Vec::new();
    for link in chain.root_first() {
        let problems = declared_problems(link.content.value(), &link.id);
        warnings
            .extend(problems.iter().map(|problem| format!("directive `{}`: {problem}", link.id)));
        warnings.extend(weaknesses(link.content.provenance(), &format!("directive `{}`", link.id)));
    }
    warnings
}

/// Returns a sentence for each directive of a chain that is a draft, or unsigned.
pub(crate) fn chain_drafts(chain: &ExtendsChain) -> Vec<String> {
    chain_weaknesses(chain, &is_unvouched)
}

fn chain_weaknesses(chain: &ExtendsChain, is_meant: &impl Fn(&Provenance) -> bool) -> Vec<String> {
    let links = chain.root_first().filter(|link| is_meant(link.content.provenance()));
    links
        .flat_map(|link| weaknesses(link.content.provenance(), &format!("directive `{}`", link.id)))
        .collect()
}

/// Returns `true` for what no signature vouches for as it is: a draft, or an unsigned item.
pub(crate) fn is_unvouched(provenance: &Provenance) -> bool {
    matches!(provenance, Provenance::Draft(_) | Provenance::Unsigned)
}

pub(crate) fn weaknesses(provenance: &Provenance, name: &str) -> Vec<String> {
    match provenance {
        Provenance::Signed(signature) => {
            signature.notes().iter().map(|note| format!("{name}: {note}")).collect()
        }
        Provenance::Draft(signature) => {
            vec![format!("DRAFT: {name} changed since you signed it at {}", signature.at())]
        }
        Provenance::Unsigned => vec![format!("UNVERIFIED: {name} is not signed by anybody")],
        _ => Vec::new(),
    }
}

fn row<T>(item: &Item<T>) -> Value {
    let mut row = json!({
        "kind": item.kind.as_str(),
        "id": item.id.as_str(),
        "space": item.location.space.as_str(),
        "sha256": item.digest,
        // Of the text alone: a new signature over it changes nothing that a thread rests on.
        "content_sha256": item.content_digest().to_string(),
    });
    if let Provenance::Signed(signature) = item.content.provenance() {
        row["key_id"] = signature.key_id().to_string().into();
        row["owner"] = signature.owner().into();
    }
    row
}
