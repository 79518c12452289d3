//! Failed requests, and what they may have cost.

use std::error::Error as StdError;
use std::fmt;

use strum::{Display, IntoStaticStr, VariantArray};

use crate::Usage;

/// The possible cost of a dropped request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a provider may charge for it or may not")]
pub enum Charge {
    /// No cost: no attempt is in flight. Failed attempts were settled when the next one was announced.
    Nothing,
    /// The cost of the attempt in flight.
    Possible,
}

/// The reason why a request got no reply.
///
/// The message is for people and must hold no key. The cause is only in [`source`](StdError::source).
#[derive(Debug)]
#[non_exhaustive]
pub struct ProviderError {
    /// The kind of failure.
    pub class: ProviderErrorClass,
    /// A lowercase fragment that says what happened and how to mend it.
    pub message: String,
    /// The usage of the failed request, if the provider reported it.
    pub usage: Option<Usage>,
    answer_began: bool,
    lacks_model: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ProviderError {
    /// Creates a failure without a cause.
    #[must_use]
    pub fn new(class: ProviderErrorClass, message: &str) -> Self {
        Self {
            class,
            message: message.to_owned(),
            usage: None,
            answer_began: false,
            lacks_model: false,
            source: None,
        }
    }

    /// Sets the cause of the failure.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Marks the failure as one after the start of the reply. Such a request may be charged in any class.
    #[must_use]
    pub const fn after_the_answer_began(mut self) -> Self {
        self.answer_began = true;
        self
    }

    /// Marks the failure as one for lack of the model.
    #[must_use]
    pub const fn for_want_of_the_model(mut self) -> Self {
        self.lacks_model = true;
        self
    }

    /// Returns `true` if the model is missing or out of capacity, so that the fallback may reply (SPEC 11.1).
    #[must_use]
    pub const fn is_for_the_fallback(&self) -> bool {
        let at_capacity =
            matches!(self.class, ProviderErrorClass::Overloaded | ProviderErrorClass::RateLimited);
        !self.answer_began && (self.lacks_model || at_capacity)
    }

    /// Returns `true` if the provider may have charged for work that it did not report.
    #[must_use]
    pub const fn may_have_cost(&self) -> bool {
        self.usage.is_none() && (self.answer_began || self.class.may_have_cost())
    }

    /// Sets the usage of the failed request.
    #[must_use]
    pub const fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for ProviderError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// The kinds of failure of a request (SPEC 11.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[derive(Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ProviderErrorClass {
    /// The key is missing, wrong or not permitted.
    Auth,
    /// The model or a filter refused because of the content.
    ContentRefused,
    /// The conversation does not fit the model's context window.
    ContextTooLong,
    /// The provider refused a request that it understood.
    InvalidRequest,
    /// The connection failed.
    Network,
    /// The provider is over capacity.
    Overloaded,
    /// The client sent too many requests.
    RateLimited,
    /// The provider failed.
    Server,
    /// A spend limit at the provider is used up. A retry does not help.
    SpendLimit,
    /// A planned step failed, in a provider that follows steps instead of a model (SPEC 10.13).
    StepFailed,
    /// No reply came in time.
    Timeout,
}

impl ProviderErrorClass {
    /// All classes, sorted by name.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the snake case name of SPEC 11.4 and of the transcript.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns `true` if the provider may have charged for work that it did not report.
    #[must_use]
    pub const fn may_have_cost(self) -> bool {
        match self {
            Self::ContentRefused | Self::Network | Self::Server | Self::Timeout => true,
            Self::Auth
            | Self::ContextTooLong
            | Self::InvalidRequest
            | Self::Overloaded
            | Self::RateLimited
            | Self::SpendLimit
            | Self::StepFailed => false,
        }
    }
}
