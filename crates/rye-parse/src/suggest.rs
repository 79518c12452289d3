//! The name that was probably meant by one that is not there, and the ends of messages that say so.

/// The longest name for which one is sought: a comparison takes time for the square of the length, and a file of others may
/// have many thousand wrong names.
const LONGEST: usize = 64;

/// The shortest name that stands for a longer one that begins with it.
const SHORTEST_BEGINNING: usize = 3;

/// Returns the name among `known` that was probably meant by `given`: the nearest one by letters that are missing, superfluous,
/// wrong or swapped. If more than a third of the letters are so, returns the shortest name that begins with `given`.
/// Upper and lower case count as equal. Of several names that are as near, the first in the alphabet is taken.
///
/// ```
/// assert_eq!(rye_parse::nearest_name("turn", ["tokens", "turns"]), Some("turns"));
/// assert_eq!(rye_parse::nearest_name("exec", ["execute", "search"]), Some("execute"));
/// assert_eq!(rye_parse::nearest_name("money", ["tokens", "turns"]), None);
/// ```
#[must_use]
pub fn nearest_name<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let length = given.chars().count();
    // Where no letter is left, a suggestion is a guess.
    let tolerance = length.div_ceil(3).min(length.saturating_sub(1));
    if LONGEST < length {
        return None;
    }
    let rank = |name: &'a str| {
        let others = name.chars().count();
        let lower = name.to_lowercase();
        let is_similar = others.abs_diff(length) <= tolerance;
        let distance = is_similar.then(|| strsim::damerau_levenshtein(&given, &lower));
        match distance.filter(|distance| *distance <= tolerance) {
            Some(distance) => Some((distance, 0, name)),
            None if SHORTEST_BEGINNING <= length && lower.starts_with(&given) => {
                Some((usize::MAX, others, name))
            }
            None => None,
        }
    };
    let (_, _, name) = known.into_iter().filter_map(rank).min()?;
    Some(name)
}

/// Returns the end of a message that asks for the suggested name, or nothing without one.
#[must_use]
pub fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// The most names that a message lists: a file can declare many thousand, and name them in as many messages.
const MOST_LISTED: usize = 30;

/// The most characters of a listed name.
const LONGEST_LISTED: usize = 100;

/// Returns the names in backticks, separated by commas. After 30 names, the rest is counted; a name is cut after 100
/// characters.
#[must_use]
pub fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let listed: Vec<String> = names.by_ref().take(MOST_LISTED).map(in_backticks).collect();
    match names.count() {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

fn in_backticks(name: &str) -> String {
    match name.char_indices().nth(LONGEST_LISTED) {
        Some((end, _)) => format!("`{}…`", name.get(..end).unwrap_or_default()),
        None => format!("`{name}`"),
    }
}

/// "did you mean `x`? valid: `x`, `y`", without the question when nothing is near.
pub(crate) fn suggestion(given: &str, known: &[&str]) -> String {
    let valid = format!("valid: {}", quoted(known.iter().copied()));
    match nearest_name(given, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`? {valid}"),
        None => valid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_counted_and_long_ones_cut() {
        assert_eq!(quoted(["a", "b"]), "`a`, `b`");
        assert_eq!(quoted(["a"].repeat(30)), ["`a`"; 30].join(", "));
        assert_eq!(quoted(["a"].repeat(33)), format!("{} and 3 more", ["`a`"; 30].join(", ")));
        assert_eq!(quoted([&*"é".repeat(101)]), format!("`{}…`", "é".repeat(100)));
    }

    #[test]
    fn the_nearest_name_is_no_guess() {
        let long = "a".repeat(1 << 22);
        let rows: [(&str, &[&str], Option<&str>); 15] = [
            ("int", &["string", "integer"], Some("integer")),
            ("item", &["item_type", "item_id"], Some("item_id")),
            ("it", &["item_type"], None),
            ("tagret", &["name", "target"], Some("target")),
            ("colour", &["name", "target"], None),
            // One letter for another is no slip.
            ("b", &["a"], None),
            ("", &["a"], None),
            ("ab", &["ac", "aa"], Some("aa")),
            ("TOKENS", &["turns", "tokens"], Some("tokens")),
            ("Überschrift", &["überschrift"], Some("überschrift")),
            ("notes/index-stile", &["notes/index", "notes/index-style"], Some("notes/index-style")),
            ("tokens", &[], None),
            (&long, &[&long, "a"], None),
            ("aab", &[&long, "aaa"], Some("aaa")),
            (&long[..LONGEST], &[&long[..LONGEST - 1]], Some(&long[..LONGEST - 1])),
        ];
        for (given, known, expected) in rows {
            assert_eq!(nearest_name(given, known.iter().copied()), expected, "{known:?}");
        }
    }

    #[test]
    fn a_message_ends_with_what_was_meant_and_what_there_is() {
        assert_eq!(did_you_mean(Some("a")), "; did you mean `a`?");
        assert_eq!(did_you_mean(None), "");
        assert_eq!(quoted(["a", "b"]), "`a`, `b`");
        assert_eq!(
            suggestion("turn", &["turns", "spend"]),
            "did you mean `turns`? valid: `turns`, `spend`"
        );
        assert_eq!(suggestion("x", &["turns"]), "valid: `turns`");
    }
}
