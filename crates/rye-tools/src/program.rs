//! Tools that are programs: a command line in a manifest, or a script that is its own manifest (SPEC 5.1,
//! 5.2).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rye_sandbox::{
    Exit, Job, Processes, Script, Template, TemplateError, command_line, limit_of, script_line,
};
use rye_thread::{AuthorisedCall, OutputSink, Tool, ToolOutput};
use serde_json::{Map, Value, json};

use crate::program_result::{QUOTED, failure, forward, start_failure, with_account};
use crate::self_starting::{collection, foreign};

/// A program, with templates for its arguments.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CommandTool {
    /// The program, by its path or by its name in `PATH`.
    pub program: String,
    /// The templates of its arguments.
    pub arguments: Vec<Template>,
    /// The working directory, relative to the project. Empty for the project itself.
    pub folder: String,
    /// Environment variables.
    pub environment: BTreeMap<String, Template>,
    /// The names of the arguments that a call may have.
    pub parameters: Vec<String>,
    /// `true` if the program may use the network.
    pub network: bool,
    /// The timeout in seconds. The default is 120.
    pub timeout_seconds: Option<u64>,
}

impl CommandTool {
    /// Creates a tool for a program without arguments, in the project's folder and without the network.
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

    /// Returns the tool that starts the program.
    ///
    /// If some argument of a call has no place in the command line or the environment, the program gets all
    /// arguments on standard input, as one JSON object. If all of them have a place, standard input is empty.
    /// The result is the standard output.
    #[must_use]
    pub fn tool(self, processes: &Arc<Processes>) -> Arc<dyn Tool> {
        Arc::new(Command { processes: Arc::clone(processes), command: self })
    }

    /// Returns `true` if an argument has no other way to the program than standard input.
    fn reads_arguments(&self) -> bool {
        !are_placed(&self.parameters, self.arguments.iter().chain(self.environment.values()))
    }

    fn job(&self, arguments: &Map<String, Value>) -> Result<Job, TemplateError> {
        let line = command_line(&self.arguments, arguments)?;
        let program = OsString::from(&self.program);
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| Ok((name.clone(), value.text(arguments)?)))
            .collect::<Result<_, TemplateError>>()?;
        let words = std::iter::once(program).chain(line.into_iter().map(OsString::from));
        let mut job = Job::new(words.collect());
        job.cwd = PathBuf::from(&self.folder);
        job.environment = environment;
        job.input = self.reads_arguments().then(|| as_input(arguments));
        job.limit = limit_of(self.timeout_seconds);
        job.network = self.network;
        Ok(job)
    }
}

/// A script that was verified as a whole.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScriptTool {
    /// The whole verified text.
    pub text: String,
    /// The file extension, which selects the interpreter.
    pub extension: String,
    /// The templates of the script's arguments.
    pub arguments: Vec<Template>,
    /// The names of the arguments that a call may have.
    pub parameters: Vec<String>,
    /// `true` if the script may use the network.
    pub network: bool,
    /// The timeout in seconds. The default is 120.
    pub timeout_seconds: Option<u64>,
}

impl ScriptTool {
    /// Creates a tool for a script without the network.
    #[must_use]
    pub fn new(text: &str, extension: &str) -> Self {
        let text = text.to_owned();
        let extension = extension.to_owned();
        Self {
            text,
            extension,
            arguments: Vec::new(),
            parameters: Vec::new(),
            network: false,
            timeout_seconds: None,
        }
    }

    /// Returns the tool that runs the script, or `None` if no interpreter is configured for its extension.
    ///
    /// The arguments of a call are one JSON object on standard input, which is empty if all of them have a place in `arguments`. The
    /// result is the standard output.
    ///
    /// The interpreter reads `text` from a file that is written for the call. A change of the script's own
    /// file after the verification has no effect.
    ///
    /// If the configured interpreter is `sh` and the `#!` line of the script names `bash`, `bash` runs it.
    #[must_use]
    pub fn tool(self, processes: &Arc<Processes>) -> Option<Arc<dyn Tool>> {
        let mut words = processes.runtime(&self.extension)?.to_vec();
        if words == ["sh"] && self.names_bash() {
            words = vec!["bash".to_owned()];
        }
        Some(Arc::new(Scripted { processes: Arc::clone(processes), words, script: self }))
    }

    fn job(&self, words: &[String], arguments: &Map<String, Value>) -> Result<Job, TemplateError> {
        let mut script = Script::new(self.text.clone(), self.extension.clone());
        let line = script_line(&self.arguments, arguments)?;
        script.arguments = line.into_iter().map(OsString::from).collect();
        let mut job = Job::new(words.iter().map(OsString::from).collect());
        job.script = Some(script);
        let has_places = self.arguments.iter().any(|template| template.names().next().is_some());
        let reads = !has_places || !are_placed(&self.parameters, self.arguments.iter());
        job.input = reads.then(|| as_input(arguments));
        job.limit = limit_of(self.timeout_seconds);
        job.network = self.network;
        Ok(job)
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
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        self.call_with_sink(call, &()).await
    }

    async fn call_with_sink(&self, call: AuthorisedCall, told: &dyn OutputSink) -> ToolOutput {
        let arguments = call.into_arguments();
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
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        self.call_with_sink(call, &()).await
    }

    async fn call_with_sink(&self, call: AuthorisedCall, told: &dyn OutputSink) -> ToolOutput {
        let arguments = call.into_arguments();
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        match self.script.job(&self.words, &arguments) {
            Ok(job) => run(&self.processes, job, told).await,
            Err(error) => ToolOutput::error(json!({ "error": error.to_string() })),
        }
    }
}

/// Returns `true` if each argument that a call may have has a place in a template.
fn are_placed<'t>(parameters: &[String], templates: impl Iterator<Item = &'t Template>) -> bool {
    let places: Vec<&str> = templates.flat_map(Template::names).collect();
    parameters.iter().all(|name| places.contains(&name.as_str()))
}

fn as_input(arguments: &Map<String, Value>) -> Vec<u8> {
    let mut line = Value::from(arguments.clone()).to_string().into_bytes();
    line.push(b'\n');
    line
}

async fn run(processes: &Processes, job: Job, told: &dyn OutputSink) -> ToolOutput {
    let limit: Duration = job.limit;
    match processes.run(job, &forward(told)).await {
        Ok(ended) if ended.code == 0 && !ended.is_late => {
            ToolOutput::ok(result(&ended)).with_standard_error(ended.error.end(QUOTED))
        }
        Ok(ended) => ToolOutput::error(failure(&ended, limit)),
        Err(error) => start_failure(&error),
    }
}

/// Returns the standard output: the object or list that it holds, if it is complete JSON, or else the text.
fn result(ended: &Exit) -> Value {
    let text = ended.output.text();
    let result = match collection(&text) {
        Some(value) if ended.output.omitted_bytes() == 0 => foreign(value),
        _ => text.into(),
    };
    with_account(result, &ended.account)
}
