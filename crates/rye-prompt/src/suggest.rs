//! "Did you mean": the nearest of the names that would have been right.

/// The longest name for which a suggestion is sought; the search needs memory for its square.
const LONGEST: usize = 64;

/// The closest candidate by edit distance, when it is close enough to be a slip of the hand.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    // About one slip in three characters; beyond that, or when no character is left, a suggestion
    // is a guess.
    let length = name.chars().count();
    let tolerance = length.div_ceil(3).min(length.saturating_sub(1));
    if LONGEST < length {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 4 * (length + tolerance))
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// The clause that ends an error message when there is a suggestion, else nothing.
pub(crate) fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Names in backticks, separated by commas.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_suggested() {
        assert_eq!(nearest("tagret", ["name", "target"]).as_deref(), Some("target"));
    }

    #[test]
    fn a_stranger_is_not() {
        assert_eq!(nearest("colour", ["name", "target"]), None);
    }

    #[test]
    fn one_letter_for_another_is_no_slip() {
        assert_eq!(nearest("b", ["a"]), None);
    }

    #[test]
    fn long_names_are_not_compared() {
        let long = "a".repeat(1 << 22);
        assert_eq!(nearest(&long, [long.as_str(), "a"]), None);
        assert_eq!(nearest("aab", [long.as_str(), "aaa"]).as_deref(), Some("aaa"));
    }

    #[test]
    fn equal_distances_are_settled_by_name() {
        assert_eq!(nearest("ab", ["ac", "aa"]).as_deref(), Some("aa"));
    }
}
