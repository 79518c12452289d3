//! Getters of a run.

use std::time::Duration;

use rye_types::{LimitSet, Nanos, Usage};

use super::{Run, decide};
use crate::{Message, OutputContract, Refusal, ToolSpec};

impl Run {
    /// Returns the whole history, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the system message.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// Returns the tools of every request.
    #[must_use]
    pub fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// Returns the contract for the outputs.
    #[must_use]
    pub fn contract(&self) -> &OutputContract {
        &self.contract
    }

    /// Returns the limits that `step` checks.
    #[must_use]
    pub fn limits(&self) -> &LimitSet {
        &self.limits
    }

    /// Returns the number of answered requests.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Returns the token usage of all replies.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Returns the cost of all replies.
    #[must_use]
    pub fn cost(&self) -> Nanos {
        self.cost
    }

    /// Returns the longest time that was given to `step`.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Returns the last text of the model.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the refused calls so far.
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Returns a lower bound of the input tokens of the first request. No tokenizer puts more text into a token on average.
    #[must_use]
    pub(crate) fn least_input(&self) -> u64 {
        decide::least_input(self)
    }

    /// Returns an upper bound of the input tokens of the next request.
    ///
    /// Messages that a provider has counted have their count. Each byte since then counts as a token, with a surcharge
    /// for the frame. No tokenizer exceeds that.
    #[must_use]
    pub fn input_bound(&self) -> u64 {
        decide::input_bound(self)
    }
}
