//! The resume point of a thread, from the records of its transcript (SPEC 10.8).

mod error;
mod hooked;
mod opening;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rye_types::{LimitSet, Moment, Nanos, ThreadState};

pub use self::error::ResumeError;
use super::authoriser::approved_in_thread;
use super::hooks::{Due, IN_A_TURN, Log};
use super::progress::{Progress, Proposal};
use super::stop::overrun;
use crate::transcript::payload::{
    Decided, Intent, Receipt, RequestRetried, Said, StepFinish, StepStart, ThreadContinued,
    ThreadError, ThreadResumed,
};
use crate::transcript::{Event, EventKind, Reading, Record};
use crate::{
    AddedItem, ApprovalRequest, Decision, Failure, Message, Reply, Returned, Run, Spawn, Step,
    ThreadId, ToolCall, ToolResult,
};

/// The state of a thread, as far as its records were read.
pub(super) struct Recovered {
    pub(super) run: Run,
    pub(super) progress: Progress,
    /// Set when the transcript holds the end of the thread.
    pub(super) ended: Option<ThreadState>,
    /// `true` if the thread was handed to the provider's fallback.
    pub(super) has_fallen_back: bool,
    /// The events whose hooks had no turn yet.
    pub(super) due: Due,
    /// The recorded acts of hooks that have not finished.
    pub(super) log: Log,
    /// At how many events hooks have acted whose turn is over.
    pub(super) evaluations: u64,
    /// The thread that was to go on.
    pub(super) successor: Option<ThreadId>,
    /// The children that are on record, in their order.
    pub(super) spawns: Vec<Spawn>,
    /// The children whose ends are on record.
    pub(super) ended_children: BTreeSet<ThreadId>,
    /// The reservation of a request that was sent and has no answer.
    pub(super) unanswered: Option<Nanos>,
    /// The items that calls added to the conversation, in their order.
    pub(super) added: Vec<AddedItem>,
    /// The item and capability of each call that the operator approved for the rest of the thread.
    pub(super) approved: BTreeSet<(String, String)>,
    opening: VecDeque<Event>,
    changes: Vec<String>,
    /// Texts that the run added to its history and that are not recorded yet.
    texts_due: VecDeque<String>,
    /// The run's own answers that are not recorded yet.
    own_due: VecDeque<ToolResult>,
    elapsed: Duration,
    last: Option<Moment>,
    /// The reason why hooks do not accept the outputs that are returned.
    unwanted: Option<String>,
    /// The calls of the turn that is under way, taken from the run once.
    calls: Option<Arc<Calls>>,
    /// The call that was asked about last.
    asked: Option<ApprovalRequest>,
}

/// Leads a run that has not begun through everything that was recorded; `opening` is what it would record first.
pub(super) fn recover(
    run: Run,
    opening: Vec<Event>,
    reading: &Reading,
) -> Result<Recovered, ResumeError> {
    let mut recovered = Recovered::new(run, opening);
    for (record, is_sealed) in reading.records_with_seals() {
        recovered.clock(record);
        if record.kind == EventKind::Unknown && !record.is_foreign() {
            continue;
        }
        record
            .event()
            .and_then(|event| recovered.take(record, is_sealed, event))
            .map_err(|problem| ResumeError::Contradiction { record: record.seq, problem })?;
    }
    if !recovered.changes.is_empty() {
        return Err(ResumeError::Changed { changes: recovered.changes });
    }
    recovered.run.restore_elapsed(recovered.elapsed);
    Ok(recovered)
}

/// The calls of one turn.
struct Calls {
    /// Those that are run.
    run: Vec<ToolCall>,
    /// Those that return outputs.
    returns: Vec<ToolCall>,
}

impl Recovered {
    fn new(run: Run, opening: Vec<Event>) -> Self {
        Self {
            run,
            progress: Progress::default(),
            ended: None,
            has_fallen_back: false,
            due: Due::default(),
            log: Log::default(),
            evaluations: 0,
            successor: None,
            spawns: Vec::new(),
            ended_children: BTreeSet::new(),
            unanswered: None,
            added: Vec::new(),
            approved: BTreeSet::new(),
            opening: opening.into(),
            changes: Vec::new(),
            texts_due: VecDeque::new(),
            own_due: VecDeque::new(),
            elapsed: Duration::ZERO,
            last: None,
            unwanted: None,
            calls: None,
            asked: None,
        }
    }

    /// Counts the time that the thread took, without the time without a driver and without approval
    /// waits.
    fn clock(&mut self, record: &Record) {
        let is_pause = matches!(record.kind, EventKind::ThreadResumed | EventKind::ApprovalDecided);
        if let Some(last) = self.last.filter(|_| !is_pause) {
            let millis = record.at.as_unix_millis().saturating_sub(last.as_unix_millis());
            let passed = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            self.elapsed += passed.saturating_sub(record.approval_wait);
        }
        self.last = Some(record.at);
    }

