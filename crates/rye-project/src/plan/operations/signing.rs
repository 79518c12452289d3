//! The rule for signatures that a thread asks for: no text may gain more authority than the thread
//! has.

use std::sync::Arc;

use rye_caps::{Authority, Grant};
use rye_parse::{Directive, Executor, ToolManifest};
use rye_resolve::{ItemId, Space};
use rye_sign::{Digest, SigningKey};
use rye_types::{ItemKind, Timestamp};
use serde_json::{Map, Value, json};

use crate::aliases::entry_grant;
use crate::plan::authority::return_capability;
use crate::plan::invocation;
use crate::primary::{Caller, Operation, PrimaryError, SignRequest, ToSign};
use crate::project::Project;
use crate::signing::SignedFile;
use crate::syntax_json::directive_meaning;

pub(super) const DESCRIPTION: &str = "Checks an item of the project and has it signed with the operator's key, which makes it count. The operator is \
     shown the text each time, with what it adds, and asked about it. Sign only what you were asked to sign.";

/// Signs with the operator's key, where the program around the thread has given it one.
pub(super) fn sign(
    project: &Project,
    request: &SignRequest,
    key: Option<(Arc<SigningKey>, Timestamp)>,
    (caller, asked): (&Caller, &Grant),
) -> Result<SignedFile, PrimaryError> {
    let (key, at) = key.ok_or(PrimaryError::NoKey)?;
    let found = found(project, request, caller)?;
    if request.sha256.is_none() {
        return Err(which_text(request, &found));
    }
    let extension = found.located.winner.extension().to_owned();
    found.sign(&key, at, |text| {
        match lends(request, text, &extension, (caller.authority(), asked)) {
            Some(reason) => Err(unsignable(request, &reason)),
            None => Ok(()),
        }
    })
}

/// Returns the question for the operator: the text of the file, its digest, and the effects of its
/// signature on items that use it.
///
/// # Errors
///
/// When the signature would be refused whatever the operator says.
pub(super) fn proposal(
    project: &Project,
    request: &SignRequest,
    has_key: bool,
    (caller, asked): (&Caller, &Grant),
) -> Result<Value, PrimaryError> {
    if !has_key {
        return Err(PrimaryError::NoKey);
    }
    let found = found(project, request, caller)?;
    let path = &found.located.winner.path;
    let text = crate::signing::text(path)?;
    let extension = found.located.winner.extension();
    let sha256 = Digest::of(text.as_bytes());
    if let Some(meant) = request.sha256.filter(|meant| *meant != sha256) {
        let kind = request.kind;
        let id = request.id.clone();
        return Err(PrimaryError::OtherText { kind, id, meant, found: sha256 });
    }
    if let Some(reason) = lends(request, &text, extension, (caller.authority(), asked)) {
        return Err(unsignable(request, &reason));
    }
    found.refuse_other(&text, project.own_key.as_ref())?;
    found.judge(&text, project.own_key.as_ref())?;
    Ok(json!({
        "item_type": request.kind.as_str(),
        "item_id": request.id.as_str(),
        "sha256": sha256.to_string(),
        "adds": adds(request, &text, extension),
        "text": text,
    }))
}

/// The arguments of a call without what the operator was shown beside them.
pub(super) fn without_shown_parts(operation: Operation, mut arguments: Value) -> Value {
    if let (Operation::Sign, Value::Object(members)) = (operation, &mut arguments) {
        for shown in ["adds", "text"] {
            members.shift_remove(shown);
        }
    }
    arguments
}

/// Returns the effects of a signature beside the text: a directive's context, hooks and
/// capabilities, or a tool's backend.
fn adds(request: &SignRequest, text: &str, extension: &str) -> Value {
    let mut adds = Map::new();
    match request.kind {
        ItemKind::Directive => {
            let Ok(directive) = rye_parse::directive(text) else { return Value::Null };
            return directive_additions(&directive);
        }
        ItemKind::Tool => {
            let Ok(manifest) = rye_parse::tool(text, extension) else { return Value::Null };
            let Ok(invocation) = invocation(&request.id, &manifest) else { return Value::Null };
            let runs = invocation.functions().iter().map(ToString::to_string);
            adds.insert("runs".to_owned(), runs.collect::<Vec<_>>().into());
        }
        ItemKind::Knowledge | ItemKind::Config => {}
    }
    Value::Object(without_empty(adds))
}

/// Returns what a directive adds to the threads that run it, as far as it is there: `extends`, `context`, `hooks` and
/// `capabilities`.
#[must_use]
pub fn directive_additions(directive: &Directive) -> Value {
    let meaning = directive_meaning(directive);
    let parts = ["extends", "context", "hooks"].into_iter();
    let mut adds: Map<String, Value> =
        parts.filter_map(|name| Some((name.to_owned(), meaning.get(name)?.clone()))).collect();
    adds.insert("capabilities".to_owned(), capabilities(directive).into());
    Value::Object(without_empty(adds))
}

