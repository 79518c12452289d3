//! `rye trust export`.

use std::path::PathBuf;

use clap::Args;
use rye::resolve::TrustEntry;
use rye::sign::{KeyId, TrustDocument, TrustedKey};
use serde_json::json;

use super::Known;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{create_beside, end_of_trust, signing_key_if_any};
use crate::output::{self, Answer};

/// Write the trust document of a key that you trust, for others to add
#[derive(Debug, Args)]
#[command(
    after_help = "The document holds the public key, its owner and the limits of the trust, as they are in your user space. \
                  The receiver compares the fingerprint with the owner, and `rye trust add FILE` accepts it.\n\n\
                  Examples:\n  rye trust export --output me.toml\n  rye trust export 56dbf7b2d9ce86ed"
)]
pub(crate) struct Arguments {
    /// The key's id of 16 digits, or its fingerprint of 64; default: your own key
    #[arg(value_name = "ID")]
    key_id: Option<KeyId>,
    /// The file to write, which must not be there yet; default: standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(
    arguments: &Arguments,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let key_id = match &arguments.key_id {
        Some(key_id) => key_id.clone(),
        None => own_key(environment)?,
    };
    let (text, trusted) = document_to_hand_on(&key_id, known)?;
    if let Some(path) = &arguments.output {
        create_beside(path, text, 0o644)?;
    }
    match &arguments.output {
        path if environment.json() => {
            let row = json!({
                "key_id": trusted.key().key_id().to_string(),
                "fingerprint": trusted.key().fingerprint().to_string(),
                "owner": trusted.owner(),
                "document": text,
                "path": path.as_deref().map(output::path),
            });
            Answer::one("documents", row).print();
        }
        Some(_) => {}
        None => print!("{text}"),
    }
    Ok(Exit::Fine)
}

/// Returns the document of a key, which states all limits of the trust in it.
pub(super) fn document_to_hand_on<'a>(
    key_id: &KeyId,
    known: &'a Known,
) -> Result<(&'a str, &'a TrustedKey), Failure> {
    known.require(key_id)?;
    let entry = known.to_hand_on(key_id).filter(|entry| entry.counts());
    let trusted = known.store.find(key_id);
    let (Some(text), Some(trusted)) = (entry.and_then(TrustEntry::text), trusted) else {
        return Err(Failure::refused(format!(
            "the key `{key_id}` is not trusted here, so that its trust is not handed on; `rye trust show {key_id}` says why"
        )));
    };
    if let Some(how) = end_of_trust(trusted) {
        return Err(Failure::refused(format!(
            "the key `{key_id}` {how}, so that its trust is not handed on; `rye trust revoke {key_id} --to project` tells others of a revocation"
        )));
    }
    if entry.and_then(TrustEntry::document).is_none_or(|document| lacks_limits(&document, trusted))
    {
        return Err(Failure::refused(format!(
            "the trust in the key `{key_id}` has limits that its document does not state, such as those of the key that signed it or of a second document, and they would be lost; `rye trust show {key_id}` lists them, and `rye trust add FILE --grants PATTERN` makes a document that states them"
        )));
    }
    Ok((text, trusted))
}

/// Returns `true` if the trust in the key has limits that the document does not state.
fn lacks_limits(document: &TrustDocument, trusted: &TrustedKey) -> bool {
    let is_stated = |patterns: &Vec<String>| document.grants() == Some(patterns.as_slice());
    !trusted.grants().iter().all(is_stated) || trusted.expires() != document.expires()
}

fn own_key(environment: &Environment) -> Result<KeyId, Failure> {
    let own = signing_key_if_any(environment)?.map(|key| key.public().key_id().clone());
    own.ok_or_else(|| {
        Failure::usage("there is no key of your own; name a key, as `rye trust list` shows them, or make one with `rye keys generate`")
    })
}
