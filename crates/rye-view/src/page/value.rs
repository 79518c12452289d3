//! JSON that folds.

use maud::{Markup, html};
use serde_json::Value;

use super::figures::with_commas;
use super::text::{MOST_BYTES, Shown, block, is_short, line};

/// The deepest level and the most members of a list or object that are shown.
const DEEPEST: usize = 12;
const MOST_MEMBERS: usize = 200;

/// A value under a name, folded or open.
pub(crate) fn named_value(name: &str, value: &Value, is_open: bool) -> Markup {
    html! {
        div.js {
            @match value {
                Value::Object(_) | Value::Array(_) => { (tree(name, value, is_open, 0)) }
                scalar => { span.k { (Shown(name)) } " " (leaf(scalar)) }
            }
        }
    }
}

fn tree(name: &str, value: &Value, is_open: bool, depth: usize) -> Markup {
    html! {
        details open[is_open] {
            summary { span.k { (Shown(name)) } " " span.t3 { (Shown(&in_short(value))) } }
            @if depth < DEEPEST {
                ul {
                    @for (name, member) in members(value).take(MOST_MEMBERS) {
                        li {
                            @match member {
                                Value::Object(all) if !all.is_empty() => { (tree(&name, member, false, depth + 1)) }
                                Value::Array(all) if !all.is_empty() => { (tree(&name, member, false, depth + 1)) }
                                scalar => { span.k { (Shown(&name)) } " " (leaf(scalar)) }
                            }
                        }
                    }
                    @if let Some(more) = members(value).count().checked_sub(MOST_MEMBERS + 1) {
                        li.t3 { (with_commas(u64::try_from(more + 1).unwrap_or(u64::MAX))) " more" }
                    }
                }
            }
        }
    }
}

/// Returns `true` if a page shows all of a value: no text is cut, and no member is left out.
pub(crate) fn is_shown_whole(value: &Value) -> bool {
    is_whole_at(value, 0)
}

fn is_whole_at(value: &Value, depth: usize) -> bool {
    let fits = |count: usize| depth < DEEPEST && count <= MOST_MEMBERS;
    match value {
        Value::String(text) => text.len() <= MOST_BYTES,
        Value::Array(all) => fits(all.len()) && all.iter().all(|item| is_whole_at(item, depth + 1)),
        Value::Object(all) => {
            fits(all.len()) && all.values().all(|member| is_whole_at(member, depth + 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn leaf(value: &Value) -> Markup {
    html! {
        @match value {
            Value::String(text) if text.contains('\n') || !is_short(text) => { (block(text)) }
            Value::String(text) => { span.s { "\"" (Shown(text)) "\"" } }
            other => { span.v { (other.to_string()) } }
        }
    }
}

fn members(value: &Value) -> Box<dyn Iterator<Item = (String, &Value)> + '_> {
    match value {
        Value::Object(all) => Box::new(all.iter().map(|(name, member)| (name.clone(), member))),
        Value::Array(all) => {
            Box::new(all.iter().enumerate().map(|(place, member)| (place.to_string(), member)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// The longest beginning of a value that stands in a summary, in characters.
const LONGEST: usize = 72;

/// The beginning of a value as one line of JSON.
pub(crate) fn in_short(value: &Value) -> String {
    let mut text = String::new();
    write_short(value, &mut text, 0);
    line(&text, LONGEST)
}

/// Writes about as much as is shown, because the whole may be very long.
fn write_short(value: &Value, text: &mut String, depth: usize) {
    const ENOUGH: usize = LONGEST * 4 + 4;
    if ENOUGH < text.len() || DEEPEST < depth {
        return;
    }
    match value {
        Value::Object(all) => {
            text.push('{');
            for (place, (name, member)) in all.iter().take(LONGEST).enumerate() {
                text.push_str(if place == 0 { "\"" } else { ", \"" });
                text.push_str(&line(name, LONGEST));
                text.push_str("\": ");
                write_short(member, text, depth + 1);
            }
            text.push('}');
        }
        Value::Array(all) => {
            text.push('[');
            for (place, member) in all.iter().take(LONGEST).enumerate() {
                text.push_str(if place == 0 { "" } else { ", " });
                write_short(member, text, depth + 1);
            }
            text.push(']');
        }
        Value::String(all) => {
            text.push('"');
            text.push_str(&line(all, LONGEST));
            text.push('"');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_whole_unless_a_part_is_left_out() {
        let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        for (name, value, is_whole) in [
            ("small", json!({ "a": ["b", 1, null] }), true),
            ("longest text", json!("x".repeat(MOST_BYTES)), true),
            ("longer text", json!({ "a": "x".repeat(MOST_BYTES + 1) }), false),
            ("most members", json!(vec![1; MOST_MEMBERS]), true),
            ("more members", json!([vec![1; MOST_MEMBERS + 1]]), false),
            ("deepest", deep(DEEPEST), true),
            ("deeper", deep(DEEPEST + 1), false),
        ] {
            assert_eq!(is_shown_whole(&value), is_whole, "{name}");
        }
    }
}
