#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod address;
mod allowed_url;
mod body;
mod call;
mod credential;
mod error;
mod exchange;
mod fetch;
mod header_name;
mod hosts;
mod manifest;
mod markdown;
mod names;
#[cfg(feature = "pinned")]
mod pinned_client;
mod read;
mod rules;
mod template;
mod text;

pub use self::address::reserved_purpose;
pub use self::body::HttpBody;
pub use self::credential::{Credential, CredentialError};
pub use self::error::{AddressFault, HttpToolError, WebError};
pub use self::exchange::{MAX_REDIRECTS, Web};
pub use self::fetch::{FETCH, fetch};
pub use self::hosts::{HostPattern, Origin, RuleError};
pub use self::manifest::{HttpTool, SEND};
pub use self::names::{Names, SystemNames};
pub use self::rules::WebRules;
