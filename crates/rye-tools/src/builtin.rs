//! The file operations as tools: JSON arguments in, a JSON object out.

mod files;
mod search;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rye_thread::{AuthorisedCall, Tool, ToolOutput};
use rye_types::Effect;
use serde_json::{Value, json};

use crate::fs::{self, Root, Stop};

/// Returns the tool for `builtin: FUNCTION` of a manifest, over one root. Returns `None` if [`builtins`] does
/// not list the function.
///
/// The result of a call is a JSON object: that of the function, or `{"error": MESSAGE}` if it failed. Calls
/// run on a thread of their own. A search ends after 20 seconds, or when the call is dropped. The tool needs
/// a tokio runtime with time enabled.
pub fn builtin(function: &str, root: &Root) -> Option<Arc<dyn Tool>> {
    let (_, _, run) = FUNCTIONS.iter().find(|(name, ..)| *name == function)?;
    Some(Arc::new(Builtin { run: *run, root: root.clone() }))
}

/// Returns the effect of calling the function, or `None` if [`builtins`] does not list the function.
pub fn effect(function: &str) -> Option<Effect> {
    FUNCTIONS.iter().find(|(name, ..)| *name == function).map(|(_, effect, _)| *effect)
}

/// Returns the functions that [`builtin`] accepts, sorted.
pub fn builtins() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, ..)| *name)
}

type Function = fn(&Root, Value, &Stop) -> Result<Value, Failure>;

const FUNCTIONS: &[(&str, Effect, Function)] = &[
    // Repeating an edit may replace text that the first one wrote.
    ("file-system/edit", Effect::Once, files::edit),
    ("file-system/glob", Effect::ReadOnly, search::glob),
    ("file-system/grep", Effect::ReadOnly, search::grep),
    ("file-system/ls", Effect::ReadOnly, files::ls),
    ("file-system/read", Effect::ReadOnly, files::read),
    ("file-system/write", Effect::Idempotent, files::write),
];

/// The longest time of a search, which then returns the results so far.
const MAX_TIME: Duration = Duration::from_secs(20);

struct Builtin {
    run: Function,
    root: Root,
}

#[async_trait]
impl Tool for Builtin {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let arguments = call.into_arguments();
        let run = self.run;
        let root = self.root.clone();
        let dropped = StopOnDrop(Stop::new());
        let stop = dropped.0.clone();
        let mut task = tokio::task::spawn_blocking(move || {
            // The call may have been dropped while it waited for a thread.
            if stop.is_stopped() {
                return Err(Failure::Failed("it was stopped before it began".to_owned()));
            }
            run(&root, arguments, &stop)
        });
        let done = tokio::select! {
            done = &mut task => done,
            () = tokio::time::sleep(MAX_TIME) => {
                dropped.0.stop();
                task.await
            }
        };
        match done {
            Ok(Ok(content)) => ToolOutput::ok(content),
            Ok(Err(failure)) => failure.into_output(),
            Err(error) => Failure::Failed(format!("the tool stopped: {error}")).into_output(),
        }
    }
}

/// Stops the work on the other thread when the call is dropped.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
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
            Self::Refused(message) => ToolOutput::refusal(json!({ "error": message })),
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
