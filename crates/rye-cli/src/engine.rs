//! Threads on a durable engine: the requests of the operator, and the records that the engine keeps.
//!
//! Each request is signed with the operator's key, because a tool may reach the engine, too. A worker with the same key
//! drives the threads (`docs/scale.md`).

mod list;
mod transcripts;

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use reqwest::{Url, blocking, redirect};
use rustls_platform_verifier::BuilderVerifierExt as _;
use rye::sign::{Digest, sign_json};
use rye::thread::{Decision, DenialReason, ThreadId};
use rye::{Bundle, EngineAddress, PrepareError, ProviderChoice, RunRequest};
use serde_json::{Value, json};

pub(crate) use self::transcripts::Mirror;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::signing_key;
use crate::output::{self, Answer};
use crate::stream::Telling;

/// The option that names an engine.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineOption {
    /// A durable engine that drives threads in place of this machine: its address, or its name in `config/agent/engines.yaml`
    #[arg(long, value_name = "ENGINE", help_heading = "Engine")]
    engine: Option<String>,
}

impl EngineOption {
    /// Returns the engine, or `None` for a thread of this machine.
    pub(crate) fn open(&self, environment: &Environment) -> Result<Option<Engine>, Failure> {
        self.engine.as_ref().map(|engine| Engine::open(engine, environment)).transpose()
    }
}

/// An engine, by the address of its ingress.
pub(crate) struct Engine {
    address: Url,
    token: Option<String>,
    client: blocking::Client,
}

impl Engine {
    /// Opens the engine with this address or name. Its bearer token is in the variable that the configuration names, if that is set.
    pub(crate) fn open(engine: &str, environment: &Environment) -> Result<Self, Failure> {
        let named = match engine.contains("://") {
            true => None,
            false => Some(find_engine(engine, environment)?),
        };
        let url = named.as_ref().map_or(engine, |named| &named.url);
        let address: Url = url.parse().map_err(|error| {
            Failure::usage(format!("`{url}` is no address of an engine: {error}"))
        })?;
        let variable = named.as_ref().map_or("RYE_ENGINE_TOKEN", |named| &named.token_variable);
        let is_local = matches!(address.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if address.scheme() != "https" && !is_local {
            return Err(Failure::usage(format!(
                "`{address}` is another machine, so that the address of the engine has to begin with `https:`"
            )));
        }
        let failed = |error: &dyn std::error::Error| Failure::of(error, Exit::Failed);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_platform_verifier())
            .map_err(|error| failed(&error))?;
        let client = blocking::Client::builder()
            .tls_backend_preconfigured(tls.with_no_client_auth())
            // A redirect would send the token elsewhere.
            .redirect(redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| failed(&error))?;
        Ok(Self { address, token: Environment::variable(variable), client })
    }

    fn call(&self, thread: &ThreadId, handler: &str, body: &Value) -> Result<Value, Failure> {
        self.ask(&format!("RyeThread/{thread}/{handler}"), body)
    }

    fn ask(&self, place: &str, body: &Value) -> Result<Value, Failure> {
        let address = self.address.join(place).map_err(|error| Failure::of(&error, Exit::Usage))?;
        let mut request = self.client.post(address);
        if !body.is_null() {
            request = request.json(body);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().map_err(|error| {
            let error = error.without_url();
            Failure::failed(format!("the engine at `{}` does not answer: {error}", self.address))
        })?;
        let status = answer.status();
        let mut text = String::new();
        answer.take(LONGEST_ANSWER).read_to_string(&mut text).map_err(|error| {
            Failure::failed(format!("the engine's answer cannot be read: {error}"))
        })?;
        if !status.is_success() {
            return Err(refusal(status.as_u16(), &text));
        }
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|error| {
            Failure::failed(format!("the engine's answer is not understood: {error}"))
        })
    }

    /// Sends a request with the operator's signature.
    fn send(
        &self,
        thread: &ThreadId,
        handler: &str,
        request: &Value,
        environment: &Environment,
    ) -> Result<(), Failure> {
        let key = signing_key(environment)?;
        let signed = sign_json(request, &key, Environment::now());
        let signed = signed.map_err(|error| Failure::of(&error, Exit::Failed))?;
        self.call(thread, handler, &signed).map(drop)
    }

    /// Returns where the thread stands.
    fn standing(&self, thread: &ThreadId) -> Result<Value, Failure> {
        let standing = self.call(thread, "standing", &Value::Null)?;
        if standing["start"].is_null() {
            return Err(Failure::failed(format!("the engine has no thread `{thread}`")));
        }
        Ok(standing)
    }

    /// Returns the end of the last run of the thread; `None` while a worker drives it.
    fn end(&self, thread: &ThreadId) -> Result<Option<Value>, Failure> {
        Ok(Some(self.standing(thread)?["end"].take()).filter(|end| !end.is_null()))
    }

    /// Starts a thread and waits until it ends, or a call waits for a decision.
    pub(crate) fn run(
        &self,
        request: &RunRequest,
        telling: &Telling,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let deltas = telling.deltas.then_some("--deltas");
        if let Some(option) = deltas.or(environment.option_of_this_machine()) {
            return Err(Failure::usage(format!(
                "`{option}` does nothing to a thread of an engine; its workers have options of their own"
            )));
        }
        let mut start = start(request);
        let bundle = Bundle::of_project(environment.project()?);
        let bundle = bundle.map_err(|error| Failure::of(&error, Exit::Failed))?;
        start["project"] = bundle.digest().to_string().into();
        self.send(&request.thread, "start", &start, environment)?;
        if !telling.quiet {
            eprintln!("thread {} on `{}`", request.thread, self.address);
        }
        self.wait(&request.thread, telling, environment)
    }

