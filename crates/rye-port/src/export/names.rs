//! Names of skills, made from the ids of directives.

use std::collections::BTreeMap;

use rye_sign::Digest;

/// Returns the name of the skill of each directive, in the given order.
///
/// A name is of the form that the Agent Skills specification asks for: 1 to 64 of `a-z`, `0-9` and `-`, without a hyphen at the ends or
/// beside another. If several ids would have one name, each of them ends in a short hash of its id instead, so that no name depends
/// on the order. So does a name that is too long, or that looks like one with a hash.
///
/// ```
/// let names = rye_port::skill_names(&["notes/index", "Team/Deploy.now", "a_b", "a-b"]);
/// assert_eq!(names[..2], ["notes-index", "team-deploy-now"]);
/// assert!(names[2].starts_with("a-b-") && names[2] != names[3]);
/// ```
#[must_use]
pub fn skill_names(ids: &[&str]) -> Vec<String> {
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids {
        *wanted.entry(plain(id)).or_default() += 1;
    }
    let is_free =
        |name: &String| wanted.get(name) == Some(&1) && name.len() <= MAX_LENGTH && !has_hash(name);
    ids.iter().map(|id| Some(plain(id)).filter(is_free).unwrap_or_else(|| hashed(id))).collect()
}

const MAX_LENGTH: usize = 64;
const HASH_LENGTH: usize = 12;

/// The id in lower case, with one hyphen for each run of other characters; empty for an id without letters and digits.
fn plain(id: &str) -> String {
    let id = id.to_ascii_lowercase();
    let words = id.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

fn has_hash(name: &str) -> bool {
    let last = name.rsplit('-').next().unwrap_or_default();
    name.is_empty() || last.len() == HASH_LENGTH && last.chars().all(|c| c.is_ascii_hexdigit())
}

fn hashed(id: &str) -> String {
    let digest = Digest::of(id.as_bytes()).to_string();
    let hash: String = digest.chars().take(HASH_LENGTH).collect();
    let stem: String = plain(id).chars().take(MAX_LENGTH - HASH_LENGTH - 1).collect();
    match stem.trim_end_matches('-') {
        "" => format!("directive-{hash}"),
        stem => format!("{stem}-{hash}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_keep_the_words_of_their_ids() {
        for (ids, expected) in [
            (&["notes/index"][..], &["notes-index"][..]),
            (&["Notes/Index.v2"], &["notes-index-v2"]),
            (&["a__b/_c-"], &["a-b-c"]),
            (&["a/b", "a-b", "c"], &["a-b-c14cddc033f6", "a-b-d44362d67d92", "c"]),
            (&["_"], &["directive-d2e2adf7177b"]),
        ] {
            let names = skill_names(ids);
            assert_eq!(names, expected, "{ids:?}");
        }
    }

    /// A person who chooses ids cannot take the name of another directive.
    #[test]
    fn a_name_that_looks_hashed_is_hashed_again() {
        let names = skill_names(&["a/b", "a-b"]);
        let ids = ["a/b", "a-b", names[0].as_str()];
        let again = skill_names(&ids);
        assert_eq!(again[..2], names[..]);
        assert_ne!(again[2], names[0]);
    }

    fn is_name(name: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (1..=64).contains(&name.len())
            && name.chars().all(is_plain)
            && !name.starts_with('-')
            && !name.ends_with('-')
            && !name.contains("--")
    }

    proptest! {
        #[test]
        fn every_name_is_one_and_its_own(ids in prop::collection::btree_set("[a-cA-C_./-]{1,6}|[a-z0-9]{60,80}", 1..20)) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let names = skill_names(&ids);
            prop_assert!(names.iter().all(|name| is_name(name)), "{names:?}");
            let mut distinct = names.clone();
            distinct.sort();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), ids.len());
            let mut reversed = ids.clone();
            reversed.reverse();
            prop_assert_eq!(skill_names(&reversed).into_iter().rev().collect::<Vec<_>>(), names);
        }
    }
}
