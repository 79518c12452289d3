//! A tool that is a request: `executor: http` (SPEC 5.1).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rye_caps::Permit;
use rye_thread::{Effect, Tool, ToolOutput};
use serde_json::{Map, Value, json};

use super::error::{AddressFault, WebError};
use super::exchange::{Follow, Order, Web};
use super::fetch::{FETCH, failed};
use super::read::{Received, received};
use super::template::{Address, ArgumentFault, name_of, single};
use crate::process::{Placing, Template};

/// The power of tools that send more than a question: the function of no manifest, only of grants.
pub const SEND: &str = "web/send";

/// A request with places for the arguments of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpTool {
    /// The method, in capitals.
    pub method: String,
    /// The address. Places are in its path and in values of its query, or it is one place as a whole.
    pub url: Template,
    /// Header fields.
    pub headers: BTreeMap<String, Template>,
    /// The body; without one, `POST`, `PUT` and `PATCH` send the arguments that have no place elsewhere as a JSON object.
    pub body: Option<HttpBody>,
    /// The names of the arguments that a call may have.
    pub parameters: Vec<String>,
    /// Seconds after which it is given up; half a minute when not given.
    pub timeout_seconds: Option<u64>,
}

/// A body with places for arguments.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "these are the shapes of JSON")]
pub enum HttpBody {
    /// Text. Where a place is all of it, the argument stands there as it is, be it text or not.
    Text(Template),
    /// A number, a boolean or null.
    Plain(Value),
    /// A list.
    List(Vec<HttpBody>),
    /// Names and values; one whose value is a place that nothing is given for is left out.
    Object(Vec<(String, HttpBody)>),
}

/// Why a manifest makes no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpToolError {
    /// The address cannot be asked.
    #[error(transparent)]
    Address(#[from] AddressFault),
    /// An argument would say what is the manifest's to say.
    #[error(
        "its `url` has a place before the path; the scheme, the host and the port are the manifest's alone, unless the place is the whole `url`"
    )]
    Host,
    /// An argument would name a parameter.
    #[error(
        "its `url` has a place in the name of a parameter; places in a query stand behind `name=`"
    )]
    Parameter,
    /// A character that an address does not have.
    #[error("its `url` has white space, a backslash or `#` in it")]
    Strange,
    /// It is no method.
    #[error("`{method}` is no method")]
    Method {
        /// What is written.
        method: String,
    },
    /// The name of a header is none, or is not a tool's to set.
    #[error("the header `{name}` is not for manifests")]
    Header {
        /// The name.
        name: String,
    },
    /// A method that has no body.
    #[error("`{method}` sends no body; remove `body`")]
    Body {
        /// The method.
        method: String,
    },
    /// Arguments within a text that might be JSON.
    #[error(
        "its `body` is text with places in it, where an argument could write anything; write the body as a mapping"
    )]
    TextBody,
    /// An argument that is sent nowhere.
    #[error(
        "its `url`, `headers` and `body` have no place for `{name}`, which its input schema has"
    )]
    Unplaced {
        /// The argument.
        name: String,
    },
}

impl HttpTool {
    /// A request without headers and body.
    #[must_use]
    pub fn new(method: &str, url: Template) -> Self {
        let (method, headers, parameters) = (method.to_owned(), BTreeMap::new(), Vec::new());
        Self { method, url, headers, body: None, parameters, timeout_seconds: None }
    }

    /// What sending it twice does (RFC 9110, section 9.2).
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self.method.as_str() {
            "GET" | "HEAD" | "OPTIONS" => Effect::ReadOnly,
            "PUT" | "DELETE" => Effect::Idempotent,
            _ => Effect::Once,
        }
    }

    /// The function whose power it has, which its signer has to be allowed to grant: [`FETCH`] or [`SEND`].
    #[must_use]
    pub fn function(&self) -> &'static str {
        if self.effect() == Effect::ReadOnly { FETCH } else { SEND }
    }

    /// The tool that sends it.
    ///
    /// A result is an object with `url`, `status` and `body`, which is JSON where the server says so and text otherwise; an
    /// answer that is no success, and everything that keeps it from being one, has `error`.
    ///
    /// # Errors
    ///
    /// When an argument could change more than what it has a place in, or would be sent nowhere.
    pub fn tool(self, web: &Arc<Web>) -> Result<Arc<dyn Tool>, HttpToolError> {
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| HttpToolError::Method { method: self.method.clone() })?;
        let address = Address::new(&self.url)?;
        let headers =
            self.headers.iter().map(|(name, value)| Ok((header_name(name)?, value.clone())));
        let headers = headers.collect::<Result<Vec<_>, HttpToolError>>()?;
        let rest = self.rest(&address)?;
        let limit = Duration::from_secs(self.timeout_seconds.unwrap_or(USUAL).clamp(1, LONGEST));
        let (body, web) = (self.body, Arc::clone(web));
        Ok(Arc::new(Http { web, method, address, headers, body, rest, limit }))
    }

    /// The arguments that are sent as a body of their own.
    fn rest(&self, address: &Address) -> Result<Vec<String>, HttpToolError> {
        let has_body = ["POST", "PUT", "PATCH"].contains(&self.method.as_str());
        match &self.body {
            Some(_) if !has_body && self.method != "DELETE" => {
                return Err(HttpToolError::Body { method: self.method.clone() });
            }
            Some(HttpBody::Text(text))
                if text.pieces().len() > 1 && text.names().next().is_some() =>
            {
                return Err(HttpToolError::TextBody);
            }
            _ => {}
        }
        let mut placed = address.names();
        placed.extend(self.headers.values().flat_map(Template::names));
        if let Some(body) = &self.body {
            body.names(&mut placed);
        }
        let rest = self.parameters.iter().filter(|name| !placed.contains(&name.as_str()));
        let rest: Vec<String> = rest.cloned().collect();
        match rest.first() {
            Some(name) if self.body.is_some() || !has_body => {
                Err(HttpToolError::Unplaced { name: name.clone() })
            }
            _ => Ok(rest),
        }
    }
}

