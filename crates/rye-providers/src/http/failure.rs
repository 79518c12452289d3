//! Failed attempts, with all that the retry decision and the error message need.

use std::error::Error;
use std::time::Duration;

use rye_thread::{Charge, ProviderError, ProviderErrorClass, Retry};
use rye_types::Usage;

use super::hints::Hints;
use super::report::{Reporter, class_of, gave_up};
use super::retry::{Failed, Reached};
use crate::refusal::Refusal;
use crate::wire::DecodeError;
use crate::wire::StreamError;

/// An attempt that failed.
pub(super) struct Failure {
    pub(super) failed: Failed,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    answer_began: bool,
    lacks_model: bool,
}

impl Failure {
    pub(super) fn new(failed: Failed, message: String) -> Self {
        Self { failed, message, source: None, answer_began: false, lacks_model: false }
    }

    /// A failure after the request was sent and before the whole response was received.
    pub(super) fn without_answer(class: ProviderErrorClass, message: String) -> Self {
        Self::at(Reached::Unanswered, class, message)
    }

    /// Returns `true` if the connection broke after the request was sent.
    pub(super) fn is_broken(&self) -> bool {
        self.failed.class == ProviderErrorClass::Network
            && self.failed.reached == Reached::Unanswered
    }

    /// A failure without hints of the provider, at this point of the exchange.
    pub(super) fn at(reached: Reached, class: ProviderErrorClass, message: String) -> Self {
        Self::new(Failed { class, reached, hints: Hints::default() }, message)
    }

    /// A response that refuses the request.
    pub(super) fn from_refusal(
        status: u16,
        hints: Hints,
        refusal: Option<&Refusal>,
        reporter: &Reporter,
    ) -> Self {
        let class = refusal.and_then(|refusal| refusal.class).unwrap_or_else(|| class_of(status));
        let hints = refusal.map_or(hints.with_reset(class), |it| hints.with_refusal(it, class));
        let failed = Failed { class, reached: Reached::Status(status), hints };
        let message = reporter.refusal(status, class, refusal);
        let lacks_model = refusal.is_some_and(|refusal| refusal.lacks_model);
        Self { lacks_model, ..Self::new(failed, message) }
    }

    /// A stream that failed. An error before the answer began counts as if the status had said so.
    pub(super) fn of_stream(error: StreamError, answer_began: bool, reporter: &Reporter) -> Self {
        match error {
            StreamError::Refused(refusal) => {
                let class = refusal.class.unwrap_or(ProviderErrorClass::Server);
                let reached = if answer_began { Reached::Unanswered } else { status_of(class) };
                let hints = Hints::default().with_refusal(&refusal, class);
                let message = reporter.stream_error(&refusal, class);
                let failed = Failed { class, reached, hints };
                let lacks_model = refusal.lacks_model;
                Self { answer_began, lacks_model, ..Self::new(failed, message) }
            }
            StreamError::Decode(DecodeError::Unfinished) => {
                Self::without_answer(ProviderErrorClass::Network, reporter.broken_connection())
            }
            StreamError::Decode(error) => Self::unreadable(&error, reporter),
        }
    }

    /// A whole response that cannot be decoded.
    pub(super) fn unreadable(error: &DecodeError, reporter: &Reporter) -> Self {
        let reasons = reporter.redact(&reasons(error));
        let class = match error {
            // The next answer may be a good one.
            DecodeError::Damaged { .. } | DecodeError::Empty | DecodeError::Part { .. } => {
                ProviderErrorClass::Malformed
            }
            _ => ProviderErrorClass::Server,
        };
        let failure = Self::without_answer(class, reporter.unreadable());
        failure.because(reasons.into())
    }

    pub(super) fn because(mut self, source: Box<dyn Error + Send + Sync>) -> Self {
        self.source = Some(source);
        self
    }

    /// Converts the last failure to an error.
    ///
    /// The charges of earlier attempts were reported with the retries.
    pub(super) fn into_error(self, given_up_after: Option<u32>) -> ProviderError {
        let class = self.failed.class;
        let charge = self.charge();
        let mut error = match given_up_after {
            Some(attempts) => gave_up(&self.message, self.failed, attempts),
            None => ProviderError::new(class, &self.message),
        };
        if let Some(source) = self.source {
            error = error.with_source(source);
        }
        if self.answer_began {
            error = error.after_the_answer_began();
        }
        if self.lacks_model {
            error = error.for_want_of_the_model();
        }
        match charge {
            Charge::Nothing if error.may_have_cost() => error.with_usage(Usage::default()),
            Charge::Nothing | Charge::Possible => error,
        }
    }

    /// Announces the next attempt, which begins after `wait`.
    pub(super) fn retry(&self, attempt: u32, attempts: u32, wait: Duration) -> Retry {
        let mut retry = Retry::new(attempt, attempts, self.failed.class, &self.message);
        (retry.hint, retry.wait) = (self.failed.hints.after, wait);
        retry.charge = self.charge();
        retry
    }

    /// Returns the charge of this attempt: nothing if no server received it, or if it was refused before any
    /// work.
    pub(super) fn charge(&self) -> Charge {
        let has_worked = self.answer_began || self.failed.class.may_have_cost();
        if self.failed.reached != Reached::NotConnected && has_worked {
            Charge::Possible
        } else {
            Charge::Nothing
        }
    }
}

/// Returns the status that the provider would have sent if the error had come before the stream.
fn status_of(class: ProviderErrorClass) -> Reached {
    Reached::Status(match class {
        ProviderErrorClass::Overloaded => 529,
        ProviderErrorClass::RateLimited => 429,
        ProviderErrorClass::Server => 500,
        ProviderErrorClass::Timeout => 504,
        _ => 400,
    })
}

/// Returns an error and its cause as one text.
fn reasons(error: &DecodeError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
