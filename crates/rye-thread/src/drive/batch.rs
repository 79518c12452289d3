//! The calls of one turn: intents on disk, effects, receipts.

use std::sync::Arc;
use std::time::Duration;

use rye_caps::{Capability, Permit};
use serde_json::{Value, json};
use tokio::task::{Id, JoinError, JoinSet};

use super::call::{Plan, Prepared, intent, returned};
use super::{Driver, Stop};
use crate::transcript::Event;
use crate::{Cancel, Returned, Run, Tool, ToolCall, ToolOutput};

/// How many read-only calls run at once.
const MOST_IN_PARALLEL: usize = 16;

impl Driver<'_> {
    pub(super) async fn answer(
        &mut self,
        run: &mut Run,
        calls: &[ToolCall],
        returns: &[ToolCall],
    ) -> Result<(), Stop> {
        let mut prepared =
            calls.iter().map(|call| self.prepare(call)).collect::<Vec<_>>().into_iter().peekable();
        let mut answers = Vec::with_capacity(calls.len());
        while let Some(first) = prepared.next() {
            let mut group = vec![first];
            while group.len() < MOST_IN_PARALLEL
                && group.iter().all(|prepared| prepared.plan.is_read_only())
                && let Some(next) = prepared.next_if(|prepared| prepared.plan.is_read_only())
            {
                group.push(next);
            }
            answers.extend(self.run_group(run, group).await?);
        }
        self.answer_returns(run, answers, returns)
    }

    fn answer_returns(
        &mut self,
        run: &mut Run,
        answers: Vec<Returned>,
        returns: &[ToolCall],
    ) -> Result<(), Stop> {
        for call in returns {
            self.emit(&intent(call, call.arguments.clone().unwrap_or(Value::Null), None))?;
        }
        for result in run.tools_returned(answers)? {
            self.emit(&Event::ToolCallResult { result, refusal: None })?;
        }
        self.checkpoint()
    }

    /// Runs calls that may run together, each between its intent and its receipt.
    async fn run_group(
        &mut self,
        run: &Run,
        group: Vec<Prepared<'_>>,
    ) -> Result<Vec<Returned>, Stop> {
        self.check_cancelled()?;
        if self.left(run).is_zero() {
            return Err(Stop::Failed(self.out_of_time(run)));
        }
        for prepared in &group {
            self.emit(&prepared.intent)?;
        }
        self.context.journal.sync()?;
        let (answers, interrupted) = run_all(group, self.context.cancel, self.left(run)).await;
        for Returned { result, refusal } in &answers {
            self.emit(&Event::ToolCallResult { result: result.clone(), refusal: refusal.clone() })?;
        }
        match interrupted {
            None => Ok(answers),
            Some(Interruption::Cancelled) => Err(Stop::Cancelled),
            Some(Interruption::OutOfTime) => Err(Stop::Failed(self.out_of_time(run))),
        }
    }
}

#[derive(Clone, Copy)]
enum Interruption {
    Cancelled,
    OutOfTime,
}

/// A call that was prepared, with the place for what it comes to.
struct Slot<'a> {
    call: &'a ToolCall,
    capability: Option<Capability>,
    task: Option<Id>,
    answer: Option<Returned>,
}

async fn run_all(
    group: Vec<Prepared<'_>>,
    cancel: &Cancel,
    left: Duration,
) -> (Vec<Returned>, Option<Interruption>) {
    // Dropping the set at the end of this function stops what still runs.
    let mut tasks = JoinSet::new();
    let mut slots: Vec<Slot<'_>> =
        group.into_iter().map(|prepared| start(prepared, &mut tasks)).collect();
    let deadline = tokio::time::sleep(left);
    tokio::pin!(deadline);
    let interrupted = loop {
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !tasks.is_empty() => break Some(Interruption::Cancelled),
            joined = tasks.join_next_with_id() => match joined {
                None => break None,
                Some(joined) => place(joined, &mut slots),
            },
            () = &mut deadline => break Some(Interruption::OutOfTime),
        }
    };
    (slots.into_iter().map(Slot::close).collect(), interrupted)
}

fn start<'a>(prepared: Prepared<'a>, tasks: &mut JoinSet<ToolOutput>) -> Slot<'a> {
    match prepared.plan {
        Plan::Answer(answer) => {
            Slot { call: prepared.call, capability: None, task: None, answer: Some(answer) }
        }
        Plan::Run { offered, permit, arguments } => {
            let capability = Some(permit.capability().clone());
            let task = tasks.spawn(call(Arc::clone(&offered.entry.tool), permit, arguments)).id();
            Slot { call: prepared.call, capability, task: Some(task), answer: None }
        }
    }
}

async fn call(tool: Arc<dyn Tool>, permit: Permit, arguments: Value) -> ToolOutput {
    tool.call(&permit, arguments).await
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

    /// What the call came to; one that was stopped may have done part of its work.
    fn close(self) -> Returned {
        let message = "the call was stopped while it ran; what it changed before is not undone";
        let stopped = || crate::ToolResult::error(self.call, json!({ "error": message }));
        self.answer.unwrap_or_else(|| Returned::ran(stopped()))
    }
}
