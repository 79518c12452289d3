//! The reasons why a file is not read, beside the errors of the system.

use std::io;

/// The reason why a file is not read. It is inside of an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A folder, pipe, socket or device, or a link where none is followed.
    #[error("it is not a plain file")]
    NotPlain,
    /// A file that the kernel computes while it is read.
    #[error("it is a file of the kernel ({file_system}); put a plain file in its place")]
    OfKernel {
        /// The name of its file system, such as `proc`.
        file_system: &'static str,
    },
    /// A file with more bytes than the caller reads.
    #[error("it is longer than {most} bytes")]
    TooLong {
        /// The most bytes that the caller reads.
        most: u64,
    },
}

impl Refusal {
    /// Returns the refusal inside of an error, or `None` if the error is one of the system.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::other(refusal)
    }
}
