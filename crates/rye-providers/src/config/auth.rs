//! The URL, the key and the headers of requests.

use std::collections::BTreeMap;
use std::net::IpAddr;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::Section;
use crate::protocol::Protocol;

/// The source of a key and the header that carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Auth {
    /// The name of the environment variable that holds the key. This crate does not read it.
    pub env: String,
    /// The header in lowercase, by default that of the vendor's own clients. `authorization` carries `Bearer
    /// KEY`, any other header the key alone.
    pub header: String,
}

pub(super) fn read(section: &Section<'_>, protocol: Option<Protocol>) -> Option<Auth> {
    section.only_told(&["env", "header"]);
    let env = section.required_text("env");
    let usual = protocol.map_or("x-api-key", Protocol::auth_header);
    let header = section.text("header").unwrap_or_else(|| usual.to_owned());
    let env = env.filter(|env| {
        let is_name = env.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            section
                .problem("env", "is not the name of an environment variable; never put a key here");
        }
        is_name
    });
    let header = HeaderName::from_bytes(header.as_bytes()).ok();
    match &header {
        None => section.problem("header", "is the name of no header; write the name alone"),
        Some(header) if ours(header.as_str()) => {
            section.problem("header", "is set by the program itself and carries no key");
        }
        Some(_) => {}
    }
    Some(Auth { env: env?, header: header?.as_str().to_owned() })
}

/// Reads `base_url`. `http` is refused if a key would go to another machine in clear text.
pub(super) fn base_url(root: &Section<'_>, protocol: Option<Protocol>) -> Option<String> {
    let text = root.required_text("base_url")?;
    let has_version = protocol.is_some_and(Protocol::has_version_in_base_url);
    let url = match Url::parse(text.trim()) {
        Err(_) => Err("is not a URL; write it with `https://`"),
        Ok(url) => fault(&url, root.value("auth").is_some(), has_version).map_or(Ok(url), Err),
    };
    match url {
        Err(fault) => {
            root.problem("base_url", fault);
            None
        }
        Ok(url) => {
            // The URL as it is requested, because a URL as written can mislead its reader, for example with
            // `\\` for `/`.
            let base = url.as_str().trim_end_matches('/');
            let version = if has_version && url.path() == "/" { "/v1" } else { "" };
            Some(format!("{base}{version}"))
        }
    }
}

fn fault(url: &Url, has_key: bool, has_version: bool) -> Option<&'static str> {
    let path = url.path().trim_end_matches('/');
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        Some("is neither `http` nor `https`")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("has a user name or a password; use `auth`")
    } else if url.query().is_some() || url.fragment().is_some() {
        Some("has a query or a fragment")
    } else if !has_version && path.ends_with("/v1") {
        Some("ends in `/v1`, which the protocol adds; leave it out")
    } else if !has_version && path.ends_with("/v1beta") {
        Some("ends in `/v1beta`, which the protocol adds; leave it out")
    } else if url.scheme() == "http" && has_key && !is_this_machine(url) {
        Some("would send the key in clear text; use `https`")
    } else {
        None
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

pub(super) fn headers(root: &Section<'_>, auth: Option<&Auth>) -> BTreeMap<String, String> {
    let Some(section) = root.section("headers") else { return BTreeMap::new() };
    let mut headers = BTreeMap::new();
    for key in section.keys() {
        let Ok(name) = HeaderName::from_bytes(key.as_bytes()) else {
            // The name is not repeated, because it may contain the value.
            root.problem("headers", "has a name that is that of no header");
            continue;
        };
        let Some(value) = section.text(key) else { continue };
        if ours(name.as_str()) || auth.is_some_and(|auth| auth.header == name.as_str()) {
            section.problem(key, "is set by the program itself");
        } else if HeaderValue::from_str(&value).is_err() {
            section.problem(key, "has a character that no header may have");
        } else if headers.insert(name.as_str().to_owned(), value).is_some() {
            section.problem(key, "is there twice, in another case");
        }
    }
    headers
}

fn ours(name: &str) -> bool {
    matches!(
        name,
        "host"
            | "content-length"
            | "content-type"
            | "transfer-encoding"
            | "connection"
            | "expect"
            | "keep-alive"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "upgrade"
            | "user-agent"
    )
}
