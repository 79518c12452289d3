//! The kinds of failed requests, and what they may have cost.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

/// The possible cost of a dropped request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a provider may charge for it or may not")]
pub enum Charge {
    /// No cost: no attempt is in flight. Failed attempts were settled when the next one was announced.
    Nothing,
    /// The cost of the attempt in flight.
    Possible,
}

/// The kinds of failure of a request (SPEC 11.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[derive(Display, IntoStaticStr, VariantArray, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ProviderErrorClass {
    /// The key is missing, wrong or not permitted.
    Auth,
    /// The model or a filter refused because of the content.
    ContentRefused,
    /// The conversation does not fit the model's context window.
    ContextTooLong,
    /// The reply reached its maximum number of tokens before a call of it was complete.
    CutCall,
    /// The reply is complete and says nothing.
    Empty,
    /// The provider refused a request that it understood.
    InvalidRequest,
    /// The reply cannot be used as it is, such as one with a call that cannot be read.
    Malformed,
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
            Self::ContentRefused
            | Self::CutCall
            | Self::Empty
            | Self::Malformed
            | Self::Network
            | Self::Server
            | Self::Timeout => true,
            Self::Auth
            | Self::ContextTooLong
            | Self::InvalidRequest
            | Self::Overloaded
            | Self::RateLimited
            | Self::SpendLimit
            | Self::StepFailed => false,
        }
    }

    /// Returns `true` if there was a reply that cannot be used, so that the driver of a thread asks for another one.
    #[must_use]
    pub const fn is_of_reply(self) -> bool {
        matches!(self, Self::CutCall | Self::Empty | Self::Malformed)
    }
}
