//! Telling a thread to stop.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// A flag that is raised once, for good or to go on later; clones share it.
#[derive(Clone)]
pub struct Cancel(Arc<watch::Sender<Option<Halt>>>);

/// What a thread is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    Cancel,
    Interrupt,
}

impl Cancel {
    /// A flag that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// Ends the thread: no further request or tool call begins, and those on their way are dropped.
    pub fn cancel(&self) {
        self.raise(Halt::Cancel);
    }

    /// Stops the thread like [`Cancel::cancel`], but so that [`resume`](crate::resume) goes on with it.
    pub fn interrupt(&self) {
        self.raise(Halt::Interrupt);
    }

    /// Whether the flag is raised.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.raised().is_some()
    }

    /// Waits until the flag is raised.
    pub async fn cancelled(&self) {
        self.halted().await;
    }

    /// Raises `other` as this flag is raised, and waits for that; the flags are one as long as the future is polled.
    pub async fn hand_on(&self, other: &Self) {
        other.raise(self.halted().await);
    }

    pub(crate) fn raised(&self) -> Option<Halt> {
        *self.0.borrow()
    }

    pub(crate) async fn halted(&self) -> Halt {
        let mut receiver = self.0.subscribe();
        let raised = receiver.wait_for(Option::is_some).await.map(|raised| *raised);
        raised.ok().flatten().expect("because the sender lives as long as `self`")
    }

    /// Whoever comes first is heard, except that an end is not taken back.
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
        f.debug_tuple("Cancel").field(&self.raised()).finish()
    }
}
