//! `rye approve --engine` and `rye deny --engine`.

use rye::thread::{
    DecidedApproval, Decision, DenialReason, PendingApproval, ThreadId, decision_on,
};
use serde_json::{Value, json};

use super::client::Engine;
use super::list::NamedThread;
use super::outcome::{tell_call, tell_waiting, waiting};
use super::transcripts::Mirror;
use crate::call_name::CallName;
use crate::confirm;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

impl Engine {
    /// Decides about a call of a tree. Without a name, it is the one call that waits by the verified records, and it is shown.
    ///
    /// The user is asked before an approval, because the server chose the record, and before each decision about a thread that the server
    /// chose.
    pub(crate) fn decide(
        &self,
        named: &NamedThread,
        decision: &Decision,
        call: Option<&CallName>,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let thread = &named.thread;
        let call = match call {
            Some(call) => call.clone(),
            None => self.show_waiting(named, decision, environment)?,
        };
        let submitted =
            self.submit(thread, "order", &order(thread, decision, &call), environment)?;
        let is_done = self.worker_answer(&submitted)?.is_done();
        let decided = match is_done {
            true => Some(self.check_decided(thread, (decision, &call), environment)?),
            false => None,
        };
        if environment.json() {
            Answer::one("decisions", row(decision, &call, decided.as_ref())).print();
        } else if let Some(DecidedApproval { item_id, why, .. }) = &decided {
            println!("{}: `{}`; {why}", decision.as_str(), output::line(item_id));
        }
        Ok(Exit::Fine)
    }

    /// Returns the decision that the signed records have, if it is this one. A server that shows none of them shows no decision either.
    fn check_decided(
        &self,
        thread: &ThreadId,
        (decision, call): (&Decision, &CallName),
        environment: &Environment,
    ) -> Result<DecidedApproval, Failure> {
        let mirror = Mirror::after_order(self, thread, environment)?;
        let shown = mirror.ids().find(|id| **id == call.thread);
        let reading = shown.map(|id| mirror.reading(id)).transpose()?;
        let decided = reading.and_then(|reading| decision_on(&reading.transcript, call.seq));
        let is_so = |it: &DecidedApproval| it.decision == *decision && it.item_id == call.item;
        decided.filter(is_so).ok_or_else(|| {
            Failure::refused(format!(
                "the engine says that the call of thread `{thread}` is {}, and its records do not",
                decision.as_str()
            ))
        })
    }

    /// Shows the call of a tree that waits, and returns its name.
    fn show_waiting(
        &self,
        NamedThread { thread, is_whole }: &NamedThread,
        decision: &Decision,
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
                if decision.is_approval() || !is_whole {
                    confirm_decision(decision, asked, &mirror)?;
                }
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

/// Asks whether this is decided about the call that was just shown, with its thread by the verified records.
fn confirm_decision(
    decision: &Decision,
    asked: &PendingApproval,
    mirror: &Mirror<'_>,
) -> Result<(), Failure> {
    let thread = &asked.request.thread;
    let directive = mirror.reading(thread)?.record.directive;
    let verb = if decision.is_approval() { "Approve" } else { "Deny" };
    let question = format!("{verb} this call of `{directive}`, thread {thread}?");
    let call = CallName::of(asked);
    let advice = format!(
        "there is no terminal to ask whether this call is meant; name it with `--call {call}`"
    );
    confirm::require(&question, "nothing is decided", &advice)
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

fn row(decision: &Decision, call: &CallName, decided: Option<&DecidedApproval>) -> Value {
    json!({
        "thread": call.thread.as_str(),
        "decision": decision.as_str(),
        "reason": decision.reason().map(DenialReason::as_str),
        "item_id": call.item,
        "arguments_sha256": call.sha256,
        "why": decided.map(|decided| decided.why.as_str()),
        "is_carried_out": decided.is_some(),
    })
}
