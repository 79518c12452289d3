//! Which entries of folders are looked at, and what is said of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which entries of folders [`ls`](super::ls), [`glob`](super::glob) and [`grep`](super::grep) look at.
///
/// Usually neither hidden ones, whose names begin with a dot, nor those that `.gitignore` and `.ignore` files of the project
/// leave out. A folder that is asked for by its path is looked into whatever it is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    hidden: bool,
    ignored: bool,
}

impl View {
    /// Neither hidden nor ignored entries.
    pub fn usual() -> Self {
        Self::default()
    }

    /// Hidden entries too.
    #[must_use]
    pub fn with_hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    /// Ignored entries too.
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

/// How many entries were met and not looked at, by reason; a folder counts once, with all that is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Their names begin with a dot.
    pub hidden: u64,
    /// `.gitignore` or `.ignore` leaves them out.
    pub ignored: u64,
    /// Links, which are not followed.
    pub links: u64,
    /// Devices, FIFOs and sockets.
    pub special: u64,
    /// Private keys.
    pub protected: u64,
    /// Names that no tool takes: not UTF-8, or with a backslash or a control character.
    pub unnameable: u64,
    /// Folders more than 100 levels down.
    pub too_deep: u64,
    /// What the system did not let us open or read, or what was removed in the meantime.
    pub unreadable: u64,
    /// Files over the size that is searched.
    pub too_large: u64,
    /// Files with a line over the size that is searched.
    pub long_lines: u64,
    /// Files with a NUL byte.
    pub binary: u64,
    /// Ignore files that cannot be read, and lines in them that are no rules.
    pub bad_rules: u64,
}

impl Skipped {
    /// Each reason by its name and with its count, in a fixed order.
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

/// Why results end before everything was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// As many results as were asked for, or as one call gives, and there are more.
    Results,
    /// As much text as one call gives, and there is more.
    Text,
    /// As many entries of folders as one call looks at.
    Entries,
    /// As many bytes as one call searches.
    Bytes,
    /// It was stopped, by [`Stop`].
    Stopped,
}

/// Ends a long operation from outside; clones belong together.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    stopped: Arc<AtomicBool>,
}

impl Stop {
    /// One that nobody has pulled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the operation soon; it gives back what it has by then.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was ended.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
