//! Signatures of other keys, which a new signature would replace (SPEC 2.12).

use std::path::Path;

use rye_sign::{CommentStyle, KeyId, Provenance, PublicKey, Unverified};
use rye_types::ItemKind;
use serde_json::{Value, json};

use crate::causes::with_causes;
use crate::place::place;
use crate::project::Project;
use crate::verify::VerifyError;

/// A signature that a file carries and that another key made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherSignature {
    /// The key that the signature line names.
    pub key_id: KeyId,
    /// The owner of the key, if the signature counts and the trust document states one.
    pub owner: Option<String>,
    /// The lists of patterns that bound what the key's items may be granted; no list is no limit.
    pub grants: Vec<Vec<String>>,
    /// The reason why the signature does not count.
    pub fault: Option<SignatureFault>,
}

/// The reason why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignatureFault {
    /// The outcome of its verification in one word, as `rye verify` has it.
    pub code: &'static str,
    /// The reason in words.
    pub message: String,
}

impl OtherSignature {
    /// The key, with its owner if that is known.
    #[must_use]
    pub fn signer(&self) -> String {
        match &self.owner {
            Some(owner) => format!("`{}`, {owner}", self.key_id),
            None => format!("`{}`", self.key_id),
        }
    }

    /// Returns a sentence about what a new signature of the operator changes for the file at `path`.
    #[must_use]
    pub fn replacement(&self, path: &Path) -> String {
        let verb = match place(path) {
            Some((ItemKind::Directive | ItemKind::Tool, _)) => "runs",
            _ => "counts",
        };
        let before = match &self.fault {
            Some(fault) => format!("did not count: {}", fault.code),
            None => format!("grants: {}", grants_text(&self.grants)),
        };
        format!(
            "{verb} with your authority from now on, in place of that of `{}` ({before})",
            self.key_id
        )
    }

    /// `{"key_id", "owner", "grants", "fault"}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "key_id": self.key_id.as_str(),
            "owner": self.owner,
            "grants": self.grants,
            "fault": self.fault.as_ref().map(|fault| fault.code),
        })
    }
}

/// Returns the limits of a key in words, one list of patterns for each document.
#[must_use]
pub fn grants_text<L: AsRef<[String]>>(lists: &[L]) -> String {
    let told = |patterns: &L| match patterns.as_ref() {
        [] => "nothing".to_owned(),
        patterns => patterns.join(", "),
    };
    let lists: Vec<String> = lists.iter().map(told).collect();
    match lists.as_slice() {
        [] => "without a limit".to_owned(),
        lists => lists.join("; of that only "),
    }
}

impl Project {
    /// Returns the signature in a text that another key than `own` made, or `None` if there is no signature line that can
    /// be read.
    pub(crate) fn other_signature(
        &self,
        path: &Path,
        text: &str,
        own: &PublicKey,
    ) -> Option<OtherSignature> {
        let style = CommentStyle::of_extension(path.extension()?.to_str()?)?;
        let line = Unverified::locate(text, style).ok()?;
        let key_id = line.key_id().clone();
        if own.is_named(&key_id) {
            return None;
        }
        let without = |fault| OtherSignature { key_id, owner: None, grants: Vec::new(), fault };
        Some(match self.verify(path, text).result {
            Ok(Provenance::Signed(signed)) => OtherSignature {
                owner: signed.owner().map(str::to_owned),
                grants: signed.grants().to_vec(),
                ..without(None)
            },
            Ok(_) => without(None),
            Err(error) => without(Some(fault(&error))),
        })
    }
}

pub(super) fn fault(error: &VerifyError) -> SignatureFault {
    SignatureFault { code: error.code(), message: with_causes(error) }
}
