//! Where requests go and what they carry: URL, key and headers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::Section;

/// Where a key comes from and which header carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Auth {
    /// The environment variable that holds the key; only the program reads it.
    pub env: String,
    /// The header, lowercase; `authorization` carries `Bearer KEY`, any other the key alone.
    pub header: String,
}

pub(super) fn read(section: &Section<'_>) -> Option<Auth> {
    section.only(&["env", "header"]);
    let env = section.required_text("env");
    let header = section.text("header").unwrap_or_else(|| "x-api-key".to_owned());
    let env = env.filter(|env| {
        let is_name = env.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            section
                .problem("env", "is not the name of an environment variable; never put a key here");
        }
        is_name
    });
    let header = header_name(section, "header", &header);
    Some(Auth { env: env?, header: header?.as_str().to_owned() })
}

/// Reads `base_url`; a key is not sent in clear text to another machine.
pub(super) fn base_url(root: &Section<'_>) -> Option<String> {
    let text = root.required_text("base_url")?;
    let fault = match Url::parse(text.trim()) {
        Err(_) => Some("is not a URL; write it with `https://`"),
        Ok(url) => fault(&url, root.value("auth").is_some()),
    };
    match fault {
        Some(fault) => {
            root.problem("base_url", fault);
            None
        }
        None => Some(text.trim().trim_end_matches('/').to_owned()),
    }
}

fn fault(url: &Url, has_key: bool) -> Option<&'static str> {
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        Some("is neither `http` nor `https`")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("has a user name or a password; use `auth`")
    } else if url.query().is_some() || url.fragment().is_some() {
        Some("has a query or a fragment")
    } else if url.path().trim_end_matches('/').ends_with("/v1") {
        Some("ends in `/v1`, which the protocol adds; leave it out")
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
        let (Some(name), Some(value)) = (header_name(&section, key, key), section.text(key)) else {
            continue;
        };
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

fn header_name(section: &Section<'_>, key: &str, name: &str) -> Option<HeaderName> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
    if parsed.is_none() {
        section.problem(key, &format!("names no header: `{name}`"));
    }
    parsed
}

fn ours(name: &str) -> bool {
    matches!(
        name,
        "host"
            | "content-length"
            | "content-type"
            | "transfer-encoding"
            | "connection"
            | "user-agent"
    )
}