    /// Waits until the thread ends, or a call waits for a decision. Each new refusal of a worker is told.
    fn wait(
        &self,
        thread: &ThreadId,
        telling: &Telling,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let mut told = Value::Null;
        loop {
            let standing = self.standing(thread)?;
            if !standing["end"].is_null() {
                return Ok(tell(thread, &standing["end"], environment));
            }
            let refused = &standing["refused"];
            if let Some(why) = refused.as_str().filter(|_| *refused != told && !telling.quiet) {
                eprintln!("no worker goes on yet: {}", output::line(why));
            }
            told = refused.clone();
            #[expect(clippy::disallowed_methods, reason = "this command runs no tasks")]
            std::thread::sleep(PAUSE);
        }
    }

    /// Decides about the call that the thread, or one below it, waits with.
    pub(crate) fn decide(
        &self,
        thread: &ThreadId,
        decision: &Decision,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let end = self.end(thread)?.unwrap_or_default();
        let asked = &end["asked"];
        if asked.is_null() {
            return Err(Failure::failed(format!(
                "no call of thread `{thread}` waits for a decision"
            )));
        }
        let purpose = if decision.is_approval() { "rye-engine-approve" } else { "rye-engine-deny" };
        let mut order = json!({"purpose": purpose, "tree": thread.as_str()});
        (order["thread"], order["seq"]) = (asked["thread"].clone(), asked["seq"].clone());
        // The worker compares the call with what is shown here, which comes from the engine.
        order["item"] = asked["item"].clone();
        order["sha256"] = Digest::of(asked["arguments"].to_string().as_bytes()).to_string().into();
        if let Some(reason) = decision.reason() {
            order["reason"] = DenialReason::as_str(reason).into();
        }
        self.send(thread, "order", &order, environment)?;
        let item = asked["item"].as_str().unwrap_or_default();
        let arguments = output::text(&asked["arguments"]);
        println!("{}: `{}` with {arguments}", decision.as_str(), output::line(item));
        Ok(Exit::Fine)
    }

    /// Ends the thread and all below it.
    pub(crate) fn cancel(
        &self,
        thread: &ThreadId,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let order = json!({"purpose": "rye-engine-cancel", "tree": thread.as_str()});
        self.send(thread, "order", &order, environment)?;
        eprintln!("thread {thread} cancelled");
        Ok(Exit::Fine)
    }
}

/// Returns the request to start a thread, as a worker reads it.
fn start(request: &RunRequest) -> Value {
    let limits = &request.limits;
    json!({
        "purpose": "rye-engine-start",
        "thread": request.thread.as_str(),
        "directive": request.directive.as_str(),
        "inputs": request.inputs,
        "provider": match &request.provider {
            ProviderChoice::Named(name) => Some(name.as_str()),
            ProviderChoice::Steps => Some("steps"),
            _ => None,
        },
        "model": request.model,
        "limits": {
            "turns": limits.turns,
            "tokens": limits.tokens,
            "spend": limits.spend.map(|spend| spend.to_string()),
            "duration_seconds": limits.duration_seconds,
            "spawns": limits.spawns,
            "depth": limits.depth,
        },
    })
}

/// Prints how the thread stands, and returns the exit code of `rye run`.
fn tell(thread: &ThreadId, end: &Value, environment: &Environment) -> Exit {
    let state = end["state"].as_str().unwrap_or_default();
    let exit = match (state, end["class"].as_str()) {
        ("completed", _) => Exit::Fine,
        ("suspended", _) => Exit::Suspended,
        (_, Some("limit")) => Exit::Limit,
        (_, Some("refused")) => Exit::Refused,
        _ => Exit::Failed,
    };
    if environment.json() {
        let mut row = end.clone();
        row["thread"] = thread.as_str().into();
        Answer::one("threads", row).with("state", state).fine_if(exit == Exit::Fine).print();
        return exit;
    }
    match (end["outputs"].as_object(), end["text"].as_str()) {
        (Some(outputs), _) => {
            outputs.iter().for_each(|(name, value)| println!("{name}: {}", output::text(value)));
        }
        (None, Some(text)) if !text.is_empty() => println!("{}", output::for_people(text)),
        _ => {}
    }
    if let Some(failure) = end["failure"].as_str() {
        eprintln!("error: {}", output::line(failure));
    }
    if let Some(item) = end["asked"]["item"].as_str() {
        let arguments = output::text(&end["asked"]["arguments"]);
        eprintln!("waits for approval: `{}` with {arguments}", output::line(item));
    }
    eprintln!("thread {thread} {state}");
    exit
}

fn refusal(status: u16, text: &str) -> Failure {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let message = answer["message"].as_str().unwrap_or(text);
    Failure::failed(format!("the engine answers {status}: {}", output::line(message)))
}

/// Returns the engine of this name in the operator's configuration.
fn find_engine(name: &str, environment: &Environment) -> Result<EngineAddress, Failure> {
    let mut engines = environment.rye()?.engines().map_err(|problems| refuse(&problems))?;
    engines.remove(name).ok_or_else(|| {
        let known = engines.into_keys().collect::<Vec<_>>().join("`, `");
        let known = if known.is_empty() { String::new() } else { format!(", which has `{known}`") };
        Failure::usage(format!(
            "no engine `{name}` in your `config/agent/engines.yaml`{known}; an address begins with `https://`"
        ))
    })
}

fn refuse(problems: &[PrepareError]) -> Failure {
    let problems = problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    Failure::refused(problems.join("; "))
}

/// The most bytes of one answer. What is longer is cut and then not understood.
const LONGEST_ANSWER: u64 = 64 << 20;

/// The time within which the engine answers.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The time between two questions about a thread.
const PAUSE: Duration = Duration::from_millis(100);
