//! Tools that reach other machines over HTTP (SPEC 5.1, 5.5), and the rules that protect this machine from
//! them.
//!
//! Every request goes through [`Web`]. The address of each request and redirect is checked against
//! [`WebRules`]. Its host is resolved once, each resolved address is checked against [`reserved_purpose`], and the
//! connection uses the checked addresses. No name is resolved twice, so that a second answer cannot differ.

mod address;
mod allowed_url;
mod body;
mod call;
mod credential;
mod error;
mod exchange;
mod fetch;
mod manifest;
mod markdown;
mod names;
#[cfg(feature = "mcp")]
mod pinned_client;
mod read;
mod redaction;
mod rules;
mod template;
mod text;

pub use self::address::reserved_purpose;
pub use self::body::HttpBody;
#[cfg(feature = "mcp")]
pub(crate) use self::credential::header_value;
pub use self::credential::{Credential, CredentialError};
pub use self::error::{AddressFault, WebError};
pub use self::exchange::{MAX_REDIRECTS, Web};
pub use self::fetch::{FETCH, fetch};
pub use self::manifest::{HttpTool, HttpToolError, SEND};
pub use self::names::{Names, SystemNames};
#[cfg(feature = "mcp")]
pub(crate) use self::redaction::Redactor;
pub use self::rules::{HostPattern, Origin, RuleError, WebRules};
