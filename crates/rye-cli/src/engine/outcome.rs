//! The state of a thread tree on an engine, by its verified records alone.

use rye::resume_command;
use rye::thread::transcript::{Event, EventKind, Reading, Record};
use rye::thread::{
    FailureKind, PendingApproval, ThreadId, ThreadRecord, pending_approval, thread_warnings,
};
use rye::types::{Nanos, ThreadState};
use serde_json::{Value, json};

use super::transcripts::Mirror;
use crate::approval::{question_of, whole_text_to_sign};
use crate::call_name::CallName;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// The state of a tree whose records the operator's key signed.
pub(super) struct Outcome {
    /// The record of the last thread of the root's conversation.
    last: ThreadRecord,
    /// The last text of its model.
    text: String,
    warnings: Vec<String>,
    /// The cost of the tree.
    cost: Nanos,
    waiting: Vec<PendingApproval>,
}

impl Outcome {
    /// Reads the state of a tree.
    pub(super) fn read(mirror: &Mirror<'_>, environment: &Environment) -> Result<Self, Failure> {
        if !mirror.has_begun() {
            return Err(Failure::failed(mirror.tell_without_record()));
        }
        let root = mirror.reading(&mirror.thread)?;
        let rye = environment.rye()?;
        let cost = rye.thread_account(&mirror.threads(), &root.transcript);
        let cost = cost.map_or(root.record.cost, |account| account.cost);
        let mut last = root;
        let mut seen = 1;
        while let Some(next) = last.record.continued_by.clone() {
            last = mirror.reading(&next)?;
            seen += 1;
            if mirror.ids().count() < seen {
                return Err(Failure::refused(format!("thread `{next}` continues itself")));
            }
        }
        let text = last_text(&last.transcript);
        let warnings = thread_warnings(&last.transcript);
        Ok(Self { last: last.record, text, warnings, cost, waiting: waiting(mirror)? })
    }

    /// Returns the state: `suspended` if the tree has not ended and a call of it waits.
    pub(super) fn state(&self) -> ThreadState {
        match self.last.state {
            state if state.is_final() => state,
            _ if self.waiting.is_empty() => ThreadState::Running,
            _ => ThreadState::Suspended,
        }
    }

    fn exit(&self) -> Exit {
        match (self.state(), self.last.failure.as_ref().map(|failure| &failure.kind)) {
            (ThreadState::Completed, None) => Exit::Fine,
            (ThreadState::Suspended, _) => Exit::Suspended,
            (_, Some(FailureKind::Limit(_))) => Exit::Limit,
            (_, Some(FailureKind::Refused)) => Exit::Refused,
            _ => Exit::Failed,
        }
    }

    /// Prints the outputs, the failure and the calls that wait, and returns the exit code of `rye run`.
    pub(super) fn tell(&self, mirror: &Mirror<'_>, environment: &Environment) -> Exit {
        let (exit, state) = (self.exit(), self.state());
        if environment.json() {
            let row = self.to_json(&mirror.thread);
            let answer = Answer::one("threads", row).with("state", state.as_str());
            answer.fine_if(exit == Exit::Fine).print();
            return exit;
        }
        match &self.last.outputs {
            Some(outputs) => outputs.iter().for_each(|(name, value)| {
                print!("{}: {}\n", output::line(name), output::text(value));
            }),
            None if state == ThreadState::Completed && !self.text.is_empty() => {
                println!("{}", output::for_people(&self.text));
            }
            None => {}
        }
        output::warnings(&self.warnings);
        if let Some(failure) = &self.last.failure {
            eprintln!("error: {}", output::line(&failure.to_string()));
        }
        self.waiting.iter().for_each(|asked| tell_waiting(asked, mirror));
        let turns = output::turns(self.last.turns);
        eprintln!("thread {} {state} ({turns}, {})", mirror.thread, self.cost);
        if let Some(command) = resume_command(&self.last) {
            let pull = format!("rye threads pull {}", mirror.arguments());
            eprintln!("go on here with `{pull}`, then `{command}`");
        }
        exit
    }

    fn to_json(&self, thread: &ThreadId) -> Value {
        let failure = self.last.failure.as_ref();
        json!({
            "thread": thread.as_str(),
            "state": self.state().as_str(),
            "outputs": self.last.outputs,
            "text": self.text,
            "failure": failure.map(ToString::to_string),
            "class": match self.exit() {
                exit @ (Exit::Limit | Exit::Refused) => Some(exit.as_str()),
                _ => None,
            },
            "turns": self.last.turns,
            "cost_nanos": self.cost.get(),
            "waits_for": self.waiting.iter().map(waiting_json).collect::<Value>(),
            "warnings": self.warnings,
        })
    }
}

fn waiting_json(asked: &PendingApproval) -> Value {
    let request = &asked.request;
    json!({
        "thread": request.thread.as_str(),
        "item_id": request.item_id,
        "arguments": request.arguments,
        "arguments_sha256": request.sha256,
        "asked_because": request.reason.as_str(),
        "why": request.why(),
        "call": CallName::of(asked).to_string(),
    })
}

/// Returns the calls of a tree that wait for a decision.
pub(super) fn waiting(mirror: &Mirror<'_>) -> Result<Vec<PendingApproval>, Failure> {
    let mut waiting = Vec::new();
    for thread in mirror.ids() {
        waiting.extend(pending_approval(&mirror.reading(thread)?.transcript));
    }
    Ok(waiting)
}

/// Prints a call that waits, and the commands that decide about just this call.
pub(super) fn tell_waiting(asked: &PendingApproval, mirror: &Mirror<'_>) {
    tell_call(asked);
    eprintln!("decide with {}", commands(asked, &mirror.arguments()));
}

/// Returns the commands that decide about just this call. The arguments name its tree.
pub(crate) fn commands(asked: &PendingApproval, tree: &str) -> String {
    let call = CallName::of(asked);
    format!("`rye approve {tree} --call {call}` or `rye deny {tree} --call {call}`")
}

/// Prints a call that waits.
pub(super) fn tell_call(asked: &PendingApproval) {
    eprintln!("waits for approval: {}", question_of(&asked.request));
    // No other command shows the text of a call of a child, so that it is shown as a whole.
    whole_text_to_sign(&asked.request).iter().for_each(|text| eprint!("{text}"));
}

fn last_text(transcript: &Reading) -> String {
    match transcript.of_kind(EventKind::AssistantText).next_back().map(Record::event) {
        Some(Ok(Event::AssistantText(said))) => said.text,
        _ => String::new(),
    }
}
