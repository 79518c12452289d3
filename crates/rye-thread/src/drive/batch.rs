//! Calls that run at once.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rye_caps::Capability;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::{Id, JoinError, JoinSet};

use super::call::{Plan, Prepared, tool_answer};
use super::output::{self, OutputSender, Piece};
use super::spawn::use_up;
use super::{Recording, telemetry};
use crate::cancel::Halt;
use crate::{Cancel, Clock, Observer, Returned, Tool, ToolCall, ToolOutput};

/// Returns the recorded result of a call that was run. A call that was decided without running is
/// decided anew.
pub(super) fn replay_answer(prepared: Prepared<'_>, recording: &Recording) -> Returned {
    match prepared.plan {
        Plan::Answer(answer) => recording.receipt(prepared.call, Some(answer)),
        Plan::Run { .. } => recording.receipt(prepared.call, None),
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

/// Calls that run; what still does is stopped when this is dropped.
pub(super) struct Begun<'a> {
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
            Plan::Run { call, .. } => Some(Arc::clone(call.tool())),
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
    pub(super) fn new(group: Vec<Prepared<'a>>, clock: &'a dyn Clock) -> Self {
        let mut tasks = JoinSet::new();
        let thinking = Thinking::new(&group, clock);
        let (sender, pieces) = output::channel();
        let slots = group.into_iter().map(|it| start(it, &mut tasks, &sender)).collect();
        Self { tasks, slots, pieces, thinking }
    }

    /// Gives the calls one chance to end, and says whether all of them took it.
    pub(super) async fn end_at_once(&mut self) -> bool {
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
    pub(super) async fn wait(
        self,
        cancel: &Cancel,
        left: Duration,
        observer: &dyn Observer,
    ) -> Ran {
        let Self { mut tasks, mut slots, mut pieces, thinking } = self;
        let deadline = use_up(left, || thinking.so_far());
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
            // The calls that were cut off get no receipt, nor do those after them, so that a resuming process finds them.
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
        Plan::Run { call, .. } => {
            let capability = Some(call.permit().capability().clone());
            let told = OutputSender::new(&prepared.call.id, pieces.clone());
            let run = async move { call.run(&told).await };
            let task = tasks.spawn(telemetry::calling(span, run)).id();
            Slot { call: prepared.call, capability, task: Some(task), answer: None }
        }
    }
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
            self.capability.as_ref().map(|capability| tool_answer(self.call, capability, output));
    }

    /// Returns the result of the call. A stopped call may have done part of its work.
    fn close(self) -> Returned {
        let message = "the call was stopped while it ran; what it changed before is not undone";
        let stopped = || crate::ToolResult::error(self.call, json!({ "error": message }));
        self.answer.unwrap_or_else(|| Returned::ran(stopped()))
    }
}
