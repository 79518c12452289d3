//! Syntax checks of paths, without the file system.

use super::path_limits::MAX_DEPTH;
use super::{Error, PathFault};

/// A path from a caller. By its text, it is relative and stays below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestedPath {
    parts: Vec<String>,
}

impl RequestedPath {
    pub(super) fn parse(path: &str) -> Result<Self, Error> {
        match fault(path) {
            Some(fault) => Err(Error::Malformed { path: quote(path), fault }),
            None => Ok(Self { parts: parts_of(path).map(str::to_owned).collect() }),
        }
    }

    pub(super) fn parts(&self) -> &[String] {
        &self.parts
    }

    /// Returns the path with `/` between its parts, or `.` for the root itself.
    pub(super) fn text(&self) -> String {
        if self.parts.is_empty() { ".".to_owned() } else { self.parts.join("/") }
    }
}

fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Returns the reason why the text is not a path below the root.
pub(super) fn fault(path: &str) -> Option<PathFault> {
    let mut parts = path.split('/');
    if path.is_empty() {
        Some(PathFault::Empty)
    } else if path.len() > 4096 || path.split('/').any(|part| part.len() > 255) {
        Some(PathFault::TooLong)
    } else if path.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        Some(PathFault::Control)
    } else if path.starts_with('/') {
        Some(PathFault::Absolute)
    } else if path.contains('\\') {
        Some(PathFault::Backslash)
    } else if path.contains("://") || path.starts_with("file:") {
        Some(PathFault::Url)
    } else if has_drive(path) {
        Some(PathFault::Drive)
    } else if parts.next() == Some("~") {
        Some(PathFault::Home)
    } else if path.split('/').any(climbs) {
        Some(PathFault::Parent)
    } else if parts_of(path).count() > MAX_DEPTH {
        Some(PathFault::TooDeep)
    } else {
        None
    }
}

fn has_drive(path: &str) -> bool {
    let mut characters = path.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic()) && characters.next() == Some(':')
}

/// Returns `true` for `..`, and for a part that becomes `..` without trailing dots and spaces.
fn climbs(part: &str) -> bool {
    let trimmed = part.trim_matches(' ');
    trimmed.len() > 1 && trimmed.chars().all(|c| matches!(c, '.' | ' '))
}

/// Returns a path for a message: shortened and on one line.
pub(super) fn quote(path: &str) -> String {
    let mut text: String = path.chars().take(120).flat_map(escape).collect();
    if path.chars().nth(120).is_some() {
        text.push('…');
    }
    text
}

fn escape(c: char) -> Vec<char> {
    if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
        c.escape_default().collect()
    } else {
        vec![c]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Result<&str, PathFault>) {
        let actual = match RequestedPath::parse(path) {
            Ok(asked) => Ok(asked.text()),
            Err(Error::Malformed { fault, .. }) => Err(fault),
            Err(other) => panic!("unexpected {other}"),
        };
        assert_eq!(actual, expected.map(str::to_owned), "{path:?}");
    }

    #[test]
    fn paths_below_the_root_are_normalised() {
        check("a.md", Ok("a.md"));
        check("a//b/./c/", Ok("a/b/c"));
        check(".", Ok("."));
        check("./.hidden", Ok(".hidden"));
        check("naïve/日本 語.md", Ok("naïve/日本 語.md"));
        check("notes 12:30.md", Ok("notes 12:30.md"));
        check("a..b/..c/d..", Ok("a..b/..c/d.."));
        check("%2e%2e/x", Ok("%2e%2e/x"));
    }

    #[test]
    fn every_fault_has_its_own_name() {
        check("", Err(PathFault::Empty));
        check(&"a/".repeat(3000), Err(PathFault::TooLong));
        check(&"a".repeat(256), Err(PathFault::TooLong));
        check(&"a/".repeat(101), Err(PathFault::TooDeep));
        check("a\0b", Err(PathFault::Control));
        check("a\nb", Err(PathFault::Control));
        check("a\u{2028}b", Err(PathFault::Control));
        check("/etc/passwd", Err(PathFault::Absolute));
        check("a\\b", Err(PathFault::Backslash));
        check("file:///etc/passwd", Err(PathFault::Url));
        check("http://x/y", Err(PathFault::Url));
        check("C:/x", Err(PathFault::Drive));
        check("~/x", Err(PathFault::Home));
        check("..", Err(PathFault::Parent));
        check("a/../b", Err(PathFault::Parent));
        check("a/.. /b", Err(PathFault::Parent));
        check("a/... /b", Err(PathFault::Parent));
    }

    #[test]
    fn a_message_shows_a_path_on_one_line_and_short() {
        assert_eq!(quote("a\nb\u{7}"), "a\\nb\\u{7}");
        assert_eq!(quote(&"x".repeat(121)), format!("{}…", "x".repeat(120)));
    }
}