const USUAL: u64 = 30;
const LONGEST: u64 = 600;

/// A header that is a tool's to set.
fn header_name(name: &str) -> Result<HeaderName, HttpToolError> {
    let error = || HttpToolError::Header { name: name.to_owned() };
    let read: HeaderName = name.parse().map_err(|_| error())?;
    let text = read.as_str();
    let connection = text.starts_with("proxy-") || CONNECTION.contains(&text);
    if connection { Err(error()) } else { Ok(read) }
}

/// Headers that say how a message is cut and carried, which a server and what stands before it may read differently.
const CONNECTION: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl HttpBody {
    fn names<'a>(&'a self, placed: &mut Vec<&'a str>) {
        match self {
            Self::Text(text) => placed.extend(text.names()),
            Self::Plain(_) => {}
            Self::List(all) => all.iter().for_each(|one| one.names(placed)),
            Self::Object(all) => all.iter().for_each(|(_, one)| one.names(placed)),
        }
    }

    /// The body with values for the places; none where nothing is given for it.
    fn value(&self, arguments: &Map<String, Value>) -> Result<Option<Value>, ArgumentFault> {
        match self {
            Self::Plain(value) => Ok(Some(value.clone())),
            Self::Text(text) => match text.pieces() {
                [place @ (Placing::Needed(_) | Placing::Optional(..))] => whole(place, arguments),
                pieces => pieces
                    .iter()
                    .map(|piece| within(piece, arguments))
                    .collect::<Result<String, _>>()
                    .map(|text| Some(text.into())),
            },
            Self::List(all) => {
                let values = all.iter().map(|one| Ok(one.value(arguments)?.unwrap_or_default()));
                values.collect::<Result<Vec<_>, _>>().map(|all| Some(all.into()))
            }
            Self::Object(all) => {
                let mut object = Map::new();
                for (name, one) in all {
                    if let Some(value) = one.value(arguments)? {
                        object.insert(name.clone(), value);
                    }
                }
                Ok(Some(object.into()))
            }
        }
    }
}

/// The argument as it is.
fn whole(place: &Placing, arguments: &Map<String, Value>) -> Result<Option<Value>, ArgumentFault> {
    let given = name_of(place).and_then(|name| arguments.get(name));
    match given.filter(|value| !value.is_null()) {
        Some(value) => Ok(Some(value.clone())),
        None => Ok(single(place, arguments, "a body")?.map(Value::from)),
    }
}

/// The argument within other text.
fn within(piece: &Placing, arguments: &Map<String, Value>) -> Result<String, ArgumentFault> {
    let given = name_of(piece).and_then(|name| arguments.get(name));
    match given {
        Some(value @ (Value::Array(_) | Value::Object(_))) => Ok(value.to_string()),
        _ => Ok(single(piece, arguments, "a body")?.unwrap_or_default()),
    }
}

struct Http {
    web: Arc<Web>,
    method: Method,
    address: Address,
    headers: Vec<(HeaderName, Template)>,
    body: Option<HttpBody>,
    rest: Vec<String>,
    limit: Duration,
}

/// The most that is received, and the most of it that a result has.
const MAX_RECEIVED: usize = 1024 * 1024;
const MAX_CONTENT: usize = 256 * 1024;

#[async_trait]
impl Tool for Http {
    async fn call(&self, _: &Permit, arguments: Value) -> ToolOutput {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let order = match self.order(&arguments) {
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
        self.told(order).await.unwrap_or_else(|error| failed(&error))
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
        Ok(Order { method: self.method.clone(), url, headers, body, follow })
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

    async fn told(&self, order: Order) -> Result<ToolOutput, WebError> {
        let read = async |answer| received(answer, MAX_RECEIVED).await;
        let received = self.web.exchange(order, self.limit, read).await?;
        // What the server did, it did, also where nobody can read what it says of it.
        let (text, unread) = match received.text() {
            Ok(text) => (text, None),
            Err(error) => (String::new(), Some(error.to_string())),
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
