//! The HTTP requests to the ingress of an engine.

use std::cell::Cell;
use std::io::Read as _;
use std::time::Duration;

use reqwest::blocking::{RequestBuilder, Response};
use rye::sign::{Digest, sign_json};
use rye::thread::ThreadId;
use serde_json::Value;

use super::client::{Engine, TIMEOUT};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::signing_key;
use crate::output;

/// The most bytes of one answer. What is longer is cut and then not understood.
const LONGEST_ANSWER: u64 = 64 << 20;

/// The time within which a worker that runs answers an order or a start.
const WORKER_TIMEOUT: Duration = Duration::from_secs(10);

/// The time within which a worker has to accept a request. After that, a copy of it counts nowhere.
const LIFETIME_SECONDS: i64 = 24 * 60 * 60;

/// The most characters of a refusal that are told.
const MOST_CHARS: usize = 1_000;

/// The times after which a request that was not answered is sent again, in milliseconds.
const RETRIES: [u64; 6] = [100, 200, 500, 1_000, 2_000, 4_000];

/// The name of the object that keeps a thread tree.
const THREAD: &str = "RyeThread";

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// There is no connection, so that the request did not arrive. A later one may.
    Unconnected(Failure),
    /// The engine cannot be reached now, or says so. A later request may be answered.
    Unreachable(Failure),
    /// No answer came in time, because no worker runs.
    Late(Failure),
    /// A worker refused, with this sentence, and the engine asks another one later.
    Kept(String),
    /// A handler refused for good, or what it returned counts for nothing.
    Final(Failure),
    /// Another program than a handler answered, such as a proxy that wants a token.
    Elsewhere(Failure),
}

impl NoAnswer {
    /// Returns `true` if a later request may be answered.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Unconnected(_) | Self::Unreachable(_) | Self::Late(_))
    }
}

impl From<Failure> for NoAnswer {
    fn from(failure: Failure) -> Self {
        Self::Final(failure)
    }
}

impl From<NoAnswer> for Failure {
    fn from(error: NoAnswer) -> Self {
        match error {
            NoAnswer::Unconnected(failure)
            | NoAnswer::Unreachable(failure)
            | NoAnswer::Late(failure)
            | NoAnswer::Elsewhere(failure)
            | NoAnswer::Final(failure) => failure,
            NoAnswer::Kept(why) => Failure::failed(format!("the engine answers 421: {why}")),
        }
    }
}

impl Engine {
    /// Returns the name of an object of the workers with this label.
    pub(super) fn object(&self, name: &str) -> String {
        self.label.as_ref().map_or(name.to_owned(), |label| format!("{name}-{label}"))
    }

    /// Calls a handler of a thread's object.
    pub(super) fn call(
        &self,
        thread: &ThreadId,
        handler: &str,
        body: &Value,
    ) -> Result<Value, NoAnswer> {
        self.ask(&format!("{}/{thread}/{handler}", self.object(THREAD)), body)
    }

    /// Calls a handler that changes nothing. An engine that answered before is asked again for some seconds.
    pub(super) fn ask(&self, place: &str, body: &Value) -> Result<Value, NoAnswer> {
        let send = || {
            let mut request = self.client.post(self.place(place)?).timeout(TIMEOUT);
            if !body.is_null() {
                request = request.json(body);
            }
            self.answer(request)
        };
        if self.has_answered.get() { try_again(send) } else { send() }
    }

    fn place(&self, place: &str) -> Result<reqwest::Url, NoAnswer> {
        let place = self.address.join(place);
        place.map_err(|error| NoAnswer::Final(Failure::of(&error, Exit::Usage)))
    }

