//! The parts of a thread's page that change while the thread runs.

use maud::Markup;
use serde_json::{Value, json};

use super::conversation::{PARTS, PARTS_BELOW, anchor, foot, outline, parts, turn};
use super::links::Links;
use super::panel::article;
use super::thread::about;
use super::timeline::timeline;
use crate::Source;
use crate::model::{Entry, Part, Thread};

/// The parts of the page that differ since it had so many records, each with its id and the id of the element that it is in.
///
/// A part that is not on the page yet is appended to the element.
pub(crate) fn update(source: &Source<'_>, part: &Part, token: Option<String>, since: u64) -> Value {
    let thread = Thread::read(source).with_decision(token).with_part(part);
    let links = Links::Served;
    let mut changes = vec![
        change("about", "main", &about(&thread, links)),
        change("timeline", "main", &timeline(&thread)),
        change("outline", "main", &outline(&thread)),
        change("foot", "main", &foot(&thread)),
    ];
    for place in [&PARTS, &PARTS_BELOW] {
        changes.push(change(place.id, "conversation", &parts(&thread, place)));
    }
    let first = usize::try_from(since).unwrap_or(usize::MAX);
    let sections = thread.shown_sections();
    for section in
        sections.iter().filter(|section| section.entries.iter().any(|entry| is_new(entry, first)))
    {
        let turn = turn(&thread, section, links);
        changes.push(change(&anchor(&thread, section), "conversation", &turn));
    }
    for record in thread.shown_records().filter(|record| since <= record.seq) {
        changes.push(change(&thread.panel_id(record.seq), "record", &article(&thread, record)));
    }
    json!({
        "records": thread.records().len(),
        "first": thread.shown_records().next().map(|record| record.seq),
        "turns": sections.iter().map(|section| anchor(&thread, section)).collect::<Vec<_>>(),
        "state": source.standing,
        "ended": !source.may_change(),
        "parts": changes,
    })
}

fn change(id: &str, inside: &str, markup: &Markup) -> Value {
    json!([id, inside, markup.0])
}

/// Returns `true` if the entry, its result or a child that it started is among the new records.
fn is_new(entry: &Entry, first: usize) -> bool {
    entry.records().any(|index| first <= index)
}
