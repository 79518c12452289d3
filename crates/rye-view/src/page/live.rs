//! The parts of a thread's page that change while the thread runs.

use maud::Markup;
use serde_json::{Value, json};

use super::conversation::{anchor, foot, outline, turn};
use super::links::Links;
use super::panel::article;
use super::thread::about;
use super::timeline::timeline;
use crate::Source;
use crate::model::{Entry, Thread};

/// The parts of the page that differ since it had so many records, each with its id and the id of the element that it is in.
///
/// A part that is not on the page yet is appended to the element.
pub(crate) fn update(source: &Source<'_>, token: Option<String>, since: u64) -> Value {
    let thread = Thread::read(source).with_decision(token);
    let links = Links::Served;
    let mut parts = vec![
        part("about", "main", &about(&thread, links)),
        part("timeline", "main", &timeline(&thread)),
        part("outline", "main", &outline(&thread)),
        part("foot", "main", &foot(&thread)),
    ];
    let first = usize::try_from(since).unwrap_or(usize::MAX);
    for section in thread
        .sections
        .iter()
        .filter(|section| section.entries.iter().any(|entry| is_new(entry, first)))
    {
        parts.push(part(&anchor(&thread, section), "conversation", &turn(&thread, section, links)));
    }
    for record in thread.records().iter().skip(first) {
        parts.push(part(&thread.panel_id(record.seq), "record", &article(&thread, record)));
    }
    json!({
        "records": thread.records().len(),
        "state": source.standing,
        "ended": !source.may_change(),
        "parts": parts,
    })
}

fn part(id: &str, inside: &str, markup: &Markup) -> Value {
    json!([id, inside, markup.0])
}

/// Returns `true` if the entry, its result or a child that it started is among the new records.
fn is_new(entry: &Entry, first: usize) -> bool {
    let later = [Some(entry.index), entry.result].into_iter().flatten();
    later.chain(entry.children.iter().copied()).any(|index| first <= index)
}
