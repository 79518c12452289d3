//! Errors of web requests.

use std::error::Error;
use std::net::IpAddr;

use crate::rules::Origin;

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
