//! A simple second implementation of patterns, to test the fast ones.

/// Returns `true` if `pattern`, which follows the grammar, covers the capability with this text.
pub(crate) fn matches(pattern: &str, subject: &str) -> bool {
    let pattern = pattern.replace('/', ".");
    let Some(rest) = pattern.strip_prefix("rye.fetch.") else { return covers(&pattern, subject) };
    ["search", "load"].iter().any(|primary| covers(&format!("rye.{primary}.{rest}"), subject))
}

/// Applies the rule that a final `.*` also covers the name before it.
fn covers(pattern: &str, subject: &str) -> bool {
    let stem = pattern.trim_end_matches('*').strip_suffix('.').filter(|_| pattern.ends_with('*'));
    wildcard(pattern.as_bytes(), subject.as_bytes())
        || stem.is_some_and(|stem| wildcard(stem.as_bytes(), subject.as_bytes()))
}

/// Matches like `fnmatch`, by backtracking.
fn wildcard(pattern: &[u8], subject: &[u8]) -> bool {
    match (pattern, subject) {
        ([], _) => subject.is_empty(),
        ([b'*', rest @ ..], _) => {
            (0..=subject.len()).any(|taken| wildcard(rest, &subject[taken..]))
        }
        (_, []) => false,
        ([b'?', rest @ ..], [_, subject @ ..]) => wildcard(rest, subject),
        ([b'[', rest @ ..], [byte, subject @ ..]) => {
            let end =
                rest.iter().position(|&byte| byte == b']').expect("because the class is closed");
            class(&rest[..end], *byte) && wildcard(&rest[end + 1..], subject)
        }
        ([literal, rest @ ..], [byte, subject @ ..]) => literal == byte && wildcard(rest, subject),
    }
}

fn class(class: &[u8], byte: u8) -> bool {
    match class {
        [b'!', items @ ..] => !has(items, byte),
        items => has(items, byte),
    }
}

fn has(items: &[u8], byte: u8) -> bool {
    match items {
        [first, b'-', last, rest @ ..] => (*first..=*last).contains(&byte) || has(rest, byte),
        [item, rest @ ..] => *item == byte || has(rest, byte),
        [] => false,
    }
}
