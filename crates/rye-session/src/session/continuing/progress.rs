//! The progress of a continued thread, for its successor: messages, calls and results, without
//! reasoning.

use std::collections::BTreeMap;

use rye_thread::ThreadRecord;
use rye_thread::transcript::{Event, EventKind, Reading, Record};
use serde_json::Value;

/// The most bytes of what was done that a continuation is told, the newest kept.
const MOST_BYTES: usize = 24_000;
/// The most bytes of one of these lines.
const MOST_LINE: usize = 1_500;

/// Returns the values that a continuation directive may take as inputs.
pub(crate) fn continuation_inputs(
    record: &ThreadRecord,
    reading: &Reading,
) -> BTreeMap<String, Value> {
    let last_text = reading.of_kind(EventKind::AssistantText).next_back();
    let last_text = last_text.and_then(|record| match record.event() {
        Ok(Event::AssistantText(said)) => Some(shorten(said.text.replace("</", "&lt;/"))),
        _ => None,
    });
    BTreeMap::from([
        ("thread".to_owned(), record.thread.as_str().into()),
        ("directive".to_owned(), record.directive.as_str().into()),
        ("turns".to_owned(), record.turns.into()),
        ("last_text".to_owned(), last_text.unwrap_or_default().into()),
        ("progress".to_owned(), progress(reading).into()),
    ])
}

fn progress(reading: &Reading) -> String {
    let lines: Vec<String> = reading.records.iter().filter_map(line).collect();
    let mut kept = 0;
    let mut bytes = 0;
    for line in lines.iter().rev() {
        bytes += line.len() + 1;
        if bytes > MOST_BYTES {
            break;
        }
        kept += 1;
    }
    let left_out = lines.len() - kept;
    let note = (left_out > 0).then(|| format!("({left_out} earlier entries are left out)"));
    note.into_iter().chain(lines.into_iter().skip(left_out)).collect::<Vec<_>>().join("\n")
}

fn line(record: &Record) -> Option<String> {
    let text = match record.event().ok()? {
        Event::AssistantText(said) => format!("- said: {}", said.text),
        Event::ToolCallStart(intent) if intent.hook.is_none() => {
            let name = intent.target.map_or(intent.name, |target| target.item_id);
            format!("- called {name} with {}", intent.arguments)
        }
        Event::ToolCallResult(receipt) if receipt.hook.is_none() => {
            let sort = if receipt.is_error { "failed" } else { "gave" };
            format!("  {sort}: {}", receipt.content)
        }
        _ => return None,
    };
    // What was found must not close the element that it stands in.
    Some(shorten(text.replace("</", "&lt;/")))
}

fn shorten(mut text: String) -> String {
    if text.len() > MOST_LINE {
        let end = (0..=MOST_LINE).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" […]");
    }
    text
}
