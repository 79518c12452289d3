//! A bounded reader for searches.

use std::io::{self, Read};

use super::{MAX_SEARCHED_FILE_BYTES, Stop};

/// The reason why the search of a file ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// The file is over the size limit. It may have grown.
    TooLarge,
    /// The call has searched as many bytes as it may.
    Budget,
    Stopped,
    /// The system returned an error.
    Unreadable,
}

/// A reader that counts bytes, stops on request, and remembers the reason.
pub(super) struct BoundedReader<'a, R> {
    inner: R,
    stop: &'a Stop,
    /// The number of bytes left for the whole call.
    budget: &'a mut u64,
    n_read: u64,
    pub(super) ended: Option<EndReason>,
}

impl<'a, R: Read> BoundedReader<'a, R> {
    pub(super) fn new(inner: R, stop: &'a Stop, budget: &'a mut u64) -> Self {
        Self { inner, stop, budget, n_read: 0, ended: None }
    }

    fn end(&mut self, why: EndReason) -> io::Error {
        self.ended = Some(why);
        io::ErrorKind::Other.into()
    }
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_stopped() {
            return Err(self.end(EndReason::Stopped));
        }
        if self.n_read > MAX_SEARCHED_FILE_BYTES {
            return Err(self.end(EndReason::TooLarge));
        }
        if *self.budget == 0 {
            return Err(self.end(EndReason::Budget));
        }
        let n = match self.inner.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(_) => return Err(self.end(EndReason::Unreadable)),
            Ok(n) => u64::try_from(n).unwrap_or(u64::MAX),
        };
        self.n_read = self.n_read.saturating_add(n);
        *self.budget = self.budget.saturating_sub(n);
        Ok(usize::try_from(n).unwrap_or(usize::MAX))
    }
}
