//! The page of one thread.

use maud::{Markup, html};

use super::conversation::{conversation, outline};
use super::document::document;
use super::figures::short_id;
use super::links::Links;
use super::panel::panel;
use super::summary::{head, summary};
use super::text::Shown;
use super::timeline::timeline;
use crate::Source;
use crate::model::{Part, Thread};

/// The page as a file that stands alone.
pub(crate) fn file(source: &Source<'_>) -> String {
    let thread = Thread::read(source);
    let title = format!("{} {}", source.record.directive, short_id(source.record.thread.as_str()));
    document(&title, &source.project, Links::File, &body(&thread, Links::File)).into_string()
}

/// The page as a server shows it, with links to other threads. With a token, the call that waits can be decided on.
pub(crate) fn served_page(source: &Source<'_>, part: &Part, token: Option<String>) -> String {
    let thread = Thread::read(source).with_decision(token).with_part(part);
    let title = format!("{} {}", source.record.directive, short_id(source.record.thread.as_str()));
    document(&title, &source.project, Links::Served, &body(&thread, Links::Served)).into_string()
}

/// The title and the summary.
pub(crate) fn about(thread: &Thread<'_>, links: Links) -> Markup {
    html! { div #about { (head(thread, links)) (summary(thread, links)) } }
}

/// The line that says how new the page is. The script follows the thread from its last record on.
fn status(thread: &Thread<'_>) -> Markup {
    let id = &thread.source.record.thread;
    let since = thread.records().len();
    let older = thread.window.as_ref().filter(|window| !window.is_newest());
    let record = older.map(|window| format!("&record={}", window.records().start));
    let address = format!("../events/{id}?since={since}{}", record.unwrap_or_default());
    html! {
        p.live.t3 #live role="status" data-events=(address) { "Without the script, this page shows the thread as it was when it was opened." }
    }
}

/// The page as a file, with the pages of all descendants.
pub(crate) fn tree_file(source: &Source<'_>) -> String {
    let mut below = Vec::new();
    collect_below(source, &mut below);
    let thread = Thread::read(source);
    let title = format!("{} {}", source.record.directive, short_id(source.record.thread.as_str()));
    let all = html! {
        (body(&thread, Links::Tree))
        @for (place, source) in below.iter().enumerate() { (inside(source, place + 1)) }
    };
    document(&title, &source.project, Links::Tree, &all).into_string()
}

/// The descendants of a thread, each before its own children.
fn collect_below<'a, 's>(source: &'a Source<'s>, below: &mut Vec<&'a Source<'s>>) {
    for child in &source.children {
        below.push(child);
        collect_below(child, below);
    }
}

/// A thread below the first of the page.
fn inside(source: &Source<'_>, number: usize) -> Markup {
    let thread = Thread::read(source).with_prefix(&format!("c{number}-"));
    let id = source.record.thread.as_str();
    html! {
        section.inside id={ "thread-" (id) } aria-label={ "Thread " (id) } {
            h2.sec { "Child " (number) ": " (Shown(&source.record.directive)) " " span.t3.m { (short_id(id)) } }
            (summary(&thread, Links::Tree))
            (timeline(&thread))
            div.work {
                (conversation(&thread, Links::Tree))
                (panel(&thread))
            }
        }
    }
}

fn body(thread: &Thread<'_>, links: Links) -> Markup {
    html! {
        (about(thread, links))
        (timeline(thread))
        @if thread.is_followed() { (status(thread)) }
        div.work {
            (outline(thread))
            (conversation(thread, links))
            (panel(thread))
        }
        footer.made {
            "Written by rye " (env!("CARGO_PKG_VERSION")) " from a transcript that was verified first. This page has no signature of its own: "
            code { "rye threads verify" } " checks the thread itself."
        }
    }
}
