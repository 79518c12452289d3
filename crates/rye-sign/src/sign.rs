//! Writing a signature line.

use rye_types::Timestamp;

use crate::comment::CommentStyle;
use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::item_name::ItemName;
use crate::layout::{Layout, split_head};
use crate::message;
use crate::signing_key::SigningKey;

/// Signs a text as the item and returns the new text. The signature covers the whole text and binds kind, id and time.
///
/// The signature line is line 1, or follows a `#!` line. It replaces an existing signature line, a placeholder or a
/// malformed one included; other text on the replaced line is kept below. Everything else stays byte for byte. The new
/// line ends like the first other line of the text.
pub fn sign(
    text: &str,
    style: CommentStyle,
    item: &ItemName,
    key: &SigningKey,
    at: Timestamp,
) -> String {
    let old_line_end = first_line_end(text).unwrap_or("\n");
    let content = without_signature(text, old_line_end);
    let (head, rest) = split_head(&content);
    let head = if head.ends_with('\n') || !head.contains("#!") {
        head.to_owned()
    } else {
        format!("{head}{old_line_end}")
    };
    // The whole text is examined, because a CR at its end and the first byte of what follows can form one CRLF line
    // end.
    let line_end = first_line_end(&format!("{head}{rest}")).unwrap_or(old_line_end);
    let line = signature_line(Digest::of_parts(&[&head, rest]), style, item, key, at);
    format!("{head}{line}{line_end}{rest}")
}

/// Signs a text as the item and returns the signature line, which is kept in a file of its own and ends with a line end (SPEC 17.3).
///
/// The signature covers all of the text, also a line that looks like a signature. [`Unverified::detached`](crate::Unverified::detached)
/// reads it.
pub fn sign_detached(text: &str, item: &ItemName, key: &SigningKey, at: Timestamp) -> String {
    let digest = Digest::of_text(text);
    format!("{}\n", signature_line(digest, CommentStyle::DETACHED, item, key, at))
}

fn signature_line(
    digest: Digest,
    style: CommentStyle,
    item: &ItemName,
    key: &SigningKey,
    at: Timestamp,
) -> String {
    let signature = key.sign(message::bound(item, at, &digest).as_bytes());
    let key_id = key.public().key_id().clone();
    style.wrap(&Envelope { at, digest, signature, key_id, claimed_owner: None }.to_string())
}

fn without_signature(text: &str, line_end: &str) -> String {
    let Layout { head, line, rest } = Layout::of(text);
    let beside = line.and_then(|line| line.text_beside()).map(|beside| beside + line_end);
    format!("{head}{}{rest}", beside.unwrap_or_default())
}

fn first_line_end(text: &str) -> Option<&'static str> {
    let (first_line, _) = text.split_once('\n')?;
    Some(if first_line.ends_with('\r') { "\r\n" } else { "\n" })
}
