//! The verified data that a page or an export is made of.

use rye_transcript::{Reading, ThreadRecord};
use rye_types::{Moment, Nanos};

/// The trust in the key that signed a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signer {
    /// A key that is trusted here.
    Trusted,
    /// A key that was made for the thread alone: it shows changes, but not the author of the
    /// thread.
    OwnKey,
}

/// A thread that was read and verified, with the facts that the program knows beside its transcript.
///
/// Nothing here is verified again: [`Reading`] is only made by a verification.
#[derive(Debug)]
#[non_exhaustive]
pub struct Source<'a> {
    /// The verified `thread.json`.
    pub record: &'a ThreadRecord,
    /// The verified transcript.
    pub reading: &'a Reading,
    /// The trust in the key that signed both.
    pub signer: Signer,
    /// The state in one word: that of the record, or `stopped`.
    pub standing: &'static str,
    /// The cost of the thread and its descendants.
    pub cost: Nanos,
    /// The money that requests and children under way may cost beside that.
    pub reserved: Nanos,
    /// The lists of patterns of the capability token, outermost first; a capability is allowed if each list covers it.
    pub patterns: Vec<Vec<String>>,
    /// The time of the verification.
    pub verified_at: Moment,
    /// The name of the project.
    pub project: String,
    /// The children whose transcripts are shown too, in their order.
    pub children: Vec<Self>,
}

impl<'a> Source<'a> {
    /// A thread without children, in the state and with the cost of its record.
    #[must_use]
    pub fn new(
        record: &'a ThreadRecord,
        reading: &'a Reading,
        signer: Signer,
        verified_at: Moment,
    ) -> Self {
        Self {
            record,
            reading,
            signer,
            standing: record.state.as_str(),
            cost: record.cost,
            reserved: Nanos::ZERO,
            patterns: Vec::new(),
            verified_at,
            project: String::new(),
            children: Vec::new(),
        }
    }

    /// Returns `true` in the states that a process or a decision may change. A stopped thread waits for its operator.
    pub(crate) fn may_change(&self) -> bool {
        ["created", "running", "suspended"].contains(&self.standing)
    }
}
