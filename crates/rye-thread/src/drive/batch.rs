//! The calls of one turn: intents on disk, effects, receipts.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rye_caps::{Capability, Permit};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::{Id, JoinError, JoinSet};
use tracing::{Instrument as _, Span};

use super::call::{Plan, Prepared, intent, returned};
use super::hooks::Occasion;
use super::output::{self, Piece, Told};
use super::spawn::{SpawnCall, used_up};
use super::{Driver, Stop, Tape, telemetry};
use crate::approval::digest;
use crate::cancel::Halt;
use crate::children::Spawn;
use crate::transcript::Event;
use crate::{
    ApprovalRequest, Cancel, Clock, LimitHit, Observer, Returned, Run, Tool, ToolCall, ToolOutput,
};

/// The number of read-only calls that run at once.
const MOST_IN_PARALLEL: usize = 16;

/// The progress of the calls of a turn, kept during an approval wait and restored from the
/// transcript.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The results of the first calls, each of which has its receipt.
    pub(super) answers: Vec<Returned>,
    /// The number of calls with a recorded intent. Calls that return outputs come after all others.
    pub(super) intents: usize,
    /// `true` if it is on record that the next call waits for an approval.
    pub(super) is_asked: bool,
    /// The arguments of the next call as the operator was asked about them, once that is on record.
    pub(super) proposal: Option<Proposal>,
    /// The child that the next call wants, once that is on record.
    pub(super) spawned: Option<Spawn>,
}

/// The arguments of a question, as the record holds them.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    /// May be less than the operator was shown.
    pub(super) arguments: Value,
    /// The digest of those that the operator was shown.
    pub(super) sha256: String,
}

impl Proposal {
    pub(super) fn of(request: &ApprovalRequest) -> Self {
        Self { arguments: request.arguments.clone(), sha256: request.sha256.clone() }
    }

    /// The arguments that the operator was shown: those of the call, or else those on record, where the record holds them whole.
    pub(super) fn shown<'a>(&'a self, of_call: &'a Value) -> Option<&'a Value> {
        [of_call, &self.arguments].into_iter().find(|arguments| digest(arguments) == self.sha256)
    }
}

impl Progress {
    /// The limits that kept calls from starting threads.
    pub(super) fn limited(&self) -> Vec<LimitHit> {
        self.answers.iter().filter_map(|answer| answer.limit.clone()).collect()
    }
}

impl<'a> Driver<'a> {
    pub(super) async fn answer(
        &mut self,
        run: &mut Run,
        calls: &[ToolCall],
        returns: &[ToolCall],
    ) -> Result<(), Stop> {
        while self.progress.answers.len() < calls.len() {
            let group = self.next_group(run, calls).await;
            if let [Prepared { index, asks: Some(_), .. }] = group.as_slice() {
                return Ok(run.ask_approval(*index)?);
            }
            self.run_group(run, group).await?;
        }
        self.answer_returns(run, calls.len(), returns).await
    }

