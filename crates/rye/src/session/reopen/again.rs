//! What stands in the way for a moment, because another program is at the same thread, looked at again.

use std::io;
use std::time::Duration;

use rye_thread::budget::LedgerError;
use rye_thread::store::StoreError;
use rye_thread::transcript::TranscriptError;
use rye_thread::{JournalError, ThreadState};

use super::ReopenError;
use crate::ThreadReadError;
use crate::session::RunError;

/// How often somebody has looked.
#[derive(Debug, Default)]
pub(in crate::session) struct Again {
    looks: u32,
}

impl Again {
    /// Whether there is another look, after a moment; whoever holds a thread to begin or to end it needs no longer.
    pub(in crate::session) fn looks(&mut self) -> bool {
        self.looks += 1;
        let may = self.looks < LOOKS;
        if may {
            std::thread::sleep(PAUSE);
        }
        may
    }

    /// The same where another program may be why it failed. Where none drove the thread, it is believed sooner that a thread was
    /// changed.
    pub(super) fn looks_after(&mut self, error: &ReopenError, was_driven: bool) -> bool {
        let most = match passing(error) {
            Passing::No => 0,
            Passing::Soon if !was_driven => SOON,
            Passing::Soon | Passing::Yes => LOOKS,
        };
        self.looks < most && self.looks()
    }

    /// Whether nobody looks after this.
    pub(super) fn is_last(&self) -> bool {
        LOOKS <= self.looks + 1
    }

    /// Whether a thread ended as was wanted while somebody looked again.
    pub(super) fn is_done(&self, error: &ReopenError) -> bool {
        let is_cancelled =
            matches!(error, ReopenError::Ended { state: ThreadState::Cancelled, .. });
        0 < self.looks && is_cancelled
    }
}

/// Reads a thread again that another program went on with while it was read.
pub(super) fn steadily<T>(
    mut open: impl FnMut() -> Result<T, ReopenError>,
) -> Result<T, ReopenError> {
    let mut again = Again::default();
    loop {
        match open() {
            Err(ReopenError::Meanwhile { .. }) if again.looks() => {}
            done => return done,
        }
    }
}

const PAUSE: Duration = Duration::from_millis(10);
const LOOKS: u32 = 300;
const SOON: u32 = 20;

/// Whether what stands in the way may be gone in a moment.
enum Passing {
    No,
    /// If it is not gone soon, it is no other program's doing.
    Soon,
    Yes,
}

fn passing(error: &ReopenError) -> Passing {
    match (of_journal(error), error) {
        (Some(JournalError::Store(StoreError::Held { .. } | StoreError::Stale { .. })), ..) => {
            Passing::Yes
        }
        (Some(JournalError::Transcript(TranscriptError::Store { source, .. })), ..)
            if matches!(**source, StoreError::Stale { .. }) =>
        {
            Passing::Yes
        }
        (.., ReopenError::Meanwhile { .. })
        | (Some(JournalError::Transcript(TranscriptError::NotNew { .. })), ..)
        | (_, ReopenError::Ledger(LedgerError::UnknownReservation { .. })) => Passing::Yes,
        (Some(JournalError::Folder { source, .. }), ..)
            if source.kind() == io::ErrorKind::AlreadyExists =>
        {
            Passing::Yes
        }
        // Of a record and a transcript one may be older than what another program has just written, with a key of its own.
        (
            Some(JournalError::Transcript(
                TranscriptError::Length { .. } | TranscriptError::Journal { .. },
            )),
            ..,
        )
        | (
            ..,
            ReopenError::Read(ThreadReadError::Length { .. } | ThreadReadError::Damaged { .. }),
        ) => Passing::Soon,
        _ => Passing::No,
    }
}

/// What a thread's journal says.
fn of_journal(error: &ReopenError) -> Option<&JournalError> {
    match error {
        ReopenError::Journal(error) => Some(error),
        ReopenError::Continue(RunError::Store(source)) | ReopenError::Store(source) => {
            source.downcast_ref()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
