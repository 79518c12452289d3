//! Reading an item as it is written, and copying it to where it can be changed (SPEC D12).

use std::path::PathBuf;

use rye_caps::{Capability, Kind, Primary};
use rye_resolve::{Item, ItemId};
use rye_sign::Provenance;
use rye_types::ItemKind;
use serde_json::Value;

use super::caller::Caller;
use super::copy::{Destination, copy};
use super::error::PrimaryError;
use super::{item, reading};
use crate::config::is_provider;
use crate::project::Project;

/// An item to read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadRequest {
    /// The sort of item.
    pub kind: ItemKind,
    /// Its id.
    pub id: ItemId,
    /// The space that gets a copy.
    pub destination: Option<Destination>,
}

impl LoadRequest {
    /// An item that is read and not copied.
    #[must_use]
    pub fn new(kind: ItemKind, id: ItemId) -> Self {
        Self { kind, id, destination: None }
    }

    /// The same, copied there as well.
    #[must_use]
    pub fn to(self, destination: Destination) -> Self {
        Self { destination: Some(destination), ..self }
    }
}

/// An item as its file holds it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The verified text of the file, signature line included.
    pub item: Item<String>,
    /// The file that it was copied to.
    pub copied_to: Option<PathBuf>,
}

impl Loaded {
    /// Returns the command that signs the copy, if there is one that no key signed.
    #[must_use]
    pub fn signing_command(&self) -> Option<String> {
        let path = self.copied_to.as_ref()?;
        let is_signed = matches!(self.item.content.provenance(), Provenance::Signed(_));
        (!is_signed).then(|| format!("rye sign {}", path.display()))
    }
}

/// Reads the verified file of the id, and copies it if the request asks for that.
///
/// # Errors
///
/// The function fails if the caller may not load the item, or if the item cannot be had. It fails if the item
/// cannot be copied: a copy replaces no other file.
pub fn load(
    project: &Project,
    request: &LoadRequest,
    caller: &Caller,
) -> Result<Loaded, PrimaryError> {
    caller.permit(Primary::Load, request.kind, &request.id)?;
    if let Some(destination) = request.destination {
        may_copy(caller, request, destination)?;
    }
    let item = project.library.without_drafts().text(request.kind, &request.id)?;
    let copied = request.destination.map(|destination| copy(project, &item, destination));
    let copied_to = copied.transpose().map_err(|source| PrimaryError::Copy {
        kind: request.kind,
        id: request.id.clone(),
        source: Box::new(source),
    })?;
    Ok(Loaded { item, copied_to })
}

/// Copying is writing: a caller that is not the operator needs what writes there. No capability is for a provider's
/// configuration, which says where prompts and keys go.
fn may_copy(
    caller: &Caller,
    request: &LoadRequest,
    destination: Destination,
) -> Result<(), PrimaryError> {
    let is_provider = request.kind == ItemKind::Tool && is_provider(&request.id);
    match destination {
        _ if caller.is_operator() => Ok(()),
        _ if is_provider => Err(PrimaryError::Configuration),
        _ => Ok(caller.authority().permit(&destination.capability().into()).map(drop)?),
    }
}

impl Destination {
    /// The capability of copying items there: that of writing files of the project, or that of the operator's own space, which
    /// no tool has.
    pub(crate) fn capability(self) -> Capability {
        let id = match self {
            Self::Project => "rye/file-system/write",
            Self::User => "rye/user-space/write",
        };
        Capability::new(Primary::Execute, Kind::Tool, id).expect("because it is a valid id")
    }
}

impl Loaded {
    /// Returns the facts about the item as JSON, with its raw text as `content` and its own description as
    /// `metadata`. `metadata` is `null` where it cannot be parsed. `copied_to` is the path of the copy, and `next` the
    /// command that signs it, if no key did.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut row = item::facts(&self.item);
        row.insert("metadata".to_owned(), reading::metadata(&self.item));
        row.insert("content".to_owned(), self.item.source.as_str().into());
        let copied_to = self.copied_to.as_ref().map(|path| path.to_string_lossy().into_owned());
        row.insert("copied_to".to_owned(), copied_to.into());
        if let Some(command) = self.signing_command() {
            row.insert("next".to_owned(), command.into());
        }
        Value::Object(row)
    }
}
