//! The resumption of a thread whose process was stopped or killed, or that waited for an approval.

use std::collections::BTreeMap;

use rye_types::{LimitSet, Nanos, RaisedLimits, ThreadState};
use serde_json::{Map, Value};

use super::executor::CallExecutor;
use super::hooks::record_texts;
use super::recover::{Recovered, ResumeError, recover};
use super::warnings::{KILLED, thread_warnings};
use super::{DriveContext, Driver, Stop, telemetry};
use crate::children::RecordedSpawn;
use crate::transcript::payload::{Intent, Receipt, RequestFailed, ThreadResumed};
use crate::transcript::{Event, EventKind, Reading};
use crate::{FailureKind, OutOfTurn, Outcome, Run, Spawn};

/// The state of a thread that is opened again.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resumed<'a> {
    /// The verified transcript, as [`Journal::open`](crate::Journal::open) gives it.
    pub reading: &'a Reading,
    /// The caller's facts about this opening, for the record.
    pub facts: Map<String, Value>,
    /// `true` if the thread continues after a limit or a failure of its provider ended it.
    /// Otherwise an end that the transcript holds is only written down.
    pub reopens: bool,
    /// The limits that the operator raises. Raising one also continues a thread that has ended.
    pub raised: RaisedLimits,
}

impl<'a> Resumed<'a> {
    /// An opening of which nothing more is recorded.
    #[must_use]
    pub fn new(reading: &'a Reading) -> Self {
        Self { reading, facts: Map::new(), reopens: false, raised: RaisedLimits::default() }
    }

    /// Returns `true` if the operator continues a stopped thread after its recorded end.
    fn reopens(&self) -> bool {
        self.reopens || !self.raised.is_empty()
    }
}

/// The limits of a thread that is about to go on.
struct NextLimits {
    limits: LimitSet,
    is_raised: bool,
    /// `true` if the thread had ended.
    has_ended: bool,
}

impl NextLimits {
    /// Raises the limits as the operator wants it.
    ///
    /// # Errors
    ///
    /// When a limit would not be raised, or the thread would end by the same limit again at once.
    fn new(recovered: &Recovered, resumed: &Resumed<'_>) -> Result<Self, ResumeError> {
        let now = recovered.run.limits();
        let kind = recovered.run.failure().map(|it| &it.kind);
        let limits = resumed.raised.raise(now)?;
        let may_go_on = resumed.reopens() && kind.is_some_and(FailureKind::may_go_on);
        let has_ended = recovered.ended == Some(ThreadState::Error) && may_go_on;
        match kind {
            Some(FailureKind::Limit(hit)) if has_ended && !hit.is_lifted(now, &limits) => {
                Err(ResumeError::LimitStands { hit: hit.clone() })
            }
            _ => Ok(Self { is_raised: limits != *now, limits, has_ended }),
        }
    }
}

/// Goes on with a thread from what its transcript holds, as [`drive`](crate::drive) would have done.
///
/// `run` is the run that the thread began with, made anew. It is led through the recorded answers
/// and receipts, so that the history is the recorded one byte for byte. A request that has no
/// answer is sent again, its money counted as spent. A call that has a receipt is not run again. A
/// call with an intent alone is run again if that changes nothing ([`Effect`](rye_types::Effect)), and
/// otherwise waits for a decision.
///
/// # Errors
///
/// Before anything is done: when what the thread began with changed, or the records contradict each other; and when a limit is not
/// raised that has to be.
pub async fn resume(
    run: Run,
    resumed: Resumed<'_>,
    context: DriveContext<'_>,
) -> Result<Outcome, ResumeError> {
    let state = context.journal.record().state;
    if state.is_final() && !(state == ThreadState::Error && resumed.reopens()) {
        return Err(ResumeError::Ended { state });
    }
    let mut driver = Driver::new(&run, context, None);
    let opening = driver.opening(&run);
    let mut recovered = recover(run, opening, resumed.reading)?;
    driver.recorder.time.before = recovered.run.elapsed();
    if recovered.has_fallen_back
        && let Some(next) = driver.caller.provider.fallback()
    {
        driver.caller.use_fallback(next);
    }
    let next = NextLimits::new(&recovered, &resumed)?;
    if recovered.ended.is_some() && state.is_final() && !next.has_ended {
        return Err(ResumeError::Ended { state });
    }
    driver.recorder.journal.limit(&next.limits);
    driver.take_over(&mut recovered, resumed.reading);
    let missing = recovered.take_missing();
    let Recovered { mut run, ended, spawns, unanswered, .. } = recovered;
    if let Some(state) = ended.filter(|_| !next.has_ended) {
        return Ok(driver.close(&run, state).await);
    }
    let spawns = recorded_spawns(spawns, resumed.reading);
    let span = telemetry::agent(&driver);
    let before = *run.usage();
    let driven = async {
        // The record of the request without an answer has its own cost.
        let cost = driver.cost(&run).saturating_sub(unanswered.unwrap_or_default());
        let mut reopened = driver.reopen(&mut run, cost, &missing, resumed, next).await;
        if let Some(reserved) = unanswered {
            driver.record_killed(&run, reserved);
        }
        if reopened.is_ok() {
            let CallExecutor { children, progress, .. } = &mut driver.executor;
            reopened = children.adopt(spawns, progress.spawned.as_ref()).await;
        }
        if let Err(stop) = reopened
            && let Some(outcome) = driver.stop(&mut run, stop).await
        {
            return outcome;
        }
        driver.go(run).await
    };
    Ok(telemetry::within(span, before, driven).await)
}

