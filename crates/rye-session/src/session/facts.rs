//! The facts in a thread's record beside its events: the provenance of every item, and the
//! authority.

use rye_parse::Directive;
use rye_prompt::{HookEntry, Origin, Piece, Slot};
use rye_resolve::{Config, ExtendsChain, Item, ItemKind, declared_problems};
use rye_sign::token::Token;
use rye_sign::{Provenance, SigningKey};
use rye_thread::transcript::Injected;
use serde_json::{Map, Value, json};

use super::prompting::Composed;
use crate::Rye;

/// The provenance of an item outside the chain and its knowledge: a tool, a configuration such as a
/// provider's, or a directive that a hook or a continuation puts before the model.
#[derive(Debug)]
pub(crate) struct ItemProvenance {
    kind: ItemKind,
    name: String,
    provenance: Provenance,
    row: Value,
}

impl ItemProvenance {
    pub(crate) fn of<T>(item: &Item<T>) -> Self {
        let kind = item.kind;
        let name = format!("{} `{}`", item.kind, item.id);
        Self { kind, name, provenance: item.content.provenance().clone(), row: row(item) }
    }

    pub(crate) fn of_layers(config: &Config) -> Vec<Self> {
        config.layers().iter().map(Self::of).collect()
    }
}

/// The facts of `thread.json`, which the first record of the transcript repeats.
pub(crate) fn facts(
    rye: &Rye,
    composed: &Composed,
    vouched: &[ItemProvenance],
    token: &Token,
    key: &SigningKey,
    is_operators_key: bool,
    warnings: &[String],
) -> Map<String, Value> {
    let mut facts = Map::new();
    let mut put = |name: &str, value: Value| drop(facts.insert(name.to_owned(), value));
    put("rye_version", env!("CARGO_PKG_VERSION").into());
    put("verified", is_verified(composed, vouched).into());
    put("chain", composed.chain.root_first().rev().map(directive_row).collect());
    let instructions = composed.hooking.directives().iter().map(row);
    put("knowledge", composed.knowledge.iter().map(row).chain(instructions).collect());
    put("tools", rows(vouched, ItemKind::Tool));
    put("config", rows(vouched, ItemKind::Config));
    put("inputs", json!(composed.inputs.values()));
    put(
        "skipped_context",
        composed.context.skipped.iter().map(|wanted| Value::from(wanted.id.as_str())).collect(),
    );
    put(TOKEN, serde_json::from_str(&token.to_json()).unwrap_or(Value::Null));
    put(SIGNED_BY, signed_by(key, is_operators_key));
    put(
        "trust_notes",
        rye.trust_notes().iter().map(|note| Value::from(note.to_string())).collect(),
    );
    put("warnings", warnings.into());
    facts
}

/// The fact that holds the capability token.
pub(crate) const TOKEN: &str = "token";

/// The fact that holds the tokens that a child's was narrowed from, the first thread's first.
pub(crate) const TOKENS_ABOVE: &str = "tokens_above";

/// The fact that names the key of a record, by which one that a thread signed itself is read back.
pub(crate) const SIGNED_BY: &str = "signed_by";

pub(crate) fn signed_by(key: &SigningKey, is_operators_key: bool) -> Value {
    json!({
        "key": if is_operators_key { "operator" } else { "thread" },
        "key_id": key.public().key_id().to_string(),
        "public_key": key.public().to_pem(),
    })
}

/// Returns the items of the opening, in the order in which the model reads them.
pub(crate) fn injected_items(composed: &Composed) -> Vec<Injected> {
    let context = &composed.context;
    let slots = [
        (Slot::System, &context.system),
        (Slot::Before, &context.before),
        (Slot::After, &context.after),
    ];
    let pieces = |(slot, pieces): (Slot, &Vec<Piece>)| -> Vec<Injected> {
        let hooked = hook_items(composed, slot);
        let own = pieces.iter().map(|piece| entry(slot, piece));
        match slot {
            Slot::After => own.chain(hooked).collect(),
            Slot::Before | Slot::System => hooked.into_iter().chain(own).collect(),
        }
    };
    slots.into_iter().flat_map(pieces).collect()
}

