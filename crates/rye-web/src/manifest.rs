//! Tools that are requests: `executor: http` (SPEC 5.1).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderName;
use rye_thread::Tool;
use rye_types::Effect;

use crate::body::HttpBody;
use crate::call::Http;
use crate::error::HttpToolError;
use crate::exchange::Web;
use crate::fetch::FETCH;
use crate::header_name::header_name;
use crate::template::Address;
use rye_sandbox::Template;

/// The function that tools need which do more than read. It is in no manifest, only in grants.
pub const SEND: &str = "web/send";

/// A request with placeholders for the arguments of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpTool {
    /// The method, in upper case.
    pub method: String,
    /// The URL. Placeholders are in its path and in values of its query, or one placeholder is the whole URL.
    pub url: Template,
    /// Header fields.
    pub headers: BTreeMap<String, Template>,
    /// The body. Without one, `POST`, `PUT` and `PATCH` send the arguments without a placeholder as a JSON
    /// object.
    pub body: Option<HttpBody>,
    /// The name of a secret to send, one of the [credentials](crate::WebRules::credentials).
    pub credential: Option<String>,
    /// The names of the arguments that a call may have.
    pub parameters: Vec<String>,
    /// The timeout in seconds. The default is 30.
    pub timeout_seconds: Option<u64>,
}

impl HttpTool {
    /// Creates a request without headers and body.
    #[must_use]
    pub fn new(method: &str, url: Template) -> Self {
        let method = method.to_owned();
        let headers = BTreeMap::new();
        let parameters = Vec::new();
        let body = None;
        let credential = None;
        let timeout_seconds = None;
        Self { method, url, headers, body, credential, parameters, timeout_seconds }
    }

    /// Returns the effect of sending it twice (RFC 9110, section 9.2).
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self.method.as_str() {
            "GET" | "HEAD" | "OPTIONS" => Effect::ReadOnly,
            "PUT" | "DELETE" => Effect::Idempotent,
            _ => Effect::Once,
        }
    }

    /// Returns the function that the signer of the manifest must be allowed to grant: [`FETCH`] or [`SEND`].
    #[must_use]
    pub fn function(&self) -> &'static str {
        if self.effect() == Effect::ReadOnly { FETCH } else { SEND }
    }

    /// Returns the tool that sends the request.
    ///
    /// The result is an object with `url`, `status` and `body`. The body is JSON if the server says so, and
    /// text otherwise. If the status is no success, or there is no answer, the result has `error`.
    ///
    /// # Errors
    ///
    /// If an argument could change more than its placeholder, or would not be sent.
    pub fn tool(self, web: &Arc<Web>) -> Result<Arc<dyn Tool>, HttpToolError> {
        let Parts { method, address, headers, rest } = self.parts()?;
        self.check_credential(&address, &headers, web)?;
        let limit = Duration::from_secs(self.timeout_seconds.unwrap_or(USUAL).clamp(1, LONGEST));
        let body = self.body;
        let credential = self.credential;
        let web = Arc::clone(web);
        Ok(Arc::new(Http { web, method, address, headers, body, credential, rest, limit }))
    }

    /// Checks the request by itself, without the operator's rules and credentials.
    ///
    /// # Errors
    ///
    /// The errors of [`tool`](Self::tool), without those of credentials.
    pub fn check(&self) -> Result<(), HttpToolError> {
        self.parts().map(drop)
    }

    fn parts(&self) -> Result<Parts, HttpToolError> {
        let method = Method::from_bytes(self.method.as_bytes())
            .map_err(|_| HttpToolError::Method { method: self.method.clone() })?;
        let address = Address::new(&self.url)?;
        let headers = self.headers.iter().map(|(name, value)| {
            let refused = || HttpToolError::Header { name: name.clone() };
            Ok((header_name(name).ok_or_else(refused)?, value.clone()))
        });
        let headers = headers.collect::<Result<Vec<_>, HttpToolError>>()?;
        let rest = self.rest(&address)?;
        Ok(Parts { method, address, headers, rest })
    }

    /// Returns an error if the operator does not have the secret, or does not allow it for this address.
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

    /// Returns the arguments that are sent as a body of their own.
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
