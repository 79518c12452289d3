//! The thin asynchronous shell around a [`Run`]: what it decides is done here, in the order that survives a crash.

mod accountant;
mod answer;
mod ask;
mod ask_again;
mod authoriser;
mod batch;
mod call;
mod caller;
mod executor;
mod finish;
mod first;
mod hooks;
mod last_result;
mod observe;
mod output;
mod progress;
mod recorder;
mod recover;
mod replay;
mod resume;
mod spawn;
mod stop;
mod telemetry;
mod time;
mod warnings;

use std::sync::Arc;

use rye_caps::Authority;
use rye_types::ThreadState;
use serde_json::{Map, Value};

use self::accountant::Accountant;
use self::caller::ModelCaller;
use self::executor::CallExecutor;
pub use self::first::first_request;
use self::first::{refuse_long_opening, refuse_unpriced};
use self::hooks::{HookContext, HookRunner, Occasion};
pub use self::last_result::last_result;
pub use self::observe::{Observer, OutputPiece};
use self::recorder::Recorder;
pub use self::recover::ResumeError;
use self::replay::Recording;
pub use self::replay::{Divergence, ReplayContext, Replayed, replay};
pub use self::resume::{Resumed, resume};
use self::stop::Stop;
pub use self::warnings::thread_warnings;
use crate::children::Ending;
use crate::durability::Driven;
use crate::transcript::Event;
use crate::transcript::payload::{Injected, Receipt, Said, SystemPrompt};
use crate::{
    Account, Approver, Cancel, Clock, End, Failure, FailureKind, Hooks, Journal, Message,
    OutOfTurn, Outcome, Palette, Provider, Run, Step, ThreadId, ToolCall,
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
/// Each turn checks cancellation and limits, reserves the most that the request may cost, sends it, and records the answer with
/// its cost. Each call is resolved, authorised and validated. Its intent goes to the disk, it runs, and its receipt is recorded.
/// Calls of read-only tools that follow each other run in parallel, all others alone and in order. A denial is an error result
/// that the model can read.
///
/// An event is written before the driver waits for anything. It is on disk before each request and
/// before each call of a tool that does not only read, so that the resuming process knows of both.
///
/// It does not panic if a tool does, and always returns an [`Outcome`]. A record that cannot be written stops the thread with
/// [`FailureKind::Storage`] and does not end it, so that [`resume`](crate::resume) can continue it.
///
/// It needs a tokio runtime with its timer. When the time is used up, requests and calls under way are dropped. Waits for the
/// disk are on the blocking pool of the runtime, so that those of several threads overlap. A process that drives one thread, in
/// the main future of a runtime, waits in place.
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
    finish::undriven_outcome(run, Failure::new(FailureKind::OutOfTurn, message))
}

/// The owners of one run and what was measured of the world; every decision is the run's.
struct Driver<'a> {
    recorder: Recorder<'a>,
    accountant: Accountant,
    caller: ModelCaller<'a>,
    executor: CallExecutor<'a>,
    clock: &'a dyn Clock,
    cancel: &'a Cancel,
    injected: &'a [Injected],
    hooks: HookRunner<'a>,
    /// The recorded results of calls, in a replay.
    recording: Option<Arc<Recording>>,
    /// The successor in the conversation, if the transcript names it.
    successor: Option<ThreadId>,
    /// Counts the thread among those that this process drives.
    _driven: Driven,
}