fn without_empty(mut parts: Map<String, Value>) -> Map<String, Value> {
    parts.retain(|_, part| !part.is_null() && part.as_array().is_none_or(|list| !list.is_empty()));
    parts
}

/// The patterns that a directive declares.
fn capabilities(directive: &Directive) -> Vec<String> {
    let entries = directive.permissions.iter().flat_map(|block| &block.value.entries);
    let granted = entries.filter_map(|entry| entry_grant(&entry.value));
    granted
        .flat_map(|grant| grant.patterns().iter().map(ToString::to_string).collect::<Vec<_>>())
        .collect()
}

fn which_text(request: &SignRequest, found: &ToSign<'_>) -> PrimaryError {
    let kind = request.kind;
    let id = request.id.clone();
    let which = |sha256| PrimaryError::WhichText { kind, id, sha256 };
    found.sha256().map_or_else(|error| error, which)
}

/// The one file that is looked at from here on, where a thread may have it signed at all.
fn found<'a>(
    project: &'a Project,
    request: &'a SignRequest,
    caller: &Caller,
) -> Result<ToSign<'a>, PrimaryError> {
    let found = ToSign::of(project, request, caller)?;
    if found.located.winner.space != Space::Project {
        return Err(unsignable(request, "a thread signs items of the project alone"));
    }
    if !found.located.shadowed.is_empty() {
        let reason = "it would stand in the place of an item of another space";
        return Err(unsignable(request, reason));
    }
    Ok(found)
}

fn unsignable(request: &SignRequest, reason: &str) -> PrimaryError {
    let kind = request.kind;
    let id = request.id.clone();
    PrimaryError::NotForThreads { kind, id, reason: reason.to_owned() }
}

/// Returns the reason to refuse the signature: authority that the text would give to its callers
/// and that the thread itself lacks.
fn lends(
    request: &SignRequest,
    text: &str,
    extension: &str,
    (authority, asked): (&Authority, &Grant),
) -> Option<String> {
    match request.kind {
        ItemKind::Directive => match rye_parse::directive(text) {
            Ok(read) => directive(&read, authority),
            Err(_) => Some(UNREADABLE.to_owned()),
        },
        ItemKind::Tool => match rye_parse::tool(text, extension) {
            Ok(read) => tool(&request.id, &read, authority, asked),
            Err(_) => Some(UNREADABLE.to_owned()),
        },
        ItemKind::Knowledge => None,
        ItemKind::Config => Some("configuration is for the operator alone".to_owned()),
    }
}

const UNREADABLE: &str = "it cannot be read; `rye check` says where";

fn directive(directive: &Directive, authority: &Authority) -> Option<String> {
    let Some(permissions) = &directive.permissions else {
        return Some("it declares no `<permissions>`, so that others decide what it may do; declare them, be it empty".to_owned());
    };
    let entries = permissions.value.entries.iter();
    let declared = entries.map(|entry| entry_grant(&entry.value)).collect::<Option<Vec<_>>>();
    let Some(declared) = declared else { return Some(UNREADABLE.to_owned()) };
    let declared: Grant = declared.iter().flat_map(Grant::patterns).cloned().collect();
    let returning = rye_caps::Pattern::exactly(&return_capability());
    let lent = authority.layers().iter().find_map(|layer| {
        // Every directive that declares outputs may return them.
        layer.grant().with(returning.clone()).covers(&declared).err()
    });
    lent.map(|lent| format!("it asks for more than this thread may do: {lent}"))
}

fn tool(
    id: &ItemId,
    manifest: &ToolManifest,
    authority: &Authority,
    asked: &Grant,
) -> Option<String> {
    match &manifest.executor {
        Executor::Builtin { .. }
        | Executor::Command { network: false, .. }
        | Executor::Script { network: false, .. } => {}
        _ => return Some("it reaches the network, which is for the operator to allow".to_owned()),
    }
    let invocation = match invocation(id, manifest) {
        Ok(invocation) => invocation,
        Err(reason) => return Some(reason),
    };
    if invocation.meets(asked) {
        return Some(
            "calls of what is behind it wait for a decision; it is for the operator to sign"
                .to_owned(),
        );
    }
    // The directive of the thread has to grant what is behind the tool, too, and not the tool alone.
    let mut behind = invocation.functions().iter().cloned();
    let denied = behind.find_map(|function| authority.permit(&function.into()).err());
    denied.map(|denied| format!("this thread may not do what is behind it: {denied}"))
}
