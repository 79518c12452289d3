//! The needs that the calls of threads show.

use rye_caps::{Capability, Kind, Pattern, Primary};
use rye_project::{CalledItems, NeedSource, Needs, Plan};
use rye_resolve::ItemId;
use rye_transcript::{Reading, Record, ThreadRecord};
use serde_json::Value;

/// Adds the permitted calls of threads, and what the children that they started declare. What a model may need is then what
/// it needed in these threads.
pub(super) fn of_threads(
    threads: &[(&ThreadRecord, &Reading)],
    plan: &Plan,
    items: &dyn CalledItems,
    needs: &mut Needs,
) {
    if !threads.is_empty() {
        needs.tell_by_threads();
    }
    for (thread, transcript) in threads {
        let source = NeedSource::Thread(thread.thread.clone());
        for call in permitted_calls(transcript) {
            if let Some(child) = &call.child {
                // `rye_execute` starts threads without the tool for that, which is then not granted.
                let tool = Capability::new(Primary::Execute, Kind::Tool, &call.item);
                let tool = tool.ok().filter(|tool| plan.authority.allows(tool));
                tool.iter().for_each(|tool| needs.add(Pattern::exactly(tool), &source));
                needs.add_child(&source, child, items);
            }
            needs.add(call.pattern, &source);
        }
    }
}

/// The calls of a thread that its authority permitted. The transcript names for each call the capability that the call
/// asked for.
fn permitted_calls(transcript: &Reading) -> Vec<Called> {
    // Calls that follow each other may be begun before the first of them is answered.
    let mut called: Vec<Called> = Vec::new();
    for record in &transcript.records {
        called.extend(begun_call(record));
        if let Some(denied) = denied_call(record)
            && let Some(place) = called.iter().rposition(|call| call.id == denied)
        {
            called.remove(place);
        }
    }
    called
}

/// A call that means a tool.
#[derive(Debug)]
struct Called {
    id: String,
    /// The item that was called.
    item: String,
    /// One capability; of a search, those of a kind.
    pattern: Pattern,
    /// The directive that the call started as a thread.
    child: Option<ItemId>,
}

/// The call that a record begins.
fn begun_call(record: &Record) -> Option<Called> {
    let payload = (record.event == "tool_call_start").then(|| payload(record))?;
    let text = |place: &str| payload.pointer(place).and_then(Value::as_str);
    let pattern: Pattern = text("/target/capability")?.parse().ok()?;
    let item = text("/target/item_id")?.to_owned();
    let directive = text("/arguments/directive").and_then(|id| id.parse::<ItemId>().ok());
    let started = |id: &ItemId| {
        let capability = Capability::new(Primary::Execute, Kind::Directive, id.as_str());
        capability.is_ok_and(|capability| pattern == Pattern::exactly(&capability))
    };
    let is_inline = item.starts_with("rye_");
    let child = directive.filter(|id| !is_inline && started(id));
    Some(Called { id: text("/call_id")?.to_owned(), item, pattern, child })
}

/// The id of the call that, says a record, the authority denied; a tool that refuses by itself was permitted and called.
fn denied_call(record: &Record) -> Option<String> {
    let payload = (record.event == "tool_call_result").then(|| payload(record))?;
    let is_denied = payload["refusal"]["pattern"].is_string();
    is_denied.then(|| payload["call_id"].as_str().map(str::to_owned))?
}

fn payload(record: &Record) -> Value {
    serde_json::from_str(record.payload.get()).unwrap_or_default()
}
