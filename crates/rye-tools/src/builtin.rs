//! The file operations as tools: JSON arguments in, a JSON object out.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use rye_caps::Permit;
use rye_thread::{Effect, Tool, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fs::{self, FirstLines, Lines, Root};

/// The tool behind a manifest's `builtin: FUNCTION`, over one root; `None` for a function that is not in [`builtins`].
///
/// Its result is always a JSON object: of the function when it worked, `{"error": MESSAGE}` otherwise.
pub fn builtin(function: &str, root: &Root) -> Option<Arc<dyn Tool>> {
    let (_, _, run) = FUNCTIONS.iter().find(|(name, ..)| *name == function)?;
    Some(Arc::new(Builtin { run: *run, root: root.clone() }))
}

/// What calling the function a second time would do; `None` for a function that is not in [`builtins`].
pub fn effect(function: &str) -> Option<Effect> {
    FUNCTIONS.iter().find(|(name, ..)| *name == function).map(|(_, effect, _)| *effect)
}

/// The functions that [`builtin`] knows, sorted.
pub fn builtins() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, ..)| *name)
}

type Function = fn(&Root, Value) -> Result<Value, Failure>;

const FUNCTIONS: &[(&str, Effect, Function)] = &[
    ("file-system/ls", Effect::ReadOnly, ls),
    ("file-system/read", Effect::ReadOnly, read),
    ("file-system/write", Effect::Idempotent, write),
];

struct Builtin {
    run: Function,
    root: Root,
}

#[async_trait]
impl Tool for Builtin {
    async fn call(&self, _permit: &Permit, arguments: Value) -> ToolOutput {
        let (run, root) = (self.run, self.root.clone());
        match tokio::task::spawn_blocking(move || run(&root, arguments)).await {
            Ok(Ok(content)) => ToolOutput::ok(content),
            Ok(Err(failure)) => failure.into_output(),
            Err(error) => Failure::Failed(format!("the tool stopped: {error}")).into_output(),
        }
    }
}

enum Failure {
    Failed(String),
    Refused(String),
}

impl Failure {
    fn into_output(self) -> ToolOutput {
        match self {
            Self::Failed(message) => ToolOutput::error(json!({ "error": message })),
            Self::Refused(message) => ToolOutput::refused(json!({ "error": message })),
        }
    }
}

impl From<fs::Error> for Failure {
    fn from(error: fs::Error) -> Self {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let message = format!("{error}{cause}");
        if error.is_refusal() { Self::Refused(message) } else { Self::Failed(message) }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("the arguments do not fit: {error}"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

fn read(root: &Root, arguments: Value) -> Result<Value, Failure> {
    let arguments: ReadArguments = serde_json::from_value(arguments)?;
    let mut lines = Lines::from(arguments.offset.unwrap_or(1));
    if let Some(limit) = arguments.limit {
        lines = lines.at_most(limit);
    }
    let text = fs::read(root, &arguments.path, lines)?;
    Ok(json!({
        "path": text.path,
        "content": text.content,
        "bytes": text.bytes,
        "lines": text.lines,
        "truncated": text.truncated,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    path: String,
    content: String,
}

fn write(root: &Root, arguments: Value) -> Result<Value, Failure> {
    let arguments: WriteArguments = serde_json::from_value(arguments)?;
    let written = fs::write(root, &arguments.path, &arguments.content)?;
    Ok(json!({ "path": written.path, "bytes_written": written.bytes_written }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LsArguments {
    path: Option<String>,
    #[serde(default)]
    first_lines: bool,
}

fn ls(root: &Root, arguments: Value) -> Result<Value, Failure> {
    let arguments: LsArguments = serde_json::from_value(arguments)?;
    let first_lines = if arguments.first_lines { FirstLines::Read } else { FirstLines::Omit };
    let listing = fs::ls(root, arguments.path.as_deref().unwrap_or("."), first_lines)?;
    let mut result = json!({ "path": listing.path, "count": listing.count });
    result["entries"] = listing.entries.iter().map(entry).collect();
    result["listing"] = listing.listing().into();
    if listing.omitted() > 0 {
        result["omitted"] = listing.omitted().into();
    }
    Ok(result)
}

fn entry(entry: &fs::Entry) -> Value {
    let mut object = json!({ "name": entry.name, "kind": entry.kind.as_str() });
    if let Some(bytes) = entry.bytes {
        object["bytes"] = bytes.into();
    }
    if let Some(line) = &entry.first_line {
        object["first_line"] = line.as_str().into();
    }
    object
}
