//! Hosts, as rules and credentials name them.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

/// A host, all hosts below a name (`*.example.org`, without `example.org` itself), or all hosts (`*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    below: bool,
    /// Empty for all hosts.
    name: String,
}

impl HostPattern {
    /// Returns `true` if the pattern matches the host, written as in a URL without its port.
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        let host = plain(host);
        match (self.below, self.name.as_str()) {
            (_, "") => true,
            (false, name) => host == name,
            (true, name) => {
                host.strip_suffix(name).is_some_and(|above| above.len() > 1 && above.ends_with('.'))
            }
        }
    }
}

impl FromStr for HostPattern {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" {
            return Ok(Self { below: true, name: String::new() });
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let (host, port) = parse_host(name).ok_or_else(|| RuleError::Host { text: quote(text) })?;
        // An IP address has no subdomains.
        let is_address = host.parse::<std::net::IpAddr>().is_ok();
        if port.is_some() || (below && is_address) {
            return Err(RuleError::Host { text: quote(text) });
        }
        Ok(Self { below, name: host })
    }
}

/// A host and a port, written `localhost:8080` or `[::1]:8080`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    host: String,
    port: u16,
}

impl Origin {
    pub(crate) fn new(host: &str, port: u16) -> Self {
        Self { host: plain(host).to_owned(), port }
    }

    /// Returns the host, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl FromStr for Origin {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || RuleError::Origin { text: quote(text) };
        let (host, port) = parse_host(text).ok_or_else(error)?;
        Ok(Self { host, port: port.ok_or_else(error)? })
    }
}

/// The reason why a rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The text is not a host.
    #[error("`{text}` is no host; write `example.org`, `*.example.org` for all below it, or `*`")]
    Host {
        /// The text in the configuration.
        text: String,
    },
    /// The text is not a host with a port.
    #[error("`{text}` is no host with a port; write it like `localhost:8080`")]
    Origin {
        /// The text in the configuration.
        text: String,
    },
}

/// Returns the text for a message, without the parts before `@` and after `?` or `#`, which may contain a
/// secret.
pub(crate) fn quote(text: &str) -> String {
    let (place, rest) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    let place = place.rsplit_once('@').map_or(place.to_owned(), |(_, host)| format!("…@{host}"));
    if rest.is_empty() { place } else { format!("{place}…") }
}

/// Parses a host in the form of a URL, with its port if there is one.
pub(crate) fn parse_host(text: &str) -> Option<(String, Option<u16>)> {
    let strange = |char: char| !(char.is_alphanumeric() || "-._:[]".contains(char));
    if text.is_empty() || text.contains(strange) {
        return None;
    }
    // The colons of an IPv6 address are in brackets.
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    (url.port().is_none()).then_some((plain(url.host_str()?).to_owned(), port))
}

/// Returns the host without the brackets of IPv6 and without the final dot of a full name.
pub(crate) fn plain(host: &str) -> &str {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host)
}
