//! `rye approve --engine` and `rye deny --engine`.

use std::fmt;
use std::str::FromStr;

use rye::thread::{Decision, DenialReason, PendingApproval, ThreadId};
use serde_json::{Value, json};

use super::outcome::{tell_call, tell_waiting, waiting};
use super::run::QUEUED;
use super::{Engine, Mirror};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// A call that was shown: the record that asks for it, the hash of its arguments, and its item.
///
/// An order names all of it, so that a worker carries it out for no other call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallName {
    thread: ThreadId,
    seq: u64,
    sha256: String,
    item: String,
}

impl CallName {
    pub(super) fn of(asked: &PendingApproval) -> Self {
        let request = &asked.request;
        let (thread, item) = (request.thread.clone(), request.item_id.clone());
        Self { thread, seq: asked.seq, sha256: request.sha256.clone(), item }
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.thread, self.seq, self.sha256, self.item)
    }
}

impl FromStr for CallName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed =
            || "a call is `THREAD:RECORD:SHA256:ITEM`, as `rye run` shows it".to_owned();
        let mut parts = text.splitn(4, ':');
        let mut part = || parts.next().filter(|part| !part.is_empty()).ok_or_else(malformed);
        let thread = part()?.parse().map_err(|_| malformed())?;
        let seq = part()?.parse().map_err(|_| malformed())?;
        let sha256 = part()?.to_owned();
        let item = part()?.to_owned();
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { Ok(Self { thread, seq, sha256, item }) } else { Err(malformed()) }
    }
}

impl Engine {
    /// Decides about a call of a tree. Without a name, it is the one call that waits by the verified records, which is shown first.
    pub(crate) fn decide(
        &self,
        thread: &ThreadId,
        decision: &Decision,
        call: Option<&CallName>,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let call = match call {
            Some(call) => call.clone(),
            None => self.show_waiting(thread, environment)?,
        };
        let submitted =
            self.submit(thread, "order", &order(thread, decision, &call), environment)?;
        let is_done = self.worker_answer(&submitted)?.is_some();
        if environment.json() {
            Answer::one("decisions", row(decision, &call, is_done)).print();
            return Ok(Exit::Fine);
        }
        println!("{}: `{}`", decision.as_str(), output::line(&call.item));
        if !is_done {
            eprintln!("{QUEUED}");
        }
        Ok(Exit::Fine)
    }

    /// Shows the call of a tree that waits, and returns its name.
    fn show_waiting(
        &self,
        thread: &ThreadId,
        environment: &Environment,
    ) -> Result<CallName, Failure> {
        let mirror = Mirror::of(self, thread.clone(), environment)?;
        let waiting = waiting(&mirror)?;
        match waiting.as_slice() {
            [] => {
                Err(Failure::failed(format!("no call of thread `{thread}` waits for a decision")))
            }
            [asked] => {
                tell_call(asked);
                Ok(CallName::of(asked))
            }
            several => {
                several.iter().for_each(|asked| tell_waiting(asked, &mirror));
                Err(Failure::usage(format!(
                    "{} calls of thread `{thread}` wait; name one with `--call`",
                    several.len()
                )))
            }
        }
    }
}

/// Returns the order about a call, as a worker reads it.
fn order(thread: &ThreadId, decision: &Decision, call: &CallName) -> Value {
    let purpose = if decision.is_approval() { "rye-engine-approve" } else { "rye-engine-deny" };
    let mut order = json!({
        "purpose": purpose,
        "tree": thread.as_str(),
        "thread": call.thread.as_str(),
        "seq": call.seq,
        "item": call.item,
        "sha256": call.sha256,
    });
    if let Some(reason) = decision.reason() {
        order["reason"] = DenialReason::as_str(reason).into();
    }
    order
}

fn row(decision: &Decision, call: &CallName, is_done: bool) -> Value {
    json!({
        "thread": call.thread.as_str(),
        "decision": decision.as_str(),
        "reason": decision.reason().map(DenialReason::as_str),
        "item_id": call.item,
        "arguments_sha256": call.sha256,
        "is_carried_out": is_done,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_call_is_read_as_it_is_shown() {
        let hash = "0a".repeat(32);
        let text = format!("one-019a0000-0000-7000-8000-000000000001:7:{hash}:notes/a:b");
        let call: CallName = text.parse().unwrap();
        assert_eq!((call.seq, call.item.as_str()), (7, "notes/a:b"));
        assert_eq!(call.to_string(), text);
        let shorter = text.replace(&hash, "0a");
        for wrong in [shorter.as_str(), &text.replace(":7:", ":x:"), "one", "", &text[..100]] {
            wrong.parse::<CallName>().unwrap_err();
        }
    }
}
