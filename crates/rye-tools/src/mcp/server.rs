//! Configuration of servers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use reqwest::Url;
use reqwest::header::HeaderName;

/// A server in the configuration of the operator or of a project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Server {
    /// The name in the configuration. The server's own name is not used.
    pub name: String,
    /// The transport.
    pub reached: Reached,
    /// The seconds until the server must have listed its tools. The default is 30.
    pub startup_seconds: Option<u64>,
    /// The seconds that a call may take. The default is 120.
    pub timeout_seconds: Option<u64>,
}

/// The transport of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reached {
    /// The standard input and output of a program that Rye starts.
    Program(ServerProgram),
    /// HTTP to a server that Rye does not start.
    Address(ServerAddress),
}

/// A program that is started in the same sandbox as all programs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerProgram {
    /// The program, by its path or by its name in `PATH`.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The working directory, relative to the project, and empty for the project itself. `None` for an empty folder of its
    /// own: where a program looks for its parts in its working directory, as `npx` and `python -m` do, a project could
    /// replace the program.
    pub folder: Option<String>,
    /// Additional environment variables.
    pub environment: BTreeMap<String, String>,
    /// Variables that are passed from the operator's environment. If one is not set, the server is not
    /// started.
    pub variables: Vec<String>,
    /// `true` if the program may use the network.
    pub network: bool,
}

/// A server over streamable HTTP. The rules for all web requests apply to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerAddress {
    /// The URL. Redirects are not followed.
    pub url: String,
    /// The headers of every request. Each value comes from a variable.
    pub headers: BTreeMap<String, ServerHeader>,
    /// `true` if the address may be on this machine or in a private network.
    pub private: bool,
}

/// The source of a header's value. The value itself is in no file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerHeader {
    /// The variable of the operator's environment. If it is not set, the server is not called.
    pub variable: String,
    /// `true` if `Bearer ` precedes the value.
    pub is_bearer: bool,
}

impl Server {
    /// Creates a server with the default limits.
    #[must_use]
    pub fn new(name: &str, reached: impl Into<Reached>) -> Self {
        let name = name.to_owned();
        let reached = reached.into();
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
    /// Creates the configuration of a program without arguments, in the project's folder and without the
    /// network.
    #[must_use]
    pub fn new(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            arguments: Vec::new(),
            folder: None,
            environment: BTreeMap::new(),
            variables: Vec::new(),
            network: false,
        }
    }
}

impl ServerAddress {
    /// Creates the configuration of a public address without headers.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { url: url.to_owned(), headers: BTreeMap::new(), private: false }
    }

    /// Returns the problems of the configuration, each with advice. The name of the host is not resolved.
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
    /// Uses the value of the variable.
    #[must_use]
    pub fn new(variable: &str) -> Self {
        Self { variable: variable.to_owned(), is_bearer: false }
    }

    /// Uses the value of the variable after `Bearer `, as in `Authorization`.
    #[must_use]
    pub fn bearer(variable: &str) -> Self {
        Self { variable: variable.to_owned(), is_bearer: true }
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The headers that the HTTP client and the protocol set.
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
        // The invalid name is not quoted, because it may contain the value too.
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
        let host = own("host");
        let session = own("mcp-session-id");
        check("https://example.org/", &["Host", "Mcp-Session-Id"], &[&host, &session]);
        check(
            "https://example.org/",
            &["a b"],
            &["a name in `headers`, or `header` in `auth`, is that of no header"],
        );
    }
}
