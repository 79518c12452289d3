//! The resume point of a thread, from the records of its transcript (SPEC 10.8).

mod error;
mod hooked;
mod opening;
mod wire;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

pub use self::error::ResumeError;
use rye_transcript::disk::{LimitHitDisk, RefusalDisk, ResultDisk};

use self::wire::EndWire;
pub(super) use self::wire::{FallbackWire, Recorded};
use super::authoriser::approved_in_thread;
use super::hooks::{Due, Entry, Log};
use super::progress::{Progress, Proposal};
use super::stop::overrun;
use crate::transcript::{Event, Reading, Record};
use crate::{
    AddedItem, Decision, Limits, Message, Moment, Nanos, Returned, Run, Spawn, Step, ThreadId,
    ThreadState, ToolCall, ToolResult,
};

/// The recovered state of a thread.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) run: Run,
    pub(super) progress: Progress,
    /// The events of the run that the transcript does not hold yet.
    pub(super) missing: Vec<Event>,
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
}

/// Leads a run that has not begun through everything that was recorded; `opening` is what it would record first.
pub(super) fn recover(
    run: Run,
    opening: Vec<Event>,
    reading: &Reading,
) -> Result<Recovered, ResumeError> {
    let mut fold = Fold::new(run, opening);
    for (record, is_sealed) in reading.records_with_seals() {
        fold.clock(record);
        fold.take(record, is_sealed)
            .map_err(|problem| ResumeError::Contradiction { record: record.seq, problem })?;
    }
    if !fold.changes.is_empty() {
        return Err(ResumeError::Changed { changes: fold.changes });
    }
    Ok(fold.into_recovered())
}

struct Fold {
    run: Run,
    opening: VecDeque<Event>,
    changes: Vec<String>,
    progress: Progress,
    /// Texts that the run added to its history and that are not recorded yet.
    texts_due: VecDeque<String>,
    /// The run's own answers that are not recorded yet.
    own_due: VecDeque<ToolResult>,
    elapsed: Duration,
    last: Option<Moment>,
    ended: Option<ThreadState>,
    has_fallen_back: bool,
    due: Due,
    log: Log,
    evaluations: u64,
    /// The reason why hooks do not accept the outputs that are returned.
    unwanted: Option<String>,
    successor: Option<ThreadId>,
    spawns: Vec<Spawn>,
    ended_children: BTreeSet<ThreadId>,
    added: Vec<AddedItem>,
    /// The calls of the turn that is under way, taken from the run once.
    calls: Option<Arc<Calls>>,
    /// The reservation of the request that has no answer yet.
    reserved: Option<Nanos>,
    /// The item and the capabilities that the operator was asked about last.
    asked_about: (String, Vec<String>),
    approved: BTreeSet<(String, String)>,
}

/// The calls of one turn.
struct Calls {
    /// Those that are run.
    run: Vec<ToolCall>,
    /// Those that return outputs.
    returns: Vec<ToolCall>,
}

impl Fold {
    fn new(run: Run, opening: Vec<Event>) -> Self {
        Self {
            run,
            opening: opening.into(),
            changes: Vec::new(),
            progress: Progress::default(),
            texts_due: VecDeque::new(),
            own_due: VecDeque::new(),
            elapsed: Duration::ZERO,
            last: None,
            ended: None,
            has_fallen_back: false,
            due: Due::default(),
            log: Log::default(),
            evaluations: 0,
            unwanted: None,
            successor: None,
            spawns: Vec::new(),
            ended_children: BTreeSet::new(),
            added: Vec::new(),
            calls: None,
            reserved: None,
            asked_about: (String::new(), Vec::new()),
            approved: BTreeSet::new(),
        }
    }

    /// Counts the time that the thread took, without the time without a driver and without approval
    /// waits.
    fn clock(&mut self, record: &Record) {
        let is_pause = matches!(record.event.as_str(), "thread_resumed" | "approval_decided");
        if let Some(last) = self.last.filter(|_| !is_pause) {
            let millis = record.at.as_unix_millis().saturating_sub(last.as_unix_millis());
            let passed = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            self.elapsed += passed.saturating_sub(record.approval_wait);
        }
        self.last = Some(record.at);
    }

