//! Binds text to the Ed25519 key that signed it.
//!
//! A signed item carries one comment line, on line 1 or below a `#!` line. [`sign`] writes this line and
//! [`Unverified::locate`] finds it. [`Unverified::verify`] turns the text into a [`Verified`], the only form in which
//! text may be run or composed into a prompt. Other crates cannot construct a [`Verified`]. They get one from a
//! successful check, or from [`Verified::builtin`] for text that is compiled into the program:
//!
//! ```
//! use rye_sign::{CommentStyle, ItemName, Origin, Policy, SigningKey, TrustDocument, TrustStore, Unverified, sign};
//! use rye_types::Timestamp;
//!
//! let key = SigningKey::generate()?;
//! let now: Timestamp = "2026-11-20T18:00:00Z".parse()?;
//! let item = ItemName::new("directive", "greet/hello")?;
//! let text = sign("# Hello\n", CommentStyle::Html, &item, &key, now);
//!
//! let mut trust = TrustStore::new();
//! trust.admit(&TrustDocument::new("me", key.public()).to_toml(), None, Origin::Operator, now)?;
//!
//! let verified = Unverified::locate(&text, CommentStyle::Html)?.verify(&item, &trust, &Policy::default(), now)?;
//! assert!(verified.value().ends_with("# Hello\n"));
//!
//! let moved = ItemName::new("directive", "admin/hello")?;
//! assert!(Unverified::locate(&text, CommentStyle::Html)?.verify(&moved, &trust, &Policy::default(), now).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Code outside this crate cannot construct a `Verified`, which this crate tests:
//!
//! ```compile_fail,E0451
//! use rye_sign::{Provenance, Verified};
//!
//! let forged = Verified { value: "rm -rf /", provenance: Provenance::Builtin };
//! ```
//!
//! # Scope
//!
//! The crate opens no file and reads neither a clock nor the environment: text, time and trust documents are arguments.
//! Only [`SigningKey::generate`] uses randomness. The crate carries capability patterns but does not interpret them.

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod item_name;
mod key_id;
mod origin;

mod digest;
mod key;
mod revocation;
mod signature_bytes;
mod signing_key;

mod comment;
mod envelope;
mod layout;
mod message;
mod sign;

mod candidates;
mod error;
mod policy;
mod provenance;
mod shown;
mod unverified;
mod verified;

mod trust;

mod state;

mod canonical;
mod json;

pub mod chain;
pub mod dsse;
pub mod token;

pub use canonical::canonical_json;
pub use comment::CommentStyle;
pub use digest::{Digest, DigestError};
pub use envelope::MalformedReason;
pub use error::Error;
pub use item_name::{ItemName, ItemNameError};
pub use json::{JsonError, JsonSignature, sign_json, verify_json};
pub use key::{KeyError, PublicKey};
pub use key_id::{KeyId, KeyIdError};
pub use layout::{further_signature_line, without_signature_line};
pub use origin::Origin;
pub use policy::Policy;
pub use provenance::{Binding, Coverage, Note, Provenance, Signature};
pub use revocation::{Revocation, RevokingList};
pub use shown::Shown;
pub use sign::{sign, sign_detached};
pub use signing_key::{SecretPem, SigningKey};
pub use state::verification_state;
pub use trust::{
    Admission, AdmissionNote, ListAdmission, RevocationError, RevocationList, RevokedKey,
    TomlError, TrustDocument, TrustError, TrustProblem, TrustStore, TrustedKey,
};
pub use unverified::{Draft, Unverified, accept, accept_detached};
pub use verified::Verified;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
