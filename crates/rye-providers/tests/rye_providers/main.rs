//! The providers as a thread meets them: what goes over the wire, and what comes of what comes back.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made is a failed test")]

mod decode;
mod encode;
mod http;
mod vendor;
