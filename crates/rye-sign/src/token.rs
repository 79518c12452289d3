//! Capability tokens: signed statements of what a thread may do, verified offline (SPEC 9.5).
//!
//! ```
//! use rye_sign::SigningKey;
//! use rye_sign::token::{Claims, Token, covers_literally, verify_chain};
//!
//! let key = SigningKey::generate()?;
//! let claims = Claims {
//!     token_id: "t-1".to_owned(),
//!     thread_id: "deploy-1".to_owned(),
//!     directive_id: "ops/deploy".to_owned(),
//!     directive_hash: rye_sign::Digest::of(b"the directive"),
//!     capabilities: vec![vec!["rye.execute.tool.a".to_owned(), "rye.load.*".to_owned()]],
//!     issued: "2026-11-20T18:00:00Z".parse()?,
//!     expires: "2026-11-20T19:00:00Z".parse()?,
//! };
//! let root = Token::mint(claims.clone(), &key)?;
//! let fewer = Claims { token_id: "t-2".to_owned(), capabilities: vec![vec!["rye.load.*".to_owned()]], ..claims };
//! let child = root.child(fewer, &key, covers_literally)?;
//!
//! let now = "2026-11-20T18:30:00Z".parse()?;
//! let leaf = verify_chain(&[root, child.clone()], &[key.public()], now, covers_literally)?.clone();
//! assert_eq!(leaf, child);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod disk;
mod error;
mod verify;

pub use error::TokenError;
pub use verify::{covers_literally, verify_chain};

use rye_types::Timestamp;

use crate::digest::Digest;
use crate::key::PublicKey;
use crate::key_id::KeyId;
use crate::signature_bytes::SignatureBytes;
use crate::signing_key::SigningKey;

/// The statements of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers write it; other claims are another format with another name"
)]
pub struct Claims {
    /// The id of the token, unique among the tokens of its key.
    pub token_id: String,
    /// The thread that acts with the token.
    pub thread_id: String,
    /// The directive that the thread runs.
    pub directive_id: String,
    /// The digest of the directive's file.
    pub directive_hash: Digest,
    /// Lists of patterns, outermost first. The thread may do what every list covers, because its authority is what the
    /// operator, the signers and the directive allow together (SPEC 9.4).
    ///
    /// An empty list allows nothing. [`Token::mint`] and [`Token::child`] replace a claim without any list by one empty
    /// list, and sort and deduplicate the patterns of each list.
    pub capabilities: Vec<Vec<String>>,
    /// The time from which the token is valid.
    pub issued: Timestamp,
    /// The time at which the token expires.
    pub expires: Timestamp,
}

/// A signed statement of what a thread may do. It names its parent token, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    claims: Claims,
    parent: Option<Digest>,
    key_id: KeyId,
    signature: SignatureBytes,
}

impl Token {
    /// Signs a token without a parent, for a root thread.
    ///
    /// # Errors
    ///
    /// An id is empty or contains a control character, or the token would expire before it becomes valid.
    pub fn mint(claims: Claims, key: &SigningKey) -> Result<Self, TokenError> {
        Self::sign_claims(claims, None, key)
    }

    /// Signs the token of a child thread. `covers` returns `true` if a list of the parent's patterns covers a pattern
    /// of the child.
    ///
    /// # Errors
    ///
    /// The ones of [`mint`](Self::mint). The claims also must not be wider than those of this token, and their period
    /// must lie within its own.
    pub fn child(
        &self,
        claims: Claims,
        key: &SigningKey,
        covers: impl Fn(&[String], &str) -> bool,
    ) -> Result<Self, TokenError> {
        let child = Self::sign_claims(claims, Some(self.digest()), key)?;
        verify::check_narrowed(self, &child, covers)?;
        Ok(child)
    }

    /// Parses the JSON text of a token without verifying it.
    ///
    /// # Errors
    ///
    /// [`TokenError::Malformed`] if the text is not JSON, or a member is missing, unknown, given twice or malformed.
    pub fn parse(json: &str) -> Result<Self, TokenError> {
        disk::parse(json)
    }

    /// The canonical JSON text with the signature.
    pub fn to_json(&self) -> String {
        disk::write(self, disk::Part::Whole)
    }

    /// The digest of [`to_json`](Self::to_json). A child names its parent by this digest.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_json().as_bytes())
    }

    /// The statements of the token.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The digest of the parent token.
    pub fn parent(&self) -> Option<&Digest> {
        self.parent.as_ref()
    }

    /// The id of the key that the token names.
    pub fn key_id(&self) -> &KeyId {
        &self.key_id
    }

    fn sign_claims(
        mut claims: Claims,
        parent: Option<Digest>,
        key: &SigningKey,
    ) -> Result<Self, TokenError> {
        if claims.capabilities.is_empty() {
            claims.capabilities.push(Vec::new());
        }
        for list in &mut claims.capabilities {
            list.sort_unstable();
            list.dedup();
        }
        check_claims(&claims)?;
        let placeholder = SignatureBytes::from_bytes([0; 64]);
        let mut token =
            Self { claims, parent, key_id: key.public().key_id().clone(), signature: placeholder };
        token.signature = key.sign(token.message().as_bytes());
        Ok(token)
    }

    fn is_signed_by(&self, key: &PublicKey) -> bool {
        key.verifies(self.message().as_bytes(), &self.signature)
    }

    fn message(&self) -> String {
        format!("{}\n{}", disk::FORMAT, disk::write(self, disk::Part::Signed))
    }
}

fn check_claims(claims: &Claims) -> Result<(), TokenError> {
    let ids = [
        ("token id", &claims.token_id),
        ("thread id", &claims.thread_id),
        ("directive id", &claims.directive_id),
    ];
    for (part, text) in ids {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(TokenError::InvalidId { part, text: text.clone() });
        }
    }
    if claims.expires <= claims.issued {
        let Claims { token_id, issued, expires, .. } = claims.clone();
        return Err(TokenError::NeverValid { token_id, issued, expires });
    }
    Ok(())
}
