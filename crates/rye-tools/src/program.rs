//! Tools that are programs: a command line of a manifest, or a script that is its own manifest (SPEC 5.1, 5.2).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rye_caps::Permit;
use rye_thread::{OutputSink, Tool, ToolOutput};
use serde_json::{Map, Value, json};

use crate::process::{
    Ended, Job, Processes, Script, Template, TemplateError, command_line, failure, limit_of,
    with_account,
};
use crate::self_starting::foreign;

/// A program with the arguments that a manifest gives it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CommandTool {
    /// The program, by its path or by its name in `PATH`.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<Template>,
    /// The folder that it starts in, relative to the project; empty for the project itself.
    pub folder: String,
    /// Variables of its environment.
    pub environment: BTreeMap<String, Template>,
    /// The names of the arguments that a call may have.
    pub parameters: Vec<String>,
    /// Whether it may use the network.
    pub network: bool,
    /// Seconds after which it is stopped; two minutes when not given.
    pub timeout_seconds: Option<u64>,
}

impl CommandTool {
    /// The program alone, in the project's folder and without the network.
    #[must_use]
    pub fn new(program: &str) -> Self {
        Self {
            program: program.to_owned(),
            arguments: Vec::new(),
            folder: String::new(),
            environment: BTreeMap::new(),
            parameters: Vec::new(),
            network: false,
            timeout_seconds: None,
        }
    }

    /// The tool that starts it.
    ///
    /// A call's arguments that have no place in the command line or the environment are given on standard input, with all
    /// others, as one JSON object; where all have a place, standard input is empty. Standard output is the result.
    #[must_use]
    pub fn tool(self, processes: &Arc<Processes>) -> Arc<dyn Tool> {
        Arc::new(Command { processes: Arc::clone(processes), command: self })
    }

    /// Whether some argument would otherwise not reach the program.
    fn reads_arguments(&self) -> bool {
        let templates = || self.arguments.iter().chain(self.environment.values());
        let is_placed = |name: &String| templates().any(|it| it.names().any(|one| one == name));
        !self.parameters.iter().all(is_placed)
    }

    fn job(&self, arguments: &Map<String, Value>) -> Result<Job, TemplateError> {
        let line = command_line(&self.arguments, arguments)?;
        let program = OsString::from(&self.program);
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| Ok((name.clone(), value.text(arguments)?)))
            .collect::<Result<_, TemplateError>>()?;
        Ok(Job {
            words: std::iter::once(program).chain(line.into_iter().map(OsString::from)).collect(),
            script: None,
            cwd: PathBuf::from(&self.folder),
            environment,
            input: self.reads_arguments().then(|| as_input(arguments)),
            limit: limit_of(self.timeout_seconds),
            network: self.network,
        })
    }
}

/// A script that was verified as a whole.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScriptTool {
    /// The whole text, as it was verified.
    pub text: String,
    /// Its extension, by which the words that run it are found.
    pub extension: String,
    /// Whether it may use the network.
    pub network: bool,
    /// Seconds after which it is stopped; two minutes when not given.
    pub timeout_seconds: Option<u64>,
}

impl ScriptTool {
    /// A script without the network.
    #[must_use]
    pub fn new(text: &str, extension: &str) -> Self {
        let (text, extension) = (text.to_owned(), extension.to_owned());
        Self { text, extension, network: false, timeout_seconds: None }
    }

    /// The tool that runs it: a call's arguments are one JSON object on standard input, standard output is the result.
    ///
    /// What runs is `text`, which the interpreter reads from a file that is written for this call: whoever changes the
    /// script's own file after it was verified changes nothing. `None` when no configuration says what runs it.
    ///
    /// `bash` runs a script whose `#!` line names it, where the configuration says `sh`.
    #[must_use]
    pub fn tool(self, processes: &Arc<Processes>) -> Option<Arc<dyn Tool>> {
        let mut words = processes.runtime(&self.extension)?.to_vec();
        if words == ["sh"] && self.names_bash() {
            words = vec!["bash".to_owned()];
        }
        Some(Arc::new(Scripted { processes: Arc::clone(processes), words, script: self }))
    }

    /// Returns `true` if the script begins with `#!` and `bash`, such as `#!/usr/bin/env bash`.
    fn names_bash(&self) -> bool {
        let line = self.text.lines().next().and_then(|line| line.strip_prefix("#!"));
        let programs = line.into_iter().flat_map(str::split_whitespace);
        programs.take(2).any(|word| word == "bash" || word.ends_with("/bash"))
    }
}

struct Command {
    processes: Arc<Processes>,
    command: CommandTool,
}

#[async_trait]
impl Tool for Command {
    async fn call(&self, permit: &Permit, arguments: Value) -> ToolOutput {
        self.watched(permit, arguments, &()).await
    }

    async fn watched(&self, _: &Permit, arguments: Value, told: &dyn OutputSink) -> ToolOutput {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        match self.command.job(&arguments) {
            Ok(job) => run(&self.processes, job, told).await,
            Err(error) => ToolOutput::error(json!({ "error": error.to_string() })),
        }
    }
}

struct Scripted {
    processes: Arc<Processes>,
    words: Vec<String>,
    script: ScriptTool,
}

#[async_trait]
impl Tool for Scripted {
    async fn call(&self, permit: &Permit, arguments: Value) -> ToolOutput {
        self.watched(permit, arguments, &()).await
    }

    async fn watched(&self, _: &Permit, arguments: Value, told: &dyn OutputSink) -> ToolOutput {
        let ScriptTool { text, extension, network, timeout_seconds } = self.script.clone();
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let job = Job {
            words: self.words.iter().map(OsString::from).collect(),
            script: Some(Script { text, extension }),
            cwd: PathBuf::new(),
            environment: BTreeMap::new(),
            input: Some(as_input(&arguments)),
            limit: limit_of(timeout_seconds),
            network,
        };
        run(&self.processes, job, told).await
    }
}

fn as_input(arguments: &Map<String, Value>) -> Vec<u8> {
    let mut line = Value::from(arguments.clone()).to_string().into_bytes();
    line.push(b'\n');
    line
}

async fn run(processes: &Processes, job: Job, told: &dyn OutputSink) -> ToolOutput {
    let limit: Duration = job.limit;
    match processes.run(job, told).await {
        Ok(ended) if ended.code == 0 && !ended.is_late => ToolOutput::ok(result(&ended)),
        Ok(ended) => ToolOutput::error(failure(&ended, limit)),
        Err(error) => error.into_output(),
    }
}

/// Standard output: an object when it is one and came whole, else text.
fn result(ended: &Ended) -> Value {
    let text = ended.output.text();
    let result = match serde_json::from_str::<Map<String, Value>>(&text) {
        Ok(object) if ended.output.omitted() == 0 => foreign(object.into()),
        _ => text.into(),
    };
    with_account(result, &ended.account)
}
