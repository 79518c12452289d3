//! A request that is made again, because its answer cannot be used.

use rye_types::{Limit, Nanos};

use super::ask::Unusable;
use super::caller::booked_words;
use super::stop::check_cancelled;
use super::{Driver, Stop};
use crate::run::Fault;
use crate::transcript::Event;
use crate::transcript::payload::RequestRetried;
use crate::{Charge, Failure, FailureKind, ProviderErrorClass, Request, Retry, Run, Step};

impl Driver<'_> {
    /// Settles the answer, and returns the next request with its reservation, which is on disk. Returns `None` if a limit is
    /// reached, which the run says next.
    ///
    /// The next answer may have as many tokens as the last one. What the answer cost and the next one may cost is paid for,
    /// or the thread ends.
    pub(super) async fn ask_again(
        &mut self,
        run: &mut Run,
        Unusable { fault, cost, usage, booked }: Unusable,
        (held, max_output_tokens): (Nanos, u64),
    ) -> Result<Option<(Request, Nanos)>, Stop> {
        let Fault { class, message } = &fault;
        let stopped = check_cancelled(self.cancel).and_then(|()| match &self.recording {
            // What children spent is in no replay.
            Some(recording) => {
                recording.limit_here(Limit::Spend).cloned().map_or(Ok(()), stop_with)
            }
            None => Ok(()),
        });
        if let Err(stop) = stopped {
            self.lose(run, class.as_str(), message, cost);
            return Err(stop);
        }
        let Some((attempt, attempts)) = run.next_attempt(*class) else {
            self.lose(run, class.as_str(), message, cost);
            let Failure { kind, message, .. } = self.give_up(&fault, max_output_tokens);
            return stop_with(Failure::new(kind, &format!("{message}{}", booked_words(booked))));
        };
        let mut next = run.clone();
        next.ask_again(*class, &usage)?;
        let Step::CallModel(mut request) = next.step(self.recorder.time.elapsed()) else {
            self.lose(run, class.as_str(), message, cost);
            return Ok(None);
        };
        request.max_output_tokens = request.max_output_tokens.min(max_output_tokens);
        let prices = self.caller.info.prices;
        let reserved = prices.map_or(Nanos::ZERO, |prices| {
            prices.worst_case(next.input_bound(), request.max_output_tokens)
        });
        let more = cost.saturating_add(reserved.saturating_sub(held));
        if let Err(failure) = self.accountant.check_another_attempt(run.limits().spend, more) {
            self.lose(run, class.as_str(), message, cost);
            let message = format!("{message}; another answer is not paid for: {failure}");
            return stop_with(Failure::new(failure.kind, &message));
        }
        let turn = run.turns() + 1;
        let mut retry = Retry::new(attempt, attempts, *class, message);
        (retry.charge, retry.usage) = (Charge::Possible, usage);
        self.recorder
            .emit(&Event::RequestRetried(RequestRetried::new(turn, &retry, cost, reserved)));
        let is_reminded = run.messages().len() < next.messages().len();
        *run = next;
        if is_reminded {
            self.recorder.record_user_text(run);
        }
        self.recorder.sync().await?;
        Ok(Some((request, reserved)))
    }

    /// Returns the failure of a thread whose answers cannot be used, with what its operator can do.
    fn give_up(&self, fault: &Fault, max_output_tokens: u64) -> Failure {
        let Fault { class, message } = fault;
        let info = &self.caller.info;
        let advice = match class {
            ProviderErrorClass::CutCall if max_output_tokens < info.max_output => format!(
                "the limits `tokens` and `spend` left {max_output_tokens} tokens for it; raise them"
            ),
            ProviderErrorClass::CutCall => format!(
                "it may have {max_output_tokens} tokens; raise `max_output` of `{}` in the file of the provider `{}`",
                info.model, info.provider
            ),
            ProviderErrorClass::Empty => "it was asked twice".to_owned(),
            _ => "it was asked three times".to_owned(),
        };
        Failure::new(FailureKind::Provider(*class), &format!("{message}; {advice}"))
    }
}

fn stop_with<T>(failure: Failure) -> Result<T, Stop> {
    Err(Stop::Failed(failure))
}
