//! Why a token is not minted or not accepted.

use crate::digest::Digest;
use crate::key_id::KeyId;
use crate::timestamp::Timestamp;

/// Why a token is not minted or not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// There is no token to verify.
    #[error("there is no token; a thread without one may do nothing")]
    EmptyChain,
    /// The time of the token, or of one that it descends from, is over.
    #[error("the token `{token_id}` expired at {at}; start the thread again")]
    Expired {
        /// The token.
        token_id: String,
        /// When.
        at: Timestamp,
    },
    /// The signature does not fit the claims.
    #[error(
        "the token `{token_id}` is forged: the key `{key_id}` did not sign it; start the thread again"
    )]
    Forged {
        /// The token.
        token_id: String,
        /// The key that it names.
        key_id: KeyId,
    },
    /// An id is empty or holds a control character.
    #[error("the {part} {text:?} is empty or holds a control character; an id is one line of text")]
    InvalidId {
        /// Which id.
        part: &'static str,
        /// The id as it was given.
        text: String,
    },
    /// The text is no token.
    #[error("not a token: {problem}")]
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
    /// The token would end before it begins.
    #[error(
        "the token `{token_id}` would expire at {expires}, which is not after its issue at {issued}"
    )]
    NeverValid {
        /// The token.
        token_id: String,
        /// When it would begin.
        issued: Timestamp,
        /// When it would end.
        expires: Timestamp,
    },
    /// The token begins to hold later.
    #[error("the token `{token_id}` holds from {at} on; check the clock of this machine")]
    NotYetValid {
        /// The token.
        token_id: String,
        /// When.
        at: Timestamp,
    },
    /// The token would hold when its parent does not.
    #[error(
        "the token `{token_id}` holds before or after its parent `{parent_id}`; a child lasts no longer than its parent"
    )]
    OutlivesParent {
        /// The child.
        token_id: String,
        /// The parent.
        parent_id: String,
    },
    /// The token descends from another one than the one that it is presented under.
    #[error(
        "the token `{token_id}` is re-parented: it descends from {}, and is presented under {}",
        named(.stated),
        named(.expected)
    )]
    Reparented {
        /// The token.
        token_id: String,
        /// The digest of the parent that it was signed for.
        stated: Option<Digest>,
        /// The digest of the token before it in the chain.
        expected: Option<Digest>,
    },
    /// The chain is longer than threads can be deep.
    #[error("the chain has {links} tokens; at most {max} are verified")]
    TooLongChain {
        /// Its length.
        links: usize,
        /// The limit.
        max: usize,
    },
    /// None of the given keys has the id.
    #[error(
        "the token `{token_id}` is signed by the key `{key_id}`, which may not sign tokens here"
    )]
    UnknownKey {
        /// The token.
        token_id: String,
        /// The key that it names.
        key_id: KeyId,
    },
    /// The token allows what its parent does not.
    #[error(
        "the token `{token_id}` is widened: its parent `{parent_id}` does not cover `{}`; a child may do no more than its parent",
        .capabilities.join("`, `")
    )]
    Widened {
        /// The child.
        token_id: String,
        /// The parent.
        parent_id: String,
        /// The patterns that are not covered.
        capabilities: Vec<String>,
    },
}

fn named(digest: &Option<Digest>) -> String {
    digest.map_or_else(|| "none".to_owned(), |digest| format!("`{}`", digest.shortened()))
}
