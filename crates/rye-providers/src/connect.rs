//! Providers made from a config, a model and a key.

use async_trait::async_trait;
use rye_thread::{
    DeltaSink, Provider, ProviderError, ProviderErrorClass, ProviderInfo, ProviderTelemetry, Reply,
    Request,
};

use crate::answer::number_calls;
use crate::codec::body;
use crate::config::ProviderConfig;
use crate::http::{Connection, RandomBits, Timing, Transport, TransportError};
use crate::protocol::Delivery;
use crate::protocol::Protocol;
use crate::{ApiKey, ModelChoice, telemetry};

/// The reason why a provider could not be made. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The config needs a key, but none was given.
    #[error("the provider `{provider}` needs a key; set the environment variable `{env}`")]
    MissingKey {
        /// The provider's name.
        provider: String,
        /// The variable that its config names.
        env: String,
    },
    /// A key was given, but the config has no `auth`.
    #[error(
        "the provider `{provider}` has no `auth`, so its key would not be sent; add `auth` to its config"
    )]
    UnusedKey {
        /// The provider's name.
        provider: String,
    },
    /// The system's certificate store cannot be used.
    #[error(
        "cannot set up TLS for the provider `{provider}`; check the machine's root certificates"
    )]
    Tls {
        /// The provider's name.
        provider: String,
        /// The error of the TLS library.
        source: rustls::Error,
    },
    /// The HTTP client cannot be made.
    #[error("cannot set up HTTP for the provider `{provider}`")]
    Client {
        /// The provider's name.
        provider: String,
        /// The error of the HTTP library.
        source: reqwest::Error,
    },
}

/// Makes a provider for the config and the chosen model, without sending anything.
///
/// # Errors
///
/// [`ConnectError`] if the key is missing or not used by the config, or if TLS or HTTP cannot be set up.
pub fn connect(
    config: &ProviderConfig,
    choice: &ModelChoice,
    key: Option<ApiKey>,
    random: RandomBits,
) -> Result<Box<dyn Provider>, ConnectError> {
    connect_with_timing(config, choice, key, Timing::new(random))
}

/// Makes a provider like [`connect`], with another clock for the waits between attempts.
///
/// # Errors
///
/// As [`connect`].
pub fn connect_with_timing(
    config: &ProviderConfig,
    choice: &ModelChoice,
    key: Option<ApiKey>,
    timing: Timing,
) -> Result<Box<dyn Provider>, ConnectError> {
    let provider = config.name().to_owned();
    match (config.auth(), &key) {
        (Some(auth), None) => {
            return Err(ConnectError::MissingKey { provider, env: auth.env.clone() });
        }
        (None, Some(_)) => return Err(ConnectError::UnusedKey { provider }),
        _ => {}
    }
    let fallback = choice.fallback.as_deref();
    let fallback = fallback.map(|choice| model(config, choice, key.clone(), timing.clone()));
    let mut first = model(config, choice, key, timing)?;
    first.fallback = fallback.transpose()?.map(Box::new);
    Ok(Box::new(first))
}

fn model(
    config: &ProviderConfig,
    choice: &ModelChoice,
    key: Option<ApiKey>,
    timing: Timing,
) -> Result<Model, ConnectError> {
    let provider = config.name().to_owned();
    let connection = Connection { config, model: &choice.model, key, timing };
    let transport = Transport::new(connection).map_err(|error| match error {
        TransportError::Tls(source) => ConnectError::Tls { provider: provider.clone(), source },
        TransportError::Client(source) => {
            ConnectError::Client { provider: provider.clone(), source }
        }
    })?;
    Ok(Model {
        provider,
        protocol: config.protocol(),
        delivery: config.delivery(),
        telemetry: telemetry::of(config),
        transport,
        choice: choice.clone(),
        fallback: None,
    })
}

/// A model of a provider, with its transport.
struct Model {
    provider: String,
    protocol: Protocol,
    delivery: Delivery,
    telemetry: ProviderTelemetry,
    transport: Transport,
    choice: ModelChoice,
    fallback: Option<Box<Model>>,
}

#[async_trait]
impl Provider for Model {
    fn describe(&self) -> ProviderInfo {
        self.choice.describe(&self.provider)
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        self.stream(request, &()).await
    }

    async fn stream(
        &self,
        request: &Request,
        deltas: &dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        let body = body(self.protocol, request, &self.choice, self.delivery).map_err(|error| {
            let message = "the conversation cannot be sent";
            ProviderError::new(ProviderErrorClass::InvalidRequest, message).with_source(error)
        })?;
        let mut reply = self.transport.ask(body, request.patience, deltas).await?;
        number_calls(&mut reply, request);
        Ok(reply)
    }

    fn telemetry(&self) -> ProviderTelemetry {
        self.telemetry.clone()
    }

    fn fallback(&self) -> Option<&dyn Provider> {
        self.fallback.as_deref().map(|model| model as &dyn Provider)
    }
}
