//! One request: reserve, request, record the reply with its cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::stop::{overrun, with_causes};
use super::{Driver, Stop, telemetry};
use crate::cancel::Halt;
use crate::transcript::Event;
use crate::{
    Charge, Counted, Delta, DeltaSink, Failure, FailureKind, Limit, LimitHit, Message, Nanos,
    Observer, ProviderError, Reply, Request, Retry, Run, Usage,
};

/// How a request ended.
pub(super) enum Answer {
    Failed(ProviderError),
    /// The thread was stopped; the attempt on its way counts as this much.
    Halted(Halt, Nanos),
    OutOfTime(Nanos),
    Replied(Reply),
    /// A further attempt could not be paid or recorded.
    Stopped(Stop),
}

/// An announced attempt, and the sender that lets it begin.
type Notice = (Retry, oneshot::Sender<()>);

/// Passes pieces of answers to the observer, and announced attempts to the driver.
struct Deltas<'a> {
    observer: &'a dyn Observer,
    may_cost: AtomicBool,
    notices: mpsc::Sender<Notice>,
}

#[async_trait]
impl DeltaSink for Deltas<'_> {
    fn delta(&self, delta: Delta<'_>) {
        self.observer.delta(delta);
    }

    fn charge(&self, charge: Charge) {
        self.may_cost.store(charge == Charge::Possible, Ordering::Relaxed);
    }

    async fn retry(&self, retry: &Retry) {
        let (begins, begun) = oneshot::channel();
        if self.notices.send((retry.clone(), begins)).await.is_ok() {
            // The driver drops the request where the attempt may not begin.
            let _begins: Result<(), oneshot::error::RecvError> = begun.await;
        }
    }
}

impl Driver<'_> {
    pub(super) async fn ask(&mut self, run: &mut Run, mut request: Request) -> Result<(), Stop> {
        self.check_cancelled()?;
        if let Some(failure) = self.tape.as_ref().and_then(|tape| tape.stopped(Limit::Spend)) {
            // What children spent is in no replay.
            return Err(Stop::Failed(failure.clone()));
        }
        // What children did not spend of their shares is free for this request.
        self.record_ended_children();
        let reserved = self.reserve(run, &mut request)?;
        let (turn, max_output_tokens) = (run.turns() + 1, request.max_output_tokens);
        self.emit(&Event::StepStart { turn, reserved, max_output_tokens });
        // This is the disk's one turn: all that was recorded since the request before goes there with it.
        self.sync()?;
        self.due.asked(run.turns());
        let span = telemetry::chat(self, &request);
        request.patience = Some(self.left(run));
        let answer = self.request(run, &request, reserved).instrument(span.clone()).await;
        telemetry::answered(&span, &answer);
        drop(span);
        // The run grows the history that the request shares with it, and would copy it for another holder.
        drop(request);
        self.answered(run, answer, reserved, max_output_tokens)
    }

    fn answered(
        &mut self,
        run: &mut Run,
        answer: Answer,
        reserved: Nanos,
        max_output_tokens: u64,
    ) -> Result<(), Stop> {
        match answer {
            Answer::Replied(mut reply) => {
                // In a replay it has what the thread took it for.
                if reply.counted == Counted::ByNobody && self.tape.is_none() {
                    reply.usage = Usage::new(run.input_bound(), max_output_tokens);
                }
                self.take(run, reply, reserved)
            }
            Answer::Failed(error) => {
                let cost = self.cost_of(&error, reserved);
                self.lose(run, error.class.as_str(), &with_causes(&error), cost);
                let booked = if error.usage.is_none() { cost } else { Nanos::ZERO };
                self.fall_back(run, &error, &booked_words(booked))
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
                let failure = self.out_of_time(run);
                self.lose(run, Limit::Duration.as_str(), &failure.message, cost);
                let message = format!("{}{}", failure.message, booked_words(cost));
                Err(Stop::Failed(Failure { message, ..failure }))
            }
            Answer::Stopped(stop) => Err(stop),
        }
    }

    /// Sends the request, and pays for each attempt that its provider announces.
    async fn request(&mut self, run: &Run, request: &Request, reserved: Nanos) -> Answer {
        let (notices, mut announced) = mpsc::channel(1);
        let may_cost = AtomicBool::new(true);
        let deltas = Deltas { observer: self.context.observer, may_cost, notices };
        let (provider, cancel) = (self.context.provider, self.context.cancel);
        let replied = timeout(self.left(run), provider.stream(request, &deltas));
        let mut replied = std::pin::pin!(replied);
        // A request that was dropped may be charged in full, and nobody will say; one that only waited is not.
        let dropped = || match deltas.may_cost.load(Ordering::Relaxed) {
            true => reserved,
            false => Nanos::ZERO,
        };
        loop {
            tokio::select! {
                biased;
                halt = cancel.halted() => return Answer::Halted(halt, dropped()),
                Some((retry, begins)) = announced.recv() => {
                    if let Err(stop) = self.attempt_again(run, retry, reserved) {
                        return Answer::Stopped(stop);
                    }
                    deltas.charge(Charge::Nothing);
                    // A provider that no longer waits for it has given up.
                    let _gave_up: Result<(), ()> = begins.send(());
                }
                replied = &mut replied => return match replied {
                    Ok(Ok(reply)) => Answer::Replied(reply),
                    Ok(Err(error)) => Answer::Failed(error),
                    Err(_) => Answer::OutOfTime(dropped()),
                },
            }
        }
    }

    /// Records the cost of the attempt that failed and the reservation of the next one, which is on disk before it is sent.
    fn attempt_again(&mut self, run: &Run, retry: Retry, reserved: Nanos) -> Result<(), Stop> {
        let turn = run.turns() + 1;
        let cost = match retry.charge {
            Charge::Nothing => Nanos::ZERO,
            Charge::Possible => reserved,
        };
        if let Err(failure) = self.check_another_attempt(run, cost) {
            let class = retry.class.to_string();
            let message = format!("{}; another attempt is not paid for", retry.message);
            self.emit(&Event::RequestFailed { turn, class, message: message.clone(), cost });
            let message = format!("{message}{}: {}", booked_words(cost), failure.message);
            return Err(Stop::Failed(Failure { message, ..failure }));
        }
        self.emit(&Event::RequestRetried { turn, retry, cost, reserved });
        self.sync()
    }

    /// Records a request that has no answer, with its cost.
    fn lose(&mut self, run: &Run, class: &str, message: &str, cost: Nanos) {
        let (turn, class, message) = (run.turns() + 1, class.to_owned(), message.to_owned());
        self.emit(&Event::RequestFailed { turn, class, message, cost });
    }

    /// Records a reply with its cost, and gives it to the run.
    fn take(&mut self, run: &mut Run, reply: Reply, reserved: Nanos) -> Result<(), Stop> {
        let cost = self.cost_of_reply(&reply, reserved);
        let reply = Arc::new(reply);
        self.record_reply(run, &reply, cost);
        let overrun = match &self.tape {
            // What was reserved depends on what children spent, which is in no replay.
            Some(tape) => tape.stopped(Limit::Spend).cloned(),
            None => overrun(reserved, cost),
        };
        match overrun {
            Some(failure) => run.model_overran(reply, cost, failure)?,
            None => run.model_replied(reply, cost)?,
        }
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

/// The end of a message about a request without an answer, where its whole reservation counts as its cost.
fn booked_words(cost: Nanos) -> String {
    if cost == Nanos::ZERO {
        return String::new();
    }
    format!("; {cost} counts as spent, because the provider may charge for it")
}
