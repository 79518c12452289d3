//! `bash/bash`: a tool that runs the model's command lines.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use rye_sandbox::{Exit, Job, Processes, limit_of};
use rye_thread::{AuthorisedCall, OutputSink, Tool, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::program_result::{failure, forward, start_failure, with_account};

/// The function name in a manifest's `builtin: bash/bash`.
pub const BASH: &str = "bash/bash";

/// Returns the tool that runs a command line with `bash`, or with `sh` if there is no `bash`.
///
/// The commands have no network. Another manifest that declares `network: true` can run a shell with it.
#[must_use]
pub fn bash(processes: &Arc<Processes>) -> Arc<dyn Tool> {
    Arc::new(Bash { processes: Arc::clone(processes) })
}

struct Bash {
    processes: Arc<Processes>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    cwd: Option<String>,
    timeout_seconds: Option<u64>,
}

/// The longest timeout that a model may request, in seconds.
const LONGEST: u64 = 600;

#[async_trait]
impl Tool for Bash {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        self.call_with_sink(call, &()).await
    }

    async fn call_with_sink(&self, call: AuthorisedCall, told: &dyn OutputSink) -> ToolOutput {
        let arguments = call.into_arguments();
        let arguments: Arguments = match serde_json::from_value(arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let message = format!("the arguments do not fit: {error}");
                return ToolOutput::error(json!({ "error": message }));
            }
        };
        let limit = limit_of(arguments.timeout_seconds.map(|seconds| seconds.min(LONGEST)));
        let mut job = Job::new(vec![shell().into(), "-c".into(), arguments.command.into()]);
        job.cwd = PathBuf::from(arguments.cwd.unwrap_or_default());
        job.limit = limit;
        match self.processes.run(job, &forward(told)).await {
            Ok(ended) if ended.code == 0 && !ended.is_late => ToolOutput::ok(result(&ended)),
            Ok(ended) => ToolOutput::error(failure(&ended, limit)),
            Err(error) => start_failure(&error),
        }
    }
}

fn shell() -> &'static str {
    if std::path::Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}

fn result(ended: &Exit) -> Value {
    let mut content = json!({ "exit_code": 0, "stdout": ended.output.text() });
    let stderr = ended.error.text();
    if !stderr.is_empty() {
        content["stderr"] = stderr.into();
    }
    let omitted = ended.output.omitted_bytes();
    if omitted > 0 {
        content["omitted_bytes"] = omitted.into();
    }
    with_account(content, &ended.account)
}
