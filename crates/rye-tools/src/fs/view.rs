//! Choice of the entries that listings and searches include, and counts of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The kinds of entries that [`ls`](super::ls), [`glob`](super::glob) and [`grep`](super::grep) include.
///
/// By default, hidden entries, whose names begin with a dot, and entries that `.gitignore` or `.ignore` files
/// of the project ignore are left out. A folder that a caller names is always included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    hidden: bool,
    ignored: bool,
}

impl View {
    /// Leaves out hidden and ignored entries.
    pub fn usual() -> Self {
        Self::default()
    }

    /// Includes hidden entries.
    #[must_use]
    pub fn with_hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    /// Includes ignored entries.
    #[must_use]
    pub fn with_ignored(self) -> Self {
        Self { ignored: true, ..self }
    }

    pub(super) fn shows_hidden(self) -> bool {
        self.hidden
    }

    pub(super) fn shows_ignored(self) -> bool {
        self.ignored
    }
}

/// The numbers of entries that were not looked at, by reason. A folder with everything in it counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Entries whose names begin with a dot.
    pub hidden: u64,
    /// Entries that `.gitignore` or `.ignore` ignores.
    pub ignored: u64,
    /// Links, which are not followed.
    pub links: u64,
    /// Devices, FIFOs and sockets.
    pub special: u64,
    /// Private keys, which tools may not read.
    pub protected: u64,
    /// Names that no tool accepts: not UTF-8, or with a backslash or a control character.
    pub unnameable: u64,
    /// Folders more than 100 levels down.
    pub too_deep: u64,
    /// Entries that cannot be opened or read, or that were removed meanwhile.
    pub unreadable: u64,
    /// Files over the size limit of a search.
    pub too_large: u64,
    /// Files with a line over the size limit of a search.
    pub long_lines: u64,
    /// Files with a NUL byte.
    pub binary: u64,
    /// Ignore files that cannot be read, and invalid lines in them.
    pub bad_rules: u64,
}

impl Skipped {
    /// Returns the name and the count of each reason, in a fixed order.
    pub fn counts(&self) -> [(&'static str, u64); 12] {
        [
            ("hidden", self.hidden),
            ("ignored", self.ignored),
            ("links", self.links),
            ("special", self.special),
            ("protected", self.protected),
            ("unnameable", self.unnameable),
            ("too_deep", self.too_deep),
            ("unreadable", self.unreadable),
            ("too_large", self.too_large),
            ("long_lines", self.long_lines),
            ("binary", self.binary),
            ("bad_rules", self.bad_rules),
        ]
    }
}

/// The reason why results are incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// There are more results than the caller requested or one call returns.
    Results,
    /// There is more text than one call returns.
    Text,
    /// There are more folder entries than one call looks at.
    Entries,
    /// There are more bytes than one call searches.
    Bytes,
    /// The caller ended the operation with [`Stop`].
    Stopped,
}

/// A handle that ends a long operation. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    stopped: Arc<AtomicBool>,
}

impl Stop {
    /// Creates a handle that is not stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the operation soon. It returns the results so far.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns `true` after [`Stop::stop`].
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