    fn take(&mut self, record: &Record, is_sealed: bool, event: Event) -> Result<(), String> {
        let may_follow = matches!(record.kind, EventKind::Checkpoint | EventKind::ThreadResumed);
        if self.ended.is_some() && !may_follow {
            return Err("it comes after the end of the thread".to_owned());
        }
        match &event {
            Event::ApprovalRequested(asked) => {
                self.asked = Some(asked.clone().of_thread(&record.thread));
            }
            Event::ApprovalDecided(decided) => self.check_decision(decided)?,
            _ => {}
        }
        if is_after_hooks(&event) {
            self.hooks_over()?;
        }
        if self.is_of_hook(&event) {
            return self.of_hook(event);
        }
        match event {
            Event::AssistantReasoning(_) | Event::AssistantText(_) | Event::Checkpoint(_) => Ok(()),
            Event::ApprovalDecided(decided) => self.apply_decision(decided, is_sealed),
            Event::ApprovalRequested(asked) => {
                self.apply_question(&asked.of_thread(&record.thread))
            }
            Event::ChildEnded(end) => {
                self.ended_children.insert(end.child);
                Ok(())
            }
            Event::ContextInjected(injected) if injected.position == IN_A_TURN => Ok(()),
            Event::ContextInjected(_) | Event::SystemPrompt(_) | Event::ThreadStart(_) => {
                self.begin(record)
            }
            Event::ModelFallback(_) => {
                self.has_fallen_back = true;
                Ok(())
            }
            Event::RequestFailed(_) => {
                self.unanswered = None;
                Ok(())
            }
            Event::RequestRetried(again) => self.request_retried(&again),
            Event::StepStart(StepStart { reserved, .. }) => self.step_start(reserved),
            Event::SpawnChild(spawn) => self.apply_spawn(spawn),
            Event::StepFinish(StepFinish { reply, cost, .. }) => self.step_finish(reply.0, cost),
            Event::ThreadComplete(_) => self.end(ThreadState::Completed, None),
            Event::ThreadContinued(ThreadContinued { next, .. }) => self.apply_continuation(next),
            Event::ThreadError(ThreadError { state, failure, .. }) => self.end(state, failure),
            Event::ThreadResumed(ThreadResumed { limits, .. }) => {
                self.apply_resumption(limits.filter(|_| is_sealed))
            }
            Event::ToolCallResult(receipt) => self.call_result(returned(receipt)),
            Event::ToolCallStart(Intent { call_id, name, .. }) => self.call_start(&call_id, &name),
            Event::UserMessage(Said { text }) => self.user_message(record, &text),
            other => Err(format!("this version does not resume from `{}`", other.name())),
        }
    }

    fn step_start(&mut self, reserved: Nanos) -> Result<(), String> {
        self.unanswered = Some(reserved);
        self.due.note_request(self.run.turns());
        self.run.asked_before(self.elapsed).map_err(text)
    }

    fn request_retried(&mut self, again: &RequestRetried) -> Result<(), String> {
        self.step_start(again.reserved)?;
        if again.class.is_of_reply() {
            let before = self.run.messages().len();
            self.run.ask_again(again.class, &again.usage.unwrap_or_default()).map_err(text)?;
            self.texts_since(before);
        }
        Ok(())
    }

    fn step_finish(&mut self, reply: Arc<Reply>, cost: Nanos) -> Result<(), String> {
        self.calls = None;
        match self.unanswered.take().and_then(|reserved| overrun(reserved, cost)) {
            Some(failure) => self.run.model_overran(reply, cost, failure).map_err(text)?,
            None => self.run.model_replied(reply, cost).map_err(text)?,
        }
        if let Some(Message::User { text }) = self.run.messages().last() {
            self.texts_due.push_back(text.clone());
        }
        if self.run.is_ready() {
            self.due.turn_over(&[], Vec::new());
        }
        Ok(())
    }

    fn calls(&mut self) -> Result<Arc<Calls>, String> {
        if let Some(calls) = self.calls.as_ref().filter(|_| self.run.is_calling()) {
            return Ok(Arc::clone(calls));
        }
        match self.run.step(self.elapsed) {
            Step::CallTools { calls: run, returns } => {
                Ok(Arc::clone(self.calls.insert(Arc::new(Calls { run, returns }))))
            }
            _ => Err("no call is under way".to_owned()),
        }
    }

