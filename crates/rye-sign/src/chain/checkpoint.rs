//! Signed heads of logs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chain::Head;
use crate::key::PublicKey;
use crate::key_id::KeyId;
use crate::signature_bytes::SignatureBytes;
use crate::signing_key::SigningKey;

/// A signed statement that the log of a thread had a certain head after `seq` records. Its size does not grow with the
/// log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    thread: String,
    seq: u64,
    head: Head,
    key_id: KeyId,
    signature: SignatureBytes,
}

/// A reason why a checkpoint was not made, parsed or verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The signature does not fit the stated thread, record and head.
    #[error(
        "forged checkpoint: the key `{key_id}` did not sign record {seq} of the thread `{thread}`; do not resume from this log"
    )]
    BadSignature {
        /// The key that the checkpoint names.
        key_id: KeyId,
        /// The thread that the checkpoint names.
        thread: String,
        /// The record that the checkpoint names.
        seq: u64,
    },
    /// The thread id is empty or contains a control character.
    #[error(
        "the thread id {thread:?} is empty or holds a control character; an id is one line of text"
    )]
    InvalidThread {
        /// The given id.
        thread: String,
    },
    /// The JSON is not a checkpoint.
    #[error("not a checkpoint: {problem}; do not resume from this log")]
    Malformed {
        /// The fault of the JSON.
        problem: String,
    },
    /// The checkpoint is for another thread or another record.
    #[error(
        "the checkpoint is of record {stated_seq} of the thread `{stated_thread}`, not of record {seq} of `{thread}`; do not resume from this log"
    )]
    OfAnotherRecord {
        /// The record that the checkpoint names.
        stated_seq: u64,
        /// The thread that the checkpoint names.
        stated_thread: String,
        /// The record at which the checkpoint was found.
        seq: u64,
        /// The thread in which the checkpoint was found.
        thread: String,
    },
    /// The log differs from the log that was signed.
    #[error(
        "the log differs from its checkpoint at record {seq} of the thread `{thread}`: signed `{expected}`, found `{actual}`; do not resume from this log"
    )]
    OtherHead {
        /// The record of the checkpoint.
        seq: u64,
        /// The thread of the checkpoint.
        thread: String,
        /// The head that was signed.
        expected: Head,
        /// The head of the log.
        actual: Head,
    },
    /// None of the given keys has the id in the checkpoint.
    #[error(
        "the checkpoint is signed by the key `{key_id}`, which may not sign logs here; verify with the key that wrote the log"
    )]
    UnknownKey {
        /// The key that the checkpoint names.
        key_id: KeyId,
    },
}

/// Signs the statement that the log of the thread had this head after `seq` records.
///
/// # Errors
///
/// [`CheckpointError::InvalidThread`] if the thread id is empty or contains a control character.
pub fn sign_checkpoint(
    head: &Head,
    seq: u64,
    thread: &str,
    key: &SigningKey,
) -> Result<Checkpoint, CheckpointError> {
    if thread.is_empty() || thread.chars().any(char::is_control) {
        return Err(CheckpointError::InvalidThread { thread: thread.to_owned() });
    }
    let signature = key.sign(message(head, seq, thread).as_bytes());
    Ok(Checkpoint {
        thread: thread.to_owned(),
        seq,
        head: *head,
        key_id: key.public().key_id().clone(),
        signature,
    })
}

impl Checkpoint {
    /// Parses the output of [`to_json`](Self::to_json) without verifying it.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Malformed`] if a member is missing, unknown or malformed.
    pub fn from_json(value: &Value) -> Result<Self, CheckpointError> {
        let malformed = |problem: String| CheckpointError::Malformed { problem };
        let disk =
            CheckpointDisk::deserialize(value).map_err(|error| malformed(error.to_string()))?;
        if disk.format != FORMAT {
            return Err(malformed(format!("its format is `{}`, not `{FORMAT}`", disk.format)));
        }
        let signature = SignatureBytes::decode(&disk.signature);
        Ok(Self {
            thread: disk.thread,
            seq: disk.seq,
            head: disk
                .head
                .parse()
                .map_err(|_| malformed(format!("its head `{}` is no digest", disk.head)))?,
            key_id: disk
                .key_id
                .parse()
                .map_err(|_| malformed(format!("its key id `{}` is none", disk.key_id)))?,
            signature: signature
                .ok_or_else(|| malformed("its signature is not 64 bytes of base64".to_owned()))?,
        })
    }

    /// The checkpoint as one JSON object.
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "format": FORMAT,
            "thread": self.thread,
            "seq": self.seq,
            "head": self.head.to_string(),
            "key_id": self.key_id.as_str(),
            "signature": self.signature.encode(),
        })
    }

    /// The id of the key that the checkpoint names.
    pub fn key_id(&self) -> &KeyId {
        &self.key_id
    }

    /// The head that was signed.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The number of records that the head covers.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Verifies that one of the keys signed this head for this record of this thread.
    ///
    /// # Errors
    ///
    /// The checkpoint is for another record or another head, none of `keys` has its key id, or its signature is bad.
    pub fn verify(
        &self,
        head: &Head,
        seq: u64,
        thread: &str,
        keys: &[PublicKey],
    ) -> Result<(), CheckpointError> {
        if (self.seq, self.thread.as_str()) != (seq, thread) {
            return Err(self.of_another_record(seq, thread));
        }
        if self.head != *head {
            let thread = thread.to_owned();
            return Err(CheckpointError::OtherHead {
                seq,
                thread,
                expected: self.head,
                actual: *head,
            });
        }
        let key_id = self.key_id.clone();
        let Some(key) = keys.iter().find(|key| key.is_named(&key_id)) else {
            return Err(CheckpointError::UnknownKey { key_id });
        };
        if !key.verifies(message(head, seq, thread).as_bytes(), &self.signature) {
            return Err(CheckpointError::BadSignature { key_id, thread: thread.to_owned(), seq });
        }
        Ok(())
    }

    fn of_another_record(&self, seq: u64, thread: &str) -> CheckpointError {
        CheckpointError::OfAnotherRecord {
            stated_seq: self.seq,
            stated_thread: self.thread.clone(),
            seq,
            thread: thread.to_owned(),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointDisk {
    format: String,
    thread: String,
    seq: u64,
    head: String,
    key_id: String,
    signature: String,
}

fn message(head: &Head, seq: u64, thread: &str) -> String {
    format!("{FORMAT}\n{thread}\n{seq}\n{head}")
}

const FORMAT: &str = "rye-checkpoint-v1";