    fn take(&mut self, record: &Record, is_sealed: bool) -> Result<(), String> {
        let may_follow = ["checkpoint", "thread_resumed"].contains(&record.event.as_str());
        if self.ended.is_some() && !may_follow {
            return Err("it comes after the end of the thread".to_owned());
        }
        let recorded = Recorded::read(record)?;
        if recorded.is_after_hooks() {
            self.hooks_over()?;
        }
        match recorded {
            Recorded::Nothing | Recorded::ContextInTurn => Ok(()),
            Recorded::Hook(entry) => self.of_hook(entry),
            Recorded::Asked { .. } if !self.log.is_empty() => self.of_hook(Entry::Asked),
            Recorded::Decided { decision } if !self.log.is_empty() => {
                self.of_hook(Entry::Decided(decision))
            }
            Recorded::Continued { next } => self.apply_continuation(next),
            Recorded::Fallback(_) => {
                self.has_fallen_back = true;
                Ok(())
            }
            Recorded::Opening(payload) => self.begin(&record.event, &payload),
            Recorded::UserMessage { text } => self.user_message(&record.event, &text),
            Recorded::StepFailed => {
                self.reserved = None;
                Ok(())
            }
            Recorded::StepStart { reserved } => self.step_start(reserved),
            Recorded::StepFinish { reply, cost } => self.step_finish(reply.into_reply(), cost),
            Recorded::CallStart { call_id, name } => self.call_start(&call_id, &name),
            Recorded::CallResult { result, refusal, limit, added } => {
                self.call_result(result, refusal, limit, added)
            }
            Recorded::Asked { call_id, item_id, proposal, covers } => {
                self.asked_about = (item_id, covers);
                self.apply_question(&call_id, proposal)
            }
            Recorded::Decided { decision } => self.apply_decision(decision, is_sealed),
            Recorded::Resumed { limits } => self.apply_resumption(limits.filter(|_| is_sealed)),
            Recorded::ChildEnded { child } => {
                self.ended_children.insert(child);
                Ok(())
            }
            Recorded::Spawned(spawn) => self.apply_spawn(spawn),
            Recorded::End(end) => self.end(end),
        }
    }

    fn step_start(&mut self, reserved: Nanos) -> Result<(), String> {
        self.reserved = Some(reserved);
        self.due.note_request(self.run.turns());
        self.run.asked_before(self.elapsed).map_err(text)
    }

    fn step_finish(&mut self, reply: crate::Reply, cost: Nanos) -> Result<(), String> {
        self.calls = None;
        match self.reserved.take().and_then(|reserved| overrun(reserved, cost)) {
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

    fn call_result(
        &mut self,
        result: ResultDisk,
        refusal: Option<RefusalDisk>,
        limit: Option<LimitHitDisk>,
        added: Vec<AddedItem>,
    ) -> Result<(), String> {
        let result = result.into_result();
        if let Some(own) = self.own_due.pop_front() {
            return if own == result {
                Ok(())
            } else {
                Err("the run answered otherwise".to_owned())
            };
        }
        let Calls { run: calls, returns } = &*self.calls()?;
        if self.progress.answers.len() == calls.len() {
            self.finish_batch()?;
            return match self.own_due.pop_front() {
                Some(own) if own == result => Ok(()),
                _ => Err("the run answered otherwise".to_owned()),
            };
        }
        if self.progress.intents <= self.progress.answers.len() {
            return Err("no call has begun".to_owned());
        }
        let refusal = refusal.map(RefusalDisk::into_refusal);
        let limit = limit.map(LimitHitDisk::into_hit).transpose()?;
        self.added.extend(added.iter().cloned());
        self.progress.answers.push(Returned { result, refusal, limit, added });
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

    fn apply_question(&mut self, call_id: &str, proposal: Proposal) -> Result<(), String> {
        let calls = self.calls()?;
        let index = self.progress.answers.len();
        if calls.run.get(index).is_none_or(|call| call.id != call_id) {
            return Err(format!("call `{call_id}` was not next"));
        }
        self.progress.is_asked = true;
        self.progress.proposal = Some(proposal);
        self.run.ask_approval(index).map_err(text)
    }

    fn apply_decision(&mut self, decision: Decision, is_sealed: bool) -> Result<(), String> {
        self.progress.is_asked = false;
        if decision == Decision::ApprovedInThread && is_sealed {
            let (item_id, covers) = &self.asked_about;
            self.approved.extend(approved_in_thread(item_id, covers));
        }
        self.run.approval_decided(decision).map_err(text)
    }

    fn end(&mut self, end: EndWire) -> Result<(), String> {
        let state = end.state()?;
        let ended = match (state, end.failure()?) {
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
    fn apply_resumption(&mut self, limits: Option<Limits>) -> Result<(), String> {
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

    fn into_recovered(self) -> Recovered {
        let Self {
            run,
            opening,
            progress,
            texts_due,
            own_due,
            ended,
            has_fallen_back,
            due,
            log,
            evaluations,
            successor,
            spawns,
            ended_children,
            reserved: unanswered,
            added,
            approved,
            ..
        } = self;
        let mut missing: Vec<Event> = opening.into();
        missing.extend(texts_due.into_iter().map(|text| Event::UserMessage { text }));
        missing.extend(own_due.into_iter().map(|result| Event::ToolCallResult {
            result,
            refusal: None,
            limit: None,
            added: Vec::new(),
        }));
        let mut run = run;
        run.restore_elapsed(self.elapsed);
        Recovered {
            run,
            progress,
            missing,
            ended,
            has_fallen_back,
            due,
            log,
            evaluations,
            successor,
            spawns,
            ended_children,
            unanswered,
            added,
            approved,
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where `map_err` wants a function")]
fn text(error: crate::OutOfTurn) -> String {
    error.to_string()
}
