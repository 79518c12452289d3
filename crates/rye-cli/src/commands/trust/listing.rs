//! `rye trust list` and `rye trust show`: the path and the status of each document.

pub(super) use rye::grants_text;
use rye::resolve::{RevocationEntry, Space, TrustEntry};
use rye::sign::{KeyId, RevokedKey, TrustDocument, TrustStore, TrustedKey};
use rye::types::Timestamp;
use serde_json::{Value, json};

use super::{Known, space};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

pub(super) fn list(known: &Known, environment: &Environment) -> Exit {
    if environment.json() {
        let rows = known.entries.iter().map(|entry| data(entry, &known.store));
        let counting = known.entries.iter().filter(|entry| entry.counts()).count();
        let answer = Answer::of("documents", rows).with("counting", counting);
        answer.beside("revocation_lists", known.lists.iter().map(list_data)).print();
        return Exit::Fine;
    }
    known.entries.iter().for_each(|entry| print(entry, &known.store));
    known.lists.iter().for_each(print_list);
    let counting = known.entries.iter().filter(|entry| entry.counts()).count();
    let documents = output::counted(known.entries.len(), "trust document");
    match known.entries.len() - counting {
        0 if counting == 0 => println!("{documents}; `rye trust add FILE` adds one"),
        0 => println!("{documents}"),
        ignored => println!("{documents}, {ignored} of which {}", do_not_count(ignored)),
    }
    Exit::Fine
}

fn do_not_count(count: usize) -> &'static str {
    if count == 1 { "does not count" } else { "do not count" }
}

pub(super) fn show(
    key_id: &KeyId,
    entries: &[&TrustEntry],
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    if environment.json() {
        Answer::of("documents", entries.iter().map(|entry| data(entry, &known.store))).print();
        return Ok(Exit::Fine);
    }
    for entry in entries {
        print(entry, &known.store);
        if let Some(document) = entry.document() {
            detail("fingerprint", document.key().fingerprint().as_str());
            if !document.attestation().is_empty() {
                detail("attestation", document.attestation());
            }
        }
        if let Some(signer) = entry.signer() {
            detail("signed by", signer.as_str());
        }
    }
    match entries.iter().find_map(|entry| entry.document()) {
        Some(document) => print!("{}", document.key().to_pem()),
        None => println!("no document for the key `{key_id}` can be read"),
    }
    Ok(Exit::Fine)
}

/// Returns the status of a document as a word.
fn status(entry: &TrustEntry, store: &TrustStore) -> &'static str {
    match entry.document().filter(|_| entry.counts()) {
        None => "ignored",
        Some(document) => standing(&document, store),
    }
}

/// Returns the status of the key, according to all documents that count for it.
pub(super) fn standing(document: &TrustDocument, store: &TrustStore) -> &'static str {
    let Some(key) = store.find(document.key().key_id()) else { return "ignored" };
    match (key.revoked(), key.expires()) {
        (Some(_), _) => "revoked",
        (None, Some(at)) if at <= Environment::now() => "expired",
        _ => "trusted",
    }
}

fn print(entry: &TrustEntry, store: &TrustStore) {
    let status = status(entry, store);
    match entry.document() {
        Some(document) => {
            println!("{status:<8} {}  {}", document.key().key_id(), document.owner());
            let key = store.find(document.key().key_id()).filter(|_| entry.counts());
            limits(&document, key);
        }
        None => println!("{status:<8} a file that is no trust document"),
    }
    match &entry.location {
        Some(location) => {
            detail("document", &format!("{} ({})", location.path.display(), location.space));
        }
        None => detail("document", "handed over with `--trust`, for this command"),
    }
    let lead = if entry.counts() { "note" } else { "because" };
    remarks(entry).iter().for_each(|remark| detail(lead, remark));
}

/// Returns the remarks about a document, and the problems that a run would have with it.
fn remarks(entry: &TrustEntry) -> Vec<String> {
    let document = entry.document().filter(|_| entry.counts());
    let bad = document.as_ref().map(rye::bad_grants).unwrap_or_default();
    let bad = bad.into_iter().map(|problem| format!("nothing of this key runs: {problem}"));
    entry.remarks.iter().map(ToString::to_string).chain(bad).collect()
}

/// Prints the limits of the trust.
pub(super) fn limits(document: &TrustDocument, key: Option<&TrustedKey>) {
    extent(document, key).iter().for_each(|(name, text)| detail(name, text));
}

