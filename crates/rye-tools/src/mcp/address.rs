//! Connection to a server at an address: the client, the headers, and the errors of HTTP.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::ClientInitializeError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rye_web::Web;
use zeroize::Zeroizing;

use super::bounded::MESSAGE;
use super::connection::ConnectError;
use super::http_client::{HttpError, LimitedClient};
use super::opening::Opening;
use super::secrets::Secrets;
use super::server::{ServerAddress, ServerHeader};

/// The HTTP transport.
pub(super) type Http = StreamableHttpClientTransport<LimitedClient>;

/// Resolves the address once and returns the transport for it.
pub(super) async fn transport(
    address: &ServerAddress,
    web: Option<&Arc<Web>>,
    variable: impl Fn(&str) -> Option<String>,
    opening: &Opening,
) -> Result<Http, ConnectError> {
    let problems = address.problems();
    if !problems.is_empty() {
        return Err(ConnectError::Refused(problems.join("; ")));
    }
    let web =
        web.ok_or_else(|| ConnectError::Refused("this program reaches no other machine".into()))?;
    let headers = values(&address.headers, variable)?;
    let lent = address.headers.keys().next().map(String::as_str);
    let standing = web.pinned_client(&address.url, address.private, lent).await;
    let (client, url) = standing.map_err(|error| match error.is_refusal() {
        true => ConnectError::Refused(error.sentence()),
        false => ConnectError::Http { problem: error.sentence() },
    })?;
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(MESSAGE)
        // A new session may offer other tools, so that it needs a new connection.
        .reinit_on_expired_session(false);
    Ok(Http::with_client(LimitedClient::new(client, &opening.awaited, opening.patience), config))
}

/// Returns the headers with the operator's values. No message contains the values.
fn values(
    headers: &BTreeMap<String, ServerHeader>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<HashMap<HeaderName, HeaderValue>, ConnectError> {
    let mut values = HashMap::new();
    for (name, header) in headers {
        let unset = || ConnectError::Header { name: name.clone() };
        let secret = variable(&header.variable).filter(|value| !value.is_empty());
        let secret = secret.ok_or_else(unset)?;
        let text = if header.is_bearer { format!("Bearer {secret}") } else { secret };
        let value = Web::secret_header(&Zeroizing::new(text)).ok_or_else(|| {
            ConnectError::Refused(format!(
                "the variable for header `{name}` has a character that no header may have"
            ))
        })?;
        let name = HeaderName::from_bytes(name.as_bytes());
        values.insert(name.map_err(|error| ConnectError::Refused(error.to_string()))?, value);
    }
    Ok(values)
}

/// Returns the HTTP problem of a connection that could not be opened, if there is one.
pub(super) fn beginning(error: &ClientInitializeError, secrets: &Secrets) -> Option<ConnectError> {
    match error {
        ClientInitializeError::TransportError { error, .. } => problem(error, secrets),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            beginning(fallback, secrets)
        }
        _ => None,
    }
}

/// Returns the HTTP problem behind an error, or `None` if the error does not come from HTTP.
pub(super) fn problem(error: &(dyn Error + 'static), secrets: &Secrets) -> Option<ConnectError> {
    let mut found = Some(error);
    while let Some(cause) = found.filter(|cause| !cause.is::<HttpError>()) {
        found = cause.source();
    }
    let found = found?.downcast_ref::<HttpError>()?;
    Some(match found {
        StreamableHttpError::SessionExpired => ConnectError::Expired,
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
            ConnectError::Http { problem: UNKNOWN.to_owned() }
        }
        StreamableHttpError::Client(error) => {
            ConnectError::Http { problem: sentence(error, secrets) }
        }
        other => ConnectError::Http { problem: secrets.short(&other.to_string()) },
    })
}

const UNKNOWN: &str =
    "it wants to know who asks; name the variable with its credential under `auth`";

/// Returns the error with its causes on one line, without the address.
fn sentence(error: &reqwest::Error, secrets: &Secrets) -> String {
    let mut text =
        if error.is_timeout() { "no connection in time" } else { "the connection broke" }
            .to_owned();
    let mut cause = error.source();
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    secrets.short(&text)
}
