//! An executor and hooks without a loop around them, and notes of what they do.

use std::sync::Mutex;

use rye_caps::{Capability, Grant, Kind, Layer, LayerName, Primary};
use rye_types::Effect;
use serde_json::{Map, json};

use super::*;
use crate::{
    AddedItem, ApprovalRequest, AuthorisedCall, Decider, Decision, Hooks, PaletteEntry, Tool,
    ToolOutput, ToolSpec,
};

/// Notes what happens, in its order.
#[derive(Default)]
pub(super) struct Notes(Mutex<Vec<String>>);

impl Notes {
    pub(super) fn add(&self, note: &str) {
        self.0.lock().unwrap().push(note.to_owned());
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Notes {
    fn event(&self, event: &Event) {
        self.add(event.name());
    }
}

#[async_trait]
impl Approver for Notes {
    async fn decide(&self, _: &ApprovalRequest) -> Option<(Decision, Decider)> {
        self.add("the operator approves");
        Some((Decision::Approved, Decider::prompt()))
    }
}

/// A tool that notes its calls, and adds an item to the conversation whose signer may grant nothing.
struct Noting {
    notes: Arc<Notes>,
    adds: bool,
}

#[async_trait]
impl Tool for Noting {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        self.notes.add(&format!("effect {}", call.arguments()));
        let item = AddedItem::new(Map::new()).signed_by("a key", vec![Grant::nothing()]);
        ToolOutput::ok(json!("done")).with_added(if self.adds { vec![item] } else { Vec::new() })
    }
}

pub(super) fn entry(notes: &Arc<Notes>, effect: Effect, adds: bool) -> PaletteEntry {
    let capability = Capability::new(Primary::Execute, Kind::Tool, "a/note").unwrap();
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let spec = ToolSpec::new("a_note", "Notes.", schema);
    let tool = Arc::new(Noting { notes: Arc::clone(notes), adds });
    PaletteEntry::new("a/note", spec, capability, effect, tool)
}

/// Everything that the owners of a run depend on.
pub(super) struct Shop {
    pub(super) notes: Arc<Notes>,
    pub(super) cancel: Cancel,
    pub(super) hooks: Hooks,
    palette: Palette,
    authority: Authority,
    place: Place,
}

impl Shop {
    pub(super) fn new(notes: &Arc<Notes>, entry: PaletteEntry) -> Self {
        let everything = Layer::new(LayerName::Operator, Grant::everything());
        let palette = Palette::new(vec![entry]).unwrap();
        let authority = Authority::new(everything);
        let notes = Arc::clone(notes);
        let cancel = Cancel::new();
        let hooks = Hooks::none();
        Self { notes, cancel, hooks, palette, authority, place: Place::new() }
    }

    /// Returns the owners of a run.
    pub(super) fn driver(&mut self, run: &Run) -> Driver<'_> {
        let context = DriveContext {
            provider: &self.place.provider,
            palette: &self.palette,
            authority: &self.authority,
            journal: &mut self.place.journal,
            clock: &Still,
            observer: &*self.notes,
            approver: &*self.notes,
            cancel: &self.cancel,
            injected: &[],
            hooks: &self.hooks,
        };
        Driver::new(run, context, None)
    }
}
