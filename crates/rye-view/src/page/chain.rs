//! The state of a thread's hash chain and of its signatures.

use maud::{Markup, html};
use rye_transcript::Reading;

use super::document::icon;
use super::figures::{count_noun, day_and_time, hex_groups, key};
use super::text::Shown;
use crate::Signer;
use crate::model::Thread;

/// The section of the summary that says what was verified.
pub(crate) fn verification(thread: &Thread<'_>) -> Markup {
    let reading = thread.source.reading;
    html! {
        section.chain aria-labelledby={ (thread.prefix) "h-v" } {
            h2 id={ (thread.prefix) "h-v" } { "Verification" }
            p { (verdict(thread)) }
            (strip(thread))
            dl.kv {
                dt { "Head" } dd.m { (short_hash(&reading.head.to_string())) }
                @for signer in &reading.signers { dt { "Key" } dd { span.m { (key(signer.as_str())) } ", " (trust(thread)) } }
                dt { "Authority" } dd { (authority(thread)) }
                dt { "Verified" } dd { (day_and_time(thread.source.verified_at)) }
            }
        }
    }
}

fn trust(thread: &Thread<'_>) -> &'static str {
    match thread.source.signer {
        Signer::Trusted => "trusted here",
        Signer::OwnKey => "made for this thread",
    }
}

fn verdict(thread: &Thread<'_>) -> Markup {
    let records = thread.records().len();
    let checkpoints = count_noun(thread.checkpoints.len(), "checkpoint");
    let tail = records.saturating_sub(thread.signed_records());
    html! {
        @match (thread.source.signer, tail) {
            (Signer::OwnKey, _) => {
                strong { "Linked, not verified. " }
                span.t2 { "All " (count_noun(records, "record")) " fit together under a key that was made for this thread. It shows changes, and not who wrote them." }
            }
            (Signer::Trusted, 0) => {
                (icon("seal")) " " strong { "Verified" } " "
                span.t2 { (records) " of " (count_noun(records, "record")) ", " (checkpoints) }
            }
            (Signer::Trusted, tail) => {
                (icon("seal")) " " strong { "Verified to record " (thread.signed_records() - 1) } " "
                span.t2 { (count_noun(tail, "record")) " after it, linked but not signed yet" }
            }
        }
    }
}

/// The records as a strip: signed ones are dark, linked ones pale, checkpoints are marks.
fn strip(thread: &Thread<'_>) -> Markup {
    let records = thread.records().len().max(1);
    #[expect(clippy::cast_precision_loss, reason = "a picture has fewer places than that")]
    let x = |place: usize| format!("{:.1}%", place as f64 * 100.0 / records as f64);
    let signed = thread.signed_records();
    let is_trusted = thread.source.signer == Signer::Trusted;
    let step = thread.checkpoints.len() / MOST_MARKS + 1;
    html! {
        svg aria-hidden="true" {
            @if is_trusted { rect.ok y="5" width=(x(signed)) height="10" {} }
            @else { rect.lnk y="5.5" width=(x(signed)) height="9" {} }
            @if signed < records { rect.lnk x=(x(signed)) y="5.5" width=(x(records - signed)) height="9" {} }
            @for checkpoint in thread.checkpoints.iter().rev().step_by(step) {
                @let place = x(usize::try_from(*checkpoint).unwrap_or(0) + 1);
                line.cp x1=(place) x2=(place) y1="1" y2="19" {}
            }
        }
    }
}

/// The most checkpoints that are marked one by one.
const MOST_MARKS: usize = 200;

fn authority(thread: &Thread<'_>) -> Markup {
    let patterns = thread.source.patterns.last().map_or(0, Vec::len);
    let refused = usize::try_from(thread.refusals).unwrap_or(usize::MAX);
    html! {
        @if thread.source.patterns.is_empty() { "the thread never began" } @else {
            details.inline {
                summary {
                    (count_noun(patterns, "pattern"))
                    @if refused > 0 { ", " (count_noun(refused, "call")) " refused" }
                    @if !thread.approvals.is_empty() { ", " (thread.approvals.len()) " asked" }
                }
                @for (place, list) in thread.source.patterns.iter().enumerate() {
                    p.t3 { "List " (place + 1) " of " (thread.source.patterns.len()) @if list.is_empty() { ": allows nothing" } }
                    ul { @for pattern in list { li.m { (Shown(pattern)) } } }
                }
            }
        }
    }
}

/// The beginning and the end of a hash.
fn short_hash(hash: &str) -> String {
    let part = |range: std::ops::Range<usize>| hash.get(range).unwrap_or_default();
    format!("{} … {}", hex_groups(part(0..16), 8), part(56..64))
}

/// The hash of all records up to and with one.
pub(crate) fn hash_of(reading: &Reading, seq: u64) -> String {
    reading.head_after(seq + 1).map_or_else(String::new, ToString::to_string)
}
