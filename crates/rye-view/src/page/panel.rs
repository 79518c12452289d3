//! The side panel: the line of a record, its hash and its checkpoint.

use maud::{Markup, html};
use rye_transcript::Record;
use serde_json::{Value, json};

use super::chain::hash_of;
use super::document::icon;
use super::figures::{bytes, hex_groups, offset, time_of_day};
use super::text::{Shown, block};
use crate::Signer;
use crate::model::Thread;

/// The panel with every record of the page; the style shows the one that the address names.
pub(crate) fn panel(thread: &Thread<'_>) -> Markup {
    html! {
        aside.panel id={ (thread.prefix) "record" } aria-label=(thread.label("Record")) {
            @for record in thread.shown_records() { (article(thread, record)) }
        }
    }
}

/// The line of one record.
pub(crate) fn article(thread: &Thread<'_>, record: &Record) -> Markup {
    let seq = record.seq;
    let last = thread.records().last().map_or(0, |last| last.seq);
    let hash = hash_of(thread.source.reading, seq);
    html! {
        article.one id=(thread.panel_id(seq)) aria-labelledby={ (thread.prefix) "hp" (seq) } {
            header {
                h2 id={ (thread.prefix) "hp" (seq) } { "Record " (seq) }
                span.t2 { (Shown(record.name())) }
                span.end {
                    @if let Some(before) = seq.checked_sub(1) { a href=(thread.panel_address(before)) aria-label="Previous record" { "Previous" } }
                    @if seq < last { a href=(thread.panel_address(seq + 1)) aria-label="Next record" { "Next" } }
                }
            }
            dl.kv {
                dt { "Time" } dd { (time_of_day(record.at)) ", " (offset(thread.active_at(record))) " into the thread" }
            }
            h3 { "Hash of this line" } p.hash { (hex_groups(&hash, 8)) }
            h3 { "Hash of the line before" } p.hash { (hex_groups(&record.prev.to_string(), 8)) }
            h3 { "Checkpoint" } (checkpoint(thread, seq))
            h3 { "Payload " span.t3 { (bytes(record.payload.get().len())) } }
            (block(&pretty(record)))
        }
    }
}

fn checkpoint(thread: &Thread<'_>, seq: u64) -> Markup {
    let is_trusted = thread.source.signer == Signer::Trusted;
    html! {
        p {
            @match (thread.checkpoint_of(seq), is_trusted) {
                (Some(at), true) => { (icon("seal")) " Covered by " a href=(thread.panel_address(at)) { "checkpoint " (at) } ", signature valid" }
                (Some(at), false) => { "Covered by " a href=(thread.panel_address(at)) { "checkpoint " (at) } ", under a key made for this thread" }
                (None, _) if thread.checkpoints.last() == Some(&seq) => "The last checkpoint: it signs the records before it.",
                (None, _) => "Linked to the records before it. No checkpoint signs it yet.",
            }
        }
    }
}

/// The payload, indented. One that is very long stays as it is, because it is cut anyway.
fn pretty(record: &Record) -> String {
    const LONGEST: usize = 1 << 20;
    let text = record.payload.get();
    if LONGEST < text.len() {
        return text.to_owned();
    }
    let value: Value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    format!("{value:#}")
}
