//! What is signed: the new message and the two old ones (SPEC 2.4).

use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::item_name::ItemName;
use crate::key::PublicKey;
use crate::timestamp::Timestamp;

/// The message that new signatures sign.
pub(crate) fn bound(item: &ItemName, at: Timestamp, digest: &Digest) -> String {
    format!("rye-sig-v2\n{}\n{}\n{at}\n{digest}", item.kind(), item.id())
}

/// Whether the key signed the digest as this item at the time in the envelope.
pub(crate) fn is_bound(key: &PublicKey, envelope: &Envelope, item: &ItemName) -> bool {
    let message = bound(item, envelope.at, &envelope.digest);
    key.verifies(message.as_bytes(), &envelope.signature)
}

/// Whether the key signed the digest alone, as text or, more rarely, as bytes.
pub(crate) fn is_content_only(key: &PublicKey, envelope: &Envelope) -> bool {
    let digits = envelope.digest.to_string();
    let messages = [digits.as_bytes(), envelope.digest.as_bytes().as_slice()];
    messages.into_iter().any(|message| key.verifies(message, &envelope.signature))
}
