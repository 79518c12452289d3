//! The records that a `thread.json` claims of its transcript.

/// The records of a transcript that a signed `thread.json` claims. They were on disk before it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptClaim {
    /// The minimum number of records.
    pub records: u64,
    /// The hash of the last of those records.
    pub head: String,
    /// `true` if more records may follow: a process drives the thread, or stopped without recording the end of the
    /// transcript.
    pub is_open: bool,
}

impl TranscriptClaim {
    /// Creates a claim of these records.
    #[must_use]
    pub const fn new(records: u64, head: String, is_open: bool) -> Self {
        Self { records, head, is_open }
    }
}
