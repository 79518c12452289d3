//! Addresses on a page.

use rye_thread::ThreadId;

/// The place that a page is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Links {
    /// A file that stands alone: everything that it leads to is inside.
    File,
    /// A page of a server, below which other threads have pages.
    Served,
}

impl Links {
    /// The address of the line, the hash and the checkpoint of a record.
    pub(crate) fn record(self, seq: u64) -> String {
        match self {
            Self::File | Self::Served => format!("#p{seq}"),
        }
    }

    /// The address of another thread, where the page leads to one.
    pub(crate) fn thread(self, thread: &ThreadId) -> Option<String> {
        match self {
            Self::File => None,
            Self::Served => Some(format!("../thread/{thread}")),
        }
    }
}
