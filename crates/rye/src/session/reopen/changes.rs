//! What a thread rests on, held against what it rested on when it began.

use rye_sign::token::{Claims, Token};
use serde_json::{Map, Value};

use crate::session::facts::TOKEN;

/// Everything that is not what it was, in words; `token` is what the thread began with.
pub(super) fn changes(
    then: &Map<String, Value>,
    now: &Map<String, Value>,
    token: Option<&Token>,
) -> Vec<String> {
    let mut changes: Vec<String> = ["chain", "knowledge", "tools", "config"]
        .iter()
        .flat_map(|name| changed(then, now, name))
        .collect();
    changes.extend((then.get("inputs") != now.get("inputs")).then(|| "its inputs".to_owned()));
    changes.extend(authority_changes(token, now));
    changes
}

/// The rows of a fact that are not what they were, by kind and id.
fn changed(then: &Map<String, Value>, now: &Map<String, Value>, name: &str) -> Vec<String> {
    let rows = |facts: &Map<String, Value>| -> Vec<Value> {
        facts.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (then, now) = (rows(then), rows(now));
    if then == now {
        return Vec::new();
    }
    let gone = then.iter().filter(|row| !now.contains(row));
    let new = now.iter().filter(|row| !then.contains(row));
    let mut named: Vec<String> = gone.chain(new).map(row_name).collect();
    named.dedup();
    if named.is_empty() { vec![format!("the order of its {name}")] } else { named }
}

fn row_name(row: &Value) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{} `{}`", text("kind"), text("id"))
}

/// Whether a token that is made now would allow what the one allows that the thread began with. The text of the directive, which
/// it names too, is among the rows of the chain.
fn authority_changes(then: Option<&Token>, now: &Map<String, Value>) -> Option<String> {
    let now = now.get(TOKEN).and_then(|token| Token::parse(&token.to_string()).ok());
    let claims = |token: &Token| {
        let Claims { directive_id, capabilities, .. } = token.claims().clone();
        (directive_id, capabilities)
    };
    (then.map(claims) != now.as_ref().map(claims)).then(|| "its authority".to_owned())
}