/// Returns the limits of the trust, as names and texts. A key that counts has the limits of all its
/// documents, and of the key that vouches for it.
pub(super) fn extent(
    document: &TrustDocument,
    key: Option<&TrustedKey>,
) -> Vec<(&'static str, String)> {
    let own: Vec<&[String]> = document.grants().into_iter().collect();
    let lists = key.map_or(own, |key| key.grants().iter().map(Vec::as_slice).collect());
    let expires = key.map_or(document.expires(), TrustedKey::expires);
    let expires = expires.map(|at| at.to_string());
    let revoked = match key {
        None => document.revoked().map(|at| at.to_string()),
        Some(key) => key.revocation().map(|revocation| match revocation.by {
            None => revocation.at.to_string(),
            Some(list) => format!("{} by {list}", revocation.at),
        }),
    };
    let times = [("expires", expires), ("revoked", revoked)];
    let times = times.into_iter().filter_map(|(name, at)| Some((name, at?)));
    std::iter::once(("may grant", grants_text(&lists))).chain(times).collect()
}

/// Prints a revocation list with its entries.
fn print_list(list: &RevocationEntry) {
    let status = if list.counts() { "counts" } else { "ignored" };
    println!("{status:<8} {}", list_name(list));
    for RevokedKey { key_id, at, reason, .. } in list.list().iter().flat_map(|it| it.entries()) {
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        detail("revokes", &format!("{key_id} since {at}{reason}"));
    }
    detail("list", &format!("{} ({})", list.location.path.display(), list.location.space));
    if let Some(signer) = list.signer() {
        detail("signed by", signer.as_str());
    }
    let lead = if list.counts() { "note" } else { "because" };
    list.remarks.iter().for_each(|remark| detail(lead, &remark.to_string()));
}

fn list_name(list: &RevocationEntry) -> &'static str {
    match list.location.space {
        Space::Project => "revocation list, for the items of this project",
        _ => "revocation list",
    }
}

/// Returns a revocation list as JSON.
fn list_data(list: &RevocationEntry) -> Value {
    let entry = |entry: &RevokedKey| json!({ "key_id": entry.key_id.to_string(), "revoked": entry.at.to_string(), "reason": entry.reason });
    let entries = list.list().map(|list| list.entries().iter().map(entry).collect::<Vec<_>>());
    json!({
        "counts": list.counts(),
        "space": list.location.space.to_string(),
        "path": output::path(&list.location.path),
        "keys": entries,
        "signed_by": list.signer().map(|signer| signer.to_string()),
        "remarks": list.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

pub(super) fn detail(name: &str, text: &str) {
    println!("         {name:<11}  {text}");
}

/// Returns the list that revokes the key of a document that counts.
fn revoked_by(entry: &TrustEntry, document: &TrustDocument, store: &TrustStore) -> Option<Value> {
    let key = store.find(document.key().key_id()).filter(|_| entry.counts())?;
    let revocation = key.revocation()?;
    let list = revocation.by?;
    Some(json!({
        "path": list.file,
        "revoked": revocation.at.to_string(),
        "reason": list.reason,
        "signed_by": list.signer.map(|signer| signer.to_string()),
    }))
}

/// Returns the document as JSON.
fn data(entry: &TrustEntry, store: &TrustStore) -> Value {
    let document = entry.document();
    let document = document.as_ref();
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    json!({
        "key_id": document.map(|document| document.key().key_id().to_string()),
        "fingerprint": document.map(|document| document.key().fingerprint().to_string()),
        "owner": document.map(TrustDocument::owner),
        "attestation": document.map(TrustDocument::attestation),
        "status": status(entry, store),
        "counts": entry.counts(),
        "space": space(entry).map(|space| space.to_string()),
        "path": entry.location.as_ref().map(|location| output::path(&location.path)),
        "grants": document.and_then(TrustDocument::grants),
        "expires": time(document.and_then(TrustDocument::expires)),
        "revoked": time(document.and_then(TrustDocument::revoked)),
        "revoked_by": document.and_then(|document| revoked_by(entry, document, store)),
        "signed_by": entry.signer().map(|signer| signer.to_string()),
        "remarks": remarks(entry),
        "public_key": document.map(|document| document.key().to_pem()),
    })
}
