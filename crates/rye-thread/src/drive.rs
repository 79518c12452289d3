//! The thin asynchronous shell around a [`Run`]: what it decides is done here, in the order that survives a crash.

mod accountant;
mod answer;
mod approve;
mod ask;
mod batch;
mod call;
mod caller;
mod ended;
mod finish;
mod first;
mod handover;
mod hooks;
mod observe;
mod output;
mod pending;
mod recorder;
mod recover;
mod replay;
mod resume;
mod spawn;
mod stop;
mod telemetry;
mod warnings;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rye_caps::Authority;

use self::accountant::Accountant;
use self::batch::Progress;
use self::caller::ModelCaller;
pub use self::ended::{RecordedEnd, RecordedLimits, recorded_end, recorded_limits, recorded_root};
pub use self::first::first_request;
use self::first::refuse_unpriced;
pub use self::handover::{Handover, handed_over};
use self::hooks::{Due, Log};
pub use self::observe::{Observer, OutputPiece};
pub use self::pending::{
    DecidedApproval, PendingApproval, decided_approval, decision_on, last_result, pending_approval,
    spawned_children,
};
use self::recorder::Recorder;
pub use self::recover::ResumeError;
use self::replay::Tape;
pub use self::replay::{Divergence, ReplayContext, Replayed, replay};
pub use self::resume::{Resumed, resume};
use self::stop::Stop;
pub use self::warnings::thread_warnings;
use crate::children::Ending;
use crate::durability::Driven;
use crate::transcript::{Event, Injected};
use crate::{
    Account, AddedItem, Approver, Cancel, Clock, Failure, FailureKind, Hooks, Journal, Message,
    OutOfTurn, Outcome, Palette, Provider, Run, Step, ThreadId, ThreadState,
};

/// Everything that a run depends on. All fields are required.
#[expect(clippy::exhaustive_structs, reason = "a run that lacks one of these must not compile")]
#[expect(missing_debug_implementations, reason = "most of it is traits that others implement")]
pub struct DriveContext<'a> {
    /// The provider that answers.
    pub provider: &'a dyn Provider,
    /// The tools whose specifications the run was made with.
    pub palette: &'a Palette,
    /// The authority that allows the calls.
    pub authority: &'a Authority,
    /// The journal, which records every event and the money that is spent.
    pub journal: &'a mut Journal,
    /// The source of the time.
    pub clock: &'a dyn Clock,
    /// The observer of events.
    pub observer: &'a dyn Observer,
    /// The approver, which is asked before a call that needs an approval.
    pub approver: &'a dyn Approver,
    /// The signal that stops the thread.
    pub cancel: &'a Cancel,
    /// The composed items of the opening, for the record.
    pub injected: &'a [Injected],
    /// The hooks that act at the events of the thread.
    pub hooks: &'a Hooks,
}

/// Runs a conversation that has not begun to its end, and leaves the record of it.
///
/// Each turn: check cancellation and limits, reserve the most that the request may cost, request, record the answer with its
/// cost; then per call resolve, authorise, validate, put the intent on disk, run, record the receipt. Calls of
/// read-only tools that follow each other run in parallel, all others alone and in order. A denial is an error result
/// that the model can read.
///
/// An event is written before the driver waits for anything. It is on disk before each request and
/// before each call of a tool that does not only read, so that the resuming process knows of both.
///
/// It never panics for a tool that does, and returns an [`Outcome`] whatever happens: what cannot be written stops the
/// thread with [`FailureKind::Storage`] and does not end it, so that [`resume`](crate::resume) can go on. It needs a tokio runtime with its timer; requests and calls on their way
/// when the time is used up are dropped. Waits for the disk are on the blocking pool of the runtime, so that those of several
/// threads overlap. A process that drives one thread, in the main future of a runtime, waits in place.
pub async fn drive(run: Run, context: DriveContext<'_>) -> Outcome {
    if run.turns() > 0 || context.journal.record().state != ThreadState::Created {
        return driven_before(&run);
    }
    let driver = Driver::new(&run, context, None);
    telemetry::within(telemetry::agent(&driver), *run.usage(), driver.drive(run)).await
}

