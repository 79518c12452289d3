//! The observer of a thread while it runs.

use crate::transcript::Event;
use crate::{Delta, OutputStream, ThreadId};

/// An observer of a thread while it runs.
pub trait Observer: Send + Sync {
    /// Called with each event as it is recorded; it is on disk before the next request, and before a call that changes
    /// anything.
    fn event(&self, event: &Event);

    /// Called with each record just before its event: the line of JSON that the transcript gets, without its line end.
    fn record(&self, line: &str) {
        let _not_looked_at = line;
    }

    /// Called with each piece of an answer while it comes; its events follow once it is whole.
    fn delta(&self, delta: Delta<'_>) {
        let _not_looked_at = delta;
    }

    /// Called with each piece of what a tool writes while it runs; its receipt follows once it has ended.
    ///
    /// A slow observer misses pieces: nothing waits for it, and the receipt has the output that
    /// counts.
    fn output(&self, piece: OutputPiece<'_>) {
        let _not_looked_at = piece;
    }

    /// Called with what the operator should know before the thread sends anything, such as that a project says where its
    /// requests go. It comes before the first event of this opening.
    fn notice(&self, text: &str) {
        let _not_looked_at = text;
    }

    /// Called with each event of a descendant of the watched thread. `depth` is 1 for its children. Events of threads that run at
    /// the same time come as they happen.
    fn below(&self, thread: &ThreadId, depth: usize, event: &Event) {
        let _not_looked_at = (thread, depth, event);
    }
}

/// A piece of the output of a call that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputPiece<'a> {
    /// The provider's id of the call.
    pub call_id: &'a str,
    /// The stream to which the tool wrote it.
    pub stream: OutputStream,
    /// The text that it wrote.
    pub text: &'a str,
}

/// The observer that ignores everything.
impl Observer for () {
    fn event(&self, _: &Event) {}
}
