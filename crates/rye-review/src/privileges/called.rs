//! The needs that the calls of threads show.

use rye_caps::Pattern;
use rye_project::{NeedSource, Needs};
use rye_transcript::{Reading, Record, ThreadRecord};
use serde_json::Value;

/// Adds the permitted calls of a thread. The transcript names for each call the capability that the call
/// asked for.
pub(super) fn of_thread(thread: &ThreadRecord, transcript: &Reading, needs: &mut Needs) {
    let source = NeedSource::Thread(thread.thread.clone());
    // Calls that follow each other may be begun before the first of them is answered.
    let mut called: Vec<Called> = Vec::new();
    for record in &transcript.records {
        called.extend(begun_call(record));
        if let Some(denied) = denied_call(record)
            && let Some(place) = called.iter().rposition(|call| *call == denied)
        {
            called.remove(place);
        }
    }
    called.into_iter().for_each(|call| needs.add(call.pattern, &source));
}

/// A call that means a tool.
#[derive(Debug, PartialEq, Eq)]
struct Called {
    id: String,
    /// One capability; of a search, those of a kind.
    pattern: Pattern,
}

impl Called {
    fn of(payload: &Value, capability: &Value) -> Option<Self> {
        let id = payload["call_id"].as_str()?.to_owned();
        Some(Self { id, pattern: capability.as_str()?.parse().ok()? })
    }
}

/// The call that a record begins.
fn begun_call(record: &Record) -> Option<Called> {
    let payload = (record.event == "tool_call_start").then(|| payload(record))?;
    Called::of(&payload, payload.pointer("/target/capability")?)
}

/// The call that, says a record, the authority denied; a tool that refuses by itself was permitted and called.
fn denied_call(record: &Record) -> Option<Called> {
    let payload = (record.event == "tool_call_result").then(|| payload(record))?;
    let refusal = payload.get("refusal").filter(|refusal| refusal["pattern"].is_string())?;
    Called::of(&payload, &refusal["capability"])
}

fn payload(record: &Record) -> Value {
    serde_json::from_str(record.payload.get()).unwrap_or_default()
}
