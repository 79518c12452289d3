//! A call of a tool that is a request.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rye_caps::Permit;
use rye_thread::{Tool, ToolOutput};
use serde_json::{Map, Value, json};

use super::body::HttpBody;
use super::credential::Lent;
use super::error::WebError;
use super::exchange::{Follow, Order, Web};
use super::fetch::failed;
use super::read::{Received, received};
use super::template::{Address, ArgumentFault, single};
use crate::process::Template;

/// What a manifest makes, once it has been looked at.
pub(super) struct Http {
    pub(super) web: Arc<Web>,
    pub(super) method: Method,
    pub(super) address: Address,
    pub(super) headers: Vec<(HeaderName, Template)>,
    pub(super) body: Option<HttpBody>,
    pub(super) credential: Option<String>,
    pub(super) rest: Vec<String>,
    pub(super) limit: Duration,
}

/// The most that is received, and the most of it that a result has.
const MAX_RECEIVED: usize = 1024 * 1024;
const MAX_CONTENT: usize = 256 * 1024;

#[async_trait]
impl Tool for Http {
    async fn call(&self, _: &Permit, arguments: Value) -> ToolOutput {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let mut order = match self.order(&arguments) {
            Ok(order) => order,
            Err(fault) => {
                let content = json!({ "error": fault.to_string() });
                let refused = fault.is_refusal();
                return if refused {
                    ToolOutput::refused(content)
                } else {
                    ToolOutput::error(content)
                };
            }
        };
        let Some(name) = &self.credential else {
            return self.told(order, None).await.unwrap_or_else(|error| failed(&error));
        };
        let lent = match self.web.lend(name) {
            Ok(lent) => Arc::new(lent),
            Err(error) => return failed(&error),
        };
        order.lent = Some(Arc::clone(&lent));
        let told = self.told(order, Some(&lent)).await;
        let mut output = told.unwrap_or_else(|error| failed(&error));
        // Whoever got it may repeat it.
        output.content = lent.taken_from_value(output.content);
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
        let (method, lent) = (self.method.clone(), None);
        Ok(Order { method, url, headers, body, follow, lent })
    }

    /// The bytes of the body, and what they are.
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

    async fn told(&self, order: Order, lent: Option<&Lent>) -> Result<ToolOutput, WebError> {
        let read = async |answer| received(answer, MAX_RECEIVED).await;
        let received = self.web.exchange(order, self.limit, read).await?;
        // What the server did, it did, also where nobody can read what it says of it.
        let (text, unread) = match received.text() {
            Ok(text) => (text, None),
            Err(error) => (String::new(), Some(error.to_string())),
        };
        // Before anything of it is cut, which could leave half of a secret.
        let text = match lent {
            Some(lent) => lent.taken_from(&text),
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

/// The value of a header; none where it is a place that nothing is given for.
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

/// What a server said.
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
