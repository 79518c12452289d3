//! A request to stop a thread.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// A shared flag that cancels or interrupts a thread. Clones share it.
#[derive(Clone)]
pub struct Cancel(Arc<watch::Sender<Option<Halt>>>);

/// The kind of stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    Cancel,
    Interrupt,
}

impl Cancel {
    /// Creates a flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// Cancels the thread: no further request or tool call begins, and those in flight are dropped.
    pub fn cancel(&self) {
        self.raise(Halt::Cancel);
    }

    /// Stops the thread like [`Cancel::cancel`], but [`resume`](crate::resume) can continue it.
    pub fn interrupt(&self) {
        self.raise(Halt::Interrupt);
    }

    /// Returns `true` if the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.halt().is_some()
    }

    /// Waits until the flag is set.
    pub async fn cancelled(&self) {
        self.wait_for_halt().await;
    }

    /// Waits until this flag is set and then sets `other` in the same way. Polling the future keeps the flags linked.
    pub async fn hand_on(&self, other: &Self) {
        other.raise(self.wait_for_halt().await);
    }

    pub(crate) fn halt(&self) -> Option<Halt> {
        *self.0.borrow()
    }

    pub(crate) async fn wait_for_halt(&self) -> Halt {
        let mut receiver = self.0.subscribe();
        let raised = receiver.wait_for(Option::is_some).await.map(|raised| *raised);
        raised.ok().flatten().expect("because the sender lives as long as `self`")
    }

    /// Sets the flag. A cancel replaces an interrupt, but nothing replaces a cancel.
    fn raise(&self, halt: Halt) {
        self.0.send_modify(|raised| {
            if *raised != Some(Halt::Cancel) {
                *raised = Some(halt);
            }
        });
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.halt()).finish()
    }
}
