//! Why nothing came of a request.

use std::error::Error;
use std::net::IpAddr;

use super::rules::Origin;

/// Why an address is refused before anything is sent to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressFault {
    /// It cannot be read.
    #[error("`{text}` is no address: {reason}")]
    Unreadable {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Neither `http` nor `https`.
    #[error("`{scheme}:` is not spoken; an address begins with `https://` or `http://`")]
    Scheme {
        /// What stands before the colon.
        scheme: String,
    },
    /// It has a name or a password in it.
    #[error(
        "an address with a name or a password before its host is refused; take out everything up to `@`"
    )]
    Credentials,
    /// The port is none of the web's.
    #[error(
        "port {port} of `{host}` is not allowed; the operator allows further ones under `ports` of `config/agent/web.yaml`"
    )]
    Port {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// Some list of allowed hosts does not have it.
    #[error("`{host}` is not among the hosts that `config/agent/web.yaml` allows")]
    Host {
        /// The host.
        host: String,
    },
    /// The host is this machine or one of a private network.
    #[error(
        "`{origin}` is refused: {what}; the operator allows it under `private` of `config/agent/web.yaml`"
    )]
    Private {
        /// The host and the port.
        origin: Origin,
        /// What it is.
        what: String,
    },
    /// A secret is for others.
    #[error(
        "the credential `{name}` is not sent to `{origin}`; the operator says under `credentials` of `config/agent/web.yaml` who gets it"
    )]
    Recipient {
        /// The name of the credential.
        name: String,
        /// Who would have got it.
        origin: String,
    },
    /// A redirect leads out of `https`.
    #[error("a redirect from `https` to `http` is refused")]
    Downgrade,
    /// A redirect leads away from the host that the manifest names.
    #[error("a redirect from `{from}` to `{to}` is refused; the tool's manifest names its host")]
    OtherHost {
        /// The host that was asked.
        from: Origin,
        /// Where it leads to.
        to: Origin,
    },
}

/// Why a request has no answer that can be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// Nothing was sent, by rule.
    #[error(transparent)]
    Refused(#[from] AddressFault),
    /// The operator named a secret and did not set it.
    #[error(
        "the credential `{name}` is not set; the operator sets the variable that `config/agent/web.yaml` names for it"
    )]
    Unset {
        /// The name of the credential.
        name: String,
    },
    /// A secret cannot stand in a header.
    #[error("the credential `{name}` has a line end or another character that no header has")]
    Secret {
        /// The name of the credential.
        name: String,
    },
    /// The host's name has no address.
    #[error("the host `{host}` cannot be looked up")]
    Unknown {
        /// The host.
        host: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The host cannot be reached, or the connection broke.
    #[error("`{host}` did not answer")]
    Broken {
        /// The host.
        host: String,
        /// What happened.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It took too long.
    #[error("it took longer than {seconds} seconds and was given up")]
    Late {
        /// The limit.
        seconds: u64,
    },
    /// The server sends from one place to the next.
    #[error("more than {most} redirects; the last one was from `{url}`")]
    Redirects {
        /// The limit.
        most: usize,
        /// The last address that was asked.
        url: String,
    },
    /// What came cannot be told.
    #[error("`{url}` {what}")]
    Unreadable {
        /// Where it came from.
        url: String,
        /// What it is.
        what: String,
    },
    /// This machine cannot make secure connections.
    #[error("no secure connection can be made")]
    Insecure {
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl WebError {
    /// Whether it was a rule that said no, and not the world.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// The whole of it in one line, with its causes.
    pub(crate) fn sentence(&self) -> String {
        let (mut text, mut cause) = (self.to_string(), self.source());
        while let Some(one) = cause {
            let told = one.to_string();
            if !text.ends_with(&told) {
                text = format!("{text}: {told}");
            }
            cause = one.source();
        }
        text
    }

    pub(super) fn unreadable(url: &reqwest::Url, what: &str) -> Self {
        Self::Unreadable { url: url.to_string(), what: what.to_owned() }
    }

    /// Without the address, which may have an argument's text in it that the caller knows anyway.
    pub(super) fn broken(host: &str, error: reqwest::Error) -> Self {
        Self::Broken { host: host.to_owned(), source: error.without_url().into() }
    }

    /// An address of a host that is not for everybody.
    pub(super) fn private(origin: &Origin, address: IpAddr, what: &str) -> Self {
        let what = if origin.host() == address.to_string() {
            format!("it is {what}")
        } else {
            format!("it leads to `{address}`, {what}")
        };
        AddressFault::Private { origin: origin.clone(), what }.into()
    }
}
