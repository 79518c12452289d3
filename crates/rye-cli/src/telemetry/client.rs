//! The HTTP client of telemetry, which records its first fault.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::{blocking, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::{Fault, Settings, note};

/// A client of its own, so that the collector shares nothing with providers.
#[derive(Debug)]
pub(super) struct Client {
    client: blocking::Client,
    fault: Fault,
}

impl Client {
    pub(super) fn new(settings: &Settings, fault: Fault) -> Result<Self, String> {
        let tls = tls(settings.is_encrypted).map_err(|error| {
            format!("cannot set up TLS: {error}; check the machine's root certificates")
        })?;
        let client = blocking::Client::builder()
            .tls_backend_preconfigured(tls)
            // A redirect would send the headers elsewhere, and they may contain keys.
            .redirect(redirect::Policy::none())
            .timeout(settings.timeout)
            .user_agent(concat!("rye/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| sentences(&error))?;
        Ok(Self { client, fault })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.client.send_bytes(request).await.map_err(without_address);
        match &sent {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => {
                note(&self.fault, &format!("the collector answered {}", response.status()))
            }
            Err(error) => note(&self.fault, &sentences(&**error)),
        }
        sent
    }
}

/// Removes the URL from an error, because it may contain a password.
fn without_address(error: HttpError) -> HttpError {
    match error.downcast::<reqwest::Error>() {
        Ok(error) => Box::new(error.without_url()),
        Err(error) => error,
    }
}

fn sentences(error: &dyn Error) -> String {
    let mut sentences = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        sentences = format!("{sentences}: {error}");
        cause = error.source();
    }
    sentences
}

/// Returns the TLS configuration, with the certificates of the machine if they are needed.
fn tls(is_encrypted: bool) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    if is_encrypted {
        return Ok(builder.with_platform_verifier()?.with_no_client_auth());
    }
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
