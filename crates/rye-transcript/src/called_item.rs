//! The item of a call, by its record.

use serde_json::Value;

/// The operation that calls other items.
const EXECUTE: &str = "rye_execute";

/// Returns the item of a call with the arguments of that item.
///
/// `target` is the recorded item that the palette name stands for. A call of an unknown or refused item has none, and neither has the
/// one that returns outputs. Only the arguments of `rye_execute` name the item then.
#[must_use]
pub fn called_item<'a>(
    name: &'a str,
    arguments: &'a Value,
    target: Option<&'a str>,
) -> (&'a str, &'a Value) {
    let own = ["parameters", "inputs"].into_iter().find_map(|member| arguments.get(member));
    match (target, arguments["item_id"].as_str()) {
        (Some(target), _) => (target, arguments),
        (None, Some(item_id)) if name == EXECUTE => {
            (item_id, own.unwrap_or_else(|| beside_the_name(arguments)))
        }
        _ => (name, arguments),
    }
}

/// Returns the arguments if a model put those of the item beside its name, where they do not belong.
fn beside_the_name(arguments: &Value) -> &Value {
    const NAMING: [&str; 3] = ["item_id", "item_type", "thread"];
    let mut members = arguments.as_object().into_iter().flat_map(|members| members.keys());
    match members.all(|name| NAMING.contains(&name.as_str())) {
        true => &Value::Null,
        false => arguments,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(name: &str, arguments: &Value, target: Option<&str>, expected: (&str, &Value)) {
        let (item, own) = called_item(name, arguments, target);
        assert_eq!((item, own), expected);
    }

    #[test]
    fn a_call_is_named_by_its_item() {
        let flat = json!({ "url": "https://example.org" });
        let nested = json!({ "item_type": "tool", "item_id": "rye/web/fetch", "parameters": flat });
        check("rye_web_fetch", &flat, Some("rye/web/fetch"), ("rye/web/fetch", &flat));
        check(EXECUTE, &nested, None, ("rye/web/fetch", &flat));
        check(EXECUTE, &json!({ "item_id": "a/b" }), None, ("a/b", &Value::Null));
        let beside = json!({ "item_id": "rye/web/fetch", "url": "https://example.org" });
        check(EXECUTE, &beside, None, ("rye/web/fetch", &beside));
        check(EXECUTE, &flat, None, (EXECUTE, &flat));
        check("other", &nested, None, ("other", &nested));
    }
}
