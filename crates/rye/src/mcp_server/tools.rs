//! The tools that clients see: names, schemas and annotations, in a fixed order.

use std::sync::Arc;

use jsonschema::Validator;
use rmcp::model::{Tool, ToolAnnotations};
use rye_caps::Primary;
use rye_resolve::{ItemId, ItemKind};
use serde_json::{Map, Value, json};

use crate::primary::Caller;

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Execute,
    Fetch,
    Load,
    Search,
    Sign,
    ThreadCancel,
    ThreadStatus,
}

impl Operation {
    /// All of them, sorted by name.
    const ALL: [Self; 7] = [
        Self::Execute,
        Self::Fetch,
        Self::Load,
        Self::Search,
        Self::Sign,
        Self::ThreadCancel,
        Self::ThreadStatus,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Execute => "rye_execute",
            Self::Fetch => "rye_fetch",
            Self::Load => "rye_load",
            Self::Search => "rye_search",
            Self::Sign => "rye_sign",
            Self::ThreadCancel => "rye_thread_cancel",
            Self::ThreadStatus => "rye_thread_status",
        }
    }

    /// Whether the operator's grant leaves anything to do with it. What is offered is the same for every client.
    fn is_offered(self, caller: &Caller) -> bool {
        let some = |primary| KINDS.iter().any(|kind| caller.may_some(primary, *kind));
        match self {
            Self::Execute => some(Primary::Execute) || some(Primary::Load),
            Self::Fetch => some(Primary::Search) || some(Primary::Load),
            Self::Load => some(Primary::Load),
            Self::Search => some(Primary::Search),
            Self::Sign => some(Primary::Sign),
            Self::ThreadCancel | Self::ThreadStatus => {
                caller.may_some(Primary::Execute, ItemKind::Directive)
            }
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Execute => {
                "Runs a tool and returns its result, or returns the instructions of a directive or the text of a knowledge \
                 entry for you to follow or read. `parameters` are the arguments of the tool, or the inputs of the \
                 directive. With `thread` set to `fork`, a directive is not returned but run as a thread of its own, and \
                 its outputs are the result; add `async` to get the thread's id at once and ask with `rye_thread_status`."
            }
            Self::Fetch => {
                "Reads an item, when `item_id` is given, or finds items, when `query` is given."
            }
            Self::Load => {
                "Reads an item as it is written, signature line included, with what it says of itself."
            }
            Self::Search => {
                "Finds directives, knowledge and tools by what they say, the best first. A phrase stands between double \
                 quotes; `word*` asks for the start of a word."
            }
            Self::Sign => {
                "Checks an item of the project or of the user space and signs it with the operator's key, which makes it \
                 count. Sign only what you were asked to sign."
            }
            Self::ThreadCancel => "Ends a thread that `rye_execute` started, for good.",
            Self::ThreadStatus => {
                "Says how a thread stands that `rye_execute` started, and what it returned when it has ended."
            }
        }
    }

    fn input_schema(self) -> Value {
        let id = json!({ "type": "string", "minLength": 1, "maxLength": ItemId::MAX_BYTES, "description": "The item's id, such as `notes/index`." });
        let kind = json!({ "type": "string", "enum": KINDS.map(ItemKind::as_str), "description": "The sort of item." });
        let query = json!({ "type": "string", "minLength": 1, "maxLength": 4096, "description": "What to look for." });
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "description": "The most results; 20 when it is left out." });
        let thread = json!({ "type": "string", "description": "The thread's id." });
        match self {
            Self::Execute => object(
                &json!({
                    "item_type": kind,
                    "item_id": id,
                    "parameters": { "type": "object", "description": "Arguments of the tool, or inputs of the directive." },
                    "thread": { "type": "string", "enum": ["inline", "fork"], "description": "`inline`, which is the default, returns a directive; `fork` runs it." },
                    "async": { "type": "boolean", "description": "With `fork`: return the thread's id at once." },
                }),
                &["item_type", "item_id"],
            ),
            Self::Fetch => object(
                &json!({ "item_type": kind, "item_id": id, "query": query, "limit": limit }),
                &["item_type"],
            ),
            Self::Load | Self::Sign => {
                object(&json!({ "item_type": kind, "item_id": id }), &["item_type", "item_id"])
            }
            Self::Search => object(
                &json!({
                    "query": query,
                    "item_type": kind,
                    "tags": { "type": "array", "items": { "type": "string" }, "description": "Only items that have all of these tags." },
                    "limit": limit,
                }),
                &["query"],
            ),
            Self::ThreadCancel => object(&json!({ "thread": thread }), &["thread"]),
            Self::ThreadStatus => object(
                &json!({
                    "thread": thread,
                    "wait_seconds": { "type": "integer", "minimum": 0, "maximum": MOST_SECONDS, "description": "Wait so long for its end; 0 when it is left out." },
                }),
                &["thread"],
            ),
        }
    }

    /// What the structured result holds at least; none where it depends on the item.
    fn output_schema(self) -> Option<Value> {
        let row = json!({
            "type": "object",
            "properties": {
                "kind": { "type": "string" },
                "id": { "type": "string" },
                "space": { "type": "string" },
                "path": { "type": "string" },
                "score": { "type": "number" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "preview": { "type": "string" },
                "signed": { "type": "boolean" },
            },
            "required": ["kind", "id", "space", "path", "score", "tags", "preview", "signed"],
        });
        let (members, required) = match self {
            Self::Search => (
                json!({
                    "results": { "type": "array", "items": row },
                    "matched": { "type": "integer" },
                    "refused": { "type": "array", "items": { "type": "object" } },
                }),
                vec!["results", "matched", "refused"],
            ),
            Self::Load => (
                json!({
                    "kind": { "type": "string" },
                    "id": { "type": "string" },
                    "space": { "type": "string" },
                    "path": { "type": "string" },
                    "sha256": { "type": "string" },
                    "signed": { "type": "boolean" },
                    "content": { "type": "string" },
                }),
                vec!["kind", "id", "space", "path", "sha256", "signed", "content"],
            ),
            Self::Sign => (
                json!({
                    "path": { "type": "string" },
                    "status": { "type": "string" },
                    "signature": { "type": "object" },
                }),
                vec!["path", "status", "signature"],
            ),
            Self::ThreadStatus | Self::ThreadCancel => (
                json!({ "thread": { "type": "string" }, "state": { "type": "string" } }),
                vec!["thread", "state"],
            ),
            Self::Execute | Self::Fetch => return None,
        };
        Some(json!({ "type": "object", "properties": members, "required": required }))
    }

    /// Read only, destructive, idempotent, open: all four, because what is left out counts as the worst.
    fn annotations(self) -> ToolAnnotations {
        let of = |read_only, destructive, idempotent, open| {
            ToolAnnotations::new()
                .read_only(read_only)
                .destructive(destructive)
                .idempotent(idempotent)
                .open_world(open)
        };
        match self {
            Self::Execute => of(false, true, false, true),
            Self::Fetch | Self::Load | Self::Search | Self::ThreadStatus => {
                of(true, false, true, false)
            }
            Self::Sign => of(false, false, true, false),
            Self::ThreadCancel => of(false, true, true, false),
        }
    }
}

