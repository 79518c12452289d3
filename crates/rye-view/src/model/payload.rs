//! The members of payloads that pages show.

use rye_transcript::{Record, called_item};
use rye_types::Usage;
use serde_json::Value;

/// The payload of a record. A member that a record does not have reads as null.
pub(crate) fn payload(record: &Record) -> Value {
    serde_json::from_str(record.payload.get()).unwrap_or_default()
}

/// The name of an item without the parts that all shipped items share: `file-system/read` for `rye/file-system/read`.
pub(crate) fn item_name(item: &str) -> String {
    let short = item.strip_prefix("rye/").unwrap_or(item);
    match short.rsplit_once('/') {
        Some((rest, last)) if rest.rsplit('/').next() == Some(last) => rest.to_owned(),
        _ => short.to_owned(),
    }
}

/// The item of a call or of a question about one, with the arguments of that item.
pub(crate) fn item_of_call(payload: &Value) -> (&str, &Value) {
    let target = payload["target"]["item_id"].as_str().or_else(|| payload["item_id"].as_str());
    called_item(payload["name"].as_str().unwrap_or_default(), &payload["arguments"], target)
}

/// The argument that says most about a call in one line.
pub(crate) fn main_argument(arguments: &Value) -> Option<&str> {
    const TELLING: [&str; 9] =
        ["command", "pattern", "path", "url", "directive", "item_id", "query", "thread", "name"];
    TELLING.into_iter().find_map(|name| arguments.get(name)?.as_str())
}

/// The token counts of an answer. A count that a record does not have is zero.
pub(crate) fn usage_of(value: &Value) -> Usage {
    let count = |name: &str| value[name].as_u64().unwrap_or(0);
    let mut usage = Usage::new(count("input"), count("output"));
    (usage.cache_read, usage.cache_write) = (count("cache_read"), count("cache_write"));
    usage
}
