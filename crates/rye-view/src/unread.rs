//! The error for records that cannot be read.

use rye_transcript::Reading;

/// A record that this version cannot read and may not go on without.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "record {record} of the thread `{thread}` cannot be used: {problem}; use the version that recorded it"
)]
pub struct UnreadError {
    /// The thread.
    pub thread: String,
    /// The number of the record, from 0.
    pub record: u64,
    /// The reason in words.
    pub problem: String,
}

impl UnreadError {
    pub(crate) fn check(reading: &Reading) -> Result<(), Self> {
        reading.unread().next().map_or(Ok(()), |(record, problem)| {
            Err(Self { thread: record.thread.as_str().to_owned(), record: record.seq, problem })
        })
    }
}
