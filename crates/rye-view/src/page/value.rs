//! JSON that folds.

use maud::{Markup, html};
use serde_json::Value;

use super::figures::grouped;
use super::text::{Shown, block, is_short, line};

/// The deepest level and the most members of a list or object that are shown.
const DEEPEST: usize = 12;
const MOST_MEMBERS: usize = 200;

/// A value under a name, folded or open.
pub(crate) fn named(name: &str, value: &Value, is_open: bool) -> Markup {
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
                        li.t3 { (grouped(u64::try_from(more + 1).unwrap_or(u64::MAX))) " more" }
                    }
                }
            }
        }
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
