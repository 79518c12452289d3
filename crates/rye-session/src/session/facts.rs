//! The facts in a thread's record beside its events: the provenance of every item, and the authority.

use rye_parse::Directive;
use rye_project::{Composed, ItemProvenance};
use rye_prompt::{HookEntry, Origin, Piece};
use rye_resolve::Item;
use rye_sandbox::Report;
use rye_sign::token::Token;
use rye_sign::{Provenance, SigningKey};
use rye_thread::transcript::payload::Injected;
use rye_types::{ItemKind, Position};
use serde_json::{Map, Value, json};

use crate::rye::Rye;

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
        (Position::System, &context.system),
        (Position::Before, &context.before),
        (Position::After, &context.after),
    ];
    let pieces = |(slot, pieces): (Position, &Vec<Piece>)| -> Vec<Injected> {
        let hooked = hook_items(composed, slot);
        let own = pieces.iter().map(|piece| entry(slot, piece));
        match slot {
            Position::After => own.chain(hooked).collect(),
            Position::Before | Position::System => hooked.into_iter().chain(own).collect(),
        }
    };
    slots.into_iter().flat_map(pieces).collect()
}

/// Returns the items that hooks put into `slot`, unless the chain suppresses it.
fn hook_items(composed: &Composed, slot: Position) -> Vec<Injected> {
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

fn is_verified(composed: &Composed, vouched: &[ItemProvenance]) -> bool {
    let signed = |provenance: &Provenance| *provenance != Provenance::Unsigned;
    composed.chain.root_first().all(|link| signed(link.content.provenance()))
        && composed.knowledge.iter().all(|item| signed(item.content.provenance()))
        && vouched.iter().all(|item| signed(&item.provenance))
}

fn rows(vouched: &[ItemProvenance], kind: ItemKind) -> Value {
    vouched.iter().filter(|item| item.kind == kind).map(|item| item.row.clone()).collect()
}

/// The row of an item.
pub(super) fn row<T>(item: &Item<T>) -> Value {
    ItemProvenance::of(item).row
}

/// The row of a directive, with the version that it declares.
fn directive_row(item: &Item<Directive>) -> Value {
    let mut row = row(item);
    if let Some(version) = &item.content.value().version {
        row["version"] = version.value.as_str().into();
    }
    row
}

fn entry(slot: Position, piece: &Piece) -> Injected {
    let id = match &piece.origin {
        Origin::Knowledge(id) => Some(id.as_str()),
        _ => None,
    };
    Injected::new(id, slot.as_str(), &rye_sign::Digest::of(piece.text.as_bytes()).to_string())
}

/// The fact of the record that says what programs were kept in.
pub(crate) fn sandbox_fact(report: &Report) -> Value {
    let passed_over = report.passed_over().map(|(mode, reason)| (mode.to_string(), json!(reason)));
    json!({
        "mode": report.mode().as_str(),
        "policy": report.policy().as_str(),
        "landlock": report.enforcement().landlock,
        "gaps": report.gaps(),
        "passed_over": passed_over.collect::<Map<String, Value>>(),
    })
}

/// The fact that says what programs were kept in.
pub(crate) const SANDBOX: &str = "sandbox";
