//! What a thread may have signed: nothing by which a text comes to more authority than the thread has.

use std::sync::Arc;

use rye_caps::{Authority, Capability, Grant, Kind, Primary};
use rye_parse::{Directive, Executor, ToolManifest};
use rye_resolve::{ItemKind, Space, permission_grant};
use rye_sign::{SigningKey, Timestamp};
use rye_tools::BASH;

use crate::config::is_provider;
use crate::primary::{Caller, PrimaryError, SignRequest, ToSign};
use crate::rye::Rye;
use crate::session::authority::return_capability;
use crate::signing::SignedFile;

pub(super) const DESCRIPTION: &str = "Checks an item of the project and has it signed with the operator's key, which makes it count. The operator is \
     asked each time about the text that `sha256` names. Sign only what you were asked to sign.";

/// Signs with the operator's key, where the program around the thread has given it one.
pub(super) fn sign(
    rye: &Rye,
    request: &SignRequest,
    key: Option<(Arc<SigningKey>, Timestamp)>,
    (caller, asked): (&Caller, &Grant),
) -> Result<SignedFile, PrimaryError> {
    let (key, at) = key.ok_or(PrimaryError::NoKey)?;
    let found = found(rye, request, caller)?;
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

/// What somebody is asked about has to be one text: without its digest, nobody is asked.
pub(super) fn ask(rye: &Rye, request: &SignRequest, caller: &Caller) -> Result<(), PrimaryError> {
    match &request.sha256 {
        Some(_) => Ok(()),
        None => Err(which_text(request, &found(rye, request, caller)?)),
    }
}

fn which_text(request: &SignRequest, found: &ToSign<'_>) -> PrimaryError {
    let (kind, id) = (request.kind, request.id.clone());
    let which = |sha256| PrimaryError::WhichText { kind, id, sha256 };
    found.sha256().map_or_else(|error| error, which)
}

/// The one file that is looked at from here on, where a thread may have it signed at all.
fn found<'a>(
    rye: &Rye,
    request: &'a SignRequest,
    caller: &Caller,
) -> Result<ToSign<'a>, PrimaryError> {
    let found = ToSign::of(rye, request, caller)?;
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
    let (kind, id) = (request.kind, request.id.clone());
    PrimaryError::NotForThreads { kind, id, reason: reason.to_owned() }
}

/// What the text would lend to whoever runs it that the thread does not have itself.
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
        ItemKind::Tool if is_provider(&request.id) => {
            Some("it says where prompts and keys go, which is for the operator alone".to_owned())
        }
        ItemKind::Tool => match rye_parse::tool(text, extension) {
            Ok(read) => tool(&read, authority, asked),
            Err(_) => Some(UNREADABLE.to_owned()),
        },
        ItemKind::Knowledge => None,
        ItemKind::Config => Some("configuration is for the operator alone".to_owned()),
    }
}

const UNREADABLE: &str = "it cannot be read; `rye check` says where";

fn directive(directive: &Directive, authority: &Authority) -> Option<String> {
    if !directive.hooks.is_empty() || !directive.context.is_empty() {
        return Some("directives that extend it take on its hooks and its context, and act on them with what they may do; they are for the operator to sign".to_owned());
    }
    let Some(permissions) = &directive.permissions else {
        return Some("it declares no `<permissions>`, so that others decide what it may do; declare them, be it empty".to_owned());
    };
    let entries = permissions.value.entries.iter();
    let declared =
        entries.map(|entry| permission_grant(&entry.value)).collect::<Result<Vec<_>, _>>();
    let Ok(declared) = declared else { return Some(UNREADABLE.to_owned()) };
    let declared = declared.iter().fold(Grant::nothing(), |all, more| all.union(more));
    let returning = rye_caps::Pattern::exactly(&return_capability());
    let lent = authority.layers().iter().find_map(|layer| {
        // Declaring outputs grants returning them to anybody.
        layer.grant().with(returning.clone()).covers(&declared).err()
    });
    lent.map(|lent| format!("it asks for more than this thread may do: {lent}"))
}

fn tool(manifest: &ToolManifest, authority: &Authority, asked: &Grant) -> Option<String> {
    let function = match &manifest.executor {
        Executor::Builtin { function, .. } => function.as_str(),
        Executor::Command { network: false, .. } | Executor::Script { network: false, .. } => BASH,
        _ => return Some("it reaches the network, which is for the operator to allow".to_owned()),
    };
    let behind = Capability::new(Primary::Execute, Kind::Tool, &format!("rye/{function}"));
    let behind = match behind {
        Ok(behind) => behind,
        Err(error) => return Some(error.to_string()),
    };
    if asked.allows(&behind) {
        return Some("somebody is asked each time for what is behind it, and would not be for this tool; it is for the operator to sign".to_owned());
    }
    let denied = authority.permit(&behind).err();
    denied.map(|denied| format!("this thread may not do what is behind it: {denied}"))
}
