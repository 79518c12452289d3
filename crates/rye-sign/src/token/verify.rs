//! Offline verification of a chain of tokens.

use rye_types::Timestamp;

use crate::key::PublicKey;
use crate::token::{Token, TokenError};

/// Verifies a chain of tokens, the root first, and returns its last token, the leaf.
///
/// `keys` are the keys that may sign tokens, usually only the operator's own key. A key that is trusted to sign items
/// is not necessarily one of them. `covers` returns `true` if a list of the parent's patterns covers a pattern of the
/// child. A child is narrower than its parent if every list of the parent covers all patterns of at least one list of
/// the child. A child may contain copies of its parent's lists for this.
///
/// # Errors
///
/// The chain is empty or too long, a key is unknown, or a token is forged, re-parented, widened, valid outside its
/// parent's period, not yet valid or expired.
pub fn verify_chain<'t>(
    root_first: &'t [Token],
    keys: &[PublicKey],
    now: Timestamp,
    covers: impl Fn(&[String], &str) -> bool,
) -> Result<&'t Token, TokenError> {
    let Some(leaf) = root_first.last() else { return Err(TokenError::EmptyChain) };
    if root_first.len() > MAX_LINKS {
        return Err(TokenError::TooLongChain { links: root_first.len(), max: MAX_LINKS });
    }
    let mut parent = None;
    for token in root_first {
        check_signature(token, keys)?;
        check_parent(token, parent)?;
        if let Some(parent) = parent {
            check_narrowed(parent, token, &covers)?;
        }
        check_time(token, now)?;
        parent = Some(token);
    }
    Ok(leaf)
}

/// Returns `true` if `pattern` is one of `patterns`, letter by letter. This rule never covers too much.
pub fn covers_literally(patterns: &[String], pattern: &str) -> bool {
    patterns.iter().any(|other| other == pattern)
}

pub(crate) fn check_narrowed(
    parent: &Token,
    child: &Token,
    covers: impl Fn(&[String], &str) -> bool,
) -> Result<(), TokenError> {
    let token_id = child.claims.token_id.clone();
    let uncovered = |list: &&Vec<String>| !is_covered(list, &child.claims.capabilities, &covers);
    if let Some(list) = parent.claims.capabilities.iter().find(uncovered) {
        let innermost = child.claims.capabilities.iter().rev().find(|own| !own.is_empty());
        let wider = innermost.into_iter().flatten().filter(|capability| !covers(list, capability));
        let parent_id = parent.claims.token_id.clone();
        let capabilities = wider.cloned().collect();
        return Err(TokenError::Widened { token_id, parent_id, capabilities });
    }
    if child.claims.expires > parent.claims.expires || child.claims.issued < parent.claims.issued {
        return Err(TokenError::OutlivesParent {
            token_id,
            parent_id: parent.claims.token_id.clone(),
        });
    }
    Ok(())
}

/// Returns `true` if at least one of `lists` is wholly covered by `list`. If so, whatever all of `lists` allow is
/// within `list`.
fn is_covered(
    list: &[String],
    lists: &[Vec<String>],
    covers: &impl Fn(&[String], &str) -> bool,
) -> bool {
    lists.iter().any(|own| own.iter().all(|capability| covers(list, capability)))
}

fn check_signature(token: &Token, keys: &[PublicKey]) -> Result<(), TokenError> {
    let token_id = token.claims.token_id.clone();
    let key_id = token.key_id.clone();
    match keys.iter().find(|key| key.is_named(&key_id)) {
        None => Err(TokenError::UnknownKey { token_id, key_id }),
        Some(key) if !token.is_signed_by(key) => Err(TokenError::Forged { token_id, key_id }),
        Some(_) => Ok(()),
    }
}

fn check_parent(token: &Token, parent: Option<&Token>) -> Result<(), TokenError> {
    let expected = parent.map(Token::digest);
    if token.parent == expected {
        return Ok(());
    }
    Err(TokenError::Reparented {
        token_id: token.claims.token_id.clone(),
        stated: token.parent,
        expected,
    })
}

fn check_time(token: &Token, now: Timestamp) -> Result<(), TokenError> {
    let token_id = token.claims.token_id.clone();
    let issued = token.claims.issued;
    let expires = token.claims.expires;
    if expires <= now {
        return Err(TokenError::Expired { token_id, at: expires });
    }
    if issued > now {
        return Err(TokenError::NotYetValid { token_id, at: issued });
    }
    Ok(())
}

/// The limit is above every depth limit of threads. It bounds the work that a chain from an unknown sender can cause.
const MAX_LINKS: usize = 64;
