//! Failed requests.

use std::error::Error as StdError;
use std::fmt;

use rye_types::Usage;

use crate::ProviderErrorClass;

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
