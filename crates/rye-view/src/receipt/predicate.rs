//! The subjects and the predicate of a receipt, as they follow from a transcript.

use std::mem;

use rye_sign::{Digest, canonical_json};
use rye_transcript::payload::{SignedHead, ThreadStart};
use rye_transcript::{
    Event, EventKind, Reading, Record, added_items, recorded_end, recorded_limits,
};
use serde_json::{Value, json};

use super::{TRANSCRIPT, member};
use crate::unread::UnreadError;

/// The subjects: the lines of the transcript, and each output.
pub(super) fn subjects(reading: &Reading, lines: &[u8]) -> Value {
    let transcript = subject(TRANSCRIPT, Digest::of(lines));
    let outputs = recorded_end(reading).and_then(|end| end.outputs).unwrap_or_default();
    let outputs = outputs.iter().map(|(name, value)| subject(&output_name(name), digest_of(value)));
    std::iter::once(transcript).chain(outputs).collect()
}

/// The name of the subject that is an output.
pub(super) fn output_name(name: &str) -> String {
    format!("outputs/{name}")
}

fn subject(name: &str, digest: Digest) -> Value {
    json!({ "name": name, "digest": sha256(digest) })
}

fn sha256(digest: Digest) -> Value {
    json!({ "sha256": digest.to_string() })
}

/// The digest of an output: of the text itself, or of the canonical JSON of another value.
fn digest_of(value: &Value) -> Digest {
    match value {
        Value::String(text) => Digest::of(text.as_bytes()),
        other => Digest::of(canonical_json(other).as_bytes()),
    }
}

/// Derives the predicate without its member `attestation`. Returns `None` for a thread that has not ended.
///
/// # Errors
///
/// [`UnreadError`] if this version cannot read a record.
pub(super) fn derive(reading: &Reading) -> Result<Option<Value>, UnreadError> {
    UnreadError::check(reading)?;
    Ok(derive_of_read(reading))
}

fn derive_of_read(reading: &Reading) -> Option<Value> {
    let end = recorded_end(reading)?;
    let end_record = reading.records.iter().rfind(|record| record.kind.is_end())?;
    let mut start = reading.start()?;
    let facts = &Value::Object(mem::take(&mut start.facts));
    Some(json!({
        "thread": {
            "id": end_record.thread.as_str(),
            "root": start.root,
            "next": end.next,
        },
        "directive": directive(end_record, facts),
        "items": items(reading, facts),
        "transcript": chain(reading, &start),
        "prompt": prompt(reading),
        "policy": { "digest": digest_of_fact(&facts["config"]) },
        "token": {
            "id": facts["token"]["token_id"],
            "digest": digest_of_fact(&facts["token"]),
        },
        "verified_items": facts["verified"],
        "model": model(reading, &start),
        "turns": end.turns,
        "usage": end.usage,
        "cost": { "currency": "USD", "nanos": end.cost },
        "limits": recorded_limits(reading)?.last,
        "outcome": {
            "state": end.state().as_str(),
            "failure": end.failure.as_ref().map(|failure| failure.kind.as_str()),
        },
        "runtime": { "name": "rye", "version": facts["rye_version"] },
        "times": {
            "started": reading.records.first()?.at.to_string(),
            "ended": end.at().to_string(),
        },
        "claimed": claims(),
    }))
}

/// The directive that the thread followed: the first row of the chain.
fn directive(end: &Record, facts: &Value) -> Value {
    let row = &facts["chain"][0];
    json!({
        "id": end.directive,
        "version": row["version"],
        "digest": stated_digest(row),
        "signer": signer(row),
    })
}

/// The digest that a row states, or null.
fn stated_digest(row: &Value) -> Value {
    row["sha256"].as_str().map_or(Value::Null, |digest| json!({ "sha256": digest }))
}

