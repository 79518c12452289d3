//! The loop as a value: it decides, and performs nothing.

mod approval;
mod decide;
mod end;
mod facts;
mod hooks;
mod phase;
mod stop;
mod unusable;

use std::sync::Arc;
use std::time::Duration;

use rye_types::{LimitSet, Nanos, Usage};

use self::decide::Measured;
pub use self::end::{End, OutOfTurn, Returned, Step};
use self::phase::{Batch, Phase};
pub(crate) use self::unusable::Fault;
use crate::{
    Failure, FailureKind, History, Message, Opening, OutputContract, Refusal, Reply, Request,
    ToolResult, ToolSpec,
};

/// One conversation with a model, from its opening to its end, without any input or output.
///
/// A driver asks [`Run::step`] what to do, does it, and reports back. The history only grows; no method edits it.
///
/// | state | input | next state |
/// |---|---|---|
/// | `ready`, `asked` | `step`, a limit is reached | `done`: failed |
/// | `ready`, `asked` | `step` | `asked`, yields [`Step::CallModel`] |
/// | `asked` | reply that cannot be used, once or twice | `asked`, after an empty one the history ends in a reminder |
/// | `asked` | reply that was refused for its content | `done`: failed |
/// | `asked` | reply that is cut, or lacks the calls it stopped for | `done`: failed |
/// | `asked` | reply with calls | `calling` |
/// | `asked` | reply that pauses | `ready` |
/// | `asked` | text, no output required | `done`: completed |
/// | `asked` | text, outputs required, first time | `ready`, the history ends in a reminder |
/// | `asked` | text, outputs required, reminded before | `done`: failed |
/// | `calling` | `step` | `calling`, yields [`Step::CallTools`] |
/// | `calling` | results, a `directive_return` is accepted | `done`: completed |
/// | `calling` | results | `ready` |
/// | `calling` | `ask_approval` of one of the calls | `waiting` |
/// | `waiting` | `step` | `waiting`, yields [`Step::AskApproval`] |
/// | `waiting` | `approval_decided` | `calling`, which knows the decision |
/// | any but `done` | `fail` | `done`: failed |
/// | any but `done` | `cancel` | `done`: cancelled |
/// | `done` | `step` | `done`, yields [`Step::Done`] |
///
/// Hooks have transitions of their own: [`Run::inject`], [`Run::allow_more`] and [`Run::hand_over`] between two turns,
/// [`Run::retry`], [`Run::extend`] and [`Run::abort`] after a failure, and [`Run::tools_returned_in_vain`] where outputs are not
/// wanted. The operator has [`Run::reopen`], after a limit or a failure of the provider.
///
/// Every other input is [`OutOfTurn`] and changes nothing.
///
/// A `directive_return` beside other calls of the same reply is judged after them, and not accepted when one of them
/// failed: the model decided on its outputs before it saw that.
#[derive(Debug, Clone)]
pub struct Run {
    system: Option<Arc<str>>,
    tools: Arc<[ToolSpec]>,
    max_output_tokens: u64,
    contract: OutputContract,
    limits: LimitSet,
    messages: History,
    phase: Phase,
    turns: u64,
    usage: Usage,
    cost: Nanos,
    elapsed: Duration,
    measured: Option<Measured>,
    is_reminded: bool,
    refusals: Vec<Refusal>,
    /// The refusal of one of the last calls.
    standing_refusal: Option<Refusal>,
    text: String,
    /// The number of requests that were repeated after a failure.
    retries: u64,
    /// The number of replies to the present request that could not be used.
    unusable: u32,
    /// The calls in progress when the run failed.
    failed_in: Option<Batch>,
}

impl Run {
    /// Creates a conversation that has not begun.
    ///
    /// The tools are those of [`Palette::specs`](crate::Palette::specs) for the same contract. `max_output_tokens` is
    /// the model's.
    #[must_use]
    pub fn new(
        opening: Opening,
        tools: Vec<ToolSpec>,
        contract: OutputContract,
        limits: LimitSet,
        max_output_tokens: u64,
    ) -> Self {
        Self {
            system: opening.system.map(Arc::from),
            tools: tools.into(),
            max_output_tokens,
            contract,
            limits,
            messages: vec![Message::User { text: opening.first_user_message }].into(),
            phase: Phase::Ready,
            turns: 0,
            usage: Usage::default(),
            cost: Nanos::ZERO,
            elapsed: Duration::ZERO,
            measured: None,
            is_reminded: false,
            refusals: Vec::new(),
            standing_refusal: None,
            text: String::new(),
            retries: 0,
            unusable: 0,
            failed_in: None,
        }
    }

