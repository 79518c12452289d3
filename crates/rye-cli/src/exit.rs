//! The exit codes of the program (SPEC 12.1).

use std::process;

/// The result of a command. Scripts rely on its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command has done everything.
    Fine,
    /// An action failed.
    Failed,
    /// The command line or its context is invalid.
    Usage,
    /// Trust or permissions forbid it.
    Refused,
    /// A call waits for approval.
    Suspended,
    /// A limit or a budget was reached.
    Limit,
    /// The signal of this number stopped the work, which can be resumed.
    Signal(u8),
    /// Two directives differ, and the second may do no more than the first. Only `rye diff --exit-code` uses
    /// it.
    Differs,
    /// The second of two directives may do more than the first. Only `rye diff --exit-code` uses it.
    Widens,
}

impl Exit {
    /// Returns the word for JSON, which is that of the library's classes.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::Suspended => "suspended",
            Self::Limit => "limit",
            Self::Signal(_) => "stopped",
            Self::Differs => "differs",
            Self::Widens => "widens",
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed | Self::Differs => 1,
            Self::Usage | Self::Widens => 2,
            Self::Refused => 3,
            Self::Suspended => 4,
            Self::Limit => 5,
            Self::Signal(number) => number.saturating_add(128),
        }
    }
}

impl From<Exit> for process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
