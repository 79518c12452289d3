//! What is known of a run.

use std::time::Duration;

use super::{Run, decide};
use crate::{Limits, Message, Nanos, OutputContract, Refusal, ToolSpec, Usage};

impl Run {
    /// The whole history, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The system message.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// The tools that every request shows.
    #[must_use]
    pub fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// What must be returned.
    #[must_use]
    pub fn contract(&self) -> &OutputContract {
        &self.contract
    }

    /// The limits that `step` checks.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many requests were answered.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// The tokens of all answers together.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The cost of all answers together.
    #[must_use]
    pub fn cost(&self) -> Nanos {
        self.cost
    }

    /// The longest time that `step` was told.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The last text that the model wrote.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The calls that were refused so far.
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// The most input tokens that the next request can have.
    ///
    /// What a provider has counted before counts as it said; everything since counts a token per byte and some for
    /// the frame, which no tokenizer exceeds.
    #[must_use]
    pub fn input_bound(&self) -> u64 {
        decide::input_bound(self)
    }
}