impl<'a> Driver<'a> {
    fn new(run: &Run, context: DriveContext<'a>, recording: Option<Arc<Recording>>) -> Self {
        let executor = CallExecutor::new(run, &context, recording.clone());
        let DriveContext { provider, journal, clock, observer, cancel, injected, hooks, .. } =
            context;
        let tree = journal.tree_account();
        let thread = journal.thread().clone();
        Self {
            recorder: Recorder::new(journal, clock, observer, run.elapsed()),
            accountant: Accountant::new(tree, thread, recording.is_some()),
            caller: ModelCaller::new(provider, observer, cancel),
            executor,
            clock,
            cancel,
            injected,
            hooks: HookRunner::new(hooks, cancel),
            recording,
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
            let mut done = self.act_between_turns(&mut run).await;
            if done.is_ok() {
                done = match run.step(self.recorder.time.elapsed()) {
                    Step::AskApproval { index, call } => {
                        self.executor.approve(&mut run, index, &call, &mut self.recorder).await
                    }
                    Step::CallModel(request) => self.ask(&mut run, request).await,
                    Step::CallTools { calls, returns } => {
                        self.answer(&mut run, &calls, &returns).await
                    }
                    Step::Done(end) if self.hooks.due.has_hooks_before(&end) => {
                        self.act_before_the_end(&mut run, &end).await
                    }
                    Step::Done(end) => match self.part_with_children(&end).await {
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

    /// Answers the calls of a turn, up to one that waits for an approval.
    async fn answer(
        &mut self,
        run: &mut Run,
        calls: &[ToolCall],
        returns: &[ToolCall],
    ) -> Result<(), Stop> {
        let execution = self.executor.execute(run, calls, &mut self.recorder, &self.accountant);
        if let Some(index) = execution.await? {
            return Ok(run.ask_approval(index)?);
        }
        self.executor.record_returns(calls.len(), returns, &mut self.recorder);
        let unwanted = match run.returning(&self.executor.progress.answers) {
            Some(outputs) => self.act_at_returns(run, outputs).await?,
            None => None,
        };
        if run.has_ended() {
            return Ok(());
        }
        if let Some(recording) = &self.recording {
            recording.skip_receipts(returns.len());
        }
        let progress = std::mem::take(&mut self.executor.progress);
        let known = run.refusals().len();
        let limited = progress.spawn_limits();
        let own = match unwanted {
            Some(reason) => run.tools_returned_in_vain(progress.answers, &reason)?,
            None => run.tools_returned(progress.answers)?,
        };
        self.hooks.due.turn_over(run.refusals_since(known), limited);
        for result in own {
            self.recorder.emit(&Event::ToolCallResult(Receipt::new(result)));
        }
        self.recorder.checkpoint();
        Ok(())
    }

    async fn act_between_turns(&mut self, run: &mut Run) -> Result<(), Stop> {
        let Self { hooks, recorder, executor, caller, .. } = self;
        let mut context = HookContext { recorder, executor, info: &caller.info };
        hooks.act_between_turns(run, &mut context).await
    }

    async fn act_before_the_end(&mut self, run: &mut Run, end: &End) -> Result<(), Stop> {
        let Self { hooks, recorder, executor, caller, .. } = self;
        let mut context = HookContext { recorder, executor, info: &caller.info };
        hooks.act_before_the_end(run, end, &mut context).await
    }

    /// Has hooks look at the outputs, and returns why they are not accepted.
    async fn act_at_returns(
        &mut self,
        run: &mut Run,
        outputs: Map<String, Value>,
    ) -> Result<Option<String>, Stop> {
        let Self { hooks, recorder, executor, caller, .. } = self;
        let mut context = HookContext { recorder, executor, info: &caller.info };
        hooks.evaluate(run, &Occasion::Returns(outputs), &mut context).await
    }

    /// Parts with the children before the end of the thread is recorded.
    async fn part_with_children(&mut self, end: &End) -> Result<(), Stop> {
        self.executor.children.part(end, &mut self.recorder, &self.accountant).await
    }

    async fn end_children(&mut self, ending: Ending) {
        let _ended = self.executor.children.end(ending, &mut self.recorder).await;
    }

    fn begin(&mut self, run: &Run) -> Result<(), Stop> {
        let now = self.clock.now();
        self.recorder.journal.begin(&self.caller.info, now);
        self.opening(run).iter().for_each(|event| self.recorder.emit(event));
        self.recorder.checkpoint();
        refuse_unpriced(&self.caller.info, run.limits()).map_err(Stop::Failed)?;
        refuse_long_opening(&self.caller.info, run).map_err(Stop::Failed)
    }

    /// Returns the events that are recorded before the first request.
    fn opening(&self, run: &Run) -> Vec<Event> {
        let names = self.executor.authoriser.palette.names();
        let palette = names.map(|(name, id)| (name.to_owned(), id.to_owned())).collect();
        let provider = &self.caller.info;
        let limits = run.limits().clone();
        let start = self.recorder.journal.start(provider, limits, run.tools().to_vec(), palette);
        let system = run.system().map(|text| Event::SystemPrompt(SystemPrompt::new(text)));
        let injected = self.injected.iter().cloned().map(Event::ContextInjected);
        let first = run.messages().iter().map_while(|message| match message {
            Message::User { text } => Some(Event::UserMessage(Said { text: text.clone() })),
            _ => None,
        });
        std::iter::once(start).chain(system).chain(injected).chain(first).collect()
    }

    /// The account of the thread.
    fn account(&self, run: &Run) -> Account {
        self.accountant.account(run.limits().spend)
    }
}

#[cfg(test)]
mod tests;
