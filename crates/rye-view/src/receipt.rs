//! Signed receipts of threads, which verify without the thread, the project and Rye (SPEC 12.6).
//!
//! A receipt is an in-toto Statement, version 1, in a DSSE envelope. Its subjects are the SHA-256 of the transcript and of each
//! output. Its predicate follows from the transcript alone, apart from the member `attestation`. So a verifier with the
//! transcript derives the predicate again and compares. The guide page on receipts describes each member.

mod predicate;
mod verify;

use rye_sign::SigningKey;
use rye_sign::dsse::Envelope;
use rye_types::Moment;
use serde_json::{Value, json};

pub use self::verify::{Receipt, ReceiptError};
use crate::export::{ChangedError, jsonl};
use crate::unread::UnreadError;
use crate::{Signer, Source};

/// The media type of the payload.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The type of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The type of the predicate. A change of a member's meaning makes a new version.
pub const PREDICATE_TYPE: &str = "https://github.com/rye-os/rye/receipt/v1";

/// The name of the subject that is the transcript.
pub const TRANSCRIPT: &str = "transcript.jsonl";

/// Signs a receipt of a verified thread that has ended.
///
/// `transcript` is the bytes of `transcript.jsonl`. `at` is the time of the receipt, `version` that of the program.
///
/// # Errors
///
/// [`MakeError::NotEnded`] if the thread may still go on. [`MakeError::Changed`] if `transcript` holds other records than were
/// verified.
pub fn sign(
    source: &Source<'_>,
    transcript: &[u8],
    at: Moment,
    version: &str,
    key: &SigningKey,
) -> Result<String, MakeError> {
    let lines = jsonl(transcript, source.reading)?;
    let mut predicate = predicate::derive(source.reading)?
        .ok_or_else(|| MakeError::NotEnded { thread: source.record.thread.as_str().to_owned() })?;
    predicate["attestation"] = json!({
        "at": at.to_string(),
        "by": { "name": "rye", "version": version },
        "transcript_key": match source.signer { Signer::Trusted => "trusted", Signer::OwnKey => "thread" },
    });
    let statement = json!({
        "_type": STATEMENT_TYPE,
        "subject": predicate::subjects(source.reading, lines),
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    });
    let payload = rye_sign::canonical_json(&statement);
    Ok(Envelope::sign(PAYLOAD_TYPE, payload.as_bytes(), key).to_text())
}

/// A reason why no receipt was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// The transcript was written to in the meantime.
    #[error(transparent)]
    Changed(#[from] ChangedError),
    /// The thread has not ended, so that there is no outcome to attest.
    #[error("the thread `{thread}` has not ended; a receipt is made of a thread that has")]
    NotEnded {
        /// The thread.
        thread: String,
    },
    /// This version cannot read a record, so that it does not know what happened.
    #[error(transparent)]
    Unread(#[from] UnreadError),
}

/// A member of a JSON object, or null.
fn member<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, name| &value[*name])
}
