//! The body of a response. Its first bytes decide what it is, because the content type is often wrong.

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use reqwest::{Response, Version};

use super::failure::Failure;
use super::memory::Room;
use super::patience::Patience;
use super::report::Reporter;

/// A body of which the beginning may have been read already.
pub(super) struct Body {
    response: Response,
    head: Option<Bytes>,
}

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A stream of events.
    Events,
    /// A value in one piece, or a page.
    Whole,
}

impl Body {
    pub(super) fn of(response: Response) -> Self {
        Self { response, head: None }
    }

    pub(super) fn response(&self) -> &Response {
        &self.response
    }

    /// Reads until the form is known. White space before the body is passed over.
    pub(super) async fn form(
        &mut self,
        patience: Patience,
        reporter: &Reporter,
        room: &mut Room<'_>,
    ) -> Result<Form, Failure> {
        let named = if names_events(&self.response) { Form::Events } else { Form::Whole };
        let mut head = Vec::new();
        let mut seen = 0;
        loop {
            let chunk = match named {
                Form::Events => patience.wait_for_piece(reporter, self.response.chunk()).await?,
                Form::Whole => patience.wait(reporter, self.response.chunk()).await?,
            };
            let piece = chunk.as_deref().unwrap_or_default();
            seen += piece.len();
            patience.wait_for_room(reporter, room, seen).await?;
            head.extend_from_slice(piece);
            let begun = head.trim_ascii_start();
            let begun = begun.strip_prefix(BYTE_ORDER_MARK).unwrap_or(begun).trim_ascii_start();
            let form = form(begun);
            if form.is_some() || chunk.is_none() || MOST_BYTES_OF_A_NAME < begun.len() {
                self.head = Some(Bytes::copy_from_slice(begun)).filter(|head| !head.is_empty());
                return Ok(form.unwrap_or(named));
            }
            if begun.is_empty() && BYTE_ORDER_MARK.len() <= head.len() {
                head.clear();
            }
        }
    }

    /// Returns the next bytes, or `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, reqwest::Error> {
        match self.head.take() {
            Some(head) => Ok(Some(head)),
            None => self.response.chunk().await,
        }
    }

    /// Returns `true` if HTTP marks the end of the body, so that a body that was cut is an error.
    pub(super) fn has_marked_end(&self) -> bool {
        let headers = self.response.headers();
        headers.contains_key(CONTENT_LENGTH)
            || headers.contains_key(TRANSFER_ENCODING)
            || Version::HTTP_2 <= self.response.version()
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// More bytes than the name of a field of an event has.
const MOST_BYTES_OF_A_NAME: usize = 8;

/// Returns the form of a body that begins so, or `None` if that is not yet known or says nothing.
fn form(begun: &[u8]) -> Option<Form> {
    let is_field =
        |name: &[u8]| begun.strip_prefix(name).is_some_and(|rest| rest.starts_with(b":"));
    let fields: [&[u8]; 6] = [b"data", b"event", b"id", b"retry", b"error", b""];
    match begun {
        [b'{' | b'[', ..] => Some(Form::Whole),
        _ if fields.into_iter().any(is_field) => Some(Form::Events),
        _ => None,
    }
}

fn names_events(response: &Response) -> bool {
    content_type(response).to_ascii_lowercase().starts_with("text/event-stream")
}

pub(super) fn content_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE);
    value.and_then(|value| value.to_str().ok()).unwrap_or("no content type").to_owned()
}