/// A journal tells of one run from its beginning, so that a second one leaves it as it is.
pub(crate) fn driven_before(run: &Run) -> Outcome {
    let message = "the run was driven before; start the directive again";
    finish::unrecorded(run, Failure::new(FailureKind::OutOfTurn, message))
}

/// The owners of one run and what was measured of the world; every decision is the run's.
struct Driver<'a> {
    recorder: Recorder<'a>,
    accountant: Accountant,
    caller: ModelCaller<'a>,
    palette: &'a Palette,
    clock: &'a dyn Clock,
    observer: &'a dyn Observer,
    approver: &'a dyn Approver,
    cancel: &'a Cancel,
    injected: &'a [Injected],
    hooks: &'a Hooks,
    /// The time of the clock when this driver began.
    started: Duration,
    /// The time that the run had taken before that.
    before: Duration,
    /// The time spent waiting for approvals.
    waited: Duration,
    progress: Progress,
    /// The number of children that were begun.
    spawned: u64,
    /// The children whose ends are on record.
    ended_children: BTreeSet<ThreadId>,
    /// The recorded results of calls, in a replay.
    tape: Option<Arc<Tape>>,
    /// The events whose hooks had no turn yet.
    due: Due,
    /// The recorded acts of hooks from before the process of this thread was stopped.
    log: Log,
    /// The number of events at which hooks acted.
    evaluations: u64,
    /// The authority of the thread by now: that of the context, under every item that a call added.
    authority: Authority,
    /// The number of items that calls added to the conversation.
    added: u64,
    /// The item and capability of each call that the operator approved for the rest of the thread.
    approved: BTreeSet<(String, String)>,
    /// The thread that goes on after this one, where it is on record.
    successor: Option<ThreadId>,
    /// Counts the thread among those that this process drives.
    _driven: Driven,
}

impl<'a> Driver<'a> {
    fn new(run: &Run, context: DriveContext<'a>, tape: Option<Arc<Tape>>) -> Self {
        let DriveContext { provider, palette, authority, journal, clock, observer, .. } = context;
        let DriveContext { approver, cancel, injected, hooks, .. } = context;
        let tree = journal.tree_account();
        let thread = journal.thread().clone();
        Self {
            recorder: Recorder::new(journal, clock, observer),
            accountant: Accountant::new(tree, thread, tape.is_some()),
            caller: ModelCaller::new(provider, observer, cancel),
            palette,
            clock,
            observer,
            approver,
            cancel,
            injected,
            hooks,
            started: clock.elapsed(),
            before: run.elapsed(),
            waited: Duration::ZERO,
            progress: Progress::default(),
            spawned: 0,
            ended_children: BTreeSet::new(),
            tape,
            due: Due::default(),
            log: Log::default(),
            evaluations: 0,
            authority: authority.clone(),
            added: 0,
            approved: BTreeSet::new(),
            successor: None,
            _driven: Driven::new(),
        }
    }

    /// Drives a run that has not begun.
    async fn drive(mut self, mut run: Run) -> Outcome {
        let begun = self.begin(&run);
        if let Err(stop) = begun
            && let Some(outcome) = self.stop(&mut run, stop).await
        {
            return outcome;
        }
        self.go(run).await
    }

