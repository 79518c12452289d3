//! Settings: every space has its say, the nearest the last one (SPEC 4.4).

use serde_json::Value;

use crate::Item;

/// The verified files of one configuration name, at most one per root.
///
/// Who may only tighten what a farther space says, and which lists concatenate instead of
/// replacing each other (SPEC 4.3, 4.4), depends on what the settings mean: readers of such
/// settings take [`Config::layers`] instead of [`Config::merged`].
#[derive(Clone, Debug)]
pub struct Config {
    layers: Vec<Item<Value>>,
}

impl Config {
    /// The layers `layers`, nearest first, or `None` when no space has the name.
    pub(crate) fn new(layers: Vec<Item<Value>>) -> Option<Self> {
        (!layers.is_empty()).then_some(Self { layers })
    }

    /// Each file with its space, nearest first; every value is a mapping.
    pub fn layers(&self) -> &[Item<Value>] {
        &self.layers
    }

    /// The one mapping they make: mappings merge deeply, all else is the nearest one's, lists too.
    pub fn merged(&self) -> Value {
        let values = self.layers.iter().map(|layer| layer.content.value());
        merge_layers(values)
    }
}

/// Merges `layers`, nearest first.
fn merge_layers<'a>(layers: impl DoubleEndedIterator<Item = &'a Value>) -> Value {
    let mut merged = Value::Object(serde_json::Map::new());
    for layer in layers.rev() {
        merge(&mut merged, layer);
    }
    merged
}

fn merge(far: &mut Value, near: &Value) {
    match (far, near) {
        (Value::Object(far), Value::Object(near)) => {
            for (key, value) in near {
                merge(far.entry(key).or_insert(Value::Null), value);
            }
        }
        (far, near) => *far = near.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(layers: &[Value], expected: &Value) {
        let merged = merge_layers(layers.iter());
        assert_eq!(merged, *expected);
    }

    #[test]
    fn one_layer_is_itself() {
        check(&[json!({"a": 1, "b": [1]})], &json!({"a": 1, "b": [1]}));
    }

    #[test]
    fn nearer_scalars_win() {
        check(&[json!({"a": 1}), json!({"a": 2}), json!({"a": 3})], &json!({"a": 1}));
    }

    #[test]
    fn mappings_merge_deeply() {
        check(
            &[json!({"limits": {"turns": 5}}), json!({"limits": {"turns": 9, "depth": {"x": 1}}})],
            &json!({"limits": {"turns": 5, "depth": {"x": 1}}}),
        );
    }

    #[test]
    fn lists_replace() {
        check(&[json!({"a": []}), json!({"a": [1, 2]})], &json!({"a": []}));
    }

    #[test]
    fn another_sort_of_value_replaces() {
        check(&[json!({"a": {"b": 1}}), json!({"a": "off"})], &json!({"a": {"b": 1}}));
        check(&[json!({"a": "off"}), json!({"a": {"b": 1}})], &json!({"a": "off"}));
    }

    #[test]
    fn null_is_a_value() {
        check(&[json!({"a": null}), json!({"a": 1})], &json!({"a": null}));
    }

    #[test]
    fn keys_keep_the_farthest_order() {
        let merged = merge_layers([json!({"c": 1, "a": 1}), json!({"a": 0, "b": 0})].iter());
        assert_eq!(merged.to_string(), r#"{"a":1,"b":0,"c":1}"#);
    }
}
