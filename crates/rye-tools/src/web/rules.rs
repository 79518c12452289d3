//! What the operator's configuration says of hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use reqwest::Url;

use super::credential::Credential;

/// Which hosts tools may reach. The default is every public host, on the ports 80 and 443.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebRules {
    /// Lists of hosts; each of them has to have a host that is reached.
    pub hosts: Vec<Vec<HostPattern>>,
    /// Ports that may be reached beside 80 and 443.
    pub ports: BTreeSet<u16>,
    /// Hosts, with their port, that may be on this machine or in a private network.
    pub private: BTreeSet<Origin>,
    /// Secrets that tools of one request may name.
    pub credentials: BTreeMap<String, Credential>,
}

impl WebRules {
    /// Lets the address's host and port be private.
    #[cfg(feature = "mcp")]
    pub(super) fn allow_private(&mut self, url: &Url) {
        if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) {
            self.private.insert(Origin::new(host, port));
        }
    }

    /// Whether every list has the host.
    pub(super) fn allows(&self, host: &str) -> bool {
        self.hosts.iter().all(|list| list.iter().any(|pattern| pattern.covers(host)))
    }
}

/// A host, all hosts below a name (`*.example.org`, without `example.org` itself), or all hosts (`*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    below: bool,
    /// Empty for all hosts.
    name: String,
}

impl HostPattern {
    /// Whether it covers the host, written as in an address without its port.
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
        let (host, port) = parsed(name).ok_or_else(|| RuleError::Host { text: told(text) })?;
        // Below an address there is nothing.
        let is_address = host.parse::<std::net::IpAddr>().is_ok();
        if port.is_some() || (below && is_address) {
            return Err(RuleError::Host { text: told(text) });
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
    pub(super) fn new(host: &str, port: u16) -> Self {
        Self { host: plain(host).to_owned(), port }
    }

    /// The host, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
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
        let error = || RuleError::Origin { text: told(text) };
        let (host, port) = parsed(text).ok_or_else(error)?;
        Ok(Self { host, port: port.ok_or_else(error)? })
    }
}

/// Why a text names no hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// It should be a host.
    #[error("`{text}` is no host; write `example.org`, `*.example.org` for all below it, or `*`")]
    Host {
        /// What is written.
        text: String,
    },
    /// It should be a host with a port.
    #[error("`{text}` is no host with a port; write it like `localhost:8080`")]
    Origin {
        /// What is written.
        text: String,
    },
}

/// The text as a message has it: without what stands before a host, behind a path, or is no address at all, where a person may
/// have put a secret.
pub(super) fn told(text: &str) -> String {
    let (place, rest) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    let place = place.rsplit_once('@').map_or(place.to_owned(), |(_, host)| format!("…@{host}"));
    if rest.is_empty() { place } else { format!("{place}…") }
}

/// The host as an address would have it, and the port if one is written.
pub(super) fn parsed(text: &str) -> Option<(String, Option<u16>)> {
    let strange = |char: char| !(char.is_alphanumeric() || "-._:[]".contains(char));
    if text.is_empty() || text.contains(strange) {
        return None;
    }
    // The colons of IPv6 stand within brackets.
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    (url.port().is_none()).then_some((plain(url.host_str()?).to_owned(), port))
}

/// A host without the brackets of IPv6 and without the dot that ends a full name.
pub(super) fn plain(host: &str) -> &str {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host)
}
