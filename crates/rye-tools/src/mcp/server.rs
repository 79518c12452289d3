//! Which server it is and how it is reached.

use std::collections::BTreeMap;
use std::net::IpAddr;

use reqwest::Url;
use reqwest::header::HeaderName;

/// A server of the operator's or a project's configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Server {
    /// What configuration calls it; what it calls itself is nobody's business.
    pub name: String,
    /// How it is reached.
    pub reached: Reached,
    /// Seconds until it has to have said what it offers; thirty when not given.
    pub startup_seconds: Option<u64>,
    /// Seconds that a call may take; two minutes when not given.
    pub timeout_seconds: Option<u64>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reached {
    /// Over the standard input and output of a program that is started.
    Program(ServerProgram),
    /// Over HTTP, at an address where somebody else runs it.
    Address(ServerAddress),
}

/// A program that is started in the project, in the sandbox of all programs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerProgram {
    /// The program, by its path or by its name in `PATH`.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder that it starts in, relative to the project; empty for the project itself.
    pub folder: String,
    /// Variables of its environment beside those of every program.
    pub environment: BTreeMap<String, String>,
    /// Variables that are handed on from the operator's environment; one that is not set keeps the server from starting.
    pub variables: Vec<String>,
    /// Whether it may use the network.
    pub network: bool,
}

/// An address that is asked over streamable HTTP, by the rules of every tool that reaches the web.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerAddress {
    /// The address, which no redirect leads away from.
    pub url: String,
    /// Headers of every request by their names, each with a variable's value.
    pub headers: BTreeMap<String, ServerHeader>,
    /// Whether it may be on this machine or in a private network.
    pub private: bool,
}

/// Where a header's value comes from; the value itself is in no file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerHeader {
    /// The variable of the operator's environment; one that is not set keeps the server from being asked.
    pub variable: String,
    /// Whether `Bearer ` stands before the value.
    pub is_bearer: bool,
}

impl Server {
    /// A server with the usual limits.
    #[must_use]
    pub fn new(name: &str, reached: impl Into<Reached>) -> Self {
        let (name, reached) = (name.to_owned(), reached.into());
        Self { name, reached, startup_seconds: None, timeout_seconds: None }
    }
}

impl From<ServerProgram> for Reached {
    fn from(program: ServerProgram) -> Self {
        Self::Program(program)
    }
}

impl From<ServerAddress> for Reached {
    fn from(address: ServerAddress) -> Self {
        Self::Address(address)
    }
}

impl ServerProgram {
    /// The program alone, in the project's folder and without the network.
    #[must_use]
    pub fn new(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            arguments: Vec::new(),
            folder: String::new(),
            environment: BTreeMap::new(),
            variables: Vec::new(),
            network: false,
        }
    }
}

impl ServerAddress {
    /// The address alone, which has to be a public one, without headers.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { url: url.to_owned(), headers: BTreeMap::new(), private: false }
    }

    /// What keeps it from being asked, each with what to do about it; what its name leads to is not looked up.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        match Url::parse(self.url.trim()) {
            Err(error) => problems.push(format!("`url` is no address: {error}")),
            Ok(url) => problems.extend(self.address_problems(&url)),
        }
        let names = self.headers.keys();
        problems.extend(names.filter_map(|name| header_problem(name)));
        problems
    }

    fn address_problems(&self, url: &Url) -> impl Iterator<Item = String> {
        let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
        let has_user = !url.username().is_empty() || url.password().is_some();
        let in_clear = url.scheme() == "http" && !self.headers.is_empty() && !is_this_machine(url);
        [
            (!is_web, "`url` is neither `http` nor `https`"),
            (has_user, "`url` has a user name or a password; use `auth`"),
            (url.fragment().is_some(), "`url` has a fragment; leave out `#` and what follows"),
            (in_clear, "`url` would get credentials in clear text; use `https`"),
        ]
        .into_iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, problem)| problem.to_owned())
    }
}

impl ServerHeader {
    /// The variable's value as it is.
    #[must_use]
    pub fn new(variable: &str) -> Self {
        Self { variable: variable.to_owned(), is_bearer: false }
    }

    /// The variable's value behind `Bearer `, as `Authorization` has it.
    #[must_use]
    pub fn bearer(variable: &str) -> Self {
        Self { variable: variable.to_owned(), is_bearer: true }
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The headers that make a request what it is, which the protocol sets.
const OWN: [&str; 9] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "transfer-encoding",
    "user-agent",
];

fn header_problem(name: &str) -> Option<String> {
    match HeaderName::from_bytes(name.as_bytes()) {
        // It may be more than a name, with the value behind it.
        Err(_) => {
            Some("a name in `headers`, or `header` in `auth`, is that of no header".to_owned())
        }
        Ok(name) if OWN.contains(&name.as_str()) || name.as_str().starts_with("mcp-") => {
            Some(format!("header `{name}` is set by the program itself; leave it out"))
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, headers: &[&str], problems: &[&str]) {
        let mut address = ServerAddress::new(url);
        let headers = headers.iter().map(|name| ((*name).to_owned(), ServerHeader::new("TOKEN")));
        address.headers = headers.collect();
        assert_eq!(address.problems(), problems, "{url}");
    }

    #[test]
    fn an_address_is_one_that_can_be_asked_without_telling_secrets() {
        check("https://example.org/mcp", &["authorization", "X-Tenant"], &[]);
        check("http://example.org/mcp", &[], &[]);
        check("http://127.0.0.1:8080/mcp", &["authorization"], &[]);
        check("http://[::1]:8080/mcp", &["authorization"], &[]);
        let clear = "`url` would get credentials in clear text; use `https`";
        check("http://example.org/mcp", &["authorization"], &[clear]);
        check("http://localhost.example.org/mcp", &["authorization"], &[clear]);
        check("example.org", &[], &["`url` is no address: relative URL without a base"]);
        check("file:///etc/passwd", &[], &["`url` is neither `http` nor `https`"]);
        let user = "`url` has a user name or a password; use `auth`";
        check("https://me:secret@example.org/", &[], &[user]);
        let fragment = "`url` has a fragment; leave out `#` and what follows";
        check("https://example.org/#a", &[], &[fragment]);
        let own =
            |name: &str| format!("header `{name}` is set by the program itself; leave it out");
        let (host, session) = (own("host"), own("mcp-session-id"));
        check("https://example.org/", &["Host", "Mcp-Session-Id"], &[&host, &session]);
        check(
            "https://example.org/",
            &["a b"],
            &["a name in `headers`, or `header` in `auth`, is that of no header"],
        );
    }
}
