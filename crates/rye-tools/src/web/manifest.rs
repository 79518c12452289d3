//! A tool that is a request: `executor: http` (SPEC 5.1).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderName;
use rye_thread::{Effect, Tool};

use super::body::HttpBody;
use super::error::AddressFault;
use super::exchange::Web;
use super::fetch::FETCH;
use super::sending::Http;
use super::template::Address;
use crate::process::Template;

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
    /// The name of a secret among the [credentials](crate::WebRules::credentials) that is sent along.
    pub credential: Option<String>,
    /// The names of the arguments that a call may have.
    pub parameters: Vec<String>,
    /// Seconds after which it is given up; half a minute when not given.
    pub timeout_seconds: Option<u64>,
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
    /// It leads to another address than it shows.
    #[error("its `url` has a part `.` or `..` in its path; write the path that is meant")]
    Dots,
    /// An argument would say what stands there.
    #[error(
        "its `url` has a `%` before a place, so that an argument would say what it stands for; write the character that is meant"
    )]
    Escape,
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
    /// The operator names no such secret.
    #[error(
        "the operator has no credential `{name}` under `credentials` of `config/agent/web.yaml`"
    )]
    Credential {
        /// The name.
        name: String,
    },
    /// Two values for one header.
    #[error("its `headers` have `{header}`, which carries the credential `{name}`")]
    CredentialHeader {
        /// The header.
        header: String,
        /// The credential.
        name: String,
    },
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
        let (body, credential, timeout_seconds) = (None, None, None);
        Self { method, url, headers, body, credential, parameters, timeout_seconds }
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
        let Parts { method, address, headers, rest } = self.parts()?;
        self.check_credential(&address, &headers, web)?;
        let limit = Duration::from_secs(self.timeout_seconds.unwrap_or(USUAL).clamp(1, LONGEST));
        let (body, credential, web) = (self.body, self.credential, Arc::clone(web));
        Ok(Arc::new(Http { web, method, address, headers, body, credential, rest, limit }))
    }

    /// Checks the request by itself, without the operator's rules and credentials.
    ///
    /// # Errors
    ///
    /// The ones of [`tool`](Self::tool), but for those of credentials.
    pub fn check(&self) -> Result<(), HttpToolError> {
        self.parts().map(drop)
    }

    fn parts(&self) -> Result<Parts, HttpToolError> {
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| HttpToolError::Method { method: self.method.clone() })?;
        let address = Address::new(&self.url)?;
        let headers =
            self.headers.iter().map(|(name, value)| Ok((header_name(name)?, value.clone())));
        let headers = headers.collect::<Result<Vec<_>, HttpToolError>>()?;
        let rest = self.rest(&address)?;
        Ok(Parts { method, address, headers, rest })
    }

    /// Whether the operator has the secret, and gives it to whoever is asked.
    fn check_credential(
        &self,
        address: &Address,
        headers: &[(HeaderName, Template)],
        web: &Web,
    ) -> Result<(), HttpToolError> {
        let Some(name) = &self.credential else { return Ok(()) };
        let unknown = || HttpToolError::Credential { name: name.clone() };
        let credential = web.rules().credentials.get(name).ok_or_else(unknown)?;
        if let Some((header, _)) = headers.iter().find(|(name, _)| name == credential.header()) {
            let header = header.to_string();
            return Err(HttpToolError::CredentialHeader { header, name: name.clone() });
        }
        match address.sample() {
            Some(url) => Ok(credential.goes_to(name, url)?),
            None => Ok(()),
        }
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

/// A request as far as its manifest alone decides it.
struct Parts {
    method: Method,
    address: Address,
    headers: Vec<(HeaderName, Template)>,
    /// The arguments that are sent as a body of their own.
    rest: Vec<String>,
}

const USUAL: u64 = 30;
const LONGEST: u64 = 600;

/// A header that is a tool's to set.
pub(super) fn header_name(name: &str) -> Result<HeaderName, HttpToolError> {
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
