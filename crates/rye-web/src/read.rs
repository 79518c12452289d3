//! Bounded reading of the body of an answer.

use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{StatusCode, Url};

use crate::error::WebError;
use crate::exchange::Answer;
use crate::text::Media;

/// A received answer.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) url: Url,
    pub(crate) passed: Vec<Url>,
    pub(crate) status: StatusCode,
    pub(crate) media: Media,
    pub(crate) bytes: Vec<u8>,
    /// The compression of the body, which was not requested. The body was not read then.
    packed: Option<String>,
    /// `true` if there was more.
    pub(crate) is_cut: bool,
}

/// Reads at most `most` bytes of the body.
pub(crate) async fn receive(answer: Answer, most: usize) -> Result<Received, WebError> {
    let Answer { url, passed, mut response } = answer;
    let header = |name| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().trim().to_ascii_lowercase()
    };
    let encoding = header(CONTENT_ENCODING);
    let packed = Some(encoding).filter(|how| !["", "identity"].contains(&how.as_str()));
    let media = Media::read(&header(CONTENT_TYPE));
    let status = response.status();
    let mut bytes = Vec::new();
    let mut is_cut = false;
    let host = url.host_str().unwrap_or_default().to_owned();
    let broken = |error| WebError::broken_connection(&host, error);
    while packed.is_none()
        && let Some(chunk) = response.chunk().await.map_err(broken)?
    {
        let left = most - bytes.len();
        bytes.extend_from_slice(chunk.get(..left).unwrap_or(&chunk));
        if chunk.len() > left {
            is_cut = true;
            break;
        }
    }
    Ok(Received { url, passed, status, media, bytes, packed, is_cut })
}

impl Received {
    /// Returns the body as text, or an error with the reason why it is not text.
    pub(crate) fn text(&self) -> Result<String, WebError> {
        let not_text = |what: String| WebError::unreadable(&self.url, &what);
        if let Some(how) = &self.packed {
            return Err(not_text(format!("was sent packed as `{how}`, which was not asked for")));
        }
        if self.bytes.is_empty() {
            return Ok(String::new());
        }
        if !self.media.is_text() {
            return Err(not_text(format!("is `{}`, which is no text", self.media.essence())));
        }
        self.media.decode(&self.bytes, self.is_cut).ok_or_else(|| {
            not_text("has bytes that are in no text, whatever its type says".to_owned())
        })
    }
}
