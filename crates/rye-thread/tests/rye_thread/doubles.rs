//! A scripted provider, a clock that stands still, tools made of functions, and a thread put together from them.

mod script;
mod thread;

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Primary};
use rye_sign::SigningKey;
use rye_thread::store::LocalStore;
use rye_thread::transcript::payload::Injected;
use rye_thread::transcript::{Event, Reading, read_file};
use rye_thread::{
    Account, ApprovalRequest, Approver, AuthorisedCall, Cancel, Charge, Clock, Decider, Decision,
    Delta, DeltaSink, DriveContext, FoundTranscript, Hooks, Journal, Observer, Opening, Outcome,
    OutputContract, OutputField, Palette, PaletteEntry, Provider, ProviderError,
    ProviderErrorClass, ProviderInfo, Registry, ReplayContext, Replayed, Reply, Request, Retry,
    Run, StopReason, ThreadId, ThreadRecord, Tool, ToolCall, ToolOutput, ToolSpec, drive, replay,
};
use rye_types::{Effect, Moment, Nanos, Prices, Usage};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub(crate) use self::script::*;
pub(crate) use self::thread::*;

/// Stands still until somebody moves it.
#[derive(Default)]
pub(crate) struct FakeClock(AtomicU64);

impl FakeClock {
    pub(crate) fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Moment {
        let seconds = i64::try_from(self.0.load(Ordering::Relaxed)).unwrap();
        Moment::from_unix_millis(1_795_197_600_000 + 1_000 * seconds)
    }

    fn elapsed(&self) -> Duration {
        // A clock may start anywhere.
        Duration::from_secs(5_000 + self.0.load(Ordering::Relaxed))
    }
}

#[derive(Default)]
struct Watching {
    events: Mutex<Vec<String>>,
    deltas: Mutex<Vec<String>>,
    records: Mutex<String>,
}

impl Observer for Watching {
    fn record(&self, line: &str) {
        self.records.lock().unwrap().push_str(&format!("{line}\n"));
    }

    fn event(&self, event: &Event) {
        self.events.lock().unwrap().push(event.name().to_owned());
    }

    fn delta(&self, delta: Delta<'_>) {
        self.deltas.lock().unwrap().push(format!("{delta:?}"));
    }
}

/// A tool that is one function.
pub(crate) struct Function<F>(pub F);

#[async_trait]
impl<F, R> Tool for Function<F>
where
    F: Fn(Value) -> R + Send + Sync,
    R: Future<Output = ToolOutput> + Send,
{
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        assert!(call.permit().capability().as_str().starts_with("rye.execute.tool."));
        (self.0)(call.into_arguments()).await
    }
}

/// A tool that takes an optional whole number `n`.
pub(crate) fn tool(id: &str, effect: Effect, tool: impl Tool + 'static) -> PaletteEntry {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "additionalProperties": false,
    });
    let capability = Capability::new(Primary::Execute, Kind::Tool, id).unwrap();
    PaletteEntry::new(id, ToolSpec::new("", "A tool.", schema), capability, effect, Arc::new(tool))
}

/// A tool that gives its arguments back.
pub(crate) fn echo(id: &str, effect: Effect) -> PaletteEntry {
    tool(id, effect, Function(|arguments| async { ToolOutput::ok(arguments) }))
}

pub(crate) fn score() -> OutputContract {
    OutputContract::new(vec![OutputField::required("score", rye_types::ValueType::Integer)])
        .unwrap()
}

/// Somebody who looks at the request.
pub(crate) type Judge = fn(&ApprovalRequest) -> Decision;

/// Somebody who always says the same, or nobody; unless somebody looks at the request.
pub(crate) struct Says {
    pub(crate) approves: Option<Decision>,
    pub(crate) decides: Option<Judge>,
}

#[async_trait]
impl Approver for Says {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(Decision, Decider)> {
        let decision = self.decides.map(|judge| judge(request)).or(self.approves.clone())?;
        Some((decision, Decider::prompt()))
    }
}

pub(crate) fn thread_id() -> ThreadId {
    ThreadId::new("test/greet", "019a0000-0000-7000-8000-000000000001").unwrap()
}
