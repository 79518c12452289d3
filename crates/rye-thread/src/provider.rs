//! The interface of a model provider.

use std::error::Error as StdError;
use std::fmt;

use async_trait::async_trait;
use strum::{Display, IntoStaticStr, VariantArray};

use crate::{Prices, Reply, Request, Retry, Usage};

/// One model over one wire protocol.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns the model and its prices. The answer is the same every time.
    fn describe(&self) -> ProviderInfo;

    /// Sends one request and waits for the whole reply.
    ///
    /// Retries are up to the provider. The future is dropped when the thread is cancelled or its time is used up.
    ///
    /// # Errors
    ///
    /// [`ProviderError`] if no whole reply came, with a class for the caller to act on.
    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError>;

    /// Sends one request like [`complete`](Self::complete), and reports pieces of the reply as they arrive.
    ///
    /// A provider without streaming reports nothing.
    ///
    /// # Errors
    ///
    /// As [`complete`](Self::complete). The reported pieces of a failed reply do not count.
    async fn stream(
        &self,
        request: &Request,
        deltas: &dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        let _unused = deltas;
        self.complete(request).await
    }

    /// Returns the provider's telemetry. By default, it holds only the name of the provider's configuration.
    fn telemetry(&self) -> ProviderTelemetry {
        ProviderTelemetry::new(&self.describe().provider)
    }

    /// Returns the provider that is asked if this one refuses a thread's first request for lack of the model or of
    /// capacity.
    ///
    /// Later requests stay with the provider of the first reply, because a conversation's reasoning is bound to its
    /// model (WIRES 1.0).
    fn fallback(&self) -> Option<&dyn Provider> {
        None
    }
}

/// The receiver of a reply in progress. Only the whole reply counts.
#[async_trait]
pub trait DeltaSink: Send + Sync {
    /// Receives each piece in order, at once.
    fn delta(&self, delta: Delta<'_>);

    /// Receives a change in the possible cost of a dropped request. Before the first call, a dropped request may cost
    /// everything.
    fn charge(&self, charge: Charge) {
        let _unused = charge;
    }

    /// Receives the announcement of a further attempt, before the wait for it.
    ///
    /// The next attempt is not sent before this returns. The failed attempt is settled here, because a later error
    /// covers only the last attempt.
    async fn retry(&self, retry: &Retry) {
        let _unused = retry;
    }
}

/// The possible cost of a dropped request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a provider may charge for it or may not")]
pub enum Charge {
    /// No cost: no attempt is in flight. Failed attempts were settled when the next one was announced.
    Nothing,
    /// The cost of the attempt in flight.
    Possible,
}

/// Ignores the pieces.
impl DeltaSink for () {
    fn delta(&self, _: Delta<'_>) {}
}

/// A piece of a reply in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// The start of a call of the tool with this palette name.
    Call(&'a str),
    /// More readable reasoning.
    Reasoning(&'a str),
    /// More text.
    Text(&'a str),
}

/// The facts of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// The name of the provider's configuration.
    pub provider: String,
    /// The model's id.
    pub model: String,
    /// The prices of its tokens. `None` if they are unknown, which is not the same as free.
    pub prices: Option<Prices>,
    /// The maximum number of tokens of a conversation.
    pub context_window: u64,
    /// The maximum number of tokens of one reply.
    pub max_output: u64,
}

impl ProviderInfo {
    /// Creates the facts of a model without prices. Set the field if they are known.
    #[must_use]
    pub fn new(provider: &str, model: &str, context_window: u64, max_output: u64) -> Self {
        let provider = provider.to_owned();
        let model = model.to_owned();
        Self { provider, model, prices: None, context_window, max_output }
    }
}

/// The provider's attributes on the span of a request, as in OpenTelemetry's GenAI conventions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderTelemetry {
    /// `gen_ai.provider.name`: the convention's name of the provider, if it has one.
    pub name: String,
    /// The address of the server. `None` for a provider in this process.
    pub server: Option<ServerAddress>,
    /// `true` if replies are streamed.
    pub is_streamed: bool,
}

/// The address of a provider's server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an address is a host and a port")]
pub struct ServerAddress {
    /// The host: a name or an IP address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl ProviderTelemetry {
    /// Creates the attributes of a provider in this process without streaming. Set the fields for another one.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), server: None, is_streamed: false }
    }
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