    fn answer(&self, mut request: RequestBuilder) -> Result<Value, NoAnswer> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().map_err(|error| {
            let error = error.without_url();
            let what = format!("the engine at `{}` does not answer", self.address);
            match error.is_timeout() {
                true => {
                    NoAnswer::Late(Failure::failed(format!("{what} in time; a worker has to run")))
                }
                false if error.is_connect() => {
                    NoAnswer::Unconnected(Failure::failed(format!("{what}: {error}")))
                }
                false => NoAnswer::Unreachable(Failure::failed(format!("{what}: {error}"))),
            }
        })?;
        let answer = self.read(answer);
        self.has_answered.set(self.has_answered.get() || answer.is_ok());
        answer
    }

    fn read(&self, answer: Response) -> Result<Value, NoAnswer> {
        let status = answer.status().as_u16();
        let mut text = String::new();
        answer.take(LONGEST_ANSWER).read_to_string(&mut text).map_err(|error| {
            let message = format!("the engine's answer cannot be read: {error}");
            NoAnswer::Unreachable(Failure::failed(message))
        })?;
        if !(200..300).contains(&status) {
            return Err(self.refusal(status, &text));
        }
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|error| {
            let message = format!("the engine's answer is not understood: {error}");
            NoAnswer::Final(Failure::failed(message))
        })
    }

    /// A worker's refusal of a request is final, but for 421. The server and proxies say 429 and 500 to 504 while they cannot answer.
    fn refusal(&self, status: u16, text: &str) -> NoAnswer {
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        let message = answer["message"].as_str();
        let told: String = message.unwrap_or(text).chars().take(MOST_CHARS).collect();
        let told = output::line(&told);
        let failure = Failure::failed(format!("the engine answers {status}: {told}"));
        match status {
            421 => NoAnswer::Kept(told),
            429 | 500..600 => NoAnswer::Unreachable(failure),
            401 | 403 => {
                let variable = &self.token_variable;
                NoAnswer::Elsewhere(failure.or_else(&format!("its token comes from `{variable}`")))
            }
            _ if message.is_none() => NoAnswer::Elsewhere(failure),
            _ => NoAnswer::Final(failure),
        }
    }

    /// Hands a request over, with the operator's signature. The engine keeps it, also while no worker runs.
    pub(super) fn submit(
        &self,
        thread: &ThreadId,
        handler: &str,
        request: &Value,
        environment: &Environment,
    ) -> Result<Submitted, Failure> {
        let key = signing_key(environment)?;
        let now = Environment::now();
        let mut request = request.clone();
        request["audience"] = self.audience.as_str().into();
        request["expires"] = now.as_unix().saturating_add(LIFETIME_SECONDS).into();
        let signed = sign_json(&request, &key, now);
        let signed = signed.map_err(|error| Failure::of(&error, Exit::Failed))?;
        // With this key, a request that is sent again is the same one.
        let key = Digest::of(signed.to_string().as_bytes()).to_string();
        let send = || {
            let place = self.place(&format!("{}/{thread}/{handler}/send", self.object(THREAD)))?;
            let request = self.client.post(place).header("idempotency-key", &key).json(&signed);
            self.answer(request.timeout(TIMEOUT))
        };
        let may_have_it = Cell::new(false);
        let send = || {
            send().inspect_err(|error| {
                let may = !matches!(error, NoAnswer::Unconnected(_)) && error.may_pass();
                may_have_it.set(may_have_it.get() || may);
            })
        };
        let accepted =
            try_again(send).map_err(|error| match may_have_it.get() && error.may_pass() {
                true => Failure::from(error)
                    .within("the engine may have the request, and carries it out then"),
                false => Failure::from(error),
            })?;
        let invocation = accepted["invocationId"].as_str().filter(|id| is_plain(id));
        let invocation = invocation.ok_or_else(|| {
            Failure::failed("the engine's answer to the request is not understood".to_owned())
        })?;
        Ok(Submitted { invocation: invocation.to_owned() })
    }

    /// Waits some seconds for the answer of a worker. The error is a refusal that every worker repeats.
    pub(super) fn worker_answer(&self, submitted: &Submitted) -> Result<WorkerAnswer, Failure> {
        let place = format!("restate/invocation/{}/attach", submitted.invocation);
        match self.answer(self.client.get(self.place(&place)?).timeout(WORKER_TIMEOUT)) {
            Ok(_) => Ok(WorkerAnswer::Done),
            Err(NoAnswer::Unconnected(failure) | NoAnswer::Unreachable(failure)) => {
                Ok(WorkerAnswer::Missing(failure.to_string()))
            }
            Err(NoAnswer::Elsewhere(failure)) => Ok(WorkerAnswer::Hidden(failure)),
            Err(NoAnswer::Late(_)) => Ok(WorkerAnswer::Missing("no worker answers".to_owned())),
            Err(NoAnswer::Kept(why)) => Ok(WorkerAnswer::Missing(why)),
            Err(NoAnswer::Final(failure)) => Err(failure),
        }
    }

    /// Returns what the engine says of the thread. It is not signed.
    pub(super) fn standing(&self, thread: &ThreadId) -> Result<Value, NoAnswer> {
        let standing = self.call(thread, "standing", &Value::Null)?;
        if standing["directive"].is_null() {
            let message = format!(
                "the engine has no thread `{thread}`; name the root of its tree, and the label of its workers (`--label`)"
            );
            return Err(NoAnswer::Final(Failure::failed(message)));
        }
        Ok(standing)
    }
}

/// The answer of a worker to a request that the engine keeps.
#[derive(Debug)]
pub(super) enum WorkerAnswer {
    /// It did what was asked for.
    Done,
    /// There is none yet, for this reason. A worker that refused is one, because another worker is asked later.
    Missing(String),
    /// It cannot be asked for, because another program answers.
    Hidden(Failure),
}

impl WorkerAnswer {
    /// Returns `true` if the request was carried out, and tells otherwise that the engine keeps it.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Done => return true,
            Self::Missing(why) => eprintln!("no worker carries it out yet: {why}"),
            Self::Hidden(failure) => eprintln!("{failure}"),
        }
        eprintln!("the engine has the order, and a worker can carry it out within a day");
        false
    }
}

/// A request that the engine has accepted.
#[derive(Debug)]
pub(super) struct Submitted {
    invocation: String,
}

/// An id is a part of an address.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Sends a request again while the engine cannot be reached, for some seconds.
fn try_again(send: impl Fn() -> Result<Value, NoAnswer>) -> Result<Value, NoAnswer> {
    for pause in RETRIES {
        match send() {
            Err(NoAnswer::Unconnected(_) | NoAnswer::Unreachable(_)) => {
                sleep(Duration::from_millis(pause))
            }
            answered => return answered,
        }
    }
    send()
}

pub(super) fn sleep(pause: Duration) {
    #[expect(clippy::disallowed_methods, reason = "this command runs no tasks")]
    std::thread::sleep(pause);
}
