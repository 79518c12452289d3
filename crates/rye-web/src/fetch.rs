//! `web/fetch`: a tool that reads pages of the web.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use rye_thread::{AuthorisedCall, Tool, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::allowed_url;
use crate::error::WebError;
use crate::exchange::{Follow, Order, Web};
use crate::markdown::{Grammar, Page, Style, page, whole};
use crate::read::{Received, receive};

/// The function name in a manifest's `builtin: web/fetch`.
pub const FETCH: &str = "web/fetch";

/// Returns the tool that reads a page as Markdown, as text or unchanged.
///
/// It needs a tokio runtime with time and I/O enabled. The result is an object for every answer. A failure
/// has the member `error`.
#[must_use]
pub fn fetch(web: &Arc<Web>) -> Arc<dyn Tool> {
    Arc::new(Fetch { web: Arc::clone(web) })
}

struct Fetch {
    web: Arc<Web>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
    #[serde(default)]
    format: Format,
    max_bytes: Option<usize>,
    offset: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Markdown,
    Text,
    Raw,
}

/// The largest size of a received page, in bytes.
const MAX_RECEIVED: usize = 8 * 1024 * 1024;
/// The largest size of the content in a result, and the default, in bytes.
const MAX_CONTENT: usize = 256 * 1024;
const USUAL_CONTENT: usize = 64 * 1024;
/// The longest time for the conversion to text.
const READING: Duration = Duration::from_secs(5);
/// The longest time from the first name lookup to the last byte.
const LIMIT: Duration = Duration::from_secs(30);

#[async_trait]
impl Tool for Fetch {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let arguments = call.into_arguments();
        let arguments: Arguments = match serde_json::from_value(arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let message = format!("the arguments do not fit: {error}");
                return ToolOutput::error(json!({ "error": message }));
            }
        };
        self.fetch_page(&arguments).await.unwrap_or_else(|error| error_output(&error))
    }
}

/// Converts an error to a tool's result.
pub(crate) fn error_output(error: &WebError) -> ToolOutput {
    let content = json!({ "error": error.sentence() });
    if error.is_refusal() { ToolOutput::refusal(content) } else { ToolOutput::error(content) }
}

impl Fetch {
    async fn fetch_page(&self, arguments: &Arguments) -> Result<ToolOutput, WebError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        let url = allowed_url::read(&arguments.url)?;
        let method = Method::GET;
        let follow = Follow::Anywhere;
        let order = Order { method, url, headers, body: None, follow, secret: None };
        let read = async |answer| receive(answer, MAX_RECEIVED).await;
        let received = self.web.exchange(order, LIMIT, read).await?;
        let text = received.text()?;
        let format = arguments.format;
        let url = received.url.clone();
        let read =
            tokio::task::spawn_blocking(move || (PageText::new(&received, text, format), received));
        let (told, received) =
            read.await.map_err(|_| WebError::unreadable(&url, "cannot be made into text"))?;
        let content = told.content(arguments, &received);
        Ok(match received.status.is_success() {
            true => ToolOutput::ok(content),
            false => ToolOutput::error(with_error(content, &received)),
        })
    }
}

const ACCEPTED: &str =
    "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1";

fn with_error(mut content: Value, received: &Received) -> Value {
    content["error"] = format!("the server answered {}", received.status).into();
    content
}

/// The text of a page.
struct PageText {
    title: Option<String>,
    text: String,
    is_cut: bool,
}

impl PageText {
    fn new(received: &Received, text: String, format: Format) -> Self {
        let style = match format {
            Format::Markdown => Style::Markdown,
            Format::Text => Style::Text,
            Format::Raw => return Self { title: None, text, is_cut: false },
        };
        let grammar = match &received.media {
            media if media.is_xhtml() => Grammar::Xml,
            media if media.is_html() => Grammar::Html,
            _ => return Self { title: None, text, is_cut: false },
        };
        let Page { title, text, is_cut } =
            page(&text, &received.url, grammar, style, MAX_RECEIVED, READING);
        Self { title, text, is_cut }
    }

    /// Returns the requested part of the page.
    fn content(&self, arguments: &Arguments, received: &Received) -> Value {
        let most = arguments.max_bytes.unwrap_or(USUAL_CONTENT).clamp(1, MAX_CONTENT);
        let start = whole(&self.text, arguments.offset.unwrap_or(0));
        let end = whole(&self.text, start.saturating_add(most)).max(next(&self.text, start));
        let mut content = json!({
            "url": received.url.as_str(),
            "status": received.status.as_u16(),
            "content": self.text.get(start..end).unwrap_or_default(),
        });
        let essence = received.media.essence();
        let passed: Vec<&str> = received.passed.iter().map(reqwest::Url::as_str).collect();
        let members = [
            ("content_type", (!essence.is_empty()).then(|| essence.into())),
            ("title", self.title.as_deref().map(Value::from)),
            ("redirected_from", (!passed.is_empty()).then(|| passed.into())),
            ("next_offset", (end < self.text.len()).then(|| end.into())),
            (
                "cut",
                received.is_cut.then_some(CUT).or(self.is_cut.then_some(UNREAD)).map(Value::from),
            ),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                content[name] = value;
            }
        }
        content
    }
}

const UNREAD: &str = "the rest of the page cannot be made into text; `format: raw` gives all of it";
const CUT: &str = "the page is longer than 8 MiB; what follows was not received";

/// Returns the end of the character at `at`, so that a part is never empty while there is text.
fn next(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |char| at + char.len_utf8())
}
