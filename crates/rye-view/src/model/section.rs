//! The parts of a conversation: what came before the first turn, and each turn.

use rye_types::{Nanos, Usage};

use std::collections::HashMap;

/// One turn, or what came before the first.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// The number of the turn; `None` before the first.
    pub(crate) turn: Option<u64>,
    /// The number of the piece, of a turn that is on several pages.
    pub(crate) piece: usize,
    /// The place of its first record.
    pub(crate) first: usize,
    pub(crate) entries: Vec<Entry>,
    /// The short names of the calls, in their order.
    pub(crate) calls: Vec<String>,
    pub(crate) cost: Nanos,
    pub(crate) usage: Usage,
    /// The times of day at which it began and ended.
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) has_error: bool,
    pub(crate) has_approval: bool,
    /// `true` while a call of it waits for a decision.
    pub(crate) is_waiting: bool,
}

impl Section {
    /// The calls in a few words: `read ×2, grep`.
    pub(crate) fn title(&self) -> String {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut counted: Vec<&str> = Vec::new();
        for call in &self.calls {
            let count = counts.entry(call).or_default();
            if *count == 0 {
                counted.push(call);
            }
            *count += 1;
        }
        let named = counted.iter().take(MOST_NAMED).map(|name| match counts.get(name) {
            None | Some(1) => (*name).to_owned(),
            Some(count) => format!("{name} ×{count}"),
        });
        let more = counted.len().saturating_sub(MOST_NAMED);
        let more = (more > 0).then(|| format!("{more} more"));
        named.chain(more).collect::<Vec<_>>().join(", ")
    }
}

/// The number of different calls that a title names.
const MOST_NAMED: usize = 3;

/// One thing in a conversation: a record, with the records that complete it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The place of its record.
    pub(crate) index: usize,
    /// The place of the record of its result or of the decision on it.
    pub(crate) result: Option<usize>,
    /// The places of the records of the children that it started.
    pub(crate) children: Vec<usize>,
    /// The places of the records of the ends of these children.
    pub(crate) ends: Vec<usize>,
}

impl Entry {
    pub(super) fn new(index: usize) -> Self {
        Self { index, result: None, children: Vec::new(), ends: Vec::new() }
    }
}
