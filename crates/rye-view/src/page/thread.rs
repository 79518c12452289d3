//! The page of one thread.

use maud::{Markup, html};

use super::conversation::{conversation, outline};
use super::document::document;
use super::figures::short_id;
use super::links::Links;
use super::panel::panel;
use super::summary::{head, summary};
use super::timeline::timeline;
use crate::Source;
use crate::model::Thread;

/// The page as a file that stands alone.
pub(crate) fn file(source: &Source<'_>) -> String {
    let thread = Thread::read(source);
    let title = format!("{} {}", source.record.directive, short_id(source.record.thread.as_str()));
    document(&title, &source.project, Links::File, &body(&thread, Links::File)).into_string()
}

/// The page as a server shows it, with links to other threads.
pub(crate) fn served(source: &Source<'_>) -> String {
    let thread = Thread::read(source);
    let title = format!("{} {}", source.record.directive, short_id(source.record.thread.as_str()));
    document(&title, &source.project, Links::Served, &body(&thread, Links::Served)).into_string()
}

fn body(thread: &Thread<'_>, links: Links) -> Markup {
    html! {
        (head(thread))
        (summary(thread, links))
        (timeline(thread, links))
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