    fn call_start(&mut self, call_id: &str, name: &str) -> Result<(), String> {
        let Calls { run: calls, returns } = &*self.calls()?;
        // The operator approved another run of the call, which begins here.
        let last = self.progress.intents.checked_sub(1);
        if let Some(last) = last.filter(|last| self.run.decision(*last).is_some())
            && calls.get(last).is_some_and(|call| call.id == call_id && call.name == name)
        {
            self.run.remove_decision(last);
            return Ok(());
        }
        let own = self.progress.intents.checked_sub(calls.len());
        let call = own.map_or_else(|| calls.get(self.progress.intents), |own| returns.get(own));
        match call {
            Some(call) if call.id == call_id && call.name == name => {
                self.run.remove_decision(self.progress.intents);
                self.progress.intents += 1;
                Ok(())
            }
            _ => Err(format!("call `{call_id}` of `{name}` was not next")),
        }
    }

    fn call_result(&mut self, returned: Returned) -> Result<(), String> {
        if let Some(own) = self.own_due.pop_front() {
            return check_answer(Some(&own), &returned.result);
        }
        let Calls { run: calls, returns } = &*self.calls()?;
        if self.progress.answers.len() == calls.len() {
            self.finish_batch()?;
            return check_answer(self.own_due.pop_front().as_ref(), &returned.result);
        }
        if self.progress.intents <= self.progress.answers.len() {
            return Err("no call has begun".to_owned());
        }
        self.added.extend(returned.added.iter().cloned());
        self.progress.answers.push(returned);
        self.progress.spawned = None;
        self.progress.proposal = None;
        let is_last = self.progress.answers.len() == calls.len() && returns.is_empty();
        if is_last { self.finish_batch() } else { Ok(()) }
    }

    fn apply_spawn(&mut self, spawn: Spawn) -> Result<(), String> {
        let calls = self.calls()?;
        let begun = self.progress.intents.checked_sub(1).and_then(|index| calls.run.get(index));
        if self.progress.answers.len() + 1 != self.progress.intents
            || begun.is_none_or(|call| call.id != spawn.call_id)
        {
            return Err(format!("call `{}` had not begun", spawn.call_id));
        }
        self.spawns.push(spawn.clone());
        self.progress.spawned = Some(spawn);
        Ok(())
    }

    fn finish_batch(&mut self) -> Result<(), String> {
        let progress = std::mem::take(&mut self.progress);
        let known = self.run.refusals().len();
        let limited = progress.spawn_limits();
        let own = match self.unwanted.take() {
            Some(reason) => self.run.tools_returned_in_vain(progress.answers, &reason),
            None => self.run.tools_returned(progress.answers),
        };
        self.calls = None;
        self.own_due = own.map_err(text)?.into();
        self.due.turn_over(self.run.refusals_since(known), limited);
        Ok(())
    }

    fn apply_question(&mut self, request: &ApprovalRequest) -> Result<(), String> {
        let calls = self.calls()?;
        let index = self.progress.answers.len();
        if calls.run.get(index).is_none_or(|call| call.id != request.call_id) {
            return Err(format!("call `{}` was not next", request.call_id));
        }
        self.progress.is_asked = true;
        self.progress.proposal = Some(Proposal::of(request));
        self.run.ask_approval(index).map_err(text)
    }

    /// Checks that a decision is about the call, and the arguments, that were asked about last.
    fn check_decision(&self, decided: &Decided) -> Result<(), String> {
        let asked = self.asked.as_ref().filter(|asked| asked.call_id == decided.call_id);
        match asked {
            None => Err(format!("call `{}` did not wait", decided.call_id)),
            Some(asked) if asked.sha256 != decided.arguments_sha256 => {
                Err(format!("call `{}` waited with other arguments", decided.call_id))
            }
            Some(_) => Ok(()),
        }
    }

    fn apply_decision(&mut self, decided: Decided, is_sealed: bool) -> Result<(), String> {
        self.progress.is_asked = false;
        if decided.decision == Decision::ApprovedInThread && is_sealed {
            self.approved.extend(self.asked.iter().flat_map(approved_in_thread));
        }
        self.run.approval_decided(decided.decision).map_err(text)
    }

    fn end(&mut self, state: ThreadState, failure: Option<Failure>) -> Result<(), String> {
        let ended = match (state, failure) {
            (ThreadState::Completed, _) if self.run.has_ended() => Ok(()),
            (ThreadState::Completed, _) => return Err("the run had more to do".to_owned()),
            (ThreadState::Cancelled, _) if self.run.has_ended() => Ok(()),
            (ThreadState::Cancelled, _) => self.run.cancel(),
            (_, Some(_)) if self.run.has_ended() => Ok(()),
            (_, Some(failure)) => self.run.fail(failure),
            (_, None) => return Err("a failure without a reason".to_owned()),
        };
        self.ended = Some(state);
        ended.map_err(text)
    }

