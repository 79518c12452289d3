//! Untrusted text in messages.

/// Makes `text` safe for a message: shortens it if it is long, and escapes control characters.
pub(crate) fn sanitize(text: &str) -> String {
    const MAX_CHARACTERS: usize = 120;
    let mut shown: String = text.chars().take(MAX_CHARACTERS).flat_map(visible).collect();
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns the character, escaped if a terminal might act on it.
fn visible(character: char) -> Vec<char> {
    if character.is_control() { character.escape_default().collect() } else { vec![character] }
}
