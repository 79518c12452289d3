//! The names of headers that a manifest or a credential may set.

use reqwest::header::HeaderName;

/// Parses the name of a header that tools may set.
pub(crate) fn header_name(name: &str) -> Option<HeaderName> {
    let read: HeaderName = name.parse().ok()?;
    let text = read.as_str();
    let is_of_connection = text.starts_with("proxy-") || CONNECTION.contains(&text);
    (!is_of_connection).then_some(read)
}

/// The headers that control the framing and the connection. Servers and proxies may interpret them
/// differently.
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
