//! Stop reasons.

use rye_thread::StopReason;

/// Returns the stop reason of a word that has no variant of its own. A text that is not a word, such as
/// echoed headers, is left out of messages.
pub(crate) fn other(word: &str) -> StopReason {
    let word = word.to_ascii_lowercase();
    let is_word = (1..=64).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    StopReason::Other(if is_word { word } else { "unreadable".to_owned() })
}
