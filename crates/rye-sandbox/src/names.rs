//! Names as different file systems compare them.

use std::ffi::OsStr;

/// Returns the name as the least strict file system compares it: without case, ignorable characters, trailing
/// dots and spaces, and the stream after a colon.
///
/// The ignorable characters include all that HFS+ ignores, according to the list in `git`.
#[must_use]
pub fn fold(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let name = name.split(':').next().unwrap_or_default();
    let visible = name.chars().filter(|c| !is_ignorable(*c));
    let folded: String =
        visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.trim_end_matches(['.', ' ']).trim_start_matches(' ').to_owned()
}

/// Returns `true` if a folded name is `name`, or may be its short name on Windows, such as `git~1` for
/// `.git`.
#[must_use]
pub fn stands_for(folded: &str, name: &str) -> bool {
    folded == name || is_short_name(folded, name)
}

fn is_short_name(folded: &str, name: &str) -> bool {
    let Some((stem, rest)) = folded.split_once('~') else { return false };
    let number = rest.split('.').next().unwrap_or_default();
    let base = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && base.get(..6).unwrap_or(base) == stem
}

fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}