impl Driver<'_> {
    /// Continues from where the program before this one had come.
    fn take_over(&mut self, recovered: &mut Recovered, reading: &Reading) {
        let executor = &mut self.executor;
        executor.progress = std::mem::take(&mut recovered.progress);
        executor.authoriser.take_over(std::mem::take(&mut recovered.approved));
        executor.children.take_over(std::mem::take(&mut recovered.ended_children));
        executor.add_all(&recovered.added);
        self.successor = recovered.successor.take();
        let due = std::mem::take(&mut recovered.due);
        let log = std::mem::take(&mut recovered.log);
        self.hooks.take_over(due, log, recovered.evaluations);
        self.recorder.take_over(thread_warnings(reading));
    }

    /// Records that a request of the program before this one has no answer, which counts as its whole reservation.
    fn record_killed(&mut self, run: &Run, cost: Nanos) {
        let message = "the program was stopped before its answer was recorded".to_owned();
        let turn = run.turns() + 1;
        let class = KILLED.to_owned();
        self.recorder.emit(&Event::RequestFailed(RequestFailed { turn, class, message, cost }));
    }

    /// Appends the records that the stopped process was about to write, and then `thread_resumed`.
    async fn reopen(
        &mut self,
        run: &mut Run,
        cost: Nanos,
        missing: &[Event],
        resumed: Resumed<'_>,
        next: NextLimits,
    ) -> Result<(), Stop> {
        let now = self.clock.now();
        self.recorder.journal.begin_again(&self.caller.info, now).await?;
        run.limit(next.limits.clone());
        // These events happened by the time of the last record. The time since then is not part of the thread's duration.
        let then = resumed.reading.records.last().map_or(now, |record| record.at);
        for event in missing {
            self.recorder.emit_late(event, then);
        }
        let cut = resumed.reading.torn.as_ref().map_or(0, std::ops::Range::len);
        self.recorder.emit(&Event::ThreadResumed(ThreadResumed {
            opening: openings(resumed.reading).saturating_add(1),
            cut_bytes: u64::try_from(cut).unwrap_or(u64::MAX),
            facts: resumed.facts,
            cost,
            elapsed: self.recorder.time.before,
            signed_by: self.recorder.journal.signing_key().public().to_pem(),
            limits: next.is_raised.then_some(next.limits),
        }));
        self.recorder.checkpoint();
        if next.has_ended {
            self.reopen_run(run)?;
        }
        Ok(())
    }

    /// Has a run go on that had ended, and records what is added to its history.
    pub(super) fn reopen_run(&mut self, run: &mut Run) -> Result<(), OutOfTurn> {
        let before = run.messages().len();
        run.reopen()?;
        self.hooks.due.note_reopening();
        record_texts(&mut self.recorder, run, before, &[]);
        Ok(())
    }
}

/// Returns the number of openings: the beginning, and each resumption.
fn openings(reading: &Reading) -> u64 {
    let resumed = reading.of_kind(EventKind::ThreadResumed).count();
    u64::try_from(resumed).unwrap_or(u64::MAX).saturating_add(1)
}

/// Finds the calls that want children in the transcript of their parent.
fn recorded_spawns(spawns: Vec<Spawn>, parent: &Reading) -> Vec<RecordedSpawn> {
    if spawns.is_empty() {
        return Vec::new();
    }
    let mut calls = BTreeMap::new();
    let is_call =
        |kind: EventKind| matches!(kind, EventKind::ToolCallStart | EventKind::ToolCallResult);
    for record in parent.records.iter().filter(|record| is_call(record.kind)) {
        match record.event() {
            Ok(Event::ToolCallStart(Intent { call_id, arguments, hook: None, .. })) => {
                calls.insert(call_id, arguments);
            }
            Ok(Event::ToolCallResult(Receipt { call_id, is_error: true, hook: None, .. })) => {
                calls.remove(&call_id);
            }
            _ => {}
        }
    }
    let recorded = |spawn: Spawn| {
        let arguments = calls.get(&spawn.call_id).cloned();
        RecordedSpawn { spawn, arguments }
    };
    spawns.into_iter().map(recorded).collect()
}
