//! Secrets of the operator. Tools of one request name them and never see them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::error::{AddressFault, WebError};
use crate::header_name::header_name;
use crate::hosts::{Origin, parse_host, quote};
use rye_sandbox::Variables;
use rye_thread::Redactor;

/// A secret: the environment variable that holds it, the header that carries it, and the origins that receive
/// it.
///
/// ```
/// use rye_web::Credential;
///
/// let origins = ["https://api.example.org".to_owned()];
/// let credential = Credential::new("EXAMPLE_TOKEN", "Authorization", Some("Bearer"), &origins)?;
/// assert_eq!(credential.variable(), "EXAMPLE_TOKEN");
/// let open = ["http://api.example.org".to_owned()];
/// assert!(Credential::new("EXAMPLE_TOKEN", "Authorization", None, &open).is_err());
/// # Ok::<(), rye_web::CredentialError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    variable: String,
    header: HeaderName,
    scheme: Option<String>,
    origins: BTreeSet<Recipient>,
}

impl Credential {
    /// Creates a credential. The secret from `variable` is sent in `header` to `origins` only, after `scheme`
    /// and a space if there is a scheme.
    ///
    /// # Errors
    ///
    /// If the variable, the header or the scheme is not a valid name. If there is no origin, or one that is
    /// invalid, or one without `https` that is not on this machine.
    pub fn new(
        variable: &str,
        header: &str,
        scheme: Option<&str>,
        origins: &[String],
    ) -> Result<Self, CredentialError> {
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic());
        let is_name = |text: &str| {
            is_word(text) && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
        };
        if !is_name(variable) {
            return Err(CredentialError::Variable);
        }
        let name = header_name(header).ok_or(CredentialError::Header)?;
        if scheme.is_some_and(|scheme| !is_word(scheme)) {
            return Err(CredentialError::Scheme);
        }
        if origins.is_empty() {
            return Err(CredentialError::NoOrigin);
        }
        Ok(Self {
            variable: variable.to_owned(),
            header: name,
            scheme: scheme.map(str::to_owned),
            origins: origins.iter().map(|it| it.parse()).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the name of the variable that holds the secret.
    #[must_use]
    pub fn variable(&self) -> &str {
        &self.variable
    }

    pub(crate) fn header(&self) -> &HeaderName {
        &self.header
    }

    /// Returns an error if the server at this address may not receive the secret.
    pub(crate) fn goes_to(&self, name: &str, url: &Url) -> Result<(), AddressFault> {
        let recipient = Recipient::of(url);
        if self.origins.contains(&recipient) {
            return Ok(());
        }
        Err(AddressFault::Recipient { name: name.to_owned(), origin: recipient.to_string() })
    }
}

/// Scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Recipient {
    is_secure: bool,
    origin: Origin,
}

impl Recipient {
    fn of(url: &Url) -> Self {
        let port = url.port_or_known_default().unwrap_or_default();
        let origin = Origin::new(url.host_str().unwrap_or_default(), port);
        Self { is_secure: url.scheme() == "https", origin }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_secure { "https" } else { "http" }, self.origin)
    }
}

impl FromStr for Recipient {
    type Err = CredentialError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || CredentialError::Origin { text: quote(text) };
        let (is_secure, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(error()),
        };
        let (host, port) = parse_host(rest).ok_or_else(error)?;
        let origin = Origin::new(&host, port.unwrap_or(if is_secure { 443 } else { 80 }));
        if !is_secure && !is_here(origin.host()) {
            return Err(CredentialError::Open { text: text.to_owned() });
        }
        Ok(Self { is_secure, origin })
    }
}

/// Returns `true` if the host is this machine by its text alone.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The reason why a credential is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The name of the variable is invalid. It is not quoted, because it may be the secret itself.
    #[error("its `env` is not the name of an environment variable; never put a secret here")]
    Variable,
    /// The header is invalid, or cannot be set. It is not quoted, because it may contain the secret.
    #[error(
        "its `header` is the name of no header that carries secrets; write the name alone, such as `X-API-Key`"
    )]
    Header,
    /// The scheme is not a single word.
    #[error("its `scheme` is not one word of visible ASCII, such as `Bearer`")]
    Scheme,
    /// There is no origin to receive the secret.
    #[error("it has no `origins`; list the servers that get it, as in `https://api.example.org`")]
    NoOrigin,
    /// An origin is invalid.
    #[error(
        "`{text}` is no origin; write it like `https://api.example.org` or `https://api.example.org:8443`"
    )]
    Origin {
        /// The text in the configuration.
        text: String,
    },
    /// The secret would be readable on the network.
    #[error("`{text}` would get it in clear text; use `https`, or `http` on this machine alone")]
    Open {
        /// The text in the configuration.
        text: String,
    },
}

/// A secret for one request.
pub(crate) struct RequestSecret {
    name: String,
    credential: Credential,
    hidden: Redactor,
    value: HeaderValue,
}

impl fmt::Debug for RequestSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

impl RequestSecret {
    pub(crate) fn new(
        name: &str,
        credential: &Credential,
        variables: &Variables,
    ) -> Result<Self, WebError> {
        let secret = variables.find(credential.variable()).filter(|secret| !secret.is_empty());
        let unset = || WebError::Unset { name: name.to_owned() };
        let secret = Zeroizing::new(secret.ok_or_else(unset)?);
        let text = Zeroizing::new(match &credential.scheme {
            Some(scheme) => format!("{scheme} {}", *secret),
            None => secret.to_string(),
        });
        let value =
            header_value(&text).ok_or_else(|| WebError::Secret { name: name.to_owned() })?;
        let hidden = Redactor::new(name, &secret);
        Ok(Self { name: name.to_owned(), credential: credential.clone(), hidden, value })
    }

    /// Returns an error if the server at this address may not receive the secret.
    pub(crate) fn goes_to(&self, url: &Url) -> Result<(), AddressFault> {
        self.credential.goes_to(&self.name, url)
    }

    pub(crate) fn header(&self) -> (HeaderName, HeaderValue) {
        (self.credential.header.clone(), self.value.clone())
    }

    /// Returns an error if the secret would leave this machine in clear text, because a local name resolves
    /// to another machine.
    pub(crate) fn reaches(&self, url: &Url, addresses: &[IpAddr]) -> Result<(), AddressFault> {
        if url.scheme() == "https" || addresses.iter().all(IpAddr::is_loopback) {
            return Ok(());
        }
        let name = self.name.clone();
        let origin = Recipient::of(url).to_string();
        Err(AddressFault::Recipient { name, origin })
    }

    /// Redacts the secret in a text, because its receiver may repeat it.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.hidden.redact(text)
    }

    /// Redacts the secret in every text of a value.
    pub(crate) fn redact_value(&self, value: Value) -> Value {
        self.hidden.redact_value(value)
    }
}

/// Returns a header value, if every character is visible ASCII or a space, which all servers read in the same
/// way. It is marked as sensitive, and so is in no log and no compression table.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    let is_plain = |char: char| matches!(char, ' '..='~');
    let mut value = HeaderValue::from_str(text).ok().filter(|_| text.chars().all(is_plain))?;
    value.set_sensitive(true);
    Some(value)
}
