//! Trusted keys and the trust documents that introduce them (SPEC 2.7, 2.8).

mod document;
mod error;
mod parse;
mod reader;
mod revocation_list;
mod store;

pub use document::TrustDocument;
pub use error::{TomlError, TrustError, TrustProblem};
pub use revocation_list::{RevocationError, RevocationList, RevokedKey};
pub use store::{Admission, AdmissionNote, ListAdmission, TrustStore, TrustedKey};