/// Returns the items that hooks put into `slot`, unless the chain suppresses it.
fn hook_items(composed: &Composed, slot: Slot) -> Vec<Injected> {
    let entries = composed.hooking.opening.iter();
    let there = entries
        .filter(|(_, entry)| entry.position == slot && !composed.context.suppresses(&entry.id));
    there.map(|(hook, entry)| hook_entry(hook, entry)).collect()
}

/// Knowledge that a hook put into the opening, for the record.
pub(crate) fn hook_entry(hook: &str, entry: &HookEntry) -> Injected {
    let digest = rye_sign::Digest::of(entry.text().as_bytes()).to_string();
    Injected::new(Some(&entry.id), entry.position.as_str(), &digest).by_hook(hook)
}

/// Returns the row of an item among the facts, and what vouches for it.
pub(crate) fn row_and_provenance<T>(item: &Item<T>) -> (Value, Provenance) {
    (row(item), item.content.provenance().clone())
}

/// Returns the warnings for the operator: claims that a directive's place contradicts, weak
/// signatures, unsigned items, and skipped context.
pub(crate) fn warnings(composed: &Composed, vouched: &[ItemProvenance], rye: &Rye) -> Vec<String> {
    let mut warnings = chain_warnings(&composed.chain);
    for item in &composed.knowledge {
        warnings.extend(weaknesses(item.content.provenance(), &format!("knowledge `{}`", item.id)));
    }
    for item in vouched {
        warnings.extend(weaknesses(&item.provenance, &item.name));
    }
    let skipped = composed.context.skipped.iter();
    warnings.extend(
        skipped.map(|wanted| {
            format!("optional knowledge `{}` was not found and is left out", wanted.id)
        }),
    );
    warnings.extend(unused_knowledge(composed));
    warnings.extend(rye.trust_notes().iter().map(ToString::to_string));
    warnings
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

fn is_verified(composed: &Composed, vouched: &[ItemProvenance]) -> bool {
    let signed = |provenance: &Provenance| *provenance != Provenance::Unsigned;
    composed.chain.root_first().all(|link| signed(link.content.provenance()))
        && composed.knowledge.iter().all(|item| signed(item.content.provenance()))
        && vouched.iter().all(|item| signed(&item.provenance))
}

fn weaknesses(provenance: &Provenance, name: &str) -> Vec<String> {
    match provenance {
        Provenance::Signed(signature) => {
            signature.notes().iter().map(|note| format!("{name}: {note}")).collect()
        }
        Provenance::Unsigned => vec![format!("UNVERIFIED: {name} is not signed by anybody")],
        _ => Vec::new(),
    }
}

fn rows(vouched: &[ItemProvenance], kind: ItemKind) -> Value {
    vouched.iter().filter(|item| item.kind == kind).map(|item| item.row.clone()).collect()
}

pub(super) fn row<T>(item: &Item<T>) -> Value {
    let mut row = json!({
        "kind": item.kind.as_str(),
        "id": item.id.as_str(),
        "space": item.location.space.as_str(),
        "sha256": item.digest,
        // Of the text alone: a new signature over it changes nothing that a thread rests on.
        "content_sha256": rye_sign::Digest::of_content(&item.source).to_string(),
    });
    if let Provenance::Signed(signature) = item.content.provenance() {
        row["key_id"] = signature.key_id().to_string().into();
        row["owner"] = signature.owner().into();
    }
    row
}

/// The row of a directive, with the version that it declares.
fn directive_row(item: &Item<Directive>) -> Value {
    let mut row = row(item);
    if let Some(version) = &item.content.value().version {
        row["version"] = version.value.as_str().into();
    }
    row
}

fn entry(slot: Slot, piece: &Piece) -> Injected {
    let id = match &piece.origin {
        Origin::Knowledge(id) => Some(id.as_str()),
        _ => None,
    };
    Injected::new(id, slot.as_str(), &rye_sign::Digest::of(piece.text.as_bytes()).to_string())
}
