//! What a model provider is to a thread.

use std::error::Error as StdError;
use std::fmt;

use async_trait::async_trait;

use crate::{Prices, Reply, Request, Retry, Usage};

/// One model behind one wire.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Which model this is and what it costs; the same answer every time.
    fn describe(&self) -> ProviderInfo;

    /// Sends one request and waits for the whole answer.
    ///
    /// # Errors
    ///
    /// When no whole answer came, classified so that a caller can act on it. Retrying is the provider's work; the
    /// future is dropped when the thread is cancelled or its time is used up.
    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError>;

    /// Does the same, and tells of the answer while it comes; one who cannot tells nothing.
    ///
    /// # Errors
    ///
    /// As [`complete`](Self::complete). What was told of an answer that then failed is no answer.
    async fn stream(
        &self,
        request: &Request,
        deltas: &dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        let _nobody_tells = deltas;
        self.complete(request).await
    }

    /// What telemetry says of this provider; no more than its configuration's name, unless it knows better.
    fn telemetry(&self) -> ProviderTelemetry {
        ProviderTelemetry::new(&self.describe().provider)
    }

    /// Who is asked instead when this one refuses a thread's first request for want of the model or of capacity.
    ///
    /// Later requests stay where the first was answered: a conversation's reasoning is bound to its model (WIRES 1.0).
    fn fallback(&self) -> Option<&dyn Provider> {
        None
    }
}

/// The caller's view of an answer that is on its way; only the whole answer counts.
#[async_trait]
pub trait DeltaSink: Send + Sync {
    /// Called with each piece in order, at once.
    fn delta(&self, delta: Delta<'_>);

    /// Called when it changes what a request costs that is dropped from now on; until it is called, that is possibly all.
    fn charge(&self, charge: Charge) {
        let _nobody_pays = charge;
    }

    /// Called after an attempt failed and before the wait for the next one, which is not sent before this returns.
    ///
    /// The failed attempt is paid for here: a later error tells of the last attempt alone.
    async fn retry(&self, retry: &Retry) {
        let _not_looked_at = retry;
    }
}

/// What a request that is dropped may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a provider may charge for it or may not")]
pub enum Charge {
    /// Nothing: no attempt is on its way. Attempts that failed were paid for when the next one was announced.
    Nothing,
    /// The cost of the attempt that is on its way.
    Possible,
}

/// Nobody watches.
impl DeltaSink for () {
    fn delta(&self, _: Delta<'_>) {}
}

/// A piece of an answer that is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// The model begins to write a call of the tool with this palette name.
    Call(&'a str),
    /// More of its readable reasoning.
    Reasoning(&'a str),
    /// More of its text.
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
    /// What its tokens cost; `None` when nobody said, which is not the same as free.
    pub prices: Option<Prices>,
    /// How many tokens a conversation may have.
    pub context_window: u64,
    /// The most tokens that one answer may have.
    pub max_output: u64,
}

impl ProviderInfo {
    /// A model whose prices are unknown; set the field where they are known.
    #[must_use]
    pub fn new(provider: &str, model: &str, context_window: u64, max_output: u64) -> Self {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        Self { provider, model, prices: None, context_window, max_output }
    }
}

/// What the span of a request says of its provider, in the words of OpenTelemetry's GenAI conventions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderTelemetry {
    /// `gen_ai.provider.name`: the convention's name of the provider where it has one.
    pub name: String,
    /// Host and port of the server; `None` for what answers in this process.
    pub server: Option<(String, u16)>,
    /// Whether answers are asked for in pieces.
    pub is_streamed: bool,
}

impl ProviderTelemetry {
    /// A provider in this process, which answers whole; set the fields where it is otherwise.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), server: None, is_streamed: false }
    }
}

/// Why a request got no answer.
///
/// The message is for people and must hold no key; the cause is only in [`source`](StdError::source).
#[derive(Debug)]
#[non_exhaustive]
pub struct ProviderError {
    /// What sort of failure it was.
    pub class: ProviderErrorClass,
    /// A lowercase fragment that says what happened and what to do.
    pub message: String,
    /// What the provider says the failed request used; `None` when it did not say.
    pub usage: Option<Usage>,
    answer_began: bool,
    lacks_model: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ProviderError {
    /// A failure without a deeper cause.
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

    /// The same failure with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same failure of a request whose answer had begun, so that it may be charged whatever the class.
    #[must_use]
    pub const fn after_the_answer_began(mut self) -> Self {
        self.answer_began = true;
        self
    }

    /// The same failure, because the provider does not have the model.
    #[must_use]
    pub const fn for_want_of_the_model(mut self) -> Self {
        self.lacks_model = true;
        self
    }

    /// Whether the model was refused for existence or capacity, so that another one may answer (SPEC 11.1).
    #[must_use]
    pub const fn is_for_the_fallback(&self) -> bool {
        let at_capacity =
            matches!(self.class, ProviderErrorClass::Overloaded | ProviderErrorClass::RateLimited);
        !self.answer_began && (self.lacks_model || at_capacity)
    }

    /// Whether the provider may have done, and charged for, work that it did not tell of.
    #[must_use]
    pub const fn may_have_cost(&self) -> bool {
        self.usage.is_none() && (self.answer_began || self.class.may_have_cost())
    }

    /// The same failure with what the request used all the same.
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

/// The sorts of failure of a request (SPEC 11.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderErrorClass {
    /// The key is missing, wrong or not allowed to do this.
    Auth,
    /// Model or filter refused for the content.
    ContentRefused,
    /// The conversation does not fit the model's context window.
    ContextTooLong,
    /// The provider understood the request and will not serve it.
    InvalidRequest,
    /// The connection failed.
    Network,
    /// The provider has too much to do.
    Overloaded,
    /// Too many requests.
    RateLimited,
    /// The provider failed.
    Server,
    /// A limit on spending at the provider is used up, which no retry mends.
    SpendLimit,
    /// A planned step failed, for a provider that follows steps instead of a model (SPEC 10.13).
    StepFailed,
    /// No answer in time.
    Timeout,
}

impl ProviderErrorClass {
    /// All of them, sorted by name.
    pub const ALL: [Self; 11] = [
        Self::Auth,
        Self::ContentRefused,
        Self::ContextTooLong,
        Self::InvalidRequest,
        Self::Network,
        Self::Overloaded,
        Self::RateLimited,
        Self::Server,
        Self::SpendLimit,
        Self::StepFailed,
        Self::Timeout,
    ];

    /// The snake case name, as SPEC 11.4 and the transcript write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::ContentRefused => "content_refused",
            Self::ContextTooLong => "context_too_long",
            Self::InvalidRequest => "invalid_request",
            Self::Network => "network",
            Self::Overloaded => "overloaded",
            Self::RateLimited => "rate_limited",
            Self::Server => "server",
            Self::SpendLimit => "spend_limit",
            Self::StepFailed => "step_failed",
            Self::Timeout => "timeout",
        }
    }

    /// Whether the provider may have done, and charged for, work that it did not tell of.
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

impl fmt::Display for ProviderErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
