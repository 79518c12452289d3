//! The client: one request, sent until it is answered or given up.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use rye_thread::{ProviderError, ProviderErrorClass, Usage};
use tokio::time::Instant;

use super::hints::Hints;
use super::report::{Refusal, Reporter, class_of, gave_up};
use super::retry::{Failed, Next, Progress, Reached, next};
use crate::key::ApiKey;
use crate::{ProviderConfig, RandomBits, RetryPolicy};

/// The most bytes of a response that are read.
pub(super) const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;

/// What a transport is made of.
pub(crate) struct Connection<'a> {
    pub(crate) config: &'a ProviderConfig,
    pub(crate) key: Option<ApiKey>,
    pub(crate) random: RandomBits,
    /// The protocol's path below `base_url`.
    pub(crate) path: &'a str,
    /// The protocol's headers, which the config's replace.
    pub(crate) headers: &'a [(&'static str, &'static str)],
}

/// Why no transport could be made.
#[derive(Debug)]
pub(crate) enum TransportError {
    Tls(rustls::Error),
    Client(reqwest::Error),
}

/// Sends one provider's requests, each until it is answered or given up.
pub(crate) struct Transport {
    client: Client,
    url: String,
    headers: HeaderMap,
    retry: RetryPolicy,
    timeout: Duration,
    random: RandomBits,
    reporter: Reporter,
}

/// How a protocol reads an error's body, given the status.
type ReadError = fn(u16, &[u8]) -> Option<Refusal>;

impl Transport {
    pub(crate) fn new(connection: Connection<'_>) -> Result<Self, TransportError> {
        let Connection { config, key, random, path, headers } = connection;
        let tls = tls(config.base_url()).map_err(TransportError::Tls)?;
        // Proxies are left out because reqwest finds them in the environment, which only the program may read.
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .user_agent(concat!("rye/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(TransportError::Client)?;
        Ok(Self {
            client,
            url: format!("{}{path}", config.base_url()),
            headers: all_headers(config, key.as_ref(), headers),
            retry: *config.retry(),
            timeout: config.timeout(),
            random,
            reporter: Reporter::new(config, key),
        })
    }

    /// Sends a JSON body and gives back the JSON of a 2xx response; it tries until then, unless trying again is of no use
    /// or the policy's attempts or time are used up.
    pub(crate) async fn post(
        &self,
        body: &str,
        read_error: ReadError,
    ) -> Result<Vec<u8>, ProviderError> {
        let start = Instant::now();
        let mut attempts = 0;
        let mut reached_nobody = true;
        loop {
            attempts += 1;
            let limit = self.timeout.min(self.retry.total.saturating_sub(start.elapsed()));
            let failure = match self.attempt(body, limit, read_error).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            reached_nobody &= failure.failed.reached == Reached::Nobody;
            let progress = Progress { attempts, elapsed: start.elapsed() };
            let error = match next(&self.retry, progress, &failure.failed, (self.random)()) {
                Next::Wait(wait) => {
                    tokio::time::sleep(wait).await;
                    continue;
                }
                Next::Final => failure.into_error(),
                Next::UsedUp => failure.into_used_up(attempts),
            };
            // What nobody received costs nothing.
            return Err(if reached_nobody { error.with_usage(Usage::default()) } else { error });
        }
    }

    /// A text that may quote the server, on one line and without the key.
    pub(crate) fn without_key(&self, text: &str) -> String {
        self.reporter.shown(text)
    }

    async fn attempt(
        &self,
        body: &str,
        limit: Duration,
        read_error: ReadError,
    ) -> Result<Vec<u8>, Failure> {
        let request = self.client.post(&self.url).headers(self.headers.clone()).timeout(limit);
        let response = request
            .body(body.to_owned())
            .send()
            .await
            .map_err(|error| self.broken(error, limit))?;
        let (status, hints) = (response.status().as_u16(), Hints::of(response.headers()));
        let content_type = content_type(&response);
        let body = self.whole(response, limit).await?;
        let refusal = read_error(status, &body);
        if (200..300).contains(&status) && refusal.is_none() {
            return self.json(status, body, &content_type);
        }
        let class =
            refusal.as_ref().and_then(|refusal| refusal.class).unwrap_or_else(|| class_of(status));
        let message = self.reporter.refused(status, class, refusal.as_ref());
        Err(Failure {
            failed: Failed { class, reached: Reached::Status(status), hints },
            message,
            source: None,
        })
    }

    async fn whole(&self, mut response: Response, limit: Duration) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.broken(error, limit))? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                let message = self.reporter.too_large(MAX_RESPONSE_BYTES);
                return Err(Failure::unanswered(ProviderErrorClass::Server, message));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// A gateway's or a wrong address's page is told apart before a decoder is puzzled by it.
    fn json(&self, status: u16, body: Vec<u8>, content_type: &str) -> Result<Vec<u8>, Failure> {
        if body.trim_ascii_start().starts_with(b"{") {
            return Ok(body);
        }
        let failed = Failed {
            class: ProviderErrorClass::Server,
            reached: Reached::Status(status),
            hints: Hints::default(),
        };
        Err(Failure { failed, message: self.reporter.not_json(content_type), source: None })
    }

    fn broken(&self, error: reqwest::Error, limit: Duration) -> Failure {
        // A connection that timed out while it was being made is also one that was never made.
        let (class, reached, message) = if error.is_connect() {
            (ProviderErrorClass::Network, Reached::Nobody, self.reporter.unreachable())
        } else if error.is_timeout() {
            (ProviderErrorClass::Timeout, Reached::Unanswered, self.reporter.late(limit))
        } else {
            (ProviderErrorClass::Network, Reached::Unanswered, self.reporter.broken())
        };
        let failed = Failed { class, reached, hints: Hints::default() };
        Failure { failed, message, source: Some(error.without_url()) }
    }
}

struct Failure {
    failed: Failed,
    message: String,
    source: Option<reqwest::Error>,
}

impl Failure {
    fn unanswered(class: ProviderErrorClass, message: String) -> Self {
        let failed = Failed { class, reached: Reached::Unanswered, hints: Hints::default() };
        Self { failed, message, source: None }
    }

