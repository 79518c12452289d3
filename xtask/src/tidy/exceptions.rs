//! Lengths that are over a cap for a reason.

/// One file or function that may be longer than the cap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exception {
    /// Relative to the workspace, with slashes.
    pub(crate) path: &'static str,
    pub(crate) subject: Subject<'static>,
    /// Why shortening it would make it worse to read.
    pub(crate) reason: &'static str,
}

/// What of the file is excepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    File,
    Function(&'a str),
}

/// An entry that is no longer needed fails tidy, and so does one without a reason.
pub(crate) const EXCEPTIONS: &[Exception] = &[];