    /// Returns the next step, `elapsed` after the thread began. Every request is checked against the limits here.
    pub fn step(&mut self, elapsed: Duration) -> Step {
        self.elapsed = self.elapsed.max(elapsed);
        match &self.phase {
            Phase::Done(end) => Step::Done(end.clone()),
            Phase::Calling(batch) => {
                let (returns, calls) = batch.calls.iter().cloned().partition(decide::is_return);
                Step::CallTools { calls, returns }
            }
            Phase::Waiting { batch, index } => {
                let call = batch.call(*index).cloned();
                let call = call.expect("because `ask_approval` found it");
                Step::AskApproval { index: *index, call }
            }
            Phase::Ready | Phase::Asked => self.ask(),
        }
    }

    fn ask(&mut self) -> Step {
        if let Some(hit) = self.limit_reached(self.elapsed) {
            let message = hit.to_string();
            return Step::Done(self.end_failed(Failure::new(FailureKind::Limit(hit), &message)));
        }
        self.phase = Phase::Asked;
        let left = self.limits.tokens.saturating_sub(self.usage.total());
        Step::CallModel(Request {
            system: self.system.clone(),
            tools: self.tools.clone(),
            messages: self.messages.clone(),
            max_output_tokens: self.max_output_tokens.min(left),
            patience: None,
        })
    }

    /// Takes the reply to the request of [`Step::CallModel`], and its cost.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run does not wait for a reply.
    pub fn model_replied(
        &mut self,
        reply: impl Into<Arc<Reply>>,
        cost: Nanos,
    ) -> Result<(), OutOfTurn> {
        let Phase::Asked = self.phase else { return Err(self.out_of_turn("a reply")) };
        let reply = reply.into();
        self.turns += 1;
        self.unusable = 0;
        self.usage = self.usage.plus(&reply.usage);
        self.cost = self.cost.saturating_add(cost);
        self.measured = decide::measure(&reply, self.messages.len()).or(self.measured);
        if !reply.text.is_empty() {
            self.text.clone_from(&reply.text);
        }
        let next = decide::after_reply(&reply, &self.contract, self.is_reminded);
        self.messages.push(Message::Assistant { reply });
        self.enter(next);
        Ok(())
    }

    /// Takes a reply that ends the run with this failure, regardless of its content.
    pub(crate) fn model_overran(
        &mut self,
        reply: impl Into<Arc<Reply>>,
        cost: Nanos,
        failure: Failure,
    ) -> Result<(), OutOfTurn> {
        self.model_replied(reply, cost)?;
        self.end_failed(failure);
        Ok(())
    }

    fn enter(&mut self, next: decide::Next) {
        match next {
            decide::Next::Ask => self.phase = Phase::Ready,
            decide::Next::Call(calls) => self.phase = Phase::Calling(Batch::new(calls)),
            decide::Next::Complete => {
                self.phase = Phase::Done(End::Completed { outputs: None, text: self.text.clone() });
            }
            decide::Next::Fail(failure) => drop(self.end_failed(failure)),
            decide::Next::Remind(text) => {
                self.is_reminded = true;
                self.messages.push(Message::User { text });
                self.phase = Phase::Ready;
            }
        }
    }

    /// Takes the results of the `calls` of [`Step::CallTools`], in order.
    ///
    /// The run answers the `returns` itself and returns these answers, for the record.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run does not wait for results, or they do not match the calls.
    pub fn tools_returned(
        &mut self,
        returned: Vec<Returned>,
    ) -> Result<Vec<ToolResult>, OutOfTurn> {
        self.took_results(returned, None)
    }

    fn took_results(
        &mut self,
        returned: Vec<Returned>,
        unwanted: Option<&str>,
    ) -> Result<Vec<ToolResult>, OutOfTurn> {
        let Phase::Calling(batch) = &self.phase else {
            return Err(self.out_of_turn("tool results"));
        };
        let answers = decide::after_calls(&batch.calls, returned, &self.contract, unwanted)?;
        self.standing_refusal = answers.refusals.last().cloned();
        self.refusals.extend(answers.refusals);
        self.messages.push(Message::ToolResults { results: answers.results });
        self.phase = match answers.outputs {
            Some(outputs) => {
                Phase::Done(End::Completed { outputs: Some(outputs), text: self.text.clone() })
            }
            None => Phase::Ready,
        };
        Ok(answers.own)
    }

    /// Marks the request as sent, without a check of the limits. A recorded request was sent within the limits of its
    /// time.
    pub(crate) fn asked_before(&mut self, elapsed: Duration) -> Result<(), OutOfTurn> {
        let (Phase::Ready | Phase::Asked) = self.phase else {
            return Err(self.out_of_turn("a request"));
        };
        self.elapsed = self.elapsed.max(elapsed);
        self.phase = Phase::Asked;
        Ok(())
    }

    /// Counts the time before the run was restored.
    pub(crate) fn restore_elapsed(&mut self, elapsed: Duration) {
        self.elapsed = self.elapsed.max(elapsed);
    }

    pub(crate) fn is_calling(&self) -> bool {
        matches!(self.phase, Phase::Calling(_))
    }

    fn out_of_turn(&self, input: &'static str) -> OutOfTurn {
        OutOfTurn::Input { input, state: self.phase.name() }
    }
}

#[cfg(test)]
mod tests;
