//! The operations on items as a thread has them, beside the tools that it runs (SPEC 12.4).

mod inline;
mod signing;

use std::sync::Arc;

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Kind, Primary};
use rye_thread::{
    Asking, AuthorisedCall, Need, Needs, Palette, PaletteEntry, PaletteError, Tool, ToolOutput,
    ToolSpec,
};
use rye_types::Effect;
use serde_json::Value;

use self::inline::with_inline;
pub(super) use self::inline::{Directions, Structure};
pub use self::signing::directive_additions;
use super::tree_access::TreeAccess;
use crate::outcome::Class;
use crate::primary::{
    Asked, Caller, Destination, FetchRequest, KINDS, LoadRequest, Operation, PrimaryError, fetch,
};
use crate::project::Project;

/// Offers the operations, of which the model is shown those that the authority leaves anything to do with.
///
/// Every signature waits for the operator's approval. It says that its owner stands behind a text,
/// which no model can.
pub(super) fn with_operations(
    palette: Palette,
    project: &Project,
    authority: &Authority,
    asked: &Grant,
    tree: &Arc<dyn TreeAccess>,
    directions: Directions,
) -> Result<Palette, PaletteError> {
    let project = Arc::new(project.without_drafts());
    let palette = with_inline(palette, &project, authority, asked, directions)?;
    let entry = |operation: Operation| {
        let project = Arc::clone(&project);
        let tree = Arc::clone(tree);
        let thread = InThread { operation, project, asked: asked.clone(), tree };
        entry(Arc::new(thread), authority).asking_for(asked)
    };
    let is_open = |entry: &PaletteEntry| {
        let operation = Operation::ALL.iter().copied().find(|it| it.name() == entry.item_id);
        operation.is_some_and(|operation| is_open(operation, authority))
    };
    palette.with_operations(Operation::ALL.iter().copied().map(entry).collect(), is_open)
}

fn is_open(operation: Operation, authority: &Authority) -> bool {
    operation.primaries().iter().any(|primary| {
        Kind::ALL.iter().copied().any(|kind| authority.closed_by(*primary, kind).is_none())
    })
}

fn entry(tool: Arc<InThread>, authority: &Authority) -> PaletteEntry {
    let operation = tool.operation;
    let description = match operation {
        Operation::Sign => signing::DESCRIPTION,
        _ => operation.description(),
    };
    let spec = ToolSpec::new("", description, operation.schema_for(authority));
    let (effect, asking) = match operation {
        // What lies there after an interruption may be another text than the one that was approved.
        Operation::Sign => (Effect::Once, Asking::Always),
        _ => (Effect::ReadOnly, Asking::Never),
    };
    let needs: Arc<dyn Needs> = Arc::clone(&tool) as _;
    PaletteEntry::operation(operation.name(), spec, needs, effect, tool).with_asking(asking)
}

/// An operation of one thread.
struct InThread {
    operation: Operation,
    project: Arc<Project>,
    /// The calls that wait for an approval each time.
    asked: Grant,
    tree: Arc<dyn TreeAccess>,
}

#[async_trait]
impl Needs for InThread {
    async fn proposal(
        &self,
        arguments: &Value,
        authority: &Authority,
    ) -> Result<Option<Value>, ToolOutput> {
        let asked = Asked::of(self.operation, arguments.clone());
        let Asked::Sign(request) = asked.map_err(|error| error_output(&error))? else {
            return Ok(None);
        };
        let caller = Caller::thread(authority.clone());
        let has_key = self.tree.has_signing_key();
        let project = Arc::clone(&self.project);
        let asked = self.asked.clone();
        // The text is checked with all items that it draws in, which may be thousands.
        let propose = move || signing::proposal(&project, &request, has_key, (&caller, &asked));
        let proposal =
            tokio::task::spawn_blocking(propose).await.unwrap_or_else(|_| Err(no_answer_error()));
        proposal.map(Some).map_err(|error| error_output(&error))
    }

    fn effect(&self, arguments: &Value) -> Option<Effect> {
        // A copy that is there already is left as it is.
        Self::copies(arguments).then_some(Effect::Idempotent)
    }

    fn need(&self, arguments: &Value, _: &Authority) -> Result<Need, ToolOutput> {
        let asked = Asked::of(self.operation, arguments.clone());
        let asked = asked.map_err(|error| error_output(&error))?;
        let mut writes = None;
        let (primary, kind, id) = match &asked {
            Asked::Sign(request) => (Primary::Sign, request.kind, &request.id),
            Asked::Read(FetchRequest::Load(LoadRequest { kind, id, destination, .. })) => {
                writes = destination.map(Destination::capability);
                (Primary::Load, *kind, id)
            }
            Asked::Read(FetchRequest::Search(query)) => {
                let kinds = query.kinds().into_iter().filter_map(kind_of).collect();
                return Ok(Need::AnyOf(Primary::Search, kinds));
            }
        };
        let kind = kind_of(kind).ok_or_else(|| error_output(&PrimaryError::Configuration))?;
        let capability = Capability::new(primary, kind, id.as_str());
        capability
            .map(|capability| match writes {
                Some(writing) => Need::All(capability, vec![writing]),
                None => Need::Exactly(capability),
            })
            .map_err(|error| error_output(&PrimaryError::usage(error.to_string())))
    }
}

fn kind_of(kind: rye_types::ItemKind) -> Option<Kind> {
    KINDS.contains(&kind).then(|| kind.as_str().parse().ok())?
}

impl InThread {
    fn copies(arguments: &Value) -> bool {
        arguments.get("destination").is_some()
    }
}

#[async_trait]
impl Tool for InThread {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let caller = Caller::thread(call.permit().authority().clone());
        let arguments = call.into_arguments();
        let done = match Asked::of(
            self.operation,
            signing::without_shown_parts(self.operation, arguments),
        ) {
            Ok(Asked::Read(request)) => {
                let project = Arc::clone(&self.project);
                let read =
                    move || fetch(&project, &request, &caller).map(|fetched| fetched.to_json());
                tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| Err(no_answer_error()))
            }
            Ok(Asked::Sign(request)) => {
                let key = self.tree.signing_key().await;
                let project = Arc::clone(&self.project);
                let asked = self.asked.clone();
                let sign = move || {
                    let signed = signing::sign(&project, &request, key, (&caller, &asked));
                    signed.map(|signed| signed.to_json())
                };
                tokio::task::spawn_blocking(sign).await.unwrap_or_else(|_| Err(no_answer_error()))
            }
            Err(error) => Err(error),
        };
        done.map_or_else(|error| error_output(&error), ToolOutput::ok)
    }
}

fn no_answer_error() -> PrimaryError {
    PrimaryError::Failed { message: "the operation ended without an answer".to_owned() }
}

/// Returns the error as tool output, in the same words for every surface.
fn error_output(error: &PrimaryError) -> ToolOutput {
    match error.class() {
        Class::Refused => ToolOutput::refusal(error.to_json()),
        _ => ToolOutput::error(error.to_json()),
    }
}
