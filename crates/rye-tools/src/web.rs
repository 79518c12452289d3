//! Tools that reach other machines over HTTP (SPEC 5.1, 5.5), and what keeps them from reaching this one.
//!
//! Everything that is sent goes through [`Web`]: the address of each request, and of each redirect, is held against
//! [`WebRules`], its host is looked up once, every address found is held against [`reserved`], and the connection is made
//! to what was looked at. No name is looked up a second time, so that none can change its mind in between.

mod address;
mod body;
mod credential;
mod error;
mod exchange;
mod fetch;
mod hidden;
mod manifest;
mod markdown;
mod names;
mod place;
mod read;
mod rules;
mod sending;
#[cfg(feature = "mcp")]
mod standing;
mod template;
mod text;

pub use self::address::reserved;
pub use self::body::HttpBody;
#[cfg(feature = "mcp")]
pub(crate) use self::credential::carried;
pub use self::credential::{Credential, CredentialError};
pub use self::error::{AddressFault, WebError};
pub use self::exchange::{MAX_REDIRECTS, Web};
pub use self::fetch::{FETCH, fetch};
#[cfg(feature = "mcp")]
pub(crate) use self::hidden::Hidden;
pub use self::manifest::{HttpTool, HttpToolError, SEND};
pub use self::names::{Names, SystemNames};
pub use self::rules::{HostPattern, Origin, RuleError, WebRules};
