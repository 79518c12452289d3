//! Telling a thread to stop.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// A flag that is raised once; clones share it.
#[derive(Clone)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Cancel {
    /// A flag that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Raises the flag: no further request or tool call begins, and those on their way are dropped.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether the flag is raised.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the flag is raised.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.subscribe();
        receiver
            .wait_for(|raised| *raised)
            .await
            .expect("because the sender lives as long as `self`");
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}
