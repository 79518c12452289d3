//! Many patterns, compiled for fast matching.

use regex::Regex;

use crate::{
    automaton::Automaton,
    capability::{Capability, Kind, Primary},
    pattern::{Glob, Pattern, Shape},
};

/// The patterns of a grant for one action on one kind of item, grouped by the fastest way to match them.
#[derive(Debug)]
pub(super) struct Index {
    /// `true` if a pattern covers all ids.
    all: bool,
    /// Exact ids, sorted.
    ids: Vec<Box<str>>,
    /// Prefixes of ids with a final `.`, sorted. Invariant: none is a prefix of another, so only the last one that
    /// sorts before an id can be a prefix of it.
    ///
    /// The final `.` lets `a.*` cover `a`. It matches no other prefix, because such a prefix would have to end in it.
    prefixes: Vec<Box<str>>,
    others: Others,
}

/// The globs that need an automaton.
#[derive(Debug)]
enum Others {
    /// No glob needs an automaton.
    None,
    /// All globs fit into one automaton, which takes the time of a single glob.
    One(Regex),
    /// The globs are too many or too large for one automaton.
    Each(Vec<Glob>),
}

impl Index {
    pub(super) fn new(patterns: &[Pattern], primary: Primary, kind: Kind) -> Self {
        let head = format!("rye.{primary}.{kind}.");
        let mut all = false;
        let mut ids = Vec::new();
        let mut prefixes = Vec::new();
        let mut others = Vec::new();
        for glob in patterns.iter().flat_map(Pattern::globs) {
            match glob.shape() {
                Shape::Exact(text) => ids.extend(text.strip_prefix(&head).map(Box::from)),
                Shape::Prefix(prefix) if head.starts_with(prefix) => all = true,
                Shape::Prefix(prefix) => prefixes.extend(prefix.strip_prefix(&head).map(Box::from)),
                Shape::Other if Automaton::new(glob).after(&head).is_empty() => {}
                Shape::Other => others.push(glob),
            }
        }
        ids.sort_unstable();
        Self { all, ids, prefixes: prefix_free(prefixes), others: Others::new(&others) }
    }

    /// Returns `true` if a pattern covers `capability`, which has the action and the kind of the index.
    pub(super) fn matches(&self, capability: &Capability) -> bool {
        self.all
            || self.has_prefix_of(capability.id_and_dot())
            || self.has(capability.dotted_id())
            || self.others.matches(capability)
    }

    fn has(&self, id: &str) -> bool {
        self.ids.binary_search_by(|known| (**known).cmp(id)).is_ok()
    }

    fn has_prefix_of(&self, id_and_dot: &str) -> bool {
        let behind = self.prefixes.partition_point(|prefix| **prefix <= *id_and_dot);
        let candidate = behind.checked_sub(1).and_then(|index| self.prefixes.get(index));
        candidate.is_some_and(|prefix| id_and_dot.starts_with(&**prefix))
    }
}

impl Others {
    fn new(globs: &[&Glob]) -> Self {
        if globs.is_empty() {
            return Self::None;
        }
        let sources: Vec<_> = globs.iter().flat_map(|glob| glob.regex_sources()).collect();
        match Regex::new(&format!("(?:{})", sources.join("|"))) {
            Ok(regex) => Self::One(regex),
            Err(_) => Self::Each(globs.iter().map(|&glob| glob.clone()).collect()),
        }
    }

    fn matches(&self, capability: &Capability) -> bool {
        match self {
            Self::None => false,
            Self::One(regex) => regex.is_match(capability.as_str()),
            Self::Each(globs) => globs.iter().any(|glob| glob.matches(capability.as_str())),
        }
    }
}

/// Sorts the prefixes and removes those that have another one as a prefix.
fn prefix_free(mut prefixes: Vec<Box<str>>) -> Vec<Box<str>> {
    prefixes.sort_unstable();
    // A prefix sorts before the texts that it is a prefix of, and directly before them once the texts in between are
    // removed.
    prefixes.dedup_by(|prefix, kept| prefix.starts_with(&**kept));
    prefixes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(patterns: &[String]) -> Index {
        let patterns: Vec<_> = patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
        Index::new(&patterns, Primary::Load, Kind::Tool)
    }

    /// Makes an index of `count` patterns that each need a large automaton.
    fn heavy(count: usize) -> Index {
        let pattern = |index| format!("rye.load.tool.*a{index}{}", "[!x]".repeat(58));
        index(&(0..count).map(pattern).collect::<Vec<_>>())
    }

    fn covered_by(index: usize) -> Capability {
        format!("rye.load.tool.zza{index}{}", "b".repeat(58)).parse().unwrap()
    }

    #[test]
    fn some_globs_fit_into_one_automaton() {
        let index = heavy(20);
        assert!(matches!(index.others, Others::One(_)));
        assert_eq!([0, 19, 20].map(|at| index.matches(&covered_by(at))), [true, true, false]);
    }

    #[test]
    fn globs_that_do_not_fit_are_tried_one_by_one() {
        let index = heavy(200);
        assert!(matches!(index.others, Others::Each(_)));
        assert_eq!([0, 199, 200].map(|at| index.matches(&covered_by(at))), [true, true, false]);
    }

    #[test]
    fn no_prefix_is_kept_that_another_one_implies() {
        let patterns =
            ["a*", "ab*", "a.b.*", "b.*", "c"].map(|items| format!("rye.load.tool.{items}"));
        let index = index(&patterns);
        assert_eq!(index.prefixes, ["a", "b."].map(Box::from));
        assert_eq!(index.ids, ["c"].map(Box::from));
    }

    #[test]
    fn what_cannot_cover_the_action_and_kind_is_left_out() {
        let patterns = [
            "rye.load.directive.*",
            "rye.load.directive.a",
            "rye.sign.*",
            "rye.s*.a?",
            "rye.load.tool",
        ];
        let index = index(&patterns.map(str::to_owned));
        assert!(!index.all && index.prefixes.is_empty() && index.ids.is_empty());
        assert!(matches!(index.others, Others::None));
    }
}
