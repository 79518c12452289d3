//! Addresses on a page.

use rye_transcript::ThreadId;

use crate::Source;

/// The place that a page is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Links {
    /// A file that stands alone: everything that it leads to is inside.
    File,
    /// A page of a server, below which other threads have pages.
    Served,
    /// A file that holds the thread and its descendants.
    Tree,
}

impl Links {
    /// The address of another thread, where the page leads to one.
    pub(crate) fn thread(self, thread: &ThreadId) -> Option<String> {
        match self {
            Self::File | Self::Tree => None,
            Self::Served => Some(format!("../thread/{thread}")),
        }
    }

    /// The address of a child, which a page with a whole tree has inside.
    pub(crate) fn child(self, source: &Source<'_>, child: &ThreadId) -> Option<String> {
        let is_inside = source.children.iter().any(|inside| inside.record.thread == *child);
        match self {
            Self::Tree if is_inside => Some(format!("#thread-{child}")),
            other => other.thread(child),
        }
    }
}
