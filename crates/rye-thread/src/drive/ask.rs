//! One turn's request: reserve, request, record the reply with its cost.

use std::sync::Arc;

use tracing::Instrument as _;

use rye_types::{Limit, Nanos, Usage};

use super::accountant::Accountant;
use super::answer::Answer;
use super::caller::{ReservedRequest, booked_words};
use super::stop::{check_cancelled, overrun, with_causes};
use super::{Driver, Stop, telemetry};
use crate::cancel::Halt;
use crate::run::Fault;
use crate::transcript::Event;
use crate::transcript::payload::{RequestFailed, Said, SharedReply, StepFinish, StepStart};
use crate::{Counted, Failure, Message, ProviderError, Reply, Request, Run};

/// A reply that cannot be used, and its cost.
pub(super) struct Unusable {
    pub(super) fault: Fault,
    pub(super) cost: Nanos,
    /// Its tokens, as far as they are known.
    pub(super) usage: Usage,
    /// The part of the cost that nobody counted.
    pub(super) booked: Nanos,
}

impl Driver<'_> {
    /// Makes the request of a turn, again if its answer cannot be used, and gives the answer to the run.
    pub(super) async fn ask(&mut self, run: &mut Run, mut request: Request) -> Result<(), Stop> {
        check_cancelled(self.cancel)?;
        if let Some(failure) =
            self.recording.as_ref().and_then(|recording| recording.limit_here(Limit::Spend))
        {
            // What children spent is in no replay.
            return Err(Stop::Failed(failure.clone()));
        }
        // What children did not spend of their shares is free for this request.
        self.executor.children.record_ends(&mut self.recorder, &self.accountant);
        let cap = run.limits().spend;
        let prices = self.caller.info.prices;
        let reserved = self.accountant.reserve(cap, prices, run.input_bound(), &mut request);
        let reserved = reserved.map_err(Stop::Failed)?;
        let turn = run.turns() + 1;
        let max_output_tokens = request.max_output_tokens;
        self.recorder.emit(&Event::StepStart(StepStart { turn, reserved, max_output_tokens }));
        // This is the disk's one turn: all that was recorded since the request before goes there with it.
        self.recorder.sync().await?;
        self.hooks.due.note_request(run.turns());
        let mut reserved = reserved;
        loop {
            let span = telemetry::chat(self, &request);
            let left = self.recorder.time.left(run);
            request.patience = Some(left);
            let asked = ReservedRequest { request: &request, turn, reserved, cap, left };
            let answer = self.caller.request(&asked, &mut self.recorder, &self.accountant);
            let answer = answer.instrument(span.clone()).await;
            telemetry::record_answer(&span, &answer);
            drop(span);
            // The run grows the history that the request shares with it, and would copy it for another holder.
            drop(request);
            let answer = self.take_answer(run, answer, reserved, max_output_tokens)?;
            let Some(unusable) = answer else { return Ok(()) };
            let again = self.ask_again(run, unusable, (reserved, max_output_tokens)).await?;
            let Some(again) = again else { return Ok(()) };
            (request, reserved) = again;
        }
    }

    /// Records an answer and gives it to the run, unless it cannot be used.
    fn take_answer(
        &mut self,
        run: &mut Run,
        answer: Answer,
        reserved: Nanos,
        max_output_tokens: u64,
    ) -> Result<Option<Unusable>, Stop> {
        match answer {
            Answer::Replied(mut reply) => {
                // In a replay it has what the thread took it for.
                if reply.counted == Counted::Unreported && self.recording.is_none() {
                    let most = Usage::new(run.input_bound(), max_output_tokens);
                    reply.usage = Accountant::usage_of_uncounted(reply.usage, most);
                }
                self.take(run, reply, reserved)
            }
            Answer::Failed(error) if error.class.is_of_reply() => {
                let cost = Accountant::cost_of_failure(self.caller.info.prices, &error, reserved);
                let fault = Fault { class: error.class, message: with_causes(&error) };
                let booked = if error.usage.is_none() { cost } else { Nanos::ZERO };
                let usage = error.usage.unwrap_or_default();
                Ok(Some(Unusable { fault, cost, usage, booked }))
            }
            Answer::Failed(error) => {
                let prices = self.caller.info.prices;
                let cost = Accountant::cost_of_failure(prices, &error, reserved);
                self.lose(run, error.class.as_str(), &with_causes(&error), cost);
                let booked = if error.usage.is_none() { cost } else { Nanos::ZERO };
                let reason = format!("{}{}", with_causes(&error), booked_words(booked));
                self.fall_back(run, &error, &reason).map(|()| None)
            }
            Answer::Halted(halt, cost) => {
                let (class, message) = match halt {
                    Halt::Cancel => ("cancelled", "the thread was cancelled"),
                    Halt::Interrupt => ("interrupted", "the thread was interrupted"),
                };
                self.lose(run, class, message, cost);
                Err(halt.into())
            }
            Answer::OutOfTime(cost) => {
                let failure = self.recorder.time.used_up(run);
                self.lose(run, Limit::Duration.as_str(), &failure.message, cost);
                let message = format!("{}{}", failure.message, booked_words(cost));
                Err(Stop::Failed(Failure::new(failure.kind, &message)))
            }
            Answer::Stopped(stop) => Err(stop),
        }
    }

    /// Records a request that has no answer, with its cost.
    pub(super) fn lose(&mut self, run: &Run, class: &str, message: &str, cost: Nanos) {
        let turn = run.turns() + 1;
        let class = class.to_owned();
        let message = message.to_owned();
        self.recorder.emit(&Event::RequestFailed(RequestFailed { turn, class, message, cost }));
    }

    /// Hands the thread over to the fallback, so that the request is made again.
    fn fall_back(&mut self, run: &Run, error: &ProviderError, reason: &str) -> Result<(), Stop> {
        let is_first = run.turns() == 0;
        let event = self.caller.fall_back(is_first, run.limits(), error, reason)?;
        self.recorder.journal.begin(&self.caller.info, self.clock.now());
        self.recorder.emit(&event);
        Ok(())
    }

    /// Records a reply with its cost, and gives it to the run.
    fn take(
        &mut self,
        run: &mut Run,
        reply: Reply,
        reserved: Nanos,
    ) -> Result<Option<Unusable>, Stop> {
        let cost = Accountant::cost_of_reply(self.caller.info.prices, &reply, reserved);
        // What cost more than was reserved ends the thread, and what is recorded was used.
        let may_fail = overrun(reserved, cost).is_none() && self.recording.is_none();
        if let Some(fault) = run.fault(&reply).filter(|_| may_fail) {
            let usage = reply.usage;
            return Ok(Some(Unusable { fault, cost, usage, booked: Nanos::ZERO }));
        }
        let reply = Arc::new(reply);
        self.record_reply(run, &reply, cost);
        let overrun = match &self.recording {
            // What was reserved depends on what children spent, which is in no replay.
            Some(recording) => recording.limit_here(Limit::Spend).cloned(),
            None => overrun(reserved, cost),
        };
        match overrun {
            Some(failure) => run.model_overran(reply, cost, failure)?,
            None => run.model_replied(reply, cost)?,
        }
        self.end_turn(run);
        Ok(None)
    }

    fn record_reply(&mut self, run: &Run, reply: &Arc<Reply>, cost: Nanos) {
        if !reply.reasoning.is_empty() {
            self.recorder.emit(&Event::AssistantReasoning(Said { text: reply.reasoning.clone() }));
        }
        if !reply.text.is_empty() {
            self.recorder.emit(&Event::AssistantText(Said { text: reply.text.clone() }));
        }
        self.recorder.emit(&Event::StepFinish(StepFinish {
            turn: run.turns() + 1,
            reply: SharedReply(Arc::clone(reply)),
            cost,
        }));
    }

    /// A turn without calls ends with its answer; one with calls ends with their receipts.
    fn end_turn(&mut self, run: &Run) {
        match run.messages().last() {
            Some(Message::Assistant { reply }) if !reply.calls.is_empty() => {}
            _ => {
                self.hooks.due.turn_over(&[], Vec::new());
                self.recorder.record_user_text(run);
                self.recorder.checkpoint();
            }
        }
    }
}