/// The digest of a fact as canonical JSON, or null if the transcript does not have the fact.
fn digest_of_fact(fact: &Value) -> Value {
    if fact.is_null() { Value::Null } else { sha256(Digest::of(canonical_json(fact).as_bytes())) }
}

fn signer(row: &Value) -> Value {
    match row["key_id"].as_str() {
        Some(key_id) => json!({ "key_id": key_id, "owner": row["owner"] }),
        None => Value::Null,
    }
}

/// Everything that was verified for the thread, and what calls added later.
fn items(reading: &Reading, facts: &Value) -> Value {
    let rows = ["chain", "knowledge", "tools", "config"];
    let began = rows.iter().flat_map(|name| facts[name].as_array().into_iter().flatten().cloned());
    let added = added_items(reading).unwrap_or_default();
    let added = added.iter().map(|item| Value::Object(item.facts.clone()));
    began.chain(added).map(|row| item(&row)).collect()
}

fn item(row: &Value) -> Value {
    json!({
        "kind": row["kind"],
        "id": row["id"],
        "space": row["space"],
        "digest": stated_digest(row),
        "signer": signer(row),
    })
}

/// The chain with its last checkpoint, and the key that the first record names.
fn chain(reading: &Reading, start: &ThreadStart) -> Value {
    let checkpoint = match last(reading, EventKind::Checkpoint) {
        Some(Event::Checkpoint(SignedHead(head))) => head,
        _ => Value::Null,
    };
    json!({
        "format": start.format,
        "version": start.version,
        "records": reading.records.len(),
        "signed_records": reading.signed,
        "head": reading.head.to_string(),
        "checkpoint": checkpoint,
        "public_key": start.signed_by,
    })
}

/// The last event of a kind.
fn last(reading: &Reading, kind: EventKind) -> Option<Event> {
    reading.of_kind(kind).next_back()?.event().ok()
}

/// The digests of the texts that the conversation began with.
fn prompt(reading: &Reading) -> Value {
    let digest = |kind: EventKind| {
        let text = match reading.of_kind(kind).next()?.event() {
            Ok(Event::SystemPrompt(prompt)) => prompt.text,
            Ok(Event::UserMessage(said)) => said.text,
            _ => return None,
        };
        Some(sha256(Digest::of(text.as_bytes())))
    };
    json!({ "system": digest(EventKind::SystemPrompt), "user": digest(EventKind::UserMessage) })
}

/// The provider and the model that answered last.
fn model(reading: &Reading, start: &ThreadStart) -> Value {
    match last(reading, EventKind::ModelFallback) {
        Some(Event::ModelFallback(to)) => json!({ "provider": to.provider, "id": to.model }),
        _ => json!({ "provider": start.provider, "id": start.model }),
    }
}

/// The members that repeat what others said. A signature shows that they said it, and not that it is true.
fn claims() -> Value {
    let rows = [
        ("model", "the provider names the model; nothing shows which one ran"),
        ("usage", "the provider counts the tokens"),
        ("cost", "computed from the counted tokens and the configured prices"),
        ("times", "the clock of the machine that ran the thread"),
        ("runtime", "the program names its own version"),
        ("outcome", "the model decides when it is done; nothing shows that its work is right"),
        ("subject outputs", "the model wrote them"),
        ("owner", "a trust document names the owner of a key"),
        ("tool results", "the transcript holds what tools returned; nothing shows what they did"),
    ];
    rows.iter().map(|(claim, because)| json!({ "claim": claim, "because": because })).collect()
}

/// The first member of a stated predicate that is not as derived. The member `attestation` is its signer's own.
pub(super) fn first_difference(stated: &Value, derived: &Value) -> Option<String> {
    let names = |value: &Value| -> Vec<String> {
        value.as_object().into_iter().flat_map(|all| all.keys().cloned()).collect()
    };
    let all = names(stated).into_iter().chain(names(derived));
    all.filter(|name| name != "attestation")
        .find(|name| member(stated, &[name]) != member(derived, &[name]))
}