    /// The calls that run together next. Each is judged when its turn has come, because those before it may have bounded
    /// what the thread may do.
    async fn next_group<'b>(&self, run: &Run, calls: &'b [ToolCall]) -> Vec<Prepared<'b>>
    where
        'a: 'b,
    {
        let left = calls.iter().enumerate().skip(self.progress.answers.len());
        let mut group: Vec<Prepared<'b>> = Vec::new();
        for (index, call) in left.take(MOST_IN_PARALLEL) {
            let next = self.prepare(run, index, call).await;
            if !group.is_empty() && !next.may_join() {
                break;
            }
            group.push(next);
            if !group.iter().all(Prepared::may_join) {
                break;
            }
        }
        group
    }

    async fn answer_returns(
        &mut self,
        run: &mut Run,
        called: usize,
        returns: &[ToolCall],
    ) -> Result<(), Stop> {
        let recorded = self.progress.intents.saturating_sub(called);
        for call in returns.iter().skip(recorded) {
            self.recorder.emit(&intent(call, call.arguments.clone().unwrap_or(Value::Null), None));
        }
        self.progress.intents = self.progress.intents.max(called + returns.len());
        let unwanted = match run.returning(&self.progress.answers) {
            Some(outputs) => self.evaluate(run, &Occasion::Returns(outputs)).await?,
            None => None,
        };
        if run.has_ended() {
            return Ok(());
        }
        if let Some(tape) = &self.tape {
            tape.skip_receipts(returns.len());
        }
        let progress = std::mem::take(&mut self.progress);
        let known = run.refusals().len();
        let limited = progress.limited();
        let own = match unwanted {
            Some(reason) => run.tools_returned_in_vain(progress.answers, &reason)?,
            None => run.tools_returned(progress.answers)?,
        };
        self.due.turn_over(run.refusals_since(known), limited);
        for result in own {
            self.recorder.emit(&Event::ToolCallResult {
                result,
                refusal: None,
                limit: None,
                added: Vec::new(),
            });
        }
        self.recorder.checkpoint();
        Ok(())
    }

    /// Runs calls that may run together, each between its intent and its receipt.
    async fn run_group(&mut self, run: &Run, group: Vec<Prepared<'_>>) -> Result<(), Stop> {
        self.check_cancelled()?;
        if self.left(run).is_zero() {
            return Err(Stop::Failed(self.out_of_time(run)));
        }
        for prepared in &group {
            let is_new = self.progress.intents <= prepared.index;
            // A call that is run again has its intent on record. One that somebody let run again has another one, which
            // shows that what they said was acted on: it is not for a third run.
            if is_new || (prepared.plan.runs() && run.decision(prepared.index).is_some()) {
                self.recorder.emit(&prepared.intent);
                self.progress.intents = self.progress.intents.max(prepared.index + 1);
            }
        }
        let only_reads = group.iter().all(|prepared| prepared.plan.changes_nothing());
        let spawns = self.tape.is_none().then(|| SpawnCall::of(&group)).flatten();
        // A call that only reads may be run again by one who finds no trace of it.
        if !only_reads || spawns.is_some() {
            self.recorder.sync().await?;
        }
        if let Some(call) = spawns {
            let span = group.first().map_or_else(Span::none, telemetry::tool);
            let (answer, stop) = self.spawn(run, call).instrument(span.clone()).await?;
            telemetry::started(&span, answer.as_ref());
            drop(span);
            self.receive(answer);
            self.recorder.write()?;
            return stop.map_or(Ok(()), Err);
        }
        let (answers, interrupted) = match &self.tape {
            Some(tape) => (group.into_iter().map(|it| replayed(it, tape)).collect(), None),
            None => {
                let mut begun = Begun::new(group, self.clock);
                if only_reads && !begun.end_at_once().await {
                    // It may take long, and an answer that was paid for is not to be lost meanwhile.
                    self.recorder.write()?;
                }
                self.ended(run, begun).await
            }
        };
        self.receive(answers);
        if !only_reads {
            self.recorder.write()?;
        }
        match interrupted {
            // In a replay the time is known by what is recorded until it ran out.
            None if self.tape.is_none() || !self.left(run).is_zero() => Ok(()),
            None | Some(Interruption::OutOfTime) => Err(Stop::Failed(self.out_of_time(run))),
            Some(Interruption::Halted(halt)) => Err(halt.into()),
        }
    }

    async fn ended(
        &mut self,
        run: &Run,
        begun: Begun<'_>,
    ) -> (Vec<Returned>, Option<Interruption>) {
        let left = self.left(run);
        let observer = self.observer;
        let Ran { answers, interrupted, thought } = begun.ended(self.cancel, left, observer).await;
        self.thought(thought);
        (answers, interrupted)
    }

    fn receive(&mut self, answers: impl IntoIterator<Item = Returned>) {
        for answer in answers {
            let Returned { result, refusal, limit, added } = answer.clone();
            self.add_all(added.clone());
            self.recorder.emit(&Event::ToolCallResult { result, refusal, limit, added });
            self.progress.answers.push(answer);
            self.progress.spawned = None;
            self.progress.proposal = None;
        }
    }
}

/// Returns the recorded result of a call that was run. A call that was decided without running is
/// decided anew.
pub(super) fn replayed(prepared: Prepared<'_>, tape: &Tape) -> Returned {
    match prepared.plan {
        Plan::Answer(answer) => tape.receipt(prepared.call, Some(answer)),
        Plan::Run { .. } => tape.receipt(prepared.call, None),
    }
}

#[derive(Clone, Copy)]
pub(super) enum Interruption {
    Halted(Halt),
    OutOfTime,
}

/// A call that was prepared, with the place for what it comes to.
struct Slot<'a> {
    call: &'a ToolCall,
    capability: Option<Capability>,
    task: Option<Id>,
    answer: Option<Returned>,
}

/// The results of calls that were run.
pub(super) struct Ran {
    pub(super) answers: Vec<Returned>,
    pub(super) interrupted: Option<Interruption>,
    /// The time of the approval waits below these calls.
    pub(super) thought: Duration,
}

pub(super) async fn run_all(
    group: Vec<Prepared<'_>>,
    clock: &dyn Clock,
    cancel: &Cancel,
    left: Duration,
    observer: &dyn Observer,
) -> Ran {
    Begun::new(group, clock).ended(cancel, left, observer).await
}

/// Calls that run; what still does is stopped when this is dropped.
struct Begun<'a> {
    tasks: JoinSet<ToolOutput>,
    slots: Vec<Slot<'a>>,
    pieces: Receiver<Piece>,
    thinking: Thinking<'a>,
}

/// The approval waits below the calls that this thread waits for.
struct Thinking<'a> {
    clock: &'a dyn Clock,
    tools: Vec<Arc<dyn Tool>>,
    before: Duration,
}

