//! Reading a file for a search, within bounds.

use std::io::{self, Read};

use super::{MAX_SEARCHED_FILE_BYTES, Stop};

/// Why a search of a file ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The file is longer than what is searched of one; it may have grown.
    TooLarge,
    /// As much as one call searches was searched.
    Budget,
    Stopped,
    /// The system failed.
    Unreadable,
}

/// A reader that counts, stops when it is told to, and remembers why.
pub(super) struct Bounded<'a, R> {
    inner: R,
    stop: &'a Stop,
    /// What is left for the whole call.
    budget: &'a mut u64,
    n_read: u64,
    pub(super) ended: Option<Ended>,
}

impl<'a, R: Read> Bounded<'a, R> {
    pub(super) fn new(inner: R, stop: &'a Stop, budget: &'a mut u64) -> Self {
        Self { inner, stop, budget, n_read: 0, ended: None }
    }

    fn end(&mut self, why: Ended) -> io::Error {
        self.ended = Some(why);
        io::ErrorKind::Other.into()
    }
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_stopped() {
            return Err(self.end(Ended::Stopped));
        }
        if self.n_read > MAX_SEARCHED_FILE_BYTES {
            return Err(self.end(Ended::TooLarge));
        }
        if *self.budget == 0 {
            return Err(self.end(Ended::Budget));
        }
        let n = match self.inner.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(_) => return Err(self.end(Ended::Unreadable)),
            Ok(n) => u64::try_from(n).unwrap_or(u64::MAX),
        };
        self.n_read = self.n_read.saturating_add(n);
        *self.budget = self.budget.saturating_sub(n);
        Ok(usize::try_from(n).unwrap_or(usize::MAX))
    }
}
