//! Hash-chained logs: the head after each record, and signed checkpoints of heads (SPEC 10.7).
//!
//! ```
//! use rye_sign::SigningKey;
//! use rye_sign::chain::{Head, sign_checkpoint};
//!
//! let key = SigningKey::generate()?;
//! let head = [b"first".as_slice(), b"second"].iter().fold(Head::genesis(), |head, record| head.link(record));
//! let checkpoint = sign_checkpoint(&head, 2, "greet-1", &key)?;
//! checkpoint.verify(&head, 2, "greet-1", &[key.public()])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checkpoint;

use std::fmt;
use std::str::FromStr;

pub use checkpoint::{Checkpoint, CheckpointError, sign_checkpoint};

use crate::digest::{Digest, DigestError};

/// The digest of all records of a log up to one of them, written as 64 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head(Digest);

impl Head {
    /// The head of a log without records. The first record carries it as its `prev`.
    pub fn genesis() -> Self {
        Self(Digest::of(b"rye-chain-v1"))
    }

    /// Returns the head after one more record. `record` is the bytes of its line without the line end.
    pub fn link(&self, record: &[u8]) -> Self {
        Self(Digest::of_pieces([b"rye-chain-v1\n", self.0.digits().as_slice(), b"\n", record]))
    }
}

impl FromStr for Head {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
