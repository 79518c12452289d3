//! `rye run --engine` and `rye cancel --engine`.

use std::time::Duration;

use rye::thread::ThreadId;
use rye::types::ThreadState;
use rye::{Bundle, ProviderChoice, RunRequest};
use serde_json::{Value, json};

use super::client::Engine;
use super::ingress::{NoAnswer, Submitted, WorkerAnswer, sleep};
use super::list::NamedThread;
use super::outcome::Outcome;
use super::transcripts::Mirror;
use crate::confirm;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

impl Engine {
    /// Starts a thread and waits until it ends, or a call waits for a decision.
    pub(crate) fn run(
        &self,
        request: &RunRequest,
        is_quiet: bool,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let mut start = start(request);
        let bundle = Bundle::of_project(environment.project()?);
        let bundle = bundle.map_err(|error| Failure::of(&error, Exit::Failed))?;
        start["project"] = json!(bundle);
        start["label"] = self.label.as_ref().map(rye::WorkerLabel::as_str).into();
        let mut notices = Notices { is_quiet, last: None };
        let place = format!("thread {} on `{}`", request.thread, self.address);
        // Before anything is sent, so that the thread can be found whatever happens.
        notices.tell(place.clone());
        let mut follow = || {
            let submitted = self.submit(&request.thread, "start", &start, environment)?;
            self.await_start(&submitted, &mut notices)?;
            self.await_outcome(&request.thread, &mut notices, environment)
        };
        follow().map_err(|failure: Failure| failure.ending_with(place))
    }

    /// Waits until a worker has accepted the start.
    fn await_start(&self, submitted: &Submitted, notices: &mut Notices) -> Result<(), Failure> {
        let mut pause = PAUSE;
        loop {
            match self.worker_answer(submitted)? {
                WorkerAnswer::Done => return Ok(()),
                WorkerAnswer::Hidden(failure) => {
                    return Err(failure.within("the engine has the thread, and may run it"));
                }
                WorkerAnswer::Missing(why) => notices.tell(format!(
                    "the engine has the thread, and no worker has begun it yet: {why}"
                )),
            }
            sleep(pause);
            pause = LONGEST_PAUSE.min(pause * 5 / 4);
        }
    }

    /// Waits until the thread has ended or a call waits, by its records, and tells so.
    fn await_outcome(
        &self,
        thread: &ThreadId,
        notices: &mut Notices,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        loop {
            self.await_end(thread, notices)?;
            match Mirror::of(self, thread.clone(), environment) {
                Ok(mirror) if !mirror.is_driven() => {
                    return Ok(Outcome::read(&mirror, environment)?.tell(&mirror, environment));
                }
                // After a decision of another program, the thread goes on.
                Ok(_) => notices.tell("no signed step says that the thread has ended".to_owned()),
                Err(error) if error.may_pass() => notices.tell_away(error),
                Err(error) => return Err(error.into()),
            }
            sleep(LONGEST_PAUSE);
        }
    }

    /// Waits until the engine says that the thread has ended, or that a call waits for a decision.
    fn await_end(&self, thread: &ThreadId, notices: &mut Notices) -> Result<(), Failure> {
        let mut pause = PAUSE;
        loop {
            match self.standing(thread) {
                Ok(standing) if !standing["end"].is_null() => return Ok(()),
                Ok(standing) => {
                    if let Some(why) = standing["refused"].as_str() {
                        notices.tell(format!("no worker goes on yet: {}", output::line(why)));
                    }
                }
                Err(error) if error.may_pass() => notices.tell_away(error),
                Err(error) => return Err(error.into()),
            }
            sleep(pause);
            pause = LONGEST_PAUSE.min(pause * 5 / 4);
        }
    }

    /// Ends the thread and all below it. If the server chose the thread, the user is asked first.
    pub(crate) fn cancel(
        &self,
        named: &NamedThread,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let thread = &named.thread;
        if !named.is_whole {
            confirm_cancel(thread)?;
        }
        let order = json!({"purpose": "rye-engine-cancel", "tree": thread.as_str()});
        let submitted = self.submit(thread, "order", &order, environment)?;
        let is_done = self.worker_answer(&submitted)?.is_done();
        if is_done {
            self.check_cancelled(thread, environment)?;
        }
        if environment.json() {
            let row = json!({"thread": thread.as_str(), "is_carried_out": is_done});
            Answer::one("threads", row).print();
        } else if is_done {
            eprintln!("thread {thread} cancelled");
        }
        Ok(Exit::Fine)
    }

    /// Checks that the last step says that the thread is cancelled. A worker signed it.
    fn check_cancelled(&self, thread: &ThreadId, environment: &Environment) -> Result<(), Failure> {
        let mirror = Mirror::after_order(self, thread, environment)?;
        match mirror.end_state() {
            Some(state) if state == ThreadState::Cancelled.as_str() => Ok(()),
            state => Err(Failure::refused(format!(
                "the engine says that thread `{thread}` is cancelled, and by its steps it is {}",
                output::line(state.unwrap_or("running"))
            ))),
        }
    }
}

fn confirm_cancel(thread: &ThreadId) -> Result<(), Failure> {
    let question = format!("Cancel thread {thread}?");
    let advice = format!(
        "there is no terminal to ask whether this thread is meant; name it by its whole id, `{thread}`"
    );
    confirm::require(&question, "nothing is cancelled", &advice)
}

/// Messages while a command waits. None comes twice in a row.
struct Notices {
    is_quiet: bool,
    last: Option<String>,
}

impl Notices {
    fn tell_away(&mut self, error: NoAnswer) {
        let failure = Failure::from(error);
        self.tell(format!("{failure}; the thread goes on without this command"));
    }

    fn tell(&mut self, message: String) {
        if !self.is_quiet && self.last.as_ref() != Some(&message) {
            eprintln!("{message}");
            self.last = Some(message);
        }
    }
}

/// The time between two questions about a thread, at first and in the end.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

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
            "spend": limits.spend.map(|spend| spend.to_string().trim_end_matches(" USD").to_owned()),
            "duration_seconds": limits.duration_seconds,
            "spawns": limits.spawns,
            "depth": limits.depth,
        },
    })
}
