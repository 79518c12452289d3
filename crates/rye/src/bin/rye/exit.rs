//! What the program's exit code says (SPEC 12.1).

use std::process;

/// How a command ended, in the numbers that scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything asked for was done.
    Fine,
    /// Something was tried and did not work out.
    Failed,
    /// The command line or its context makes no sense.
    Usage,
    /// Trust or permission stands against it.
    Refused,
    /// A call waits for somebody to approve it.
    Suspended,
    /// A limit or a budget was reached.
    Limit,
    /// Two directives differ, and the second may do no more than the first; only `rye diff --exit-code` ends so.
    Differs,
    /// The second of two directives may do more than the first; only `rye diff --exit-code` ends so.
    Widens,
}

impl Exit {
    /// The word for it in data, which is that of the library's classes.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::Suspended => "suspended",
            Self::Limit => "limit",
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
        }
    }
}

impl From<Exit> for process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