    /// Does what the run decides until it ends or cannot go on.
    async fn go(mut self, mut run: Run) -> Outcome {
        loop {
            let mut done = self.between_turns(&mut run).await;
            if done.is_ok() {
                done = match run.step(self.elapsed()) {
                    Step::AskApproval { index, call } => self.approve(&mut run, index, &call).await,
                    Step::CallModel(request) => self.ask(&mut run, request).await,
                    Step::CallTools { calls, returns } => {
                        self.answer(&mut run, &calls, &returns).await
                    }
                    Step::Done(end) if self.owes_hooks(&end) => {
                        self.before_the_end(&mut run, &end).await
                    }
                    Step::Done(end) => match self.part(&end).await {
                        Ok(()) if self.replays_reopening(&mut run) => Ok(()),
                        Ok(()) => return self.finish(&run, end).await,
                        stopped => stopped,
                    },
                };
            }
            if let Err(stop) = done
                && let Some(outcome) = self.stop(&mut run, stop).await
            {
                return outcome;
            }
        }
    }

    /// Ends the run, or leaves it so that it can be resumed. A run that has ended already keeps its
    /// first end.
    async fn stop(&mut self, run: &mut Run, stop: Stop) -> Option<Outcome> {
        let _already_ended: Result<(), OutOfTurn> = match stop {
            Stop::Cancelled => run.cancel(),
            Stop::Failed(failure) => run.fail(failure),
            Stop::Unwritten(failure) => {
                self.end_children(Ending::Interrupt).await;
                return Some(self.leave(run, failure).await);
            }
            Stop::Interrupted => {
                self.end_children(Ending::Interrupt).await;
                return Some(self.pause(run, None).await);
            }
            Stop::Suspended(request) => {
                self.end_children(Ending::Await).await;
                return Some(self.pause(run, Some(*request)).await);
            }
        };
        None
    }

    fn elapsed(&self) -> Duration {
        let driven = self.clock.elapsed().saturating_sub(self.started);
        self.before.saturating_add(driven.saturating_sub(self.waited))
    }

    /// Subtracts an approval wait from the thread's elapsed time and records it, so that a resumed
    /// run subtracts it too.
    fn thought(&mut self, time: Duration) {
        self.waited += time;
        self.recorder.journal.add_approval_wait(time);
    }

    /// Returns the time that a request or a call that begins now may take.
    fn left(&self, run: &Run) -> Duration {
        Duration::from_secs(run.limits().duration_seconds).saturating_sub(self.elapsed())
    }

    fn begin(&mut self, run: &Run) -> Result<(), Stop> {
        let now = self.clock.now();
        self.recorder.journal.begin(&self.caller.info, now);
        self.opening(run).iter().for_each(|event| self.recorder.emit(event));
        self.recorder.checkpoint();
        refuse_unpriced(&self.caller.info, run.limits()).map_err(Stop::Failed)
    }

    /// Returns the events that are recorded before the first request.
    fn opening(&self, run: &Run) -> Vec<Event> {
        let names = self.palette.names();
        let palette = names.map(|(name, id)| (name.to_owned(), id.to_owned())).collect();
        let provider = self.caller.info.clone();
        let limits = run.limits().clone();
        let start = self.recorder.journal.start(provider, limits, run.tools().to_vec(), palette);
        let system = run.system().map(|text| Event::SystemPrompt { text: text.to_owned() });
        let injected = self.injected.iter().cloned().map(Event::ContextInjected);
        let first = run.messages().iter().map_while(|message| match message {
            Message::User { text } => Some(Event::UserMessage { text: text.clone() }),
            _ => None,
        });
        std::iter::once(start).chain(system).chain(injected).chain(first).collect()
    }

    /// The account of the thread.
    fn account(&self, run: &Run) -> Account {
        self.accountant.account(run.limits().spend)
    }

    /// Bounds what happens from now on, in this thread and in the children that it starts, by what a call added to the
    /// conversation.
    fn add_all(&mut self, items: impl IntoIterator<Item = AddedItem>) {
        for item in items {
            self.authority = item.narrow(&self.authority);
            self.added += 1;
            if let Some(children) = self.palette.children() {
                children.add(&item);
            }
        }
    }

    fn check_cancelled(&self) -> Result<(), Stop> {
        self.cancel.halt().map_or(Ok(()), |halt| Err(halt.into()))
    }
}

#[cfg(test)]
mod tests;