impl<'a> Thinking<'a> {
    fn new(group: &[Prepared<'a>], clock: &'a dyn Clock) -> Self {
        let tools = group.iter().filter_map(|prepared| match &prepared.plan {
            Plan::Run { offered, .. } => Some(Arc::clone(&offered.entry.tool)),
            Plan::Answer(_) => None,
        });
        let mut thinking = Self { clock, tools: tools.collect(), before: Duration::ZERO };
        thinking.before = thinking.so_far();
        thinking
    }

    /// Returns the time of the waits so far. Waits that overlap count once.
    fn so_far(&self) -> Duration {
        let now = self.clock.elapsed();
        let thought = self.tools.iter().map(|tool| tool.approval_wait(now)).max();
        thought.unwrap_or_default().saturating_sub(self.before)
    }
}

impl<'a> Begun<'a> {
    fn new(group: Vec<Prepared<'a>>, clock: &'a dyn Clock) -> Self {
        let mut tasks = JoinSet::new();
        let thinking = Thinking::new(&group, clock);
        let (sender, pieces) = output::channel();
        let slots = group.into_iter().map(|it| start(it, &mut tasks, &sender)).collect();
        Self { tasks, slots, pieces, thinking }
    }

    /// Gives the calls one chance to end, and says whether all of them took it.
    async fn end_at_once(&mut self) -> bool {
        let mut has_given_way = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut has_given_way, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        while let Some(joined) = self.tasks.try_join_next_with_id() {
            place(joined, &mut self.slots);
        }
        self.tasks.is_empty()
    }

    /// Waits until all have ended, or something else has.
    async fn ended(self, cancel: &Cancel, left: Duration, observer: &dyn Observer) -> Ran {
        let Self { mut tasks, mut slots, mut pieces, thinking } = self;
        let deadline = used_up(left, || thinking.so_far());
        tokio::pin!(deadline);
        let interrupted = loop {
            tokio::select! {
                biased;
                halt = cancel.wait_for_halt(), if !tasks.is_empty() => break Some(Interruption::Halted(halt)),
                joined = tasks.join_next_with_id() => match joined {
                    None => break None,
                    Some(joined) => place(joined, &mut slots),
                },
                () = &mut deadline => break Some(Interruption::OutOfTime),
                // Last, so that a tool that never stops writing keeps nothing from being noticed.
                Some(piece) = pieces.recv() => piece.tell(observer),
            }
        };
        while let Ok(piece) = pieces.try_recv() {
            piece.tell(observer);
        }
        let answers = match interrupted {
            // Who goes on is to know which calls were cut off: they get no receipt, nor do those after them.
            Some(Interruption::Halted(Halt::Interrupt)) => {
                slots.into_iter().map_while(|slot| slot.answer).collect()
            }
            _ => slots.into_iter().map(Slot::close).collect(),
        };
        Ran { answers, interrupted, thought: thinking.so_far() }
    }
}

fn start<'a>(
    prepared: Prepared<'a>,
    tasks: &mut JoinSet<ToolOutput>,
    pieces: &Sender<Piece>,
) -> Slot<'a> {
    let span = telemetry::tool(&prepared);
    match prepared.plan {
        Plan::Answer(answer) => {
            Slot { call: prepared.call, capability: None, task: None, answer: Some(answer) }
        }
        Plan::Run { offered, permit, arguments } => {
            let capability = Some(permit.capability().clone());
            let told = Told::new(&prepared.call.id, pieces.clone());
            let call = call(Arc::clone(&offered.entry.tool), permit, arguments, told);
            let task = tasks.spawn(telemetry::calling(span, call)).id();
            Slot { call: prepared.call, capability, task: Some(task), answer: None }
        }
    }
}

async fn call(tool: Arc<dyn Tool>, permit: Permit, arguments: Value, told: Told) -> ToolOutput {
    tool.call_with_sink(&permit, arguments, &told).await
}

fn place(joined: Result<(Id, ToolOutput), JoinError>, slots: &mut [Slot<'_>]) {
    let (id, output) = match joined {
        Ok(joined) => joined,
        Err(error) => {
            let message =
                "the tool broke off without a result; what it changed before is not undone";
            (error.id(), ToolOutput::error(json!({ "error": message })))
        }
    };
    if let Some(slot) = slots.iter_mut().find(|slot| slot.task == Some(id)) {
        slot.fill(output);
    }
}

impl Slot<'_> {
    fn fill(&mut self, output: ToolOutput) {
        self.answer =
            self.capability.as_ref().map(|capability| returned(self.call, capability, output));
    }

    /// Returns the result of the call. A stopped call may have done part of its work.
    fn close(self) -> Returned {
        let message = "the call was stopped while it ran; what it changed before is not undone";
        let stopped = || crate::ToolResult::error(self.call, json!({ "error": message }));
        self.answer.unwrap_or_else(|| Returned::ran(stopped()))
    }
}
