//! The names of the items that calls mean.

use rye_transcript::called_item;

use rye_transcript::payload::{Intent, Receipt};
use serde_json::Value;

/// The name of an item without the parts that all shipped items share: `file-system/read` for `rye/file-system/read`.
pub(crate) fn item_name(item: &str) -> String {
    let short = item.strip_prefix("rye/").unwrap_or(item);
    match short.rsplit_once('/') {
        Some((rest, last)) if rest.rsplit('/').next() == Some(last) => rest.to_owned(),
        _ => short.to_owned(),
    }
}

/// The item of a call, with the arguments of that item.
pub(crate) fn item_of_call(call: &Intent) -> (&str, &Value) {
    let target = call.target.as_ref().map(|target| target.item_id.as_str());
    called_item(&call.name, &call.arguments, target)
}

/// The argument that says most about a call in one line.
pub(crate) fn main_argument(arguments: &Value) -> Option<&str> {
    const TELLING: [&str; 9] =
        ["command", "pattern", "path", "url", "directive", "item_id", "query", "thread", "name"];
    TELLING.into_iter().find_map(|name| arguments.get(name)?.as_str())
}

/// Returns `true` if a call failed or was refused.
pub(crate) const fn is_bad(receipt: &Receipt) -> bool {
    receipt.is_error || receipt.refusal.is_some()
}
