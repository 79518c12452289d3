//! `rye trust revoke` and `rye trust remove`.

use std::fs;
use std::path::Path;

use clap::Args;
use rye::primary::Destination;
use rye::resolve::{Space, TrustEntry};
use rye::sign::{KeyId, RevokedKey, TrustDocument};
use rye::types::Timestamp;
use serde_json::json;

use super::listing::{detail, standing};
use super::{Known, Named, is_named_for, project, space};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{KeyStore, create, signing_key_if_any, vouched_text};
use crate::output::{self, Answer};
use crate::{confirm, files};

/// Refuse everything that a key signed, whenever it did
#[derive(Debug, Args)]
#[command(
    after_help = "The document stays in the user space and says since when, so that no other document for the key counts \
                  either. A key that the project or the system offers is revoked for you alone.\n\n\
                  With `--to project`, the key goes onto the project's list `.ai/config/keys/revoked.toml`, signed by your own \
                  key. There it is revoked for the project's items, for all who trust your key.\n\n\
                  Examples:\n  rye trust revoke 56dbf7b2d9ce86ed\n  \
                  rye trust revoke 56dbf7b2d9ce86ed --to project --reason 'left the team'"
)]
pub(crate) struct Revoke {
    #[command(flatten)]
    named: Named,
    /// The time to state, such as `2026-11-20T18:00:00Z`; default: now. What was signed before it is refused too
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// The space to revoke the key in [possible values: project, user]
    #[arg(long, value_name = "SPACE", default_value = "user")]
    to: Destination,
    /// The reason that the project's list states
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Forget a trust document of the user space
#[derive(Debug, Args)]
#[command(
    after_help = "What the key signed is then refused as signed by an unknown key, unless another document counts for it. \
                  Forgetting that a key was revoked is asked for.\n\n\
                  Example:\n  rye trust remove 56dbf7b2d9ce86ed"
)]
pub(crate) struct Remove {
    #[command(flatten)]
    named: Named,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) fn revoke(
    arguments: &Revoke,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let key_id = &arguments.named.key_id;
    match (arguments.to, &arguments.reason) {
        (Destination::Project, _) => return revoke_in_project(arguments, known, environment),
        (Destination::User, Some(_)) => {
            return Err(Failure::usage(
                "`--reason` is for the list of a project; add `--to project`, or leave it out",
            ));
        }
        (Destination::User, None) => {}
    }
    let entries = known.require(key_id)?;
    // If the user space has several documents, the revocation goes into the one that counts.
    let counting = entries.iter().copied().find(|entry| is_of_user(entry) && entry.counts());
    let entry = counting.or_else(|| known.of_user(key_id)).or_else(|| entries.first().copied());
    let document = entry.and_then(TrustEntry::document).ok_or_else(|| {
        Failure::failed(format!(
            "the trust document for the key `{key_id}` cannot be read, so that it does not count; `rye trust remove {key_id}` makes room for another"
        ))
    })?;
    if let (Some(at), true) = (document.revoked(), entry.is_some_and(is_of_user)) {
        return Err(Failure::failed(format!("the key `{key_id}` is revoked since {at}")));
    }
    let document = document.with_revoked(arguments.at.unwrap_or_else(Environment::now));
    let text = vouched_text(&document, &known.store_for(Destination::User), environment)?;
    // A document with the name of another key does not count.
    let counting = entry.filter(|entry| is_of_user(entry)).and_then(path_of);
    let path = match counting.filter(|path| is_named_for(&document, path)) {
        Some(path) => {
            let old = entry.and_then(TrustEntry::text).unwrap_or_default();
            files::replace(path, old, &text)?;
            path.to_owned()
        }
        None => {
            let path = KeyStore::of(environment)?.document(&document);
            create(&path, &text, 0o644)?;
            path
        }
    };
    tell(&document, &path, environment)?;
    warn_of_own(document.key().key_id(), Destination::User, environment)?;
    Ok(Exit::Fine)
}

