//! The rows of the list of threads, and the filters over them.

use rye_thread::{Moment, Nanos, ThreadId};

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
    /// The cost of the thread and of all below it.
    pub cost: Nanos,
}

impl Listed {
    /// A row without a parent and without cost.
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
        }
    }
}

/// The filters of the list, as the address of the page names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// The states that are shown; all if there is none.
    pub(crate) states: Vec<String>,
    /// A part of a directive's or a thread's id.
    pub(crate) text: String,
    /// Only threads that are older than this one.
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
                "before" => filter.before = value.parse().ok(),
                _ => {}
            }
        }
        filter
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty() && self.text.is_empty()
    }

    /// Returns `true` if the row passes the filters, without its place in the list.
    pub(crate) fn includes(&self, row: &Listed) -> bool {
        let has_state = self.states.is_empty() || self.states.iter().any(|it| it == row.standing);
        let has_text =
            row.directive.contains(&self.text) || row.thread.as_str().contains(&self.text);
        has_state && has_text
    }

    /// The query of the same filters for the threads before one.
    pub(crate) fn older_than(&self, thread: &ThreadId) -> String {
        let states = self.states.iter().map(|state| format!("state={}&", encode(state)));
        let text =
            if self.text.is_empty() { String::new() } else { format!("q={}&", encode(&self.text)) };
        format!("?{}{text}before={thread}", states.collect::<String>())
    }
}

/// A value of a query as text; bytes that are no text become replacement characters.
pub(crate) fn decode(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => {
                digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low)
            }
            _ => None,
        };
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// A text as a value of a query.
pub(crate) fn encode(text: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(byte);
    let bytes = text.bytes();
    bytes
        .map(
            |byte| {
                if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_it_is_written() {
        let thread: ThreadId = "index-019a0000-0000-7000-8000-000000000000".parse().unwrap();
        let filter = Filter::read("state=error&state=running&q=a%2Fb+c%C3%A9&x=1&before=no");
        assert_eq!(filter.states, ["error", "running"]);
        assert_eq!((filter.text.as_str(), filter.before.clone()), ("a/b cé", None));
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
