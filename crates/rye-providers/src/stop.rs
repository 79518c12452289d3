//! Words for why a model stopped.

use rye_thread::StopReason;

/// A reason that we have no name for; what is no word, such as the headers that a server got, stays out of messages.
pub(crate) fn other(word: &str) -> StopReason {
    let word = word.to_ascii_lowercase();
    let is_word = (1..=64).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    StopReason::Other(if is_word { word } else { "unreadable".to_owned() })
}