const KINDS: [ItemKind; 3] = [ItemKind::Directive, ItemKind::Knowledge, ItemKind::Tool];

const MOST_RESULTS: usize = 100;

/// Below the minute after which many clients give up.
const MOST_SECONDS: u64 = 50;

/// A tool as clients see it, with its compiled input schema.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) operation: Operation,
    pub(super) tool: Tool,
    validator: Validator,
}

impl Offered {
    fn new(operation: Operation) -> Self {
        let schema = operation.input_schema();
        let validator = jsonschema::options()
            .offline()
            .build(&schema)
            .expect("because our own schemas are tested to be schemas");
        let mut tool = Tool::new(operation.name(), operation.description(), members(schema));
        tool.output_schema = operation.output_schema().map(members);
        tool.annotations = Some(operation.annotations());
        Self { operation, tool, validator }
    }

    /// Why the arguments do not fit; empty when they do.
    pub(super) fn problems(&self, arguments: &Value) -> Vec<String> {
        let problems = self.validator.iter_errors(arguments).take(20);
        problems
            .map(|error| {
                let (path, message) = (error.instance_path().to_string(), error.to_string());
                let message: String = message.chars().take(300).collect();
                if path.is_empty() { message } else { format!("at `{path}`: {message}") }
            })
            .collect()
    }
}

/// Every tool that the grant leaves anything to do with, sorted by name.
pub(super) fn offered(caller: &Caller) -> Vec<Offered> {
    let operations = Operation::ALL.into_iter().filter(|it| it.is_offered(caller));
    operations.map(Offered::new).collect()
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn members(schema: Value) -> Arc<Map<String, Value>> {
    match schema {
        Value::Object(members) => Arc::new(members),
        _ => Arc::default(),
    }
}
