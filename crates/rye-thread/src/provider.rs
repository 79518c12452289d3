//! The interface of a model provider.

use async_trait::async_trait;

use crate::{Charge, ProviderError, ProviderInfo, Reply, Request, Retry};

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
