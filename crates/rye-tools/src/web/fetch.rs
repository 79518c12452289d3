//! `web/fetch`: a page of the web, to read.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use rye_caps::Permit;
use rye_thread::{Tool, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::WebError;
use super::exchange::{Follow, Order, Web};
use super::markdown::{Grammar, Page, Style, page, whole};
use super::place;
use super::read::{Received, received};

/// The function behind a manifest's `builtin: web/fetch`.
pub const FETCH: &str = "web/fetch";

/// The tool that reads a page as Markdown, as text or as it is.
///
/// It needs a runtime of tokio with time and input and output. A result is an object whatever the server says; one with
/// `error` in it is a failure.
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

/// The most that is received of a page.
const MAX_RECEIVED: usize = 8 * 1024 * 1024;
/// The most that a result has of it, and what it has when nothing is said.
const MAX_CONTENT: usize = 256 * 1024;
const USUAL_CONTENT: usize = 64 * 1024;
/// How long a page may take to be made into text.
const READING: Duration = Duration::from_secs(5);
/// From looking up the first name to the last byte.
const LIMIT: Duration = Duration::from_secs(30);

#[async_trait]
impl Tool for Fetch {
    async fn call(&self, _: &Permit, arguments: Value) -> ToolOutput {
        let arguments: Arguments = match serde_json::from_value(arguments) {
            Ok(arguments) => arguments,
            Err(error) => {
                let message = format!("the arguments do not fit: {error}");
                return ToolOutput::error(json!({ "error": message }));
            }
        };
        self.fetched(&arguments).await.unwrap_or_else(|error| failed(&error))
    }
}

/// A failure as the model reads it.
pub(super) fn failed(error: &WebError) -> ToolOutput {
    let content = json!({ "error": error.sentence() });
    if error.is_refusal() { ToolOutput::refused(content) } else { ToolOutput::error(content) }
}

impl Fetch {
    async fn fetched(&self, arguments: &Arguments) -> Result<ToolOutput, WebError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        let url = place::read(&arguments.url)?;
        let (method, follow) = (Method::GET, Follow::Anywhere);
        let order = Order { method, url, headers, body: None, follow, lent: None };
        let read = async |answer| received(answer, MAX_RECEIVED).await;
        let received = self.web.exchange(order, LIMIT, read).await?;
        let (text, format) = (received.text()?, arguments.format);
        let url = received.url.clone();
        let read =
            tokio::task::spawn_blocking(move || (Told::new(&received, text, format), received));
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

/// What there is to tell of a page.
struct Told {
    title: Option<String>,
    text: String,
    is_cut: bool,
}

impl Told {
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

    /// The part that was asked for.
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

/// The end of the character at `at`, so that a part is never empty while there is text.
fn next(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |char| at + char.len_utf8())
}
