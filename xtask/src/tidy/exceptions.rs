//! Exceptions to the limits on lengths.

/// A file or function that may exceed the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exception {
    /// Relative to the workspace, with slashes.
    pub(crate) path: &'static str,
    pub(crate) subject: Subject<'static>,
    /// The reason why a shorter version would be harder to read.
    pub(crate) reason: &'static str,
}

/// The excepted part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    File,
    Function(&'a str),
}

/// The exceptions. Tidy fails for an entry that is no longer needed or has no reason.
pub(crate) const EXCEPTIONS: &[Exception] = &[Exception {
    path: "crates/rye-tools/tests/processes/matrix.rs",
    subject: Subject::Function("ways"),
    reason: "it is a table with a row for each promise, which the compiler asks for",
}];
