//! `rye run ID`.

use std::sync::Arc;

use async_trait::async_trait;
use clap::Args;
use rye::providers::{ApiKey, ApiKeyError, ConnectError};
use rye::thread::{
    ApprovalReason, ApprovalRequest, Approver, Cancel, Decider, Decision, FailureKind, Outcome,
    ThreadId, pending_approval,
};
use rye::types::{ReturnStyle, SpendLimit, ThreadState};
use rye::{
    Host, NamedProvider, PrepareError, ProviderChoice, RunError, RunReport, RunRequest, Rye,
    Secrets, decision_commands, record_failure,
};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::approval::{in_short, question_of, text_to_sign};
use crate::clock::SystemClock;
use crate::confirm;
use crate::directive::{id_of, is_there, resolve_directive};
#[cfg(feature = "engine")]
use crate::engine::{EngineOption, refuse_option};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{Given, bound};
use crate::key_store::signing_key_if_any;
use crate::output::{self, Answer};
use crate::signals;
use crate::stream::{self, RunReporter, Telling};
#[cfg(feature = "otel")]
use crate::telemetry::with_export;
use crate::thread_argument::threads_folder;

/// Run a directive to its end and print its outputs
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 3 when the run fails because trust or permission stood against it, with 4 when a call waits for \
                        approval and there is no terminal to ask on, and with 5 when a limit or the budget ended it. Ctrl-C stops the \
                        thread so that `rye resume` goes on with it.\n\n\
                        With `--json`, each line is an object while it happens: `stream_start`, then the records of the \
                        transcript as they are written, and `result` or `error` last. `rye schema run_stream` describes \
                        them. With `--quiet` or `--engine` as well, the result alone is printed.\n\n\
                        Examples:\n  rye run notes/index --input folder=notes --provider steps\n  \
                        rye run notes/index --model claude-haiku-4-5 --turns 5 --json\n  \
                        rye run notes/index --provider steps --json --quiet"
)]
pub(crate) struct Arguments {
    /// The directive: its id, such as `notes/index`, or its file in one of the spaces
    directive: String,
    #[command(flatten)]
    given: Given,
    /// The provider: the name of its configuration, or `steps` for no model at all
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    provider: Option<String>,
    /// A model of that provider, instead of the one that the directive asks for
    #[arg(long, value_name = "ID", help_heading = "Model")]
    model: Option<String>,
    /// The form of the request for outputs [possible values: call, block, tool]
    #[arg(long, value_name = "STYLE", help_heading = "Model")]
    #[cfg_attr(feature = "engine", arg(conflicts_with = "engine"))]
    returns: Option<ReturnStyle>,
    /// At most this many requests to the model
    #[arg(long, value_name = "N", value_parser = turns, help_heading = "Limits")]
    turns: Option<u64>,
    /// At most this many tokens
    #[arg(long, value_name = "N", help_heading = "Limits")]
    tokens: Option<u64>,
    /// At most this many US dollars, such as `0.25`, or `unlimited`
    #[arg(long, value_name = "USD", help_heading = "Limits")]
    spend: Option<SpendLimit>,
    /// At most this many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Limits")]
    duration: Option<u64>,
    /// At most this many threads that the thread starts
    #[arg(long, value_name = "N", help_heading = "Limits")]
    spawns: Option<u64>,
    /// At most this many levels of threads below the thread
    #[arg(long, value_name = "N", help_heading = "Limits")]
    depth: Option<u64>,
    /// Accept only signatures that bind kind and id over the whole file, and no directive that grants more than what it extends
    #[arg(long, help_heading = "Trust")]
    #[cfg_attr(feature = "engine", arg(conflicts_with = "engine"))]
    strict: bool,
    /// Refuse the directive, and each that its thread starts, unless it is as `.ai/rye.lock` has it
    #[arg(long, help_heading = "Trust")]
    #[cfg_attr(feature = "engine", arg(conflicts_with = "engine"))]
    locked: bool,
    /// Sign the directive first, with your key, after what it adds was shown; `rye sign` says what is refused
    #[arg(long, help_heading = "Trust")]
    sign: bool,
    #[cfg(feature = "engine")]
    #[command(flatten)]
    engine: EngineOption,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

/// Parses a limit of turns. With none, a thread ends before it does anything.
pub(super) fn turns(text: &str) -> Result<u64, String> {
    let turns = text.parse().map_err(|error: std::num::ParseIntError| error.to_string())?;
    if turns == 0 { Err("at least 1 is needed".to_owned()) } else { Ok(turns) }
}

impl Arguments {
    /// Returns `true` if `--json` prints an object per line while the command runs.
    pub(crate) fn tells_as_it_happens(&self) -> bool {
        #[cfg(feature = "engine")]
        if self.engine.is_given() {
            return false;
        }
        !self.telling.quiet
    }
}

pub(crate) fn run(arguments: Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let project = environment.project()?;
    #[cfg(feature = "engine")]
    let engine = arguments.engine.open(environment)?;
    #[cfg(feature = "engine")]
    if engine.is_some() && arguments.telling.deltas {
        return Err(refuse_option("--deltas"));
    }
    if arguments.sign {
        super::sign::sign_for_run(&arguments.directive, environment)?;
    }
    let prompt = Prompt::new(environment, arguments.telling.quiet);
    let named = arguments.directive.clone();
    let (is_strict, is_locked) = (arguments.strict, arguments.locked);
    let (request, telling) = request(arguments, environment)?;
    #[cfg(feature = "engine")]
    if let Some(engine) = engine {
        resolve_directive(&named, &*environment.rye()?, environment)?;
        return engine.run(&request, telling.quiet, environment);
    }
    let watch = telling.begin(&request.thread, environment);
    let (signing_key, opened) = match signing_key_if_any(environment) {
        Ok(key) => (key.map(Arc::new), environment.rye_as(is_strict, is_locked)),
        Err(failure) => (None, Err(failure)),
    };
    let cancel = Cancel::new();
    let clock = SystemClock::new();
    let host = Host {
        clock: &clock,
        secrets: &Variables,
        observer: &watch,
        approver: &prompt,
        cancel: &cancel,
        random: Arc::new(random),
        signing_key,
    };
    let rye = opened.map_err(|failure| {
        if !is_there(&request.directive, environment) {
            return failure;
        }
        let recorded = record_failure(project, &request, &host, &failure.to_string());
        failure.of_thread(&request.thread, recorded)
    })?;
    // A file must be the one that its id refers to.
    resolve_directive(&named, &rye, environment)?;
    let report = with_signals(&cancel, rye.run(request, host))?;
    let report = report.map_err(|error| with_other_providers(error, &rye))?;
    Ok(tell(&report, &watch, environment))
}

/// Adds the other providers with a key to the error of a missing key.
fn with_other_providers(error: RunError, rye: &Rye) -> Failure {
    let lacks_key = match &error {
        RunError::Prepare { source, .. } => matches!(
            source.as_ref(),
            PrepareError::Connect { source, .. } if matches!(**source, ConnectError::MissingKey { .. })
        ),
        _ => false,
    };
    let failure = Failure::from(error);
    if !lacks_key {
        return failure;
    }
    let ready = |(name, facts): NamedProvider| {
        let variable = facts.ok()?.key_variable?;
        Environment::variable(&variable)
            .map(|_| format!("`--provider {name}`, as `{variable}` is set"))
    };
    let ready = rye.providers().ok().and_then(|all| all.into_iter().find_map(ready));
    failure.or(&ready.unwrap_or_else(|| "`--provider steps`, which needs no model".to_owned()))
}

/// Runs to the end, or until a signal stops the thread.
///
/// One system thread runs everything, because all threads of a tree are driven in one future. A change of the system thread would
/// cost more than a turn. Signals have a thread of their own, so that a second one ends the program whatever the first thread does.
pub(super) fn with_signals<T>(cancel: &Cancel, run: impl Future<Output = T>) -> Result<T, Failure> {
    let signals = runtime()?;
    let watched = cancel.clone();
    let watch = move || signals.block_on(signals::interrupt(watched));
    let started = std::thread::Builder::new().name("rye-signals".to_owned()).spawn(watch);
    started.map_err(|error| cannot_start(&error))?;
    // The telemetry of the run is complete once its runtime is dropped.
    let run = || Ok(runtime()?.block_on(run));
    output::interrupting(cancel, || with_export(run))
}

/// Returns a runtime that runs everything on the calling thread.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(|error| cannot_start(&error))
}

