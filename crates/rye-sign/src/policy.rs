//! The operator's decisions on weaker signatures.

use crate::error::Error;
use crate::key_id::KeyId;
use crate::provenance::{Binding, Coverage};

/// The weaker signatures that a verification accepts besides bound signatures over the whole text.
///
/// The default accepts `content-only` signatures with a note. It refuses `metadata-only` signatures and unsigned text
/// (SPEC 2.3, 2.4).
#[derive(Debug, Clone, Default)]
pub struct Policy {
    metadata_only: Decision,
    content_only: ContentOnly,
    unsigned: Decision,
}

impl Policy {
    /// Refuses everything except bound signatures over the whole text (`--strict`).
    pub fn strict(self) -> Self {
        Self {
            metadata_only: Decision::Deny,
            content_only: ContentOnly::Deny,
            unsigned: Decision::Deny,
        }
    }

    /// Accepts directives of which only the `<directive>` element is signed (`trust.metadata_only: allow`).
    pub fn allow_metadata_only(self) -> Self {
        Self { metadata_only: Decision::Allow, ..self }
    }

    /// Refuses signatures that do not bind kind and id, or that leave out the `#!` line (`trust.content_only: deny`).
    pub fn deny_content_only(self) -> Self {
        Self { content_only: ContentOnly::Deny, ..self }
    }

    /// Accepts text without a signature (`--allow-unsigned`). A text whose signature fails is still refused.
    pub fn dangerous_allow_unsigned(self) -> Self {
        Self { unsigned: Decision::Allow, ..self }
    }

    pub(crate) fn allows_unsigned(&self) -> bool {
        self.unsigned == Decision::Allow
    }

    pub(crate) fn check(
        &self,
        coverage: Coverage,
        binding: Binding,
        key_id: &KeyId,
    ) -> Result<(), Error> {
        if coverage == Coverage::MetadataOnly && self.metadata_only == Decision::Deny {
            return Err(Error::NotCovered { key_id: key_id.clone() });
        }
        let is_old_form = binding == Binding::ContentOnly || coverage == Coverage::AfterShebang;
        if is_old_form && self.content_only == ContentOnly::Deny {
            return Err(Error::ContentOnlyDenied { key_id: key_id.clone() });
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Decision {
    Allow,
    #[default]
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ContentOnly {
    #[default]
    Note,
    Deny,
}
