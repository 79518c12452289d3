//! The HTTP client of a server at an address, which reads messages within bounds.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use reqwest::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::awaited::Awaited;
use super::bounded::MESSAGE;
use super::received::{UNREADABLE, messages, no_revisions, unreadable_line};

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
    awaited: Awaited,
    /// The time for an answer to `server/discover`.
    patience: Duration,
}

impl LimitedClient {
    pub(super) fn new(client: reqwest::Client, awaited: &Awaited, patience: Duration) -> Self {
        Self { client, streams: Arc::default(), awaited: awaited.clone(), patience }
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let exchange = self.exchange(uri, message, session, auth, headers);
        let Some(id) = discovery(message) else { return exchange.await };
        // A server without `server/discover` may answer with anything, or not at all.
        let answer = async { first_answer(exchange.await?).await };
        let answer = match tokio::time::timeout(self.patience, answer).await {
            Ok(Ok(Some(answer))) => answer,
            Ok(Err(error)) if is_final(&error) => return Err(error),
            Ok(Ok(None) | Err(_)) | Err(_) => no_revisions(id),
        };
        Ok(StreamableHttpPostResponse::Json(answer, None))
    }

    async fn exchange(
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
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(match request_id(message) {
                // Without a session, the server has no other stream for its answer.
                Some(id) if session.is_none() => {
                    only(&unreadable_line(id, "the server accepted the request and sent nothing"))?
                }
                _ => StreamableHttpPostResponse::Accepted,
            }),
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            status if status.is_success() => self.answer(response, message).await,
            _ => self.refusal(response, message).await,
        }
    }

    /// Reads the answer to a message.
    async fn answer(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let asked = request_id(message);
        let kind = header(&response, CONTENT_TYPE);
        let session = Some(header(&response, HeaderName::from_static("mcp-session-id")));
        let session = session.filter(|session| !session.is_empty());
        if asked.is_none() && header(&response, CONTENT_LENGTH) == "0" {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if kind.starts_with(EVENT_STREAM_MIME_TYPE) {
            let events = read_events(events(response), &self.awaited, asked.cloned());
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if !kind.starts_with(JSON_MIME_TYPE) {
            let kind = Some(kind).filter(|kind| !kind.is_empty());
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let body = body(response, MESSAGE).await?;
        let Some(asked) = asked else { return Ok(StreamableHttpPostResponse::Accepted) };
        let mut lines = messages(&body, &self.awaited, Some(asked));
        let answers =
            |line: &String| serde_json::from_str(line).is_ok_and(|it| is_answer(&it, asked));
        if !lines.iter().any(answers) {
            lines.push(unreadable_line(asked, "it has no answer to the request"));
        }
        match lines.as_slice() {
            [line] => Ok(StreamableHttpPostResponse::Json(serde_json::from_str(line)?, session)),
            _ => {
                let events = lines.into_iter().map(|line| Ok(event(line)));
                Ok(StreamableHttpPostResponse::Sse(stream::iter(events).boxed(), session))
            }
        }
    }

    /// Reads an answer with the status of a failure. It may have an error of the protocol.
    async fn refusal(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
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
            let retry_after =
                Some(header(&response, RETRY_AFTER)).filter(|value| !value.is_empty());
            HttpStatusError::new(status.as_u16(), retry_after)
        });
        if let Some(failed) = failed.filter(|_| is_limited || !is_json) {
            return Err(failed.into());
        }
        let body = body(response, ERROR).await?;
        if let Some(id) = request_id(message).filter(|_| is_json && !is_stranger) {
            let lines = messages(&body, &self.awaited, Some(id));
            let mut read = lines.iter().filter_map(|line| serde_json::from_str(line).ok());
            if let Some(error) = read.find(is_protocol_error) {
                return Ok(StreamableHttpPostResponse::Json(error, None));
            }
        }
        if status.is_server_error() {
            return Err(HttpStatusError::new(status.as_u16(), None).into());
        }
        let reason = format!("HTTP {status}: {}", String::from_utf8_lossy(&body));
        Err(StreamableHttpError::UnexpectedServerResponse(reason.into()))
    }
}

/// Returns the id of a request.
fn request_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    Some(&request.id)
}

/// Returns the id of a question for the revisions of a server.
fn discovery(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    matches!(request.request, ClientRequest::DiscoverRequest(_)).then_some(&request.id)
}

/// Returns `true` for an error that another first message does not change.
fn is_final(error: &HttpError) -> bool {
    match error {
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => true,
        StreamableHttpError::Client(error) => error.is_connect(),
        _ => false,
    }
}

/// Returns the answer in a response, if there is one.
async fn first_answer(
    response: StreamableHttpPostResponse,
) -> Result<Option<ServerJsonRpcMessage>, HttpError> {
    let mut events = match response {
        StreamableHttpPostResponse::Json(answer, _) => return Ok(Some(answer)),
        StreamableHttpPostResponse::Sse(events, _) => events,
        _ => return Ok(None),
    };
    while let Some(event) = events.next().await {
        let data = event?.data.unwrap_or_default();
        let message = serde_json::from_str(&data).ok();
        let is_answer =
            |it: &_| matches!(it, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        if let Some(answer) = message.filter(is_answer) {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

fn is_answer(message: &ServerJsonRpcMessage, asked: &RequestId) -> bool {
    match message {
        JsonRpcMessage::Response(response) => response.id == *asked,
        JsonRpcMessage::Error(error) => error.id.as_ref() == Some(asked),
        _ => false,
    }
}

/// Returns `true` for an error that the server wrote, and not for one in place of text that cannot be read.
fn is_protocol_error(message: &ServerJsonRpcMessage) -> bool {
    let JsonRpcMessage::Error(error) = message else { return false };
    error.error.data.as_ref().is_none_or(|data| data.get(UNREADABLE).is_none())
}

fn only(line: &str) -> Result<StreamableHttpPostResponse, HttpError> {
    Ok(StreamableHttpPostResponse::Json(serde_json::from_str(line)?, None))
}

/// Returns a header as text; empty if there is none.
fn header(response: &Response, name: HeaderName) -> String {
    let value = response.headers().get(name).map(HeaderValue::as_bytes);
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
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
    SseStream::from_bytes_stream(pieces).boxed()
}

/// Returns the events with the messages that [`messages`] reads, each in an event of its own.
fn read_events(
    events: BoxedSseResponse,
    awaited: &Awaited,
    asked: Option<RequestId>,
) -> BoxedSseResponse {
    let awaited = awaited.clone();
    let read = events.flat_map(move |written: Result<Sse, SseError>| {
        let read = match written {
            Ok(mut written) if matches!(written.event.as_deref(), None | Some("" | "message")) => {
                let data = written.data.take().unwrap_or_default();
                let lines = messages(data.as_bytes(), &awaited, asked.as_ref());
                // The first event has the id and the time to reconnect, also without a message.
                let messages = lines.into_iter().map(|line| Ok(event(line)));
                std::iter::once(Ok(written)).chain(messages).collect()
            }
            other => vec![other],
        };
        stream::iter(read)
    });
    read.boxed()
}

fn event(line: String) -> Sse {
    Sse { event: None, data: Some(line), id: None, retry: None }
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
        Ok(read_events(events, &self.awaited, None))
    }
}
