//! Settings, merged from all spaces; a nearer space overrides a farther one (SPEC 4.4).

use serde_json::Value;

use crate::Item;

/// The verified files of one configuration name, at most one per root.
///
/// Some settings may only be tightened by a nearer space, and some lists are concatenated instead of replaced
/// (SPEC 4.3, 4.4). Readers of such settings use [`Config::layers`] instead of [`Config::merged`].
#[derive(Clone, Debug)]
pub struct Config {
    layers: Vec<Item<Value>>,
}

impl Config {
    /// A configuration of `layers`, nearest first, or `None` if there are none.
    pub(crate) fn new(layers: Vec<Item<Value>>) -> Option<Self> {
        (!layers.is_empty()).then_some(Self { layers })
    }

    /// The files with their spaces, nearest first. Every value is a mapping.
    pub fn layers(&self) -> &[Item<Value>] {
        &self.layers
    }

    /// All layers merged into one mapping. Mappings merge deeply; of any other value, lists included, the
    /// nearest wins.
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
