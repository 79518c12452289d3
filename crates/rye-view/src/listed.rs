//! The rows of the list of threads, and the filters over them.

mod sort;

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rye_transcript::ThreadId;
use rye_types::{Moment, Nanos, Usage};

pub(crate) use self::sort::{Column, Sort};

/// One row of the list of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The thread.
    pub thread: ThreadId,
    /// The thread that started it.
    pub parent: Option<ThreadId>,
    /// The id of the directive that it follows.
    pub directive: String,
    /// The state in one word: that of the record, or `stopped`.
    pub standing: &'static str,
    /// The time at which it got its folder.
    pub created: Moment,
    /// The time of its last change.
    pub updated: Moment,
    /// The cost of the thread and its descendants.
    pub cost: Nanos,
    /// The model's id, once it is known.
    pub model: Option<String>,
    /// The number of answered requests.
    pub turns: u64,
    /// The tokens of the thread's own requests, without those of its children.
    pub usage: Usage,
    /// The time from its creation to its last change, with approval waits.
    pub duration: Duration,
}

impl Listed {
    /// A row without a parent and without figures.
    #[must_use]
    pub fn new(thread: ThreadId, directive: &str, standing: &'static str, created: Moment) -> Self {
        let directive = directive.to_owned();
        Self {
            thread,
            parent: None,
            directive,
            standing,
            created,
            updated: created,
            cost: Nanos::ZERO,
            model: None,
            turns: 0,
            usage: Usage::default(),
            duration: Duration::ZERO,
        }
    }

    /// All input tokens, those of a cache included.
    pub(crate) fn input(&self) -> u64 {
        self.usage.total().saturating_sub(self.usage.output)
    }
}

/// The figure that the plots show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Plot {
    #[default]
    Spend,
    Tokens,
}

/// The filters and the order of the list, as the address of the page names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// The states that are shown; all if there is none.
    pub(crate) states: Vec<String>,
    /// A part of a directive's or a thread's id.
    pub(crate) text: String,
    /// The model's id; any if it is empty.
    pub(crate) model: String,
    pub(crate) sort: Sort,
    pub(crate) plot: Plot,
    /// Only the threads after this one.
    pub(crate) before: Option<ThreadId>,
}

impl Filter {
    /// Reads the query of an address. What it does not know, it passes over.
    pub(crate) fn read(query: &str) -> Self {
        let mut filter = Self::default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = decode(value);
            match name {
                "state" => filter.states.push(value),
                "q" => value.trim().clone_into(&mut filter.text),
                "model" => filter.model = value,
                "sort" => filter.sort = Sort::read(&value).unwrap_or_default(),
                "plot" if value == "tokens" => filter.plot = Plot::Tokens,
                "before" => filter.before = value.parse().ok(),
                _ => {}
            }
        }
        filter
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty() && self.text.is_empty() && self.model.is_empty()
    }

    /// Returns `true` if the row passes the filters, without its place in the list.
    pub(crate) fn includes(&self, row: &Listed) -> bool {
        let has_state = self.states.is_empty() || self.states.iter().any(|it| it == row.standing);
        let has_text =
            row.directive.contains(&self.text) || row.thread.as_str().contains(&self.text);
        let has_model = self.model.is_empty() || row.model.as_deref() == Some(self.model.as_str());
        has_state && has_text && has_model
    }

    /// The query of the same filters, from the first row.
    pub(crate) fn query(&self) -> String {
        let mut pairs: Vec<(&str, String)> =
            self.states.iter().map(|state| ("state", state.clone())).collect();
        pairs.extend([("q", self.text.clone()), ("model", self.model.clone())]);
        pairs.retain(|(_, value)| !value.is_empty());
        pairs.extend(self.view());
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        format!("?{}", pairs.join("&"))
    }

    /// The order and the plot, which a form with other filters keeps.
    pub(crate) fn view(&self) -> Vec<(&'static str, String)> {
        let mut view = Vec::new();
        if self.sort != Sort::default() {
            view.push(("sort", self.sort.to_string()));
        }
        if self.plot == Plot::Tokens {
            view.push(("plot", "tokens".to_owned()));
        }
        view
    }

    /// The query of the same filters for the threads after one.
    pub(crate) fn older_than(&self, thread: &ThreadId) -> String {
        let query = self.query();
        let joint = if query.len() > 1 { "&" } else { "" };
        format!("{query}{joint}before={thread}")
    }

    /// The query of the same filters with another order; of the same column, reversed.
    pub(crate) fn sorted_by(&self, column: Column) -> String {
        Self { sort: self.sort.next(column), ..self.clone() }.query()
    }

    /// The query of the same filters with another plot.
    pub(crate) fn plotted(&self, plot: Plot) -> String {
        Self { plot, ..self.clone() }.query()
    }
}

/// A value of a query as text; bytes that are no text become replacement characters.
pub(crate) fn decode(value: &str) -> String {
    percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// A text as a value of a query.
pub(crate) fn encode(text: &str) -> String {
    const SPECIAL: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
    utf8_percent_encode(text, SPECIAL).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_it_is_written() {
        let thread: ThreadId = "index-019a0000-0000-7000-8000-000000000000".parse().unwrap();
        let filter = Filter::read(
            "state=error&state=running&q=a%2Fb+c%C3%A9&x=1&before=no&model=m&sort=-tokens-in&plot=tokens",
        );
        assert_eq!(filter.states, ["error", "running"]);
        assert_eq!((filter.text.as_str(), filter.before.clone()), ("a/b cé", None));
        assert_eq!((filter.model.as_str(), filter.plot), ("m", Plot::Tokens));
        assert_eq!(filter.sort.to_string(), "-tokens-in");
        let again = Filter::read(filter.older_than(&thread).trim_start_matches('?'));
        assert_eq!(again, Filter { before: Some(thread), ..filter });
    }

    #[test]
    fn half_a_code_is_text() {
        for (value, expected) in
            [("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%ff", "\u{fffd}"), ("%41%", "A%")]
        {
            assert_eq!(decode(value), expected);
        }
    }
}