/// Returns a runtime with a thread for each core.
pub(crate) fn multi_thread_runtime() -> Result<Runtime, Failure> {
    Runtime::new().map_err(|error| cannot_start(&error))
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot start: {error}"))
}

/// Exports nothing without the feature `otel`.
#[cfg(not(feature = "otel"))]
fn with_export<T>(work: impl FnOnce() -> T) -> T {
    work()
}

fn request(
    arguments: Arguments,
    environment: &Environment,
) -> Result<(RunRequest, Telling), Failure> {
    let id = id_of(&arguments.directive, environment)?;
    let thread = ThreadId::new(id.as_str(), &uuid::Uuid::now_v7().to_string());
    let thread = thread.map_err(|error| Failure::of(&error, Exit::Usage))?;
    let mut request = RunRequest::new(id, thread);
    request.inputs = bound(&arguments.given)?;
    request.provider = match arguments.provider {
        None => ProviderChoice::Directive,
        Some(name) => ProviderChoice::from_name(&name),
    };
    request.model = arguments.model;
    request.returns = arguments.returns;
    request.limits.turns = arguments.turns;
    request.limits.tokens = arguments.tokens;
    request.limits.spend = arguments.spend;
    request.limits.duration_seconds = arguments.duration;
    (request.limits.spawns, request.limits.depth) = (arguments.spawns, arguments.depth);
    Ok((request, arguments.telling))
}

