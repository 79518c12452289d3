//! The reason why an operation was not done, as a value that every surface tells in the same words.

use std::error::Error;

use rye_caps::Denied;
use rye_resolve::{ItemId, ResolveError};
use rye_sign::Digest;
use rye_types::ItemKind;
use serde_json::{Value, json};

use super::copy::CopyError;
use crate::outcome::Class;
use crate::plan::PrepareError;
use crate::signing::SignFileError;

/// The reason why an operation was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrimaryError {
    /// A caller other than the operator asked for configuration.
    #[error("configuration is for the operator alone; ask for a directive, a tool or knowledge")]
    Configuration,
    /// The item cannot be copied.
    #[error("{kind} `{id}` is not copied")]
    Copy {
        /// The sort of item.
        kind: ItemKind,
        /// The item.
        id: ItemId,
        /// The obstacle.
        source: Box<CopyError>,
    },
    /// The rights of the caller do not cover the operation.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// It ended in a way that it should not.
    #[error("{message}")]
    Failed {
        /// The failure.
        message: String,
    },
    /// There is no key to sign with.
    #[error("there is no signing key here; the operator makes one with `rye keys generate`")]
    NoKey,
    /// A thread may sign the item's like, but not this text.
    #[error("{kind} `{id}` is not signed for a thread: {reason}")]
    NotForThreads {
        /// The sort of item.
        kind: ItemKind,
        /// The item.
        id: ItemId,
        /// The obstacle.
        reason: String,
    },
    /// The text to sign is not the one that was meant, and perhaps approved.
    #[error(
        "{kind} `{id}` is another text by now: `{found}`, not `{meant}`; look at it, and ask again"
    )]
    OtherText {
        /// The sort of item.
        kind: ItemKind,
        /// The item.
        id: ItemId,
        /// The SHA-256 of the text that was meant.
        meant: Digest,
        /// That of the text that lies there.
        found: Digest,
    },
    /// A thread did not say which text it means, so that no person could approve it.
    #[error("say which text of {kind} `{id}` is meant: `sha256` of what lies there is `{sha256}`")]
    WhichText {
        /// The sort of item.
        kind: ItemKind,
        /// The item.
        id: ItemId,
        /// The SHA-256 of the text that lies there.
        sha256: Digest,
    },
    /// Nothing of what is searched for may be found.
    #[error("searching {kinds} is not allowed here")]
    NothingToSearch {
        /// The kinds, joined with commas.
        kinds: String,
    },
    /// A directive cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The item cannot be had.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The item's file was not signed.
    #[error(transparent)]
    Sign(#[from] SignFileError),
    /// The tool is there and cannot be called here.
    #[error("tool `{id}` cannot be called: {reason}")]
    Tool {
        /// The tool.
        id: ItemId,
        /// The obstacle.
        reason: String,
    },
    /// The request makes no sense.
    #[error("{message}")]
    Usage {
        /// The advice on a correct request.
        message: String,
    },
}

impl PrimaryError {
    /// Returns the error for a request that makes no sense, with advice on a correct one.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into() }
    }

    /// Returns the class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Configuration
            | Self::Denied(_)
            | Self::NotForThreads { .. }
            | Self::OtherText { .. }
            | Self::NothingToSearch { .. } => Class::Refused,
            Self::Copy { .. } | Self::Failed { .. } | Self::Tool { .. } => Class::Failed,
            Self::NoKey | Self::Usage { .. } | Self::WhichText { .. } => Class::Usage,
            Self::Prepare(error) => error.class(),
            Self::Resolve(error) if error.is_unverified() => Class::Refused,
            Self::Resolve(_) => Class::Failed,
            Self::Sign(error) => error.class(),
        }
    }

    /// The error and its causes, outermost first.
    #[must_use]
    pub fn causes(&self) -> Vec<String> {
        causes(self)
    }

    /// `{"error": {"class": …, "causes": [...]}}`, as every surface tells it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        error_json(self.class(), self)
    }
}

/// Returns an error of a surface in the form of [`PrimaryError::to_json`].
#[must_use]
pub fn error_json(class: Class, error: &dyn Error) -> Value {
    json!({ "error": { "class": class.as_str(), "causes": causes(error) } })
}

/// The error and its causes, outermost first, each once.
#[must_use]
pub fn causes(error: &dyn Error) -> Vec<String> {
    let mut sentences = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        sentences.push(error.to_string());
        cause = error.source();
    }
    sentences.dedup();
    sentences
}
