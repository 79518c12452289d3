use serde_json::{Value, json};

use super::Bound;
use crate::{ArgumentSchema, SchemaProblem};

/// Definitions of which each refers to the next one in these ways.
fn tower(levels: usize, part: impl Fn(String) -> Value) -> Value {
    let name = |level| format!("#/$defs/a{level}");
    let mut definitions: serde_json::Map<String, Value> =
        (0..levels).map(|level| (format!("a{level}"), part(name(level + 1)))).collect();
    definitions.insert(format!("a{levels}"), json!({"type": "object"}));
    json!({"$defs": definitions, "$ref": "#/$defs/a0"})
}

#[track_caller]
fn check(schema: &Value, expected: Result<Option<usize>, &str>) {
    let found = Bound::of(schema).map(|bound| bound.depth);
    match expected {
        Ok(depth) => assert_eq!(found, Ok(depth), "{schema}"),
        Err(words) => {
            let reason = found.expect_err("because the schema is costly");
            assert!(reason.contains(words), "{reason}");
        }
    }
    let is_refused = ArgumentSchema::new(schema).is_err();
    assert_eq!(is_refused, expected.is_err(), "{schema}");
}

#[test]
fn a_schema_is_as_large_as_with_all_references_written_out() {
    let twice = |next: String| json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    check(&tower(9, twice), Ok(None));
    check(&tower(34, twice), Err("more than 20000 parts"));
    let unevaluated =
        |next: String| json!({"anyOf": [{"$ref": next}], "unevaluatedProperties": false});
    check(&tower(5, unevaluated), Ok(None));
    check(&tower(24, unevaluated), Err("more than 20000 parts"));
    let chain = |next: String| json!({"$ref": next});
    check(&tower(50, chain), Ok(None));
    check(&tower(200, chain), Err("deeper than 128 levels"));
}

#[test]
fn a_reference_leads_to_the_schema_itself() {
    for (reference, expected) in [
        ("#/$defs/a", Ok(None)),
        ("#/%24defs/a", Ok(None)),
        ("#b", Ok(None)),
        ("#/$defs/zeal", Err("`#/$defs/zeal` leads to no part")),
        ("#/%2", Err("leads to no part")),
        ("other.json", Err("`other.json` leads to no part")),
        ("https://json-schema.org/draft/2020-12/schema", Err("leads to no part")),
        ("#", Err("leads back to itself")),
    ] {
        let defs = json!({"a": {"type": "string"}, "b": {"$anchor": "b", "type": "string"}});
        check(&json!({"$defs": defs, "$ref": reference}), expected);
    }
    let other = json!({"$defs": {"a": {"$id": "other", "type": "string"}}});
    check(&other, Err("an id of its own"));
}

#[test]
fn nesting_is_bounded_where_each_level_multiplies_the_work() {
    let list = json!({"properties": {"next": {"$ref": "#"}}});
    check(&list, Ok(None));
    let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
    check(&tree, Ok(None));
    let both = json!({"anyOf": [
        {"properties": {"kind": {"const": "not"}, "of": {"$ref": "#"}}},
        {"properties": {"kind": {"const": "neg"}, "of": {"$ref": "#"}}},
    ]});
    check(&both, Ok(Some(19)));
    let items = json!({"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}});
    check(&items, Ok(Some(12)));
    let through = json!({"properties": {
        "a": {"$ref": "#", "properties": {"a": {"$ref": "#"}}},
    }});
    check(&through, Ok(Some(19)));
}

#[test]
fn a_value_beyond_the_bound_is_a_problem() {
    let items = json!({"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}});
    let schema = ArgumentSchema::new(&items).unwrap();
    let nested = |levels| (0..levels).fold(json!([]), |value, _| json!([value]));
    assert_eq!(schema.problems(&nested(3)), []);
    let problems = schema.problems(&nested(60));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].text().contains("deeper than 19 levels"), "{problems:?}");
}

/// The library keeps every problem of each alternative, so that they are not asked for where there may be many.
#[test]
fn a_large_value_has_one_problem() {
    let texts = vec![json!({ "type": "string" }); 1_000];
    let schema = json!({ "properties": { "list": { "items": { "anyOf": texts } } } });
    let schema = ArgumentSchema::new(&schema).unwrap();
    let told = |item: Value, count: usize| -> Vec<String> {
        let problems = schema.problems(&json!({ "list": vec![item; count] }));
        problems.iter().map(SchemaProblem::text).collect()
    };
    assert_eq!(told(json!("a"), 50_000), [""; 0]);
    assert_eq!(told(json!(1), 10).len(), 10);
    assert_eq!(told(json!(1), 50).len(), 20);
    let part = "does not fit the schema, and has too many values (50002) to tell where";
    assert_eq!(told(json!(1), 50_000), [part]);
    let part = "has 100002 values, which are too many to check by a schema of 1003 parts";
    assert_eq!(told(json!("a"), 100_000), [part]);
}

#[test]
fn a_text_in_place_of_a_list_is_told_how_a_list_is_written() {
    let properties = json!({"a": {"type": "array"}, "b": {"type": "object"}});
    let schema = ArgumentSchema::new(&json!({"properties": properties})).unwrap();
    for (given, end) in [
        (
            json!({"a": "x"}),
            "is not of type \"array\"; write a list as JSON, such as `[\"a\", \"b\"]`",
        ),
        (
            json!({"b": "x"}),
            "is not of type \"object\"; write an object as JSON, such as `{\"a\": 1}`",
        ),
        (json!({"a": 1}), "is not of type \"array\""),
    ] {
        let problems = schema.problems(&given);
        assert!(problems[0].text().ends_with(end), "{problems:?}");
    }
}

#[test]
fn patterns_are_few_small_and_of_the_standard() {
    let named = |count: usize, pattern: &str| {
        let patterns: serde_json::Map<String, Value> =
            (0..count).map(|at| (format!("{pattern}{at}"), json!({}))).collect();
        json!({ "patternProperties": patterns })
    };
    check(&named(200, "^a"), Ok(None));
    check(&named(201, "^a"), Err("201 patterns"));
    check(&named(2, &"a".repeat(40_000)), Err("80002 bytes"));
    for (pattern, expected) in [
        ("^(?:a|b)$", Ok(None)),
        ("^(?!insight)[a-z]+$", Ok(None)),
        ("(?<digit>[0-9])", Ok(None)),
        ("(?i)[a-z]", Err("changes its flags")),
        ("a(?s-i:b)", Err("changes its flags")),
        // Blanks may stand anywhere under `x`, so that the other flag is not seen.
        ("(?x)( ?i)[a-z]", Err("changes its flags")),
    ] {
        check(&json!({ "properties": { "a": { "pattern": pattern } } }), expected);
    }
    assert!(ArgumentSchema::new(&json!({ "pattern": r"\pL{99}" })).is_err());
}
