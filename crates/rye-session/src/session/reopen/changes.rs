//! The comparison of the items and the authority of a thread now with those at its beginning.

use std::collections::BTreeSet;

use rye_project::RESILIENCE_FILE;
use rye_sign::token::{Claims, Token};
use rye_types::ItemKind;
use serde_json::{Map, Value};

use crate::session::facts::TOKEN;

/// The facts whose rows name what a thread rests on.
const ROWS: [&str; 4] = ["chain", "knowledge", "tools", "config"];

/// Everything that is not what it was, in words; `token` is what the thread began with.
pub(super) fn changes(
    then: &Map<String, Value>,
    now: &Map<String, Value>,
    token: Option<&Token>,
) -> Vec<String> {
    let mut changes: Vec<String> =
        ROWS.iter().flat_map(|name| changed_rows(then, now, name)).collect();
    changes.extend((then.get("inputs") != now.get("inputs")).then(|| "its inputs".to_owned()));
    changes.extend(authority_changes(token, now));
    changes
}

/// The rows of now whose file is another one than it was: where nothing changed, the same text with another signature.
pub(super) fn signed_again(then: &Map<String, Value>, now: &Map<String, Value>) -> Vec<Value> {
    let is_one = |row: &Value, other: &Value| {
        ["kind", "id", "sha256", "key_id", "owner"].iter().all(|it| row.get(it) == other.get(it))
    };
    let is_new = |name: &str, row: &Value| !rows(then, name).iter().any(|then| is_one(then, row));
    let new = |name: &&'static str| {
        let name = *name;
        rows(now, name).into_iter().filter(move |row| is_new(name, row)).cloned()
    };
    ROWS.iter().flat_map(new).collect()
}

fn rows<'a>(facts: &'a Map<String, Value>, name: &str) -> Vec<&'a Value> {
    let rows = facts.get(name).and_then(Value::as_array);
    rows.into_iter().flatten().filter(|row| !is_kept_otherwise(row)).collect()
}

/// Returns `true` for the configuration of limits. The record has the limits themselves, which the thread keeps (SPEC D19), so that
/// another version of the program with other defaults continues it.
fn is_kept_otherwise(row: &Value) -> bool {
    row.get("kind").is_some_and(|kind| kind == ItemKind::Config.as_str())
        && row.get("id").is_some_and(|id| id == RESILIENCE_FILE)
}

/// The rows of a fact that are not what they were, by kind and id.
fn changed_rows(then: &Map<String, Value>, now: &Map<String, Value>, name: &str) -> Vec<String> {
    let then = rows(then, name);
    let now = rows(now, name);
    if then.len() == now.len() && then.iter().zip(&now).all(|(then, now)| is_same(then, now)) {
        return Vec::new();
    }
    let gone = then.iter().filter(|row| !now.iter().any(|other| is_same(row, other)));
    let new = now.iter().filter(|row| !then.iter().any(|other| is_same(other, row)));
    let mut named = Vec::new();
    for name in gone.chain(new).map(|row| row_name(row)) {
        if !named.contains(&name) {
            named.push(name);
        }
    }
    if named.is_empty() { vec![format!("the order of its {name}")] } else { named }
}

/// Returns `true` if both rows describe the same item with the same text, and both are signed or
/// both unsigned. The signer is compared with the authority: each item is verified again, and the
/// ceiling of its key is part of that.
pub(super) fn is_same(then: &Value, now: &Value) -> bool {
    let same = |name: &str| then.get(name) == now.get(name);
    let is_signed = |row: &Value| row.get("key_id").is_some();
    // Records of before this fact was kept have the digest of the whole file alone.
    let text = if then.get("content_sha256").is_some() { "content_sha256" } else { "sha256" };
    ["kind", "id", "space", text].into_iter().all(same) && is_signed(then) == is_signed(now)
}

pub(super) fn row_name(row: &Value) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{} `{}`", text("kind"), text("id"))
}

/// Returns a change if a token made now would allow other calls than the token of the thread's
/// beginning. The text of the directive, which the token also names, is among the rows of the
/// chain. All capability lists must allow a call, so their order and repetitions make no
/// difference.
fn authority_changes(then: Option<&Token>, now: &Map<String, Value>) -> Option<String> {
    let now = now.get(TOKEN).and_then(|token| Token::parse(&token.to_string()).ok());
    let claims = |token: &Token| {
        let Claims { directive_id, capabilities, .. } = token.claims().clone();
        (directive_id, capabilities.into_iter().collect::<BTreeSet<_>>())
    };
    (then.map(claims) != now.as_ref().map(claims)).then(|| "its authority".to_owned())
}
