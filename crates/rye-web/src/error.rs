//! Errors of web requests.

use std::error::Error;
use std::net::IpAddr;

use crate::hosts::Origin;

/// The reason why an address is refused before a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressFault {
    /// The address is invalid.
    #[error("`{text}` is no address: {reason}")]
    Unreadable {
        /// The given text.
        text: String,
        /// The reason.
        reason: String,
    },
    /// The scheme is neither `http` nor `https`.
    #[error("`{scheme}:` is not spoken; an address begins with `https://` or `http://`")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The address contains a name or a password.
    #[error(
        "an address with a name or a password before its host is refused; take out everything up to `@`"
    )]
    Credentials,
    /// The port is not allowed.
    #[error(
        "port {port} of `{host}` is not allowed; the operator allows further ones under `ports` of `config/agent/web.yaml`"
    )]
    Port {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// A list of allowed hosts does not contain the host.
    #[error("`{host}` is not among the hosts that `config/agent/web.yaml` allows")]
    Host {
        /// The host.
        host: String,
    },
    /// The host is this machine or in a private network.
    #[error(
        "`{origin}` is refused: {what}; the operator allows it under `private` of `config/agent/web.yaml`"
    )]
    Private {
        /// The host and the port.
        origin: Origin,
        /// The reason.
        what: String,
    },
    /// A secret may not be sent to this origin.
    #[error(
        "the credential `{name}` is not sent to `{origin}`; the operator says under `credentials` of `config/agent/web.yaml` who gets it"
    )]
    Recipient {
        /// The name of the credential.
        name: String,
        /// The origin of the request.
        origin: String,
    },
    /// A redirect goes from `https` to `http`.
    #[error("a redirect from `https` to `http` is refused")]
    Downgrade,
    /// A redirect leaves the host in the manifest.
    #[error("a redirect from `{from}` to `{to}` is refused; the tool's manifest names its host")]
    OtherHost {
        /// The host of the request.
        from: Origin,
        /// The host of the redirect.
        to: Origin,
    },
}

/// The reason why a request has no usable answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// A rule refused the request, and nothing was sent.
    #[error(transparent)]
    Refused(#[from] AddressFault),
    /// The variable of a credential is not set.
    #[error(
        "the credential `{name}` is not set; the operator sets the variable that `config/agent/web.yaml` names for it"
    )]
    Unset {
        /// The name of the credential.
        name: String,
    },
    /// A secret cannot be the value of a header.
    #[error("the credential `{name}` has a line end or another character that no header has")]
    Secret {
        /// The name of the credential.
        name: String,
    },
    /// The name of the host has no address.
    #[error("the host `{host}` cannot be looked up")]
    Unknown {
        /// The host.
        host: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The host cannot be reached, or the connection broke.
    #[error("`{host}` did not answer")]
    Broken {
        /// The host.
        host: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The time limit was reached.
    #[error("it took longer than {seconds} seconds and was given up")]
    Late {
        /// The limit.
        seconds: u64,
    },
    /// There were too many redirects.
    #[error("more than {most} redirects; the last one was from `{url}`")]
    Redirects {
        /// The limit.
        most: usize,
        /// The last address.
        url: String,
    },
    /// The answer is not readable.
    #[error("`{url}` {what}")]
    Unreadable {
        /// The address of the answer.
        url: String,
        /// The reason.
        what: String,
    },
    /// This machine cannot make secure connections.
    #[error("no secure connection can be made")]
    Insecure {
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl WebError {
    /// Returns `true` if a rule refused the request, and `false` if the request failed.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Returns the error with its causes on one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(one) = cause {
            let told = one.to_string();
            if !text.ends_with(&told) {
                text = format!("{text}: {told}");
            }
            cause = one.source();
        }
        text
    }

    pub(crate) fn unreadable(url: &reqwest::Url, what: &str) -> Self {
        Self::Unreadable { url: url.to_string(), what: what.to_owned() }
    }

    /// Creates the error of a broken connection. The URL is left out, because it may contain the text of an
    /// argument.
    pub(crate) fn broken_connection(host: &str, error: reqwest::Error) -> Self {
        Self::Broken { host: host.to_owned(), source: error.without_url().into() }
    }

    /// Creates the error for a host with a reserved address.
    pub(crate) fn private(origin: &Origin, address: IpAddr, what: &str) -> Self {
        let what = if origin.host() == address.to_string() {
            format!("it is {what}")
        } else {
            format!("it leads to `{address}`, {what}")
        };
        AddressFault::Private { origin: origin.clone(), what }.into()
    }
}

/// The reason why a manifest is not a valid request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpToolError {
    /// The URL is not allowed.
    #[error(transparent)]
    Address(#[from] AddressFault),
    /// An argument could change the scheme, the host or the port.
    #[error(
        "its `url` has a place before the path; the scheme, the host and the port are the manifest's alone, unless the place is the whole `url`"
    )]
    Host,
    /// An argument could name a parameter.
    #[error(
        "its `url` has a place in the name of a parameter; places in a query stand behind `name=`"
    )]
    Parameter,
    /// The URL has a character that is not allowed.
    #[error("its `url` has white space, a backslash or `#` in it")]
    Strange,
    /// The path has `.` or `..`, so that it means another path.
    #[error("its `url` has a part `.` or `..` in its path; write the path that is meant")]
    Dots,
    /// An argument could complete an encoded character.
    #[error(
        "its `url` has a `%` before a place, so that an argument would say what it stands for; write the character that is meant"
    )]
    Escape,
    /// The method is invalid.
    #[error("`{method}` is no method")]
    Method {
        /// The text in the manifest.
        method: String,
    },
    /// The name of a header is invalid, or tools may not set it.
    #[error("the header `{name}` is not for manifests")]
    Header {
        /// The name.
        name: String,
    },
    /// The method has no body.
    #[error("`{method}` sends no body; remove `body`")]
    Body {
        /// The method.
        method: String,
    },
    /// Arguments are inside of a text, which might be JSON.
    #[error(
        "its `body` is text with places in it, where an argument could write anything; write the body as a mapping"
    )]
    TextBody,
    /// The operator has no such secret.
    #[error(
        "the operator has no credential `{name}` under `credentials` of `config/agent/web.yaml`"
    )]
    Credential {
        /// The name.
        name: String,
    },
    /// A header has a value and carries a credential.
    #[error("its `headers` have `{header}`, which carries the credential `{name}`")]
    CredentialHeader {
        /// The header.
        header: String,
        /// The credential.
        name: String,
    },
    /// An argument would not be sent.
    #[error(
        "its `url`, `headers` and `body` have no place for `{name}`, which its input schema has"
    )]
    Unplaced {
        /// The argument.
        name: String,
    },
}
