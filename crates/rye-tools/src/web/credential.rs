//! Secrets of the operator's that tools of one request name and never see.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;
use zeroize::Zeroizing;

use super::error::{AddressFault, WebError};
use super::hidden::Hidden;
use super::manifest::header_name;
use super::rules::{Origin, parsed, told};
use crate::process::Variables;

/// Which variable of the operator's environment holds a secret, which header carries it, and who gets it.
///
/// ```
/// use rye_tools::Credential;
///
/// let origins = ["https://api.example.org".to_owned()];
/// let credential = Credential::new("EXAMPLE_TOKEN", "Authorization", Some("Bearer"), &origins)?;
/// assert_eq!(credential.variable(), "EXAMPLE_TOKEN");
/// let open = ["http://api.example.org".to_owned()];
/// assert!(Credential::new("EXAMPLE_TOKEN", "Authorization", None, &open).is_err());
/// # Ok::<(), rye_tools::CredentialError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    variable: String,
    header: HeaderName,
    scheme: Option<String>,
    origins: BTreeSet<Recipient>,
}

impl Credential {
    /// The secret in `variable`, sent in `header`, after `scheme` and a space where there is one, to `origins` alone.
    ///
    /// # Errors
    ///
    /// When the variable, the header or the scheme has a name that none has, and when an origin is none, is not `https`
    /// and not on this machine either, or is missing.
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
        let name = header_name(header);
        let name = name.map_err(|_| CredentialError::Header)?;
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

    /// The variable that holds the secret.
    #[must_use]
    pub fn variable(&self) -> &str {
        &self.variable
    }

    pub(super) fn header(&self) -> &HeaderName {
        &self.header
    }

    /// Whether whoever answers at the address gets it.
    pub(super) fn goes_to(&self, name: &str, url: &Url) -> Result<(), AddressFault> {
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
        let error = || CredentialError::Origin { text: told(text) };
        let (is_secure, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(error()),
        };
        let (host, port) = parsed(rest).ok_or_else(error)?;
        let origin = Origin::new(&host, port.unwrap_or(if is_secure { 443 } else { 80 }));
        if !is_secure && !is_here(origin.host()) {
            return Err(CredentialError::Open { text: text.to_owned() });
        }
        Ok(Self { is_secure, origin })
    }
}

/// Whether the text alone says that it is this machine.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Why no secret can be sent so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// What is written may be the secret itself, so that it is not repeated.
    #[error("its `env` is not the name of an environment variable; never put a secret here")]
    Variable,
    /// No header has the name, or it is not one to be set. What is written may have the secret in it.
    #[error(
        "its `header` is the name of no header that carries secrets; write the name alone, such as `X-API-Key`"
    )]
    Header,
    /// It would not be one word.
    #[error("its `scheme` is not one word of visible ASCII, such as `Bearer`")]
    Scheme,
    /// Nobody would get it.
    #[error("it has no `origins`; say who gets it, as in `https://api.example.org`")]
    NoOrigin,
    /// It names nobody.
    #[error(
        "`{text}` is no origin; write it like `https://api.example.org` or `https://api.example.org:8443`"
    )]
    Origin {
        /// What is written.
        text: String,
    },
    /// Everybody on the way could read it.
    #[error("`{text}` would get it in clear text; use `https`, or `http` on this machine alone")]
    Open {
        /// What is written.
        text: String,
    },
}

/// A secret for one request.
pub(super) struct Lent {
    name: String,
    credential: Credential,
    hidden: Hidden,
    value: HeaderValue,
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Lent {
    pub(super) fn new(
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
        let value = carried(&text).ok_or_else(|| WebError::Secret { name: name.to_owned() })?;
        let hidden = Hidden::new(name, &secret);
        Ok(Self { name: name.to_owned(), credential: credential.clone(), hidden, value })
    }

    /// Whether whoever answers at the address gets it.
    pub(super) fn goes_to(&self, url: &Url) -> Result<(), AddressFault> {
        self.credential.goes_to(&self.name, url)
    }

    pub(super) fn header(&self) -> (HeaderName, HeaderValue) {
        (self.credential.header.clone(), self.value.clone())
    }

    /// Refuses to send it in clear text to where the name of this machine has come to lead elsewhere.
    pub(super) fn reaches(&self, url: &Url, addresses: &[IpAddr]) -> Result<(), AddressFault> {
        if url.scheme() == "https" || addresses.iter().all(IpAddr::is_loopback) {
            return Ok(());
        }
        let (name, origin) = (self.name.clone(), Recipient::of(url).to_string());
        Err(AddressFault::Recipient { name, origin })
    }

    /// The text without the secret, should whoever got it repeat it.
    pub(super) fn taken_from(&self, text: &str) -> String {
        self.hidden.taken_from(text)
    }

    /// The same for every text in a value.
    pub(super) fn taken_from_value(&self, value: Value) -> Value {
        self.hidden.taken_from_value(value)
    }
}

/// What a header carries, when every character of it is visible ASCII or a space, which no one on the way reads differently. It
/// is in no log of the connection, and in no table of headers that both ends keep.
pub(crate) fn carried(text: &str) -> Option<HeaderValue> {
    let is_plain = |char: char| matches!(char, ' '..='~');
    let mut value = HeaderValue::from_str(text).ok().filter(|_| text.chars().all(is_plain))?;
    value.set_sensitive(true);
    Some(value)
}
