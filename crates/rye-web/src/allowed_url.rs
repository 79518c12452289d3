//! URLs that the rules allow.

use std::net::{IpAddr, Ipv6Addr, UdpSocket};

use reqwest::Url;

use crate::address::reserved_purpose;
use crate::error::{AddressFault, WebError};
use crate::hosts::Origin;
use crate::names::Names;
use crate::rules::WebRules;

/// A URL that the rules allow. Its host has not been resolved.
#[derive(Debug, Clone)]
pub(crate) struct AllowedUrl {
    pub(crate) url: Url,
    pub(crate) origin: Origin,
    /// `true` if the operator allows the host to be on this machine or in a private network.
    private: bool,
}

/// The ports of the web.
const PORTS: [u16; 2] = [80, 443];

/// Parses a URL like a browser, so that the checked URL is the requested one.
pub(crate) fn read(text: &str) -> Result<Url, AddressFault> {
    let unreadable = |reason: String| AddressFault::Unreadable { text: quote(text), reason };
    // These characters may change the meaning of a URL, and parsers treat them differently.
    if text.contains(|char: char| char.is_control() || char == '\\') {
        let reason = "it has a backslash or a control character".to_owned();
        return Err(unreadable(reason));
    }
    Url::parse(text.trim()).map_err(|error| unreadable(error.to_string()))
}

/// Returns the text for a message.
fn quote(text: &str) -> String {
    const MOST: usize = 200;
    let clean = text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char });
    let mut shown: String = clean.take(MOST).collect();
    // A password in the URL is not quoted.
    if let Some((_, host)) = shown.rsplit_once('@') {
        shown = format!("…@{host}");
    }
    shown
}

impl AllowedUrl {
    /// Checks the URL against the rules.
    pub(crate) fn new(url: Url, rules: &WebRules) -> Result<Self, AddressFault> {
        if !["http", "https"].contains(&url.scheme()) {
            return Err(AddressFault::Scheme { scheme: url.scheme().to_owned() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressFault::Credentials);
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            let reason = "it has no host".to_owned();
            return Err(AddressFault::Unreadable { text: quote(url.as_str()), reason });
        };
        let origin = Origin::new(host, port);
        let private = rules.private.contains(&origin);
        let host = origin.host().to_owned();
        if !rules.allows(&host) {
            return Err(AddressFault::Host { host });
        }
        let place = Self { url, origin, private };
        place.own()?;
        if !private && !PORTS.contains(&port) && !rules.ports.contains(&port) {
            return Err(AddressFault::Port { host, port });
        }
        Ok(place)
    }

    /// Refuses a host that is private by its text alone.
    fn own(&self) -> Result<(), AddressFault> {
        let host = self.origin.host();
        let what = match self.address() {
            _ if self.private => None,
            Some(address) => reserved_purpose(address).map(|what| format!("it is {what}")),
            None => LOCAL
                .iter()
                .find(|name| {
                    host.strip_suffix(*name)
                        .is_some_and(|left| left.is_empty() || left.ends_with('.'))
                })
                .map(|name| format!("names that end with `{name}` are private")),
        };
        let origin = || self.origin.clone();
        what.map_or(Ok(()), |what| Err(AddressFault::Private { origin: origin(), what }))
    }

    /// Returns the host if it is an IP address.
    fn address(&self) -> Option<IpAddr> {
        self.origin.host().parse().ok()
    }

    /// Resolves the host. Returns its addresses if all of them may be reached.
    pub(crate) async fn addresses(&self, names: &dyn Names) -> Result<Vec<IpAddr>, WebError> {
        let host = self.origin.host();
        let unknown = |source| WebError::Unknown { host: host.to_owned(), source };
        let found = match self.address() {
            Some(address) => vec![address],
            None => names.addresses(host).await.map_err(unknown)?,
        };
        if found.is_empty() {
            return Err(unknown(std::io::Error::other("it has no address")));
        }
        for address in &found {
            // A single reserved address refuses the host, because the system chooses among the addresses.
            if self.private {
                continue;
            }
            if let Some(what) = reserved_purpose(*address).or_else(|| near(*address)) {
                return Err(WebError::private(&self.origin, *address, what));
            }
        }
        Ok(found)
    }
}

/// Returns a reason if the address belongs to this machine or its network despite a public number. Requests
/// from here would bypass the firewall in front of it. No packet is sent for the check.
fn near(address: IpAddr) -> Option<&'static str> {
    if UdpSocket::bind((address, 0)).is_ok() {
        return Some("an address of this machine");
    }
    let IpAddr::V6(there) = address else { return None };
    let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((there, PORTS[0])).ok()?;
    let IpAddr::V6(here) = socket.local_addr().ok()?.ip() else { return None };
    let network = |address: Ipv6Addr| u128::from(address) >> 64;
    (network(here) == network(there)).then_some("an address of this machine's network")
}

/// Names of local machines (RFC 6761, RFC 6762, RFC 9476 and common names of private networks).
const LOCAL: [&str; 6] = ["home.arpa", "internal", "lan", "local", "localdomain", "localhost"];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<&str>) {
        assert_eq!(near(address.parse().unwrap()), expected, "{address}");
    }

    #[test]
    fn what_is_here_is_found_whatever_its_number() {
        let this = Some("an address of this machine");
        check("127.0.0.1", this);
        check("127.9.8.7", this);
        check("0.0.0.0", this);
        check("198.51.100.7", None);
        check("2001:db8:1:2::3", None);
        // The address by which this machine reaches others is its own, if it has one.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        if socket.connect("198.51.100.7:80").is_ok() {
            check(&socket.local_addr().unwrap().ip().to_string(), this);
        }
    }
}
