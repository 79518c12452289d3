//! Facts about an item that every result has.

use rye_resolve::Item;
use rye_sign::{Binding, Coverage, Provenance};
use serde_json::{Map, Value, json};

/// Kind, id, place, digest and signature of an item, as members that a result begins with. `signature` is `null` for an item that
/// the program itself vouches for, and for an unsigned one.
#[must_use]
pub fn facts<T>(item: &Item<T>) -> Map<String, Value> {
    let provenance = item.content.provenance();
    let mut facts = Map::new();
    let mut put = |name: &str, value: Value| drop(facts.insert(name.to_owned(), value));
    put("kind", item.kind.as_str().into());
    put("id", item.id.as_str().into());
    put("space", item.location.space.as_str().into());
    put("path", item.location.path.to_string_lossy().into());
    put("sha256", item.digest.as_str().into());
    put("signed", (*provenance != Provenance::Unsigned).into());
    put("signature", signature(provenance));
    facts
}

fn signature(provenance: &Provenance) -> Value {
    let Provenance::Signed(signature) = provenance else { return Value::Null };
    let coverage = match signature.coverage() {
        Coverage::AfterShebang => "after-shebang",
        Coverage::MetadataOnly => "metadata-only",
        Coverage::Whole => "whole",
    };
    let binding = match signature.binding() {
        Binding::Bound => "bound",
        Binding::ContentOnly => "content-only",
    };
    json!({
        "key_id": signature.key_id().as_str(),
        "owner": signature.owner(),
        "timestamp": signature.at().to_string(),
        "coverage": coverage,
        "binding": binding,
    })
}
