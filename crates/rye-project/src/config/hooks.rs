//! `config/agent/hooks.yaml`: its schema. The file is read by `rye_parse::hooks`, which knows the places of its parts.

use rye_parse::{Operator, Primary};
use rye_resolve::ItemId;
use rye_types::{HookEffect, HookEvent, Position};
use schemars::{Schema, json_schema};
use serde_json::{Value, json};

pub(crate) const HOOKS: &str = "hooks";

/// The configuration that hooks files are.
pub const FILE: &str = "agent/hooks";

/// Returns `true` for a hooks file.
pub(crate) fn is_hooks(id: &ItemId) -> bool {
    id.as_str() == FILE
}

/// The schema, with the words that the parser knows.
pub(crate) fn hooks_schema() -> Schema {
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": HOOKS,
        "description": "What happens at events of a run, and what directives extend.",
        "type": "object",
        "additionalProperties": false,
        "required": ["hooks"],
        "properties": {
            "hooks": { "type": "array", "items": { "$ref": "#/$defs/hook" } }
        },
        "$defs": {
            "hook": hook(),
            "condition": condition(),
            "conditions": {
                "oneOf": [
                    { "$ref": "#/$defs/condition" },
                    { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/condition" } }
                ]
            },
            "action": action(),
        }
    })
}

fn hook() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "event"],
        "properties": {
            "id": schema_of("string", "Its name, unique in the file."),
            "event": { "description": "When it is considered.", "enum": HookEvent::NAMES },
            "layer": {
                "description": "0 user, 2 built-in, 3 project, 4 infrastructure; default: the file's space decides.",
                "enum": [0, 2, 3, 4]
            },
            "order": schema_of("integer", "When it runs in its layer, lowest first; default: 0."),
            "condition": { "$ref": "#/$defs/conditions" },
            "conditions": { "$ref": "#/$defs/conditions" },
            "when": schema_of("string", "A condition as `path op value`, joined by `and` and `or`."),
            "position": {
                "description": "Where knowledge goes, at the start of a thread; default: `before`.",
                "enum": Position::NAMES
            },
            "wrap": schema_of("boolean", "Whether an element names that knowledge; default: true."),
            "effect": {
                "description": "What it decides about the thread; which ones there are depends on the event.",
                "enum": HookEffect::NAMES
            },
            "action": { "$ref": "#/$defs/action" },
            "actions": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/action" } },
            "extends": schema_of("string", "At `resolve_extends`: the directive to extend."),
        }
    })
}

fn condition() -> Value {
    let one = |key: &str, value: Value| json!({ "type": "object", "additionalProperties": false, "required": [key], "properties": { key: value } });
    let list =
        || json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/condition" } });
    json!({
        "oneOf": [
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["path", "op"],
                "properties": {
                    "path": schema_of("string", "A dotted path into the event's data."),
                    "op": { "enum": Operator::NAMES },
                    "value": { "type": ["string", "number", "boolean", "array"] }
                }
            },
            one("any", list()),
            one("all", list()),
            one("not", json!({ "$ref": "#/$defs/conditions" })),
            one("when", json!({ "type": "string" })),
        ]
    })
}

fn action() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["primary"],
        "properties": {
            "primary": { "description": "The operation.", "enum": Primary::NAMES },
            "item_type": schema_of("string", "`tool`, `directive` or `knowledge`."),
            "item_id": schema_of("string", "The item's id."),
            "query": schema_of("string", "What to search for."),
            "scope": schema_of("string", "What to search in."),
            "params": schema_of("object", "The item's arguments."),
            "parameters": schema_of("object", "Another name of `params`."),
            "destination": true,
            "thread": true,
            "async": true,
        }
    })
}

fn schema_of(kind: &str, description: &str) -> Value {
    json!({ "type": kind, "description": description })
}

#[cfg(test)]
mod tests {
    use super::hooks_schema;
    use crate::config::read::{Quoting, problems_of_schema};

    /// Checks that the schema and the parser agree on the hook that has these lines.
    #[track_caller]
    fn check(lines: &str, is_fine: bool) {
        let file = format!("hooks:\n  - {}\n", lines.replace('\n', "\n    "));
        assert_eq!(rye_parse::hooks(&file, "yaml").is_ok(), is_fine, "parsed");
        let value = rye_parse::config(&file, "yaml").expect("must be YAML");
        let schema = hooks_schema().to_value();
        let problems = problems_of_schema(&schema, &value, Quoting::Values);
        assert_eq!(problems.is_empty(), is_fine, "{problems:?}");
    }

    #[test]
    fn what_is_read_is_described() {
        check("id: a\nevent: resolve_extends\nwhen: a exists\nextends: b", true);
        check(
            "id: a\nevent: thread_started\nposition: system\nwrap: false\naction: {primary: load, item_id: b}",
            true,
        );
        check(
            "id: a\nevent: error\nlayer: 4\norder: -1\nconditions: [{path: a, op: in, value: [1]}, {not: {any: [{when: b exists}]}}]\nactions: [{primary: sign, params: {x: 1}}]",
            true,
        );
    }

    #[test]
    fn what_is_refused_is_not_described() {
        check("id: a\nevent: nothing\naction: {primary: sign}", false);
        check("id: a\nevent: limit\nlayer: 1\naction: {primary: sign}", false);
        check("event: limit\naction: {primary: sign}", false);
        check("id: a\nevent: limit\nactions: []", false);
        check("id: a\nevent: limit\naction: {primary: sign, items: 1}", false);
        check("id: a\nevent: limit\ncondition: {path: a, op: is}\naction: {primary: sign}", false);
        check("id: a\nevent: limit\nwhen: [a]\naction: {primary: sign}", false);
    }
}
