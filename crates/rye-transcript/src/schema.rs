//! The schemas of members whose Rust type says less than their record.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// A SHA-256 in hex.
pub(crate) struct Sha256;

/// A time as whole milliseconds, or `null`.
pub(crate) struct MillisOrNull;

impl JsonSchema for MillisOrNull {
    fn schema_name() -> Cow<'static, str> {
        "MillisOrNull".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "null"], "minimum": 0 })
    }
}

impl JsonSchema for Sha256 {
    fn schema_name() -> Cow<'static, str> {
        "Sha256".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}
