//! The needs that the calls of threads show.

use rye_caps::{Capability, Kind, Pattern, Primary};
use rye_project::{CalledItems, NeedSource, Needs, Plan};
use rye_resolve::ItemId;
use rye_transcript::payload::Intent;
use rye_transcript::{Event, Reading, ThreadRecord};

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
    for (_, event) in transcript.events() {
        match event {
            Ok(Event::ToolCallStart(call)) => called.extend(begun_call(call)),
            // A tool that refuses by itself was permitted and called.
            Ok(Event::ToolCallResult(receipt))
                if receipt.refusal.as_ref().is_some_and(|refusal| refusal.pattern.is_some()) =>
            {
                let begun = called.iter().rposition(|call| call.id == receipt.call_id);
                begun.map(|place| called.remove(place));
            }
            _ => {}
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

/// The call as one of a tool, if it means one.
fn begun_call(call: Intent) -> Option<Called> {
    let target = call.target?;
    let pattern: Pattern = target.capability.parse().ok()?;
    let directive = call.arguments.get("directive").and_then(|id| id.as_str()?.parse().ok());
    let started = |id: &ItemId| {
        let capability = Capability::new(Primary::Execute, Kind::Directive, id.as_str());
        capability.is_ok_and(|capability| pattern == Pattern::exactly(&capability))
    };
    let is_inline = target.item_id.starts_with("rye_");
    let child = directive.filter(|id| !is_inline && started(id));
    Some(Called { id: call.call_id, item: target.item_id, pattern, child })
}