/// The API keys of providers, from the variables in their configurations.
pub(super) struct Variables;

impl Secrets for Variables {
    fn api_key(&self, name: &str) -> Option<ApiKey> {
        let key = Environment::variable(name)?.parse();
        if let Err(error @ ApiKeyError::NotAscii) = &key {
            output::warnings(&[format!("`{name}` is set to something that is no key: {error}")]);
        }
        key.ok()
    }
}

/// The answers to the question about a call, of which the first two need a tool that may be approved for the thread.
const ANSWERS: [&str; 6] = ["a", "always", "y", "yes", "n", "no"];

/// An approver that asks on the terminal, if there is one and output is shown.
pub(super) struct Prompt {
    is_shown: bool,
}

impl Prompt {
    pub(super) fn new(environment: &Environment, is_quiet: bool) -> Self {
        Self { is_shown: confirm::is_possible() && !is_quiet && !environment.json() }
    }
}

#[async_trait]
impl Approver for Prompt {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(Decision, Decider)> {
        if !self.is_shown {
            return None;
        }
        let arguments = output::visible(&format!("{:#}", in_short(request)));
        if let Some(text) = text_to_sign(request) {
            eprint!("{text}\n");
        }
        let question = match request.reason {
            ApprovalReason::Escalated => "Approve?",
            _ => "Run it?",
        };
        let may_always = !request.covers.is_empty();
        let always = if may_always { " [a]lways in this thread," } else { "" };
        eprint!("`{}` with {arguments}\n{}\n", output::line(&request.item_id), request.why());
        let question = format!("{question} [y]es,{always} [n]o, anything else: later: ");
        let (answer, answered) = tokio::sync::oneshot::channel();
        // A separate thread, because reading from a terminal blocks. It ends if the call is decided elsewhere.
        std::thread::spawn(move || {
            let words = if may_always { &ANSWERS[..] } else { &ANSWERS[2..] };
            let answered = confirm::answer(&question, words, || !answer.is_closed());
            drop(answer.send(answered));
        });
        let decision = match answered.await.ok()?.ok()??.as_str() {
            "y" | "yes" => Decision::Approved,
            "a" | "always" if may_always => Decision::ApprovedInThread,
            "n" | "no" => Decision::DENIED,
            _ => return None,
        };
        Some((decision, Decider::prompt()))
    }
}

pub(super) fn random() -> u64 {
    let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
    high ^ low
}

pub(super) fn tell(report: &RunReport, watch: &RunReporter, environment: &Environment) -> Exit {
    watch.warn(&report.warnings);
    if environment.streams() {
        stream::result(&report.to_json());
    } else if environment.json() {
        Answer::one("threads", report.to_json())
            .with("state", report.state())
            .fine_if(exit(report) == Exit::Fine)
            .print();
    } else {
        match &report.called {
            Some(_) => tell_call(report),
            None => tell_result(&report.outcome, watch),
        }
    }
    // If the output was lost, the state of the thread is reported on standard error.
    if output::is_lost() || !environment.json() {
        tell_end(report, environment);
    }
    if output::is_lost() { Exit::Failed } else { exit(report) }
}

/// Prints the result of the tool of `rye call`, and its standard error on standard error. A failure is reported at the end.
fn tell_call(report: &RunReport) {
    let called = report.called.as_ref().filter(|called| !called.is_error);
    match called.map(|called| &called.content) {
        Some(Value::String(text)) => print!("{text}\n"),
        Some(content) => print!("{content:#}\n"),
        None => {}
    }
    if let Some(text) = called.and_then(|called| called.standard_error.as_deref()) {
        eprint!("{}\n", output::visible(text.trim_end()));
    }
}

