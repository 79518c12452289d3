//! Calls of tools that are requests.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rye_thread::{AuthorisedCall, Tool, ToolOutput};
use serde_json::{Map, Value, json};

use crate::body::HttpBody;
use crate::credential::RequestSecret;
use crate::error::WebError;
use crate::exchange::{Follow, Order, Web};
use crate::fetch::error_output;
use crate::read::{Received, receive};
use crate::template::{Address, ArgumentFault, single};
use rye_sandbox::Template;

/// A tool made from a checked manifest.
pub(crate) struct Http {
    pub(crate) web: Arc<Web>,
    pub(crate) method: Method,
    pub(crate) address: Address,
    pub(crate) headers: Vec<(HeaderName, Template)>,
    pub(crate) body: Option<HttpBody>,
    pub(crate) credential: Option<String>,
    pub(crate) rest: Vec<String>,
    pub(crate) limit: Duration,
}

/// The largest size of a received body, and of the body in a result, in bytes.
const MAX_RECEIVED: usize = 1024 * 1024;
const MAX_CONTENT: usize = 256 * 1024;

#[async_trait]
impl Tool for Http {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let arguments = call.into_arguments();
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let mut order = match self.order(&arguments) {
            Ok(order) => order,
            Err(fault) => {
                let content = json!({ "error": fault.to_string() });
                let refused = fault.is_refusal();
                return if refused {
                    ToolOutput::refusal(content)
                } else {
                    ToolOutput::error(content)
                };
            }
        };
        let Some(name) = &self.credential else {
            return self.send(order, None).await.unwrap_or_else(|error| error_output(&error));
        };
        let secret = match self.web.request_secret(name) {
            Ok(secret) => Arc::new(secret),
            Err(error) => return error_output(&error),
        };
        order.secret = Some(Arc::clone(&secret));
        let told = self.send(order, Some(&secret)).await;
        let mut output = told.unwrap_or_else(|error| error_output(&error));
        // The receiver of the secret may repeat it.
        output.content = secret.redact_value(output.content);
        output
    }
}

impl Http {
    fn order(&self, arguments: &Map<String, Value>) -> Result<Order, ArgumentFault> {
        let url = self.address.url(arguments)?;
        let mut headers = HeaderMap::new();
        let body = self.body(arguments)?;
        let body = body.map(|(bytes, content_type)| {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            bytes
        });
        for (name, template) in &self.headers {
            if let Some(value) = header(name, template, arguments)? {
                headers.insert(name.clone(), value);
            }
        }
        let follow = if self.address.is_whole() { Follow::Anywhere } else { Follow::SameHost };
        let method = self.method.clone();
        let secret = None;
        Ok(Order { method, url, headers, body, follow, secret })
    }

    /// Returns the body and its media type.
    fn body(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Option<(Vec<u8>, &'static str)>, ArgumentFault> {
        let value = match &self.body {
            Some(body) => body.value(arguments)?,
            None if self.rest.is_empty() => None,
            None => {
                let given = |name: &String| Some((name.clone(), arguments.get(name)?.clone()));
                Some(self.rest.iter().filter_map(given).collect::<Map<_, _>>().into())
            }
        };
        let is_text = matches!(self.body, Some(HttpBody::Text(_)));
        Ok(value.map(|value| match value {
            Value::String(text) if is_text => (text.into_bytes(), "text/plain; charset=utf-8"),
            value => (value.to_string().into_bytes(), "application/json"),
        }))
    }

    async fn send(
        &self,
        order: Order,
        secret: Option<&RequestSecret>,
    ) -> Result<ToolOutput, WebError> {
        let read = async |answer| receive(answer, MAX_RECEIVED).await;
        let received = self.web.exchange(order, self.limit, read).await?;
        // The request has had its effect, even if the answer cannot be read.
        let (text, unread) = match received.text() {
            Ok(text) => (text, None),
            Err(error) => (String::new(), Some(error.to_string())),
        };
        // Redacted before the text is cut, because a part of the secret would not be found.
        let text = match secret {
            Some(secret) => secret.redact(&text),
            None => text,
        };
        let mut content = content(&received, text);
        if let Some(why) = unread {
            content["body"] = Value::Null;
            content["cut"] = why.into();
        }
        if received.status.is_success() {
            return Ok(ToolOutput::ok(content));
        }
        content["error"] = format!("the server answered {}", received.status).into();
        Ok(ToolOutput::error(content))
    }
}

/// Returns the value of a header, or `None` if it is a placeholder without an argument.
fn header(
    name: &HeaderName,
    template: &Template,
    arguments: &Map<String, Value>,
) -> Result<Option<HeaderValue>, ArgumentFault> {
    let pieces = template.pieces();
    let values = pieces.iter().map(|piece| single(piece, arguments, "a header"));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    if let [None] = values.as_slice() {
        return Ok(None);
    }
    let text: String = values.into_iter().flatten().collect();
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let value = HeaderValue::from_str(&text).ok().filter(|_| plain);
    value.map(Some).ok_or_else(|| ArgumentFault::Header { name: name.to_string() })
}

/// Returns the answer as JSON.
fn content(received: &Received, mut text: String) -> Value {
    let is_json = received.media.is_json() && !received.is_cut && text.len() <= MAX_CONTENT;
    let json = is_json.then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
    let is_cut = received.is_cut || text.len() > MAX_CONTENT;
    if json.is_none() {
        let end = (0..=MAX_CONTENT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
    }
    let mut content = json!({
        "url": received.url.as_str(),
        "status": received.status.as_u16(),
        "body": json.unwrap_or_else(|| text.into()),
    });
    if !received.media.essence().is_empty() {
        content["content_type"] = received.media.essence().into();
    }
    if is_cut {
        content["cut"] = "the body is longer than 256 KiB; the rest is left out".into();
    }
    content
}
