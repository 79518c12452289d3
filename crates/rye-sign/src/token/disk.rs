//! The JSON form of a token.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::canonical::canonical_json;
use crate::signature_bytes::SignatureBytes;
use crate::token::{Claims, Token, TokenError};

/// The members to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The members that the signature covers: all except the signature.
    Signed,
    /// All members.
    Whole,
}

pub(crate) fn write(token: &Token, part: Part) -> String {
    let claims = &token.claims;
    let mut value = json!({
        "format": FORMAT,
        "token_id": claims.token_id,
        "thread_id": claims.thread_id,
        "directive_id": claims.directive_id,
        "directive_hash": claims.directive_hash.to_string(),
        "capabilities": claims.capabilities,
        "parent": token.parent.map(|parent| parent.to_string()),
        "issued": claims.issued.to_string(),
        "expires": claims.expires.to_string(),
        "key_id": token.key_id.as_str(),
    });
    if let (Part::Whole, Value::Object(members)) = (part, &mut value) {
        members.insert("signature".to_owned(), Value::from(token.signature.encode()));
    }
    canonical_json(&value)
}

pub(crate) fn parse(json: &str) -> Result<Token, TokenError> {
    let malformed = |problem: String| TokenError::Malformed { problem };
    let disk: TokenDisk =
        serde_json::from_str(json).map_err(|error| malformed(error.to_string()))?;
    if disk.format != FORMAT {
        return Err(malformed(format!("its format is `{}`, not `{FORMAT}`", disk.format)));
    }
    let field =
        |name: &str, text: &str| malformed(format!("its `{name}` `{text}` is not of its form"));
    if disk.capabilities.is_empty() {
        return Err(malformed("its `capabilities` hold no list of patterns".to_owned()));
    }
    let parent =
        disk.parent.map(|text| text.parse().map_err(|_| field("parent", &text))).transpose()?;
    let claims = Claims {
        directive_hash: disk
            .directive_hash
            .parse()
            .map_err(|_| field("directive_hash", &disk.directive_hash))?,
        issued: disk.issued.parse().map_err(|_| field("issued", &disk.issued))?,
        expires: disk.expires.parse().map_err(|_| field("expires", &disk.expires))?,
        token_id: disk.token_id,
        thread_id: disk.thread_id,
        directive_id: disk.directive_id,
        capabilities: disk.capabilities,
    };
    let key_id = disk.key_id.parse().map_err(|_| field("key_id", &disk.key_id))?;
    let signature = SignatureBytes::decode(&disk.signature)
        .ok_or_else(|| field("signature", &disk.signature))?;
    Ok(Token { claims, parent, key_id, signature })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenDisk {
    format: String,
    token_id: String,
    thread_id: String,
    directive_id: String,
    directive_hash: String,
    capabilities: Vec<Vec<String>>,
    parent: Option<String>,
    issued: String,
    expires: String,
    key_id: String,
    signature: String,
}

pub(crate) const FORMAT: &str = "rye-token-v1";