/// Prints the outputs, or the last text unless the same terminal already shows it.
fn tell_result(outcome: &Outcome, watch: &RunReporter) {
    let is_shown = output::is_terminal() && watch.shows(&outcome.text);
    match &outcome.outputs {
        Some(outputs) => {
            outputs.iter().for_each(|(name, value)| print!("{name}: {}\n", output::text(value)))
        }
        None if outcome.state == ThreadState::Completed
            && !outcome.text.is_empty()
            && !is_shown =>
        {
            print!("{}\n", outcome.text)
        }
        None => {}
    }
}

fn tell_end(report: &RunReport, environment: &Environment) {
    let outcome = &report.outcome;
    for thread in &report.continues {
        eprintln!("thread {thread} nearly filled the model's context window and was continued");
    }
    if !report.self_starting.is_empty() {
        let files: Vec<String> =
            report.self_starting.iter().map(|file| output::line(file)).collect();
        eprintln!(
            "changed, and started by itself when its folder is opened; read it first: {}",
            files.join(", ")
        );
    }
    if let Some(failure) = &outcome.failure {
        eprint!("error: {}\n", output::hanging(&output::visible(&failure.to_string()), 2));
    }
    if let Some(advice) = report.advice() {
        eprintln!("{advice}");
    }
    eprintln!(
        "thread {} {} ({}, {})",
        report.thread,
        report.state(),
        output::turns(outcome.turns),
        outcome.cost
    );
    [next(report, environment), above(report)]
        .iter()
        .flatten()
        .for_each(|line| eprintln!("{line}"));
}

/// Returns the next command for a thread that has not ended.
fn next(report: &RunReport, environment: &Environment) -> Option<String> {
    let thread = &report.thread;
    match (report.outcome.state, &report.outcome.asked) {
        (ThreadState::Suspended, Some(request)) => Some(format!(
            "waits for approval: {}; {}decide with {}, then `rye resume {thread}`",
            question_of(request),
            look_at_text(request),
            commands(request, environment),
        )),
        (ThreadState::Running, _) => Some(format!("stopped; go on with `rye resume {thread}`")),
        _ => report.resume.as_ref().map(|command| format!("go on with `{command}`")),
    }
}

/// Returns the commands that decide about the call. A child may be waiting.
fn commands(request: &ApprovalRequest, environment: &Environment) -> String {
    let thread = &request.thread;
    let asked = || {
        let reading =
            environment.rye().ok()?.thread(&threads_folder(environment).ok()?, thread).ok()?;
        pending_approval(&reading.transcript).filter(|asked| asked.request.sha256 == request.sha256)
    };
    match asked() {
        Some(asked) => decision_commands(&asked),
        // Another process may have decided by now.
        None => format!("`rye approve {thread}` or `rye deny {thread}`"),
    }
}

/// Returns the command that shows the text to sign.
fn look_at_text(request: &ApprovalRequest) -> String {
    let look = || format!("`rye threads show {}` shows the text; ", request.thread);
    text_to_sign(request).map_or_else(String::new, |_| look())
}

/// Returns the consequence for the parent of a thread that was resumed alone.
fn above(report: &RunReport) -> Option<String> {
    let parent = report.parent.as_ref()?;
    let thread = &parent.thread;
    let has_ended = report.outcome.state.is_final();
    Some(match (has_ended, parent.state.is_final()) {
        (true, false) => format!(
            "thread {thread}, which started it, takes its result when it goes on: `rye resume {thread}`"
        ),
        (false, false) => format!("thread {thread}, which started it, waits for it"),
        (_, true) => format!("thread {thread}, which started it, has ended without its result"),
    })
}

fn exit(report: &RunReport) -> Exit {
    match report.outcome.failure.as_ref().map(|failure| &failure.kind) {
        None if report.outcome.state == ThreadState::Completed => Exit::Fine,
        None if report.outcome.state == ThreadState::Suspended => Exit::Suspended,
        None if report.outcome.state == ThreadState::Running => {
            signals::exit().unwrap_or(Exit::Failed)
        }
        Some(FailureKind::Refused) => Exit::Refused,
        Some(FailureKind::Limit(_)) => Exit::Limit,
        _ => Exit::Failed,
    }
}
