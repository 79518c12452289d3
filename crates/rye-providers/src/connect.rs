//! A config, a choice and a key become a provider.

use std::sync::Arc;

use async_trait::async_trait;
use rye_thread::{Provider, ProviderError, ProviderErrorClass, ProviderInfo, Reply, Request};

use crate::anthropic::EncodeError;
use crate::config::{Protocol, ProviderConfig};
use crate::http::{Connection, Transport, TransportError};
use crate::{ApiKey, ModelChoice, anthropic};

/// A source of random bits that the caller owns; it only spreads the waits between attempts.
pub type RandomBits = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Why a provider could not be made; nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The config wants a key and none was given.
    #[error("the provider `{provider}` needs a key; set the environment variable `{env}`")]
    MissingKey {
        /// The provider's name.
        provider: String,
        /// The variable that its config names.
        env: String,
    },
    /// A key was given and the config has no place for it.
    #[error(
        "the provider `{provider}` has no `auth`, so its key would not be sent; add `auth` to its config"
    )]
    UnusedKey {
        /// The provider's name.
        provider: String,
    },
    /// The machine's certificate store cannot be used.
    #[error(
        "cannot set up TLS for the provider `{provider}`; check the machine's root certificates"
    )]
    Tls {
        /// The provider's name.
        provider: String,
        /// What the TLS library said.
        source: rustls::Error,
    },
    /// The HTTP client cannot be made.
    #[error("cannot set up HTTP for the provider `{provider}`")]
    Client {
        /// The provider's name.
        provider: String,
        /// What the HTTP library said.
        source: reqwest::Error,
    },
}

/// Makes the provider that a config and a choice describe, without sending anything.
///
/// # Errors
///
/// [`ConnectError`] when the key does not fit the config or the machine has no usable certificates.
pub fn connect(
    config: &ProviderConfig,
    choice: &ModelChoice,
    key: Option<ApiKey>,
    random: RandomBits,
) -> Result<Box<dyn Provider>, ConnectError> {
    let provider = config.name().to_owned();
    match (config.auth(), &key) {
        (Some(auth), None) => {
            return Err(ConnectError::MissingKey { provider, env: auth.env.clone() });
        }
        (None, Some(_)) => return Err(ConnectError::UnusedKey { provider }),
        _ => {}
    }
    let headers = &[("anthropic-version", anthropic::VERSION)];
    let connection = match config.protocol() {
        Protocol::AnthropicMessages => {
            Connection { config, key, random, path: anthropic::PATH, headers }
        }
    };
    let transport = Transport::new(connection).map_err(|error| match error {
        TransportError::Tls(source) => ConnectError::Tls { provider: provider.clone(), source },
        TransportError::Client(source) => {
            ConnectError::Client { provider: provider.clone(), source }
        }
    })?;
    Ok(Box::new(Messages { provider, transport, choice: choice.clone() }))
}

/// The exact body that a provider of this protocol sends for `request`; nothing is sent, and no key is needed.
///
/// # Errors
///
/// [`EncodeError`] when the conversation cannot be put into the protocol's form.
pub fn body(
    protocol: Protocol,
    request: &Request,
    choice: &ModelChoice,
) -> Result<String, EncodeError> {
    match protocol {
        Protocol::AnthropicMessages => anthropic::encode(request, choice),
    }
}

/// One model over Anthropic's Messages.
struct Messages {
    provider: String,
    transport: Transport,
    choice: ModelChoice,
}

#[async_trait]
impl Provider for Messages {
    fn describe(&self) -> ProviderInfo {
        self.choice.describe(&self.provider)
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        let body = body(Protocol::AnthropicMessages, request, &self.choice).map_err(|error| {
            ProviderError::new(
                ProviderErrorClass::InvalidRequest,
                "the conversation cannot be sent",
            )
            .with_source(error)
        })?;
        let answer = self.transport.post(&body, anthropic::read_error).await?;
        anthropic::decode(&answer).map_err(|error| {
            let message = format!("the answer of `{}` cannot be read", self.provider);
            ProviderError::new(ProviderErrorClass::Server, &message)
                .with_source(self.transport.without_key(&reasons(&error)))
        })
    }
}

/// An error and its causes as one text.
fn reasons(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