    fn into_error(self) -> ProviderError {
        let error = ProviderError::new(self.failed.class, &self.message);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }

    fn into_used_up(self, attempts: u32) -> ProviderError {
        let error = gave_up(&self.message, self.failed.class, attempts);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }
}

fn content_type(response: &Response) -> String {
    let value = response.headers().get(reqwest::header::CONTENT_TYPE);
    value.and_then(|value| value.to_str().ok()).unwrap_or("no content type").to_owned()
}

/// The protocol's headers, replaced by the config's, and the key.
fn all_headers(
    config: &ProviderConfig,
    key: Option<&ApiKey>,
    protocol: &[(&'static str, &'static str)],
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(reqwest::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(reqwest::header::ACCEPT, HeaderValue::from_static("application/json"));
    for (name, value) in protocol {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    for (name, value) in config.headers() {
        headers.insert(checked_name(name), checked_value(value));
    }
    if let (Some(auth), Some(key)) = (config.auth(), key) {
        let mut value = match auth.header.as_str() {
            "authorization" => checked_value(&format!("Bearer {}", key.expose())),
            _ => checked_value(key.expose()),
        };
        value.set_sensitive(true);
        headers.insert(checked_name(&auth.header), value);
    }
    headers
}

fn checked_name(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes())
        .expect("because reading the config checked every header name")
}

fn checked_value(value: &str) -> HeaderValue {
    HeaderValue::from_str(value)
        .expect("because reading the config and the key checked every header value")
}

/// The machine's own roots for `https`; a plain connection needs none, so that none are loaded for it.
fn tls(base_url: &str) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    if base_url.starts_with("http://") {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}
