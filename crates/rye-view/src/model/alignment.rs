//! The calls of two threads, side by side.

use rye_transcript::{Event, Record};
use serde_json::Value;
use similar::{DiffOp, TextDiff};

use super::{Thread, is_bad, item_name, item_of_call, main_argument};

/// The most calls of each thread that are aligned, because the time grows with the square of their number.
pub(crate) const MOST_CALLS: usize = 2_000;

/// A call of a tool with its result.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) turn: u64,
    pub(crate) seq: u64,
    /// The short name of the tool, such as `file-system/read`.
    pub(crate) name: String,
    /// The argument that says most, or nothing.
    pub(crate) argument: String,
    /// The active time from the call to its result, in milliseconds; `None` without a result.
    pub(crate) took: Option<u64>,
    /// The time into the thread at which it began, in milliseconds.
    pub(crate) began: u64,
    pub(crate) is_bad: bool,
    /// The tool and its arguments.
    request: String,
    /// The result as the model read it.
    answer: String,
}

impl Called {
    /// Returns `true` if both have the same tool, the same arguments and the same result.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.request == other.request && self.answer == other.answer
    }
}

/// A row: a call of each thread, or of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The place of the call in the first thread.
    pub(crate) first: Option<usize>,
    /// The place of the call in the second thread.
    pub(crate) second: Option<usize>,
    pub(crate) is_same: bool,
}

/// The calls of a thread in their order, at most [`MOST_CALLS`].
pub(crate) fn calls(thread: &Thread<'_>) -> Vec<Called> {
    let sections = thread.sections.iter();
    let entries = sections.flat_map(|section| {
        section.entries.iter().map(move |entry| (section.turn.unwrap_or(0), entry))
    });
    let called = entries.filter_map(|(turn, entry)| {
        let record = thread.record(entry.index)?;
        let Ok(Event::ToolCallStart(call)) = record.event() else { return None };
        let result = entry.result.and_then(|index| thread.record(index));
        let answer = match result.map(Record::event) {
            Some(Ok(Event::ToolCallResult(receipt))) => Some(receipt),
            _ => None,
        };
        let (item, arguments) = item_of_call(&call);
        let began = thread.active_at(record);
        Some(Called {
            turn,
            seq: record.seq,
            name: item_name(item),
            argument: main_argument(arguments).unwrap_or_default().to_owned(),
            took: result.map(|result| thread.active_at(result).saturating_sub(began)),
            began,
            is_bad: answer.as_ref().is_some_and(is_bad),
            request: format!("{item} {arguments}"),
            answer: answer.map_or(Value::Null, |receipt| receipt.content).to_string(),
        })
    });
    called.take(MOST_CALLS).collect()
}

/// Aligns the calls by tool and arguments. Calls of one thread alone stand beside each other in their order.
pub(crate) fn align(first: &[Called], second: &[Called]) -> Vec<Pair> {
    let [old, new] = [first, second].map(|calls| calls.iter().map(|it| &*it.request).collect());
    let (old, new): (Vec<&str>, Vec<&str>) = (old, new);
    let compared = TextDiff::configure().diff_slices(&old, &new);
    let mut pairs = Vec::new();
    for step in compared.ops() {
        let old = step.old_range();
        let new = step.new_range();
        let is_equal = matches!(step, DiffOp::Equal { .. });
        for place in 0..old.len().max(new.len()) {
            let at = |range: &std::ops::Range<usize>| {
                (place < range.len()).then_some(range.start + place)
            };
            let one = at(&old);
            let other = at(&new);
            let both = one.and_then(|one| first.get(one)).zip(other.and_then(|it| second.get(it)));
            let is_same = is_equal && both.is_some_and(|(one, other)| one.is_same(other));
            pairs.push(Pair { first: one, second: other, is_same });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(text: &str) -> Called {
        let (request, answer) = text.split_once('=').unwrap_or((text, ""));
        Called {
            turn: 1,
            seq: 1,
            name: String::new(),
            argument: String::new(),
            took: None,
            began: 0,
            is_bad: false,
            request: request.to_owned(),
            answer: answer.to_owned(),
        }
    }

    /// The rows as text: `=` for the same, `!` for another call or another result.
    #[track_caller]
    fn check(first: &str, second: &str, expected: &str) {
        let read = |text: &str| -> Vec<Called> { text.split_whitespace().map(called).collect() };
        let first = read(first);
        let second = read(second);
        let name = |calls: &[Called], at: Option<usize>| {
            at.map_or_else(|| "-".to_owned(), |at| calls[at].request.clone())
        };
        let shown = align(&first, &second).into_iter().map(|pair| {
            let sign = if pair.is_same { '=' } else { '!' };
            format!("{}{sign}{}", name(&first, pair.first), name(&second, pair.second))
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn calls_stand_beside_the_same_calls() {
        check("", "", "");
        check("a b", "a b", "a=a b=b");
        check("a b c", "a c", "a=a b!- c=c");
        check("a c", "a b c", "a=a -!b c=c");
        check("a b c", "a x y c", "a=a b!x -!y c=c");
        check("a=1 b", "a=2 b", "a!a b=b");
    }

    /// However many calls differ, each has its row.
    #[test]
    fn as_many_calls_as_are_compared_may_differ() {
        let read = |name: &str| -> Vec<Called> {
            (0..MOST_CALLS).map(|place| called(&format!("{name}{place}"))).collect()
        };
        let first = read("a");
        let second = read("b");
        let pairs = align(&first, &second);
        assert_eq!(pairs.iter().filter(|pair| pair.first.is_some()).count(), MOST_CALLS);
        assert_eq!(pairs.iter().filter(|pair| pair.second.is_some()).count(), MOST_CALLS);
    }

    proptest::proptest! {
        /// Every call has one row, and the rows keep the order of both threads.
        #[test]
        fn each_call_has_one_row(first in "[abc ]{0,24}", second in "[abc ]{0,24}") {
            let read = |text: &str| -> Vec<Called> { text.split_whitespace().map(called).collect() };
            let first = read(&first);
            let second = read(&second);
            let pairs = align(&first, &second);
            let ones: Vec<usize> = pairs.iter().filter_map(|pair| pair.first).collect();
            let others: Vec<usize> = pairs.iter().filter_map(|pair| pair.second).collect();
            proptest::prop_assert_eq!(ones, (0..first.len()).collect::<Vec<_>>());
            proptest::prop_assert_eq!(others, (0..second.len()).collect::<Vec<_>>());
        }
    }
}
