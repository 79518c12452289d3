//! One request: reserve, request, record, settle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::timeout;
use tracing::Instrument as _;

use super::{Driver, Stop, telemetry};
use crate::cancel::Halt;
use crate::transcript::Event;
use crate::{
    Charge, Counted, Delta, DeltaSink, Failure, FailureKind, Limit, LimitHit, Message, Nanos,
    Observer, ProviderError, Reply, Request, Run, Usage,
};

/// How a request ended.
pub(super) enum Answer {
    Failed(ProviderError),
    Halted(Halt),
    OutOfTime,
    Replied(Reply),
}

/// Who watches the thread also watches its answers; what they may cost is noted beside that.
struct Deltas<'a> {
    observer: &'a dyn Observer,
    may_cost: AtomicBool,
}

impl DeltaSink for Deltas<'_> {
    fn delta(&self, delta: Delta<'_>) {
        self.observer.delta(delta);
    }

    fn charge(&self, charge: Charge) {
        self.may_cost.store(charge == Charge::Possible, Ordering::Relaxed);
    }
}

impl Driver<'_> {
    pub(super) async fn ask(&mut self, run: &mut Run, mut request: Request) -> Result<(), Stop> {
        self.check_cancelled()?;
        if let Some(failure) = self.tape.as_ref().and_then(|tape| tape.stopped(Limit::Spend)) {
            // What children spent is in no replay.
            return Err(Stop::Failed(failure.clone()));
        }
        let reserved = self.reserve(run, &mut request)?;
        let (turn, max_output_tokens) = (run.turns() + 1, request.max_output_tokens);
        let (reservation, held) = (self.purse.number(), self.purse.left());
        self.emit(&Event::StepStart { turn, reserved, reservation, held, max_output_tokens });
        // This is the disk's one turn: all that was recorded since the request before goes there with it.
        self.sync_for_a_request()?;
        self.due.asked(run.turns());
        let span = telemetry::chat(self, &request);
        request.patience = Some(self.left(run));
        let deltas = Deltas { observer: self.context.observer, may_cost: AtomicBool::new(true) };
        let answer = self.request(run, &request, &deltas).instrument(span.clone()).await;
        // A request that was dropped may be charged in full, and nobody will say; one that only waited is not.
        let dropped = if deltas.may_cost.into_inner() { reserved } else { Nanos::ZERO };
        telemetry::answered(&span, &answer);
        drop(span);
        // The run grows the history that the request shares with it, and would copy it for another holder.
        drop(request);
        match answer {
            Answer::Replied(mut reply) => {
                // In a replay it has what the thread took it for.
                if reply.counted == Counted::ByNobody && self.tape.is_none() {
                    reply.usage = Usage::new(run.input_bound(), max_output_tokens);
                }
                self.take(run, reply, reserved)
            }
            Answer::Failed(error) => {
                self.lose(self.cost_of(&error, reserved))?;
                self.fall_back(run, &error)
            }
            Answer::Halted(halt) => {
                self.lose(dropped)?;
                Err(halt.into())
            }
            Answer::OutOfTime => {
                self.lose(dropped)?;
                Err(Stop::Failed(self.out_of_time(run)))
            }
        }
    }

    async fn request(&self, run: &Run, request: &Request, deltas: &Deltas<'_>) -> Answer {
        let replied = timeout(self.left(run), self.context.provider.stream(request, deltas));
        tokio::select! {
            biased;
            halt = self.context.cancel.halted() => Answer::Halted(halt),
            replied = replied => match replied {
                Ok(Ok(reply)) => Answer::Replied(reply),
                Ok(Err(error)) => Answer::Failed(error),
                Err(_) => Answer::OutOfTime,
            },
        }
    }

    /// What it cost is settled once it is written, which it is before anything else is done.
    fn take(&mut self, run: &mut Run, reply: Reply, reserved: Nanos) -> Result<(), Stop> {
        let cost = self.cost_of_reply(&reply, reserved);
        let reply = Arc::new(reply);
        self.purse.owe(cost);
        self.record_reply(run, &reply, cost);
        run.model_replied(reply, cost)?;
        self.end_turn(run);
        Ok(())
    }

    fn record_reply(&mut self, run: &Run, reply: &Arc<Reply>, cost: Nanos) {
        if !reply.reasoning.is_empty() {
            self.emit(&Event::AssistantReasoning { text: reply.reasoning.clone() });
        }
        if !reply.text.is_empty() {
            self.emit(&Event::AssistantText { text: reply.text.clone() });
        }
        self.emit(&Event::StepFinish { turn: run.turns() + 1, reply: Arc::clone(reply), cost });
    }

    /// A turn without calls ends with its answer; one with calls ends with their receipts.
    fn end_turn(&mut self, run: &Run) {
        match run.messages().last() {
            Some(Message::Assistant { reply }) if !reply.calls.is_empty() => {}
            _ => {
                self.due.turn_over(&[], Vec::new());
                self.record_user_text(run);
                self.checkpoint();
            }
        }
    }

    /// Where nobody counted, it may have cost all that was set aside (SPEC 10.6).
    fn cost_of_reply(&self, reply: &Reply, reserved: Nanos) -> Nanos {
        match reply.counted {
            Counted::ByNobody => reserved,
            Counted::ByProvider => {
                self.info.prices.map_or(Nanos::ZERO, |prices| prices.cost(&reply.usage))
            }
        }
    }

    fn cost_of(&self, error: &ProviderError, reserved: Nanos) -> Nanos {
        match (error.usage, self.info.prices) {
            (Some(usage), Some(prices)) => prices.cost(&usage),
            _ if error.may_have_cost() => reserved,
            _ => Nanos::ZERO,
        }
    }

    pub(super) fn out_of_time(&self, run: &Run) -> Failure {
        let maximum = run.limits().duration_seconds;
        let value = self.elapsed().as_secs().max(maximum);
        let hit = LimitHit { limit: Limit::Duration, value, maximum };
        let message = hit.to_string();
        Failure::new(FailureKind::Limit(hit), &message)
    }
}
