//! What the object of a thread tree keeps, under which names, and the part of it that a handler changes.

use restate_sdk::prelude::*;
use serde_json::Value;

use crate::drivers::Place;
use crate::records::{Advance, Head, Step};

/// The signed request that started the thread.
pub(super) const START: &str = "start";
/// The signed list of the files with which it began.
pub(super) const BUNDLE: &str = "bundle";
/// What changes with each step: [`Head`].
pub(super) const HEAD: &str = "head";

/// The name of a step, which is kept by itself.
pub(super) fn step_key(number: u64) -> String {
    format!("step/{number:08}")
}

/// A tree as the engine keeps it, but for the steps of earlier invocations.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) start: Value,
    pub(super) bundle: Option<Value>,
    pub(super) head: Head,
    pub(super) place: Place,
}

impl Tree {
    /// Reads the tree of the object; `None` if no thread was started.
    pub(super) async fn read(context: &ObjectContext<'_>) -> Result<Option<Self>, TerminalError> {
        let Some(Json(start)) = context.get::<Json<Value>>(START).await? else { return Ok(None) };
        let head = context.get::<Json<Head>>(HEAD).await?.map(Json::into_inner).unwrap_or_default();
        let bundle = context.get::<Json<Value>>(BUNDLE).await?.map(Json::into_inner);
        let place = Place::new(context.key(), head.steps, head.last.clone());
        Ok(Some(Self { start, bundle, head, place }))
    }

    /// Keeps what a worker did, and moves behind it.
    pub(super) fn keep_advance(&mut self, context: &ObjectContext<'_>, advance: Advance) {
        if let Some(bundle) = advance.bundle {
            context.set(BUNDLE, Json(bundle.clone()));
            self.bundle = Some(bundle);
        }
        self.keep(context, advance.step);
    }

    /// Keeps a step, and moves behind it.
    pub(super) fn keep(&mut self, context: &ObjectContext<'_>, step: Step) {
        context.set(&step_key(self.head.steps), Json(step.clone()));
        self.head.keep(&step);
        context.set(HEAD, Json(self.head.clone()));
        self.place.advance(step);
    }
}

/// The time, in milliseconds, after which another worker may go on with a tree. Taking a tree over costs as much as several steps.
const SHORTEST_INVOCATION: i64 = 1_000;

/// What an invocation did so far, from recorded values alone, so that it is the same when the handler runs again.
#[derive(Debug, Default)]
pub(super) struct Invocation {
    begun: Option<i64>,
    has_asked: bool,
}

impl Invocation {
    /// Counts what a worker did, and returns `true` if another worker may go on. `place` is that of its step.
    pub(super) fn ends_with(&mut self, advance: &Advance, place: &Place) -> bool {
        // A worker whose clock is behind may have gone on with it.
        let begun = self.begun.map_or(advance.millis, |begun| begun.min(advance.millis));
        self.begun = Some(begun);
        let has_time = SHORTEST_INVOCATION <= advance.millis.saturating_sub(begun);
        let is_long = has_time || place.is_full();
        // A worker that takes the tree over records that before it asks, so that it has to ask for the tree to get on.
        self.has_asked |= advance.asks;
        advance.is_before_request && self.has_asked && is_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::MOST_STEPS;
    use crate::records::Change;

    fn place(steps: usize) -> Place {
        let mut place = Place::new("root", 0, None);
        (0..steps).for_each(|_| place.advance(Step::default()));
        place
    }

    fn advance(millis: i64, asks: bool, is_before_request: bool) -> Advance {
        Advance { step: Step::default(), millis, asks, is_before_request, bundle: None }
    }

    #[test]
    fn a_tree_moves_before_a_request_and_once_a_second_at_most() {
        let mut invocation = Invocation::default();
        let rows = [
            (5_000, true, false, 0, false, "it has just begun"),
            (5_400, false, true, 1, false, "before a request, within the second"),
            (6_100, true, false, 2, false, "a request is under way"),
            (6_200, false, true, 3, true, "before a request, after the second"),
            (4_000, false, true, 4, false, "the clock was set back"),
            (4_000, false, true, MOST_STEPS, true, "after many steps"),
            (5_000, false, true, 6, true, "a second later by that clock"),
        ];
        for (millis, asks, is_before, steps, is_over, why) in rows {
            assert_eq!(
                invocation.ends_with(&advance(millis, asks, is_before), &place(steps)),
                is_over,
                "{why}"
            );
        }
        let mut new = Invocation::default();
        assert!(!new.ends_with(&advance(0, false, true), &place(0)));
        assert!(!new.ends_with(&advance(9_000, false, true), &place(1)), "it has asked nothing");
        let mut heavy = place(0);
        let text = "a".repeat(9 << 20);
        let change = Change { thread: "a".to_owned(), at: 0, text };
        heavy.advance(Step { changes: vec![change], ..Step::default() });
        assert!(!new.ends_with(&advance(9_001, true, false), &heavy));
        assert!(new.ends_with(&advance(9_002, false, true), &heavy), "after many bytes");
    }
}
