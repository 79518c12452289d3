//! Passes the events of descendants, with their names, to the observer of the first thread.

use rye_thread::transcript::Event;
use rye_thread::{Observer, ThreadId};

/// Passes the events of one thread to the observer of the first.
pub(super) struct Below<'a> {
    watcher: &'a dyn Observer,
    thread: ThreadId,
    depth: usize,
}

impl<'a> Below<'a> {
    pub(super) fn new(watcher: &'a dyn Observer, thread: &ThreadId, depth: usize) -> Self {
        Self { watcher, thread: thread.clone(), depth }
    }
}

/// Pieces of answers that come at the same time cannot be read, so that they are not passed on.
impl Observer for Below<'_> {
    fn event(&self, event: &Event) {
        self.watcher.below(&self.thread, self.depth, event);
    }
}
