//! The tools that clients see: names, schemas and annotations, in a fixed order.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use rye_caps::Primary;
use rye_project::primary::{self, Caller, KINDS, item_id_schema, item_type_schema, object_schema};
use rye_thread::{ArgumentSchema, SchemaProblem};
use rye_types::ItemKind;
use serde_json::{Map, Value, json};

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Check,
    Execute,
    Explain,
    Items(primary::Operation),
    ThreadCancel,
    ThreadStatus,
}

impl Operation {
    /// All of them, sorted by name.
    fn all() -> impl Iterator<Item = Self> {
        let items = primary::Operation::ALL.iter().copied().map(Self::Items);
        let threads = [Self::ThreadCancel, Self::ThreadStatus];
        [Self::Check, Self::Execute, Self::Explain].into_iter().chain(items).chain(threads)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Check => "rye_check",
            Self::Execute => "rye_execute",
            Self::Explain => "rye_explain",
            Self::Items(operation) => operation.name(),
            Self::ThreadCancel => "rye_thread_cancel",
            Self::ThreadStatus => "rye_thread_status",
        }
    }

    /// Returns `true` if the operator's grant leaves any use of the tool. Every client has the same tools.
    fn is_offered(self, caller: &Caller) -> bool {
        let some = |primary| KINDS.iter().any(|kind| caller.may_some(primary, *kind));
        match self {
            Self::Check => some(Primary::Load),
            Self::Execute => some(Primary::Execute) || some(Primary::Load),
            Self::Explain => caller.may_some(Primary::Load, ItemKind::Directive),
            Self::Items(operation) => operation.primaries().iter().any(|primary| some(*primary)),
            Self::ThreadCancel | Self::ThreadStatus => {
                caller.may_some(Primary::Execute, ItemKind::Directive)
            }
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Check => {
                "Finds the problems of a directive, knowledge entry or tool, each with its place and mostly with what to write \
                 instead. Give `text` for a new or changed text, with its place: `item_type` and `item_id`, or `path`. \
                 Without `text`, the file there is checked, and without a place, all of the project. Nothing is run, written or signed."
            }
            Self::Explain => {
                "Says what a directive is made of and what a thread of it may do: the directives that it extends, context, \
                 permissions and limits with what sets each, tools, inputs, outputs, hooks, and the SHA-256 of its prompt. Nothing is run."
            }
            Self::Execute => {
                "Runs a tool and returns its result, or returns the instructions of a directive or the text of a knowledge \
                 entry for you to follow or read. `parameters` are the arguments of the tool, or the inputs of the \
                 directive. With `thread` set to `fork`, a directive is not returned but run as a thread of its own, and \
                 its outputs are the result; add `async` to get the thread's id at once and ask with `rye_thread_status`."
            }
            Self::Items(operation) => operation.description(),
            Self::ThreadCancel => "Ends a thread that `rye_execute` started, for good.",
            Self::ThreadStatus => {
                "Says how a thread stands that `rye_execute` started, and what it returned when it has ended."
            }
        }
    }

    fn input_schema(self, caller: &Caller) -> Value {
        let thread = json!({ "type": "string", "description": "The thread's id." });
        match self {
            Self::Check => object_schema(
                &json!({
                    "item_type": item_type_schema(),
                    "item_id": item_id_schema(),
                    "path": { "type": "string", "minLength": 1, "maxLength": LONGEST_PATH, "description": "The file of the item in the project, such as `.ai/directives/notes/index.md`, in place of `item_type` and `item_id`." },
                    "text": { "type": "string", "description": "The whole text to check, in place of what the file holds. The file need not exist." },
                }),
                &[],
            ),
            Self::Explain => object_schema(&json!({ "item_id": item_id_schema() }), &["item_id"]),
            Self::Execute => object_schema(
                &json!({
                    "item_type": item_type_schema(),
                    "item_id": item_id_schema(),
                    "parameters": { "type": "object", "description": "Arguments of the tool, or inputs of the directive." },
                    "inputs": { "type": "object", "description": "Another name of `parameters`, for a directive." },
                    "thread": { "type": "string", "enum": ["inline", "fork"], "description": "`inline`, which is the default, returns a directive; `fork` runs it." },
                    "async": { "type": "boolean", "description": "With `fork`: return the thread's id at once." },
                }),
                &["item_type", "item_id"],
            ),
            Self::Items(operation) => operation.schema_for(caller.authority()),
            Self::ThreadCancel => object_schema(&json!({ "thread": thread }), &["thread"]),
            Self::ThreadStatus => object_schema(
                &json!({
                    "thread": thread,
                    "wait_seconds": { "type": "integer", "minimum": 0, "maximum": MOST_SECONDS, "description": "Wait so long for its end; 0 when it is left out." },
                }),
                &["thread"],
            ),
        }
    }

    /// Returns the schema of the structured result; `None` where it depends on the item.
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
        let count = || json!({ "type": "integer" });
        let list = || json!({ "type": "array", "items": { "type": "object" } });
        let (members, required) = match self {
            Self::Check => (
                json!({
                    "ok": { "type": "boolean", "description": "No finding is an error. It does not mean that the file is signed." },
                    "files": { "type": "array", "items": checked_file() },
                    "checked": count(),
                    "errors": count(),
                    "warnings": count(),
                    "notes": count(),
                    "files_not_shown": count(),
                    "strays": { "type": "array", "items": { "type": "string" } },
                    "form_only": { "type": "boolean" },
                }),
                vec!["ok", "files", "checked", "errors", "warnings", "notes"],
            ),
            Self::Explain => (
                json!({
                    "id": { "type": "string" },
                    "chain": list(),
                    "context": list(),
                    "capabilities": { "type": "object" },
                    "tools": list(),
                    "starts": list(),
                    "limits": list(),
                    "model": { "type": "object" },
                    "inputs": list(),
                    "outputs": list(),
                    "hooks": list(),
                    "sha256": { "type": "string" },
                    "warnings": { "type": "array", "items": { "type": "string" } },
                }),
                vec![
                    "id",
                    "chain",
                    "context",
                    "capabilities",
                    "limits",
                    "inputs",
                    "outputs",
                    "sha256",
                ],
            ),
            Self::Items(primary::Operation::Search) => (
                json!({
                    "results": { "type": "array", "items": row },
                    "matched": { "type": "integer" },
                    "refused": { "type": "array", "items": { "type": "object" } },
                }),
                vec!["results", "matched", "refused"],
            ),
            Self::Items(primary::Operation::Load) => (
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
            Self::Items(primary::Operation::Sign) => (
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
            Self::Execute | Self::Items(primary::Operation::Fetch) => return None,
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
            // A load may copy.
            Self::Items(primary::Operation::Load | primary::Operation::Sign) => {
                of(false, false, true, false)
            }
            Self::Check | Self::Explain | Self::Items(_) | Self::ThreadStatus => {
                of(true, false, true, false)
            }
            Self::ThreadCancel => of(false, true, true, false),
        }
    }
}

