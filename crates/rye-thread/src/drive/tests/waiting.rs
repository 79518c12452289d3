//! The waits for the disk of a whole conversation.

use rye_caps::{Capability, Grant, Kind, Layer, LayerName, Permit, Primary};
use serde_json::{Value, json};

use super::*;
use crate::database::Database;
use crate::durability::counted;
use crate::store::LocalStore;
use crate::{Effect, PaletteEntry, Tool, ToolCall, ToolOutput, ToolSpec};

const CALLS: u64 = 20;

/// Calls the tool that often, and then says one word.
#[derive(Default)]
struct Caller(Word);

#[async_trait]
impl Provider for Caller {
    fn describe(&self) -> ProviderInfo {
        self.0.describe()
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        let mut reply = self.0.complete(request).await?;
        let asked = self.0.0.load(Ordering::Relaxed);
        if asked <= CALLS {
            reply.stop = StopReason::ToolUse;
            reply.calls = vec![ToolCall::new(&asked.to_string(), "a_look", json!({}))];
        }
        Ok(reply)
    }
}

struct Look;

#[async_trait]
impl Tool for Look {
    async fn call(&self, _: &Permit, _: Value) -> ToolOutput {
        ToolOutput::ok(json!("seen"))
    }
}

fn palette(effect: Effect) -> Palette {
    let capability = Capability::new(Primary::Execute, Kind::Tool, "a/look").unwrap();
    let spec = ToolSpec::new("a_look", "Looks.", json!({"type": "object"}));
    let look = PaletteEntry::new("a/look", spec, capability, effect, Arc::new(Look));
    Palette::new(vec![look]).unwrap()
}

/// Drives a conversation of 20 calls on disk and returns the number of its waits.
async fn waits(effect: Effect) -> u64 {
    let place = tempfile::tempdir().unwrap();
    let threads = place.path().join("threads");
    let store = Arc::new(LocalStore::open(&threads).unwrap());
    let registry = Arc::new(store.registry());
    let thread = ThreadId::new("d", "019a0000-0000-7000-8000-000000000001").unwrap();
    let record = ThreadRecord::new(&thread, "d", &Limits::default(), Still.now());
    let key = Arc::new(SigningKey::generate().unwrap());
    let mut journal = Journal::create(&threads, record, key, registry, store).unwrap();
    let palette = palette(effect);
    let opening = Opening { system: None, first_user_message: "Look.".to_owned() };
    let contract = OutputContract::default();
    let limits = Limits { turns: CALLS + 1, ..Limits::default() };
    let run = Run::new(opening, palette.specs(&contract), contract, limits, 100);
    let operator = Layer::new(LayerName::Operator, Grant::everything());
    let context = DriveContext {
        provider: &Caller::default(),
        palette: &palette,
        authority: &Authority::new(operator),
        journal: &mut journal,
        clock: &Still,
        observer: &(),
        approver: &(),
        cancel: &Cancel::new(),
        injected: &[],
        hooks: &crate::Hooks::none(),
    };
    counted::take();
    let outcome = drive(run, context).await;
    assert_eq!((outcome.failure, outcome.turns), (None, CALLS + 1));
    counted::take()
}

/// One wait for each request, one for the end, and two for the names of the transcript and of its folder.
#[tokio::test]
async fn rule_18_a_turn_waits_for_the_disk_once() {
    assert_eq!(waits(Effect::ReadOnly).await, (CALLS + 1) + 1 + 2);
}

/// An intent is on disk before its effect, too.
#[tokio::test]
async fn rule_18_a_call_that_changes_something_waits_once_more() {
    assert_eq!(waits(Effect::Once).await, (CALLS + 1) + CALLS + 1 + 2);
}

/// The index is derived, so SQLite does not wait for it. No count of this crate holds its waits.
#[test]
fn rule_18_the_index_never_waits_for_the_disk() {
    let place = tempfile::tempdir().unwrap();
    let database = Database::open(&place.path().join("registry.db")).unwrap();
    let synchronous =
        database.read().query_row("PRAGMA synchronous", [], |row| row.get::<_, u8>(0));
    assert_eq!(synchronous, Ok(0), "0 is `off`");
}
