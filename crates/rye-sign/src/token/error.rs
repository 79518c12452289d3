//! The errors of tokens.

use rye_types::Timestamp;

use crate::digest::Digest;
use crate::key_id::KeyId;

/// A reason why a token is not minted or not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The chain has no token.
    #[error("there is no token; a thread without one may do nothing")]
    EmptyChain,
    /// The token, or one of its ancestors, has expired.
    #[error("the token `{token_id}` expired at {at}; start the thread again")]
    Expired {
        /// The id of the token.
        token_id: String,
        /// The time at which it expired.
        at: Timestamp,
    },
    /// The signature does not fit the claims.
    #[error(
        "the token `{token_id}` is forged: the key `{key_id}` did not sign it; start the thread again"
    )]
    Forged {
        /// The id of the token.
        token_id: String,
        /// The key that the token names.
        key_id: KeyId,
    },
    /// An id is empty or contains a control character.
    #[error("the {part} {text:?} is empty or holds a control character; an id is one line of text")]
    InvalidId {
        /// The claim: `token id`, `thread id` or `directive id`.
        part: &'static str,
        /// The given id.
        text: String,
    },
    /// The text is not a token.
    #[error("not a token: {problem}")]
    Malformed {
        /// The fault of the text.
        problem: String,
    },
    /// The token would expire before it becomes valid.
    #[error(
        "the token `{token_id}` would expire at {expires}, which is not after its issue at {issued}"
    )]
    NeverValid {
        /// The id of the token.
        token_id: String,
        /// The time from which it would be valid.
        issued: Timestamp,
        /// The time at which it would expire.
        expires: Timestamp,
    },
    /// The token is not valid yet.
    #[error("the token `{token_id}` holds from {at} on; check the clock of this machine")]
    NotYetValid {
        /// The id of the token.
        token_id: String,
        /// The time from which it is valid.
        at: Timestamp,
    },
    /// The token would be valid at a time when its parent is not.
    #[error(
        "the token `{token_id}` holds before or after its parent `{parent_id}`; a child lasts no longer than its parent"
    )]
    OutlivesParent {
        /// The id of the child.
        token_id: String,
        /// The id of the parent.
        parent_id: String,
    },
    /// The token names another parent than the token before it in the chain.
    #[error(
        "the token `{token_id}` is re-parented: it descends from {}, and is presented under {}",
        digest_text(.stated),
        digest_text(.expected)
    )]
    Reparented {
        /// The id of the token.
        token_id: String,
        /// The digest of the parent that it was signed for.
        stated: Option<Digest>,
        /// The digest of the token before it in the chain.
        expected: Option<Digest>,
    },
    /// The chain is longer than thread trees can be deep.
    #[error("the chain has {links} tokens; at most {max} are verified")]
    TooLongChain {
        /// The number of tokens in the chain.
        links: usize,
        /// The largest number that is verified.
        max: usize,
    },
    /// None of the given keys has the id in the token.
    #[error(
        "the token `{token_id}` is signed by the key `{key_id}`, which may not sign tokens here"
    )]
    UnknownKey {
        /// The id of the token.
        token_id: String,
        /// The key that the token names.
        key_id: KeyId,
    },
    /// The token allows something that its parent does not allow.
    #[error(
        "the token `{token_id}` is widened: its parent `{parent_id}` does not cover `{}`; a child may do no more than its parent",
        .capabilities.join("`, `")
    )]
    Widened {
        /// The id of the child.
        token_id: String,
        /// The id of the parent.
        parent_id: String,
        /// The patterns of the child that the parent does not cover.
        capabilities: Vec<String>,
    },
}

fn digest_text(digest: &Option<Digest>) -> String {
    digest.map_or_else(|| "none".to_owned(), |digest| format!("`{}`", digest.shortened()))
}
