//! The time of approval waits below a thread, which does not count as time of the waiting threads.

use std::time::Duration;

use async_trait::async_trait;
use rye_thread::{ApprovalRequest, Approver, Clock, Decider, Decision, ThreadId};

use super::Tree;
use crate::session::request::Host;

/// The time of approval waits below one thread. Waits that overlap count once.
#[derive(Debug, Default)]
pub(super) struct Thought {
    questions: u32,
    since: Duration,
    total: Duration,
}

impl Thought {
    pub(super) fn begin(&mut self, now: Duration) {
        if self.questions == 0 {
            self.since = now;
        }
        self.questions += 1;
    }

    pub(super) fn end(&mut self, now: Duration) {
        self.total = self.until(now);
        self.since = now;
        self.questions = self.questions.saturating_sub(1);
    }

    pub(super) fn until(&self, now: Duration) -> Duration {
        let thinks = self.questions > 0;
        let latest = if thinks { now.saturating_sub(self.since) } else { Duration::ZERO };
        self.total.saturating_add(latest)
    }
}

/// Asks for a thread of a tree, and lets those above it know.
pub(super) struct Thinking<'a> {
    approver: &'a dyn Approver,
    clock: &'a dyn Clock,
    tree: &'a Tree,
    thread: ThreadId,
}

impl<'a> Thinking<'a> {
    pub(super) fn new(host: &Host<'a>, tree: &'a Tree, thread: &ThreadId) -> Self {
        Self { approver: host.approver, clock: host.clock, tree, thread: thread.clone() }
    }
}

#[async_trait]
impl Approver for Thinking<'_> {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(Decision, Decider)> {
        self.tree.asks(&self.thread, self.clock.elapsed());
        let _asked = Asked(self);
        self.approver.decide(request).await
    }
}

/// An approval wait, until it is decided or the thread is stopped.
struct Asked<'a>(&'a Thinking<'a>);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.tree.end_wait(&self.0.thread, self.0.clock.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Questions that begin and end at these seconds, and what people have thought by then.
    #[test]
    fn questions_at_once_count_once() {
        let seconds = Duration::from_secs;
        let mut thought = Thought::default();
        for (now, questions, total) in [(10, 1, 0), (12, 1, 2), (15, -1, 5), (20, -1, 10)] {
            if questions > 0 {
                thought.begin(seconds(now))
            } else {
                thought.end(seconds(now))
            }
            assert_eq!(thought.until(seconds(now)), seconds(total), "{now}");
        }
        thought.begin(seconds(30));
        assert_eq!(thought.until(seconds(33)), seconds(13));
        thought.end(seconds(34));
        assert_eq!(thought.until(seconds(90)), seconds(14));
    }
}