/// Adds the key to the list of the project.
fn revoke_in_project(
    arguments: &Revoke,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let document = known.of(&arguments.named.key_id).into_iter().find_map(TrustEntry::document);
    let key_id = document.as_ref().map_or(&arguments.named.key_id, |it| it.key().key_id());
    let at = arguments.at.unwrap_or_else(Environment::now);
    let reason = arguments.reason.as_deref().unwrap_or_default().trim();
    let path = project::revoke(&RevokedKey::new(key_id.clone(), at, reason), known, environment)?;
    let owner = document.as_ref().map(TrustDocument::owner);
    if environment.json() {
        let row = json!({
            "key_id": key_id.to_string(),
            "owner": owner,
            "status": "revoked",
            "revoked": at.to_string(),
            "reason": reason,
            "path": output::path(&path),
        });
        Answer::one("documents", row).print();
    } else {
        println!("revoked  {key_id}  {}", owner.unwrap_or_default());
        detail("list", &path.display().to_string());
    }
    if document.is_none() {
        let warning = format!(
            "no trust document here is for the key `{key_id}`; the list names it all the same"
        );
        output::warnings(&[warning]);
    }
    warn_of_own(key_id, Destination::Project, environment)?;
    Ok(Exit::Fine)
}

/// Warns if this is the operator's own key.
fn warn_of_own(key_id: &KeyId, to: Destination, environment: &Environment) -> Result<(), Failure> {
    if !signing_key_if_any(environment)?.is_some_and(|key| key.public().is_named(key_id)) {
        return Ok(());
    }
    let (place, advice) = match to {
        Destination::Project => (" in this project", "let another key sign here"),
        Destination::User => ("", "move it away and make another with `rye keys generate`"),
    };
    output::warnings(&[format!(
        "this is the key that you sign with: what it signs{place} is refused from now on; {advice}"
    )]);
    Ok(())
}

pub(super) fn remove(
    arguments: &Remove,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let key_id = &arguments.named.key_id;
    known.require(key_id)?;
    let Some(entry) = known.of_user(key_id) else {
        return Err(Failure::failed(format!(
            "no trust document of the user space is for the key `{key_id}`, and others are not yours to remove; `rye trust revoke {key_id}` refuses the key for you"
        )));
    };
    let path = path_of(entry).unwrap_or(Path::new(""));
    let is_revocation = entry.document().is_some_and(|document| document.revoked().is_some());
    if is_revocation && !arguments.yes {
        ask(key_id)?;
    }
    fs::remove_file(path).map_err(|source| Failure::io("remove", path, &source))?;
    let is_known = Known::read(environment)?.store.find(key_id).is_some();
    if environment.json() {
        let row = json!({ "key_id": key_id.to_string(), "removed": output::path(path), "is_trusted_still": is_known });
        Answer::one("documents", row).print();
        return Ok(Exit::Fine);
    }
    println!("removed  {}", path.display());
    if is_known {
        println!("note: another document counts for this key; `rye trust show {key_id}` shows it");
    }
    Ok(Exit::Fine)
}

fn ask(key_id: &KeyId) -> Result<(), Failure> {
    let question = format!("The key `{key_id}` is revoked. Forget that it is?");
    let advice = format!(
        "the key `{key_id}` is revoked, and there is no terminal to ask whether to forget that; give `--yes`"
    );
    confirm::require(&question, "nothing is removed", &advice)
}

fn tell(document: &TrustDocument, path: &Path, environment: &Environment) -> Result<(), Failure> {
    let status = standing(document, &Known::read(environment)?.store);
    let key_id = document.key().key_id();
    if environment.json() {
        let row = json!({
            "key_id": key_id.to_string(),
            "owner": document.owner(),
            "status": status,
            "revoked": document.revoked().map(|at| at.to_string()),
            "path": output::path(path),
        });
        Answer::one("documents", row).print();
        return Ok(());
    }
    println!("{status:<8} {key_id}  {}", document.owner());
    detail("document", &path.display().to_string());
    Ok(())
}

fn is_of_user(entry: &TrustEntry) -> bool {
    space(entry) == Some(Space::User)
}

fn path_of(entry: &TrustEntry) -> Option<&Path> {
    entry.location.as_ref().map(|location| location.path.as_path())
}