    /// Applies the record of a resume, also after a limit or a failure of the provider had ended the thread.
    fn apply_resumption(&mut self, limits: Option<LimitSet>) -> Result<(), String> {
        if let Some(limits) = limits {
            self.run.limit(limits);
        }
        if self.ended.take().is_none() {
            return Ok(());
        }
        let before = self.run.messages().len();
        self.run.reopen().map_err(text)?;
        self.due.note_reopening();
        self.texts_since(before);
        Ok(())
    }

    fn apply_continuation(&mut self, next: ThreadId) -> Result<(), String> {
        if !matches!(self.run.step(self.elapsed), Step::Done(crate::End::Continued)) {
            return Err("no hook had the thread continued".to_owned());
        }
        (self.ended, self.successor) = (Some(ThreadState::Continued), Some(next));
        Ok(())
    }

    /// Takes the events of the run that the transcript does not hold yet.
    pub(super) fn take_missing(&mut self) -> Vec<Event> {
        let texts = self.texts_due.drain(..).map(|text| Event::UserMessage(Said { text }));
        let own = self.own_due.drain(..);
        let own = own.map(|result| Event::ToolCallResult(Receipt::new(result)));
        self.opening.drain(..).chain(texts).chain(own).collect()
    }
}

/// Returns `true` if the event shows that the hooks of earlier events have finished.
fn is_after_hooks(event: &Event) -> bool {
    !matches!(
        event,
        Event::ApprovalDecided(_)
            | Event::ApprovalRequested(_)
            | Event::AssistantReasoning(_)
            | Event::AssistantText(_)
            | Event::Checkpoint(_)
            | Event::ChildEnded(_)
            | Event::HookTriggered(_)
            | Event::ThreadResumed(_)
    ) && !is_call_of_hook(event)
}

/// Returns `true` for the call of a hook's action, and for its result.
fn is_call_of_hook(event: &Event) -> bool {
    match event {
        Event::ToolCallStart(intent) => intent.hook.is_some(),
        Event::ToolCallResult(receipt) => receipt.hook.is_some(),
        _ => false,
    }
}

/// Returns the answer to a call, as its receipt has it.
pub(super) fn returned(receipt: Receipt) -> Returned {
    let (refusal, limit, added) =
        (receipt.refusal.clone(), receipt.limit.clone(), receipt.added.clone());
    Returned { result: receipt.into_result(), refusal, limit, added }
}

/// Checks a recorded answer of the run itself.
fn check_answer(own: Option<&ToolResult>, recorded: &ToolResult) -> Result<(), String> {
    if own == Some(recorded) { Ok(()) } else { Err("the run answered otherwise".to_owned()) }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where `map_err` wants a function")]
fn text(error: crate::OutOfTurn) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::tests::recorded;
    use crate::{Opening, OutputContract};

    /// A decision about another call, or about other arguments, refuses the resume.
    #[test]
    fn a_decision_is_about_the_last_question() {
        let records = recorded();
        let of = |kind: EventKind| records.iter().find(|record| record.kind == kind).unwrap();
        let Ok(Event::ApprovalDecided(decided)) = of(EventKind::ApprovalDecided).event() else {
            panic!("it is a decision")
        };
        let other = |call: &str, digest: &str| Decided {
            call_id: call.to_owned(),
            arguments_sha256: digest.to_owned(),
            ..decided.clone()
        };
        let digest = decided.arguments_sha256.as_str();
        for (decided, refused) in [
            (decided.clone(), None),
            (other("2", digest), Some("call `2` did not wait")),
            (other("1", "00"), Some("call `1` waited with other arguments")),
        ] {
            let opening = Opening { system: None, first_user_message: String::new() };
            let contract = OutputContract::default();
            let run = Run::new(opening, Vec::new(), contract, LimitSet::default(), 100);
            let mut recovered = Recovered::new(run, Vec::new());
            for kind in [EventKind::HookTriggered, EventKind::ApprovalRequested] {
                recovered.take(of(kind), true, of(kind).event().unwrap()).unwrap();
            }
            let record = of(EventKind::ApprovalDecided);
            let taken = recovered.take(record, true, Event::ApprovalDecided(decided));
            assert_eq!(taken.err().as_deref(), refused);
        }
    }

    /// Every event that a program records can be resumed from.
    #[test]
    fn every_event_is_understood() {
        let mut records = recorded();
        // A request for approval precedes its decision.
        records.sort_by_key(|record| record.kind == EventKind::ApprovalDecided);
        for record in &records {
            let opening = Opening { system: None, first_user_message: String::new() };
            let contract = OutputContract::default();
            let run = Run::new(opening, Vec::new(), contract, LimitSet::default(), 100);
            let taken = Recovered::new(run, Vec::new()).take(record, true, record.event().unwrap());
            let unknown = format!("this version does not resume from `{}`", record.name());
            assert_ne!(taken, Err(unknown));
        }
    }
}
