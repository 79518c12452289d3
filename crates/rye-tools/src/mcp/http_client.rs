//! The HTTP client of a server at an address, which reads messages within bounds.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::SseStream;

use super::bounded::{MESSAGE, bound_message};

pub(super) type HttpError = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The largest number of streams for server messages in a connection. A server that ends each of them at once
/// gets no more.
const STREAMS: usize = 100;

/// The size of the largest body of an error, in bytes.
const ERROR: usize = 64 * 1024;

/// A client with limits on the number of streams, and on the messages that it reads. The client of the library reads a whole
/// body before anything can count its values.
#[derive(Debug, Clone)]
pub(super) struct LimitedClient {
    client: reqwest::Client,
    streams: Arc<AtomicUsize>,
}

impl LimitedClient {
    pub(super) fn new(client: reqwest::Client) -> Self {
        Self { client, streams: Arc::default() }
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self.client.post(uri).headers(headers.into_iter().collect());
        request = request.header(ACCEPT, [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", "));
        request = request.header(CONTENT_TYPE, JSON_MIME_TYPE);
        if let Some(auth) = auth {
            request = request.bearer_auth(auth);
        }
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session);
        }
        let response = request.body(serde_json::to_vec(message)?).send().await?;
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            status if status.is_success() => answer(response, message).await,
            _ => refusal(response, message, session.is_some()).await,
        }
    }
}

/// Returns a header as text; empty if there is none.
fn header(response: &Response, name: HeaderName) -> String {
    let value = response.headers().get(name).map(HeaderValue::as_bytes);
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

/// Reads the answer to a message.
async fn answer(
    response: Response,
    message: &ClientJsonRpcMessage,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let is_answered = matches!(message, ClientJsonRpcMessage::Request(_));
    let kind = header(&response, CONTENT_TYPE);
    let session = Some(header(&response, HeaderName::from_static("mcp-session-id")));
    let session = session.filter(|session| !session.is_empty());
    if !is_answered && header(&response, CONTENT_LENGTH) == "0" {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if kind.starts_with(EVENT_STREAM_MIME_TYPE) {
        return Ok(StreamableHttpPostResponse::Sse(events(response), session));
    }
    if !kind.starts_with(JSON_MIME_TYPE) {
        let kind = Some(kind).filter(|kind| !kind.is_empty());
        return Err(StreamableHttpError::UnexpectedContentType(kind));
    }
    let body = body(response, MESSAGE).await?;
    match serde_json::from_slice(&bound_message(&body)) {
        Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
        Err(_) if !is_answered => Ok(StreamableHttpPostResponse::Accepted),
        Err(error) => {
            let reason = format!("it is no message of the protocol: {error}");
            Err(StreamableHttpError::UnexpectedServerResponse(reason.into()))
        }
    }
}

/// Reads an answer with the status of a failure. It may have an error of the protocol.
async fn refusal(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    let is_stranger = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let challenge = header(&response, WWW_AUTHENTICATE);
    if is_stranger && !challenge.is_empty() {
        return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
    }
    let is_json = header(&response, CONTENT_TYPE).starts_with(JSON_MIME_TYPE);
    let is_limited = status == StatusCode::TOO_MANY_REQUESTS;
    let failed = (is_limited || status.is_server_error()).then(|| {
        let retry_after = Some(header(&response, RETRY_AFTER)).filter(|value| !value.is_empty());
        HttpStatusError::new(status.as_u16(), retry_after)
    });
    if let Some(failed) = failed.filter(|_| is_limited || !is_json) {
        return Err(failed.into());
    }
    let body = body(response, ERROR).await?;
    let text = String::from_utf8_lossy(&body);
    let error = match serde_json::from_slice(&bound_message(&body)) {
        Ok(error @ JsonRpcMessage::Error(_)) => Some(error),
        _ => None,
    };
    if let (Some(id), false, false) = (discovery(message), has_session, is_stranger)
        && status.is_client_error()
    {
        // A server of an older revision refuses the question. The library then begins as that revision does.
        let error = match error {
            Some(JsonRpcMessage::Error(error)) => error.error,
            _ => ErrorData::invalid_request(format!("HTTP {status}: {text}"), None),
        };
        let error = ServerJsonRpcMessage::error(error, Some(id));
        return Ok(StreamableHttpPostResponse::Json(error, None));
    }
    match error.filter(|_| is_json && !is_stranger) {
        Some(error) => Ok(StreamableHttpPostResponse::Json(error, None)),
        None if status.is_server_error() => Err(HttpStatusError::new(status.as_u16(), None).into()),
        None => {
            let reason = format!("HTTP {status}: {text}");
            Err(StreamableHttpError::UnexpectedServerResponse(reason.into()))
        }
    }
}

/// Returns the id of a question for the revisions of a server.
fn discovery(message: &ClientJsonRpcMessage) -> Option<rmcp::model::RequestId> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    matches!(request.request, ClientRequest::DiscoverRequest(_)).then(|| request.id.clone())
}

async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if most < body.len() + piece.len() {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: most });
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Returns the events of an answer. An event that is too long ends them.
fn events(response: Response) -> BoxedSseResponse {
    let mut size = 0;
    let mut is_start = true;
    let pieces = response.bytes_stream().map_err(io::Error::other).and_then(move |piece| {
        for byte in &piece {
            match byte {
                // An empty line ends an event.
                b'\n' if is_start => size = 0,
                b'\n' => is_start = true,
                b'\r' => {}
                _ => is_start = false,
            }
            size += 1;
            if MESSAGE < size {
                return std::future::ready(Err(io::Error::other("an event is too long")));
            }
        }
        std::future::ready(Ok(piece))
    });
    bound_events(SseStream::from_bytes_stream(pieces).boxed())
}

/// Returns the events with each message as [`bound_message`] gives it.
fn bound_events(events: BoxedSseResponse) -> BoxedSseResponse {
    let bounded = events.map(|event: Result<_, SseError>| {
        event.map(|mut event| {
            let data = event.data.as_ref().map(|data| bound_message(data.as_bytes()));
            event.data = data.map(|data| String::from_utf8_lossy(&data).into_owned());
            event
        })
    });
    bounded.boxed()
}

impl StreamableHttpClient for LimitedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post(&uri, &message, session.as_deref(), auth, headers).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        _: usize,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post(&uri, &message, session.as_deref(), auth, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpError> {
        self.client.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, HttpError> {
        self.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, MESSAGE)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<BoxedSseResponse, HttpError> {
        if self.streams.fetch_add(1, Ordering::Relaxed) >= STREAMS {
            // After this answer, the library opens no further stream.
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let client = &self.client;
        let events = client
            .get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, most)
            .await?;
        Ok(bound_events(events))
    }
}