const LONGEST_PATH: usize = 4096;

/// Returns the schema of a file with its findings.
fn checked_file() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string" },
            "kind": { "type": "string" },
            "ok": { "type": "boolean" },
            "withheld": { "type": "boolean" },
            "problems": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "severity": { "type": "string", "enum": ["error", "warning", "note"] },
                        "code": { "type": "string" },
                        "message": { "type": "string" },
                        "label": { "type": "string" },
                        "help": { "description": "What to write or do instead, or `null`." },
                        "line": { "type": "integer" },
                        "column": { "type": "integer" },
                    },
                    "required": ["severity", "code", "message", "help", "line", "column"],
                },
            },
        },
        "required": ["path", "kind", "ok", "problems"],
    })
}

/// Below the minute after which many clients give up.
const MOST_SECONDS: u64 = 50;

/// A tool as clients see it, with its compiled input schema.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) operation: Operation,
    pub(super) tool: Tool,
    arguments: ArgumentSchema,
}

impl Offered {
    fn new(operation: Operation, caller: &Caller) -> Self {
        let mut schema = operation.input_schema(caller);
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        let arguments =
            ArgumentSchema::new(&schema).expect("because our own schemas are tested to be schemas");
        let schema = members(schema);
        let mut tool = Tool::new(operation.name(), operation.description(), schema);
        tool.output_schema = operation.output_schema().map(members);
        tool.annotations = Some(operation.annotations());
        Self { operation, tool, arguments }
    }

    /// The reason why the arguments do not fit; empty when they do.
    pub(super) fn problems(&self, arguments: &Value) -> Vec<String> {
        self.arguments.problems(arguments).iter().map(SchemaProblem::text).collect()
    }
}

/// Every tool that the grant leaves anything to do with, sorted by name.
pub(super) fn offered_tools(caller: &Caller) -> Vec<Offered> {
    let operations = Operation::all().filter(|it| it.is_offered(caller));
    operations.map(|operation| Offered::new(operation, caller)).collect()
}

fn members(schema: Value) -> Arc<Map<String, Value>> {
    match schema {
        Value::Object(members) => Arc::new(members),
        _ => Arc::default(),
    }
}
