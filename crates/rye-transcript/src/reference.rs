//! References to threads: an id, or a part of an id that only one thread has.

use std::fmt;
use std::str::FromStr;

use crate::ThreadId;

/// The id of a thread, a prefix of it, or its last eight characters (SPEC 12.1b).
///
/// ```
/// use rye_transcript::{ThreadId, ThreadReference};
///
/// let known: ThreadId = "index-019a0000-0000-7000-8000-0000000000ff".parse()?;
/// let reference: ThreadReference = "000000ff".parse()?;
/// assert_eq!(reference.resolve([&known])?, known);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadReference(String);

impl ThreadReference {
    /// Returns the one thread among `known` that the text refers to. A whole id refers to its thread even if it is not
    /// known.
    ///
    /// # Errors
    ///
    /// [`ThreadReferenceError`] if no known thread has the part, or more than one has it.
    pub fn resolve<'a>(
        &self,
        known: impl IntoIterator<Item = &'a ThreadId>,
    ) -> Result<ThreadId, ThreadReferenceError> {
        if let Ok(whole) = self.0.parse() {
            return Ok(whole);
        }
        let mut matching: Vec<&ThreadId> =
            known.into_iter().filter(|thread| self.matches(thread)).collect();
        matching.sort();
        matching.dedup();
        match matching.as_slice() {
            [] => Err(ThreadReferenceError::Unknown { text: self.0.clone() }),
            [thread] => Ok((*thread).clone()),
            some => Err(ThreadReferenceError::Ambiguous {
                text: self.0.clone(),
                threads: some.iter().map(|thread| (*thread).clone()).collect(),
            }),
        }
    }

    fn matches(&self, thread: &ThreadId) -> bool {
        let id = thread.as_str();
        id.starts_with(&self.0) || (self.0.len() == SUFFIX_LENGTH && id.ends_with(&self.0))
    }
}

/// The number of characters at the end of an id that refer to it.
const SUFFIX_LENGTH: usize = 8;

/// The maximum number of threads in an error.
const LISTED: usize = 5;

impl fmt::Display for ThreadReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&ThreadId> for ThreadReference {
    fn from(thread: &ThreadId) -> Self {
        Self(thread.to_string())
    }
}

impl FromStr for ThreadReference {
    type Err = ThreadReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if text.is_empty() || !text.chars().all(is_part) {
            return Err(ThreadReferenceError::Malformed { text: text.to_owned() });
        }
        Ok(Self(text.to_owned()))
    }
}

/// The reason why a text refers to no thread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadReferenceError {
    /// The text has characters that no thread id has.
    #[error(
        "`{text}` is no part of a thread id, which consists of letters, digits, `-`, `_` and `.`"
    )]
    Malformed {
        /// The text.
        text: String,
    },
    /// No thread has this prefix or end.
    #[error("no thread here has an id that {} `{text}`; `rye threads list` shows all", comparison(.text))]
    Unknown {
        /// The text.
        text: String,
    },
    /// Several threads have this prefix or end.
    #[error("`{text}` may mean {}; add characters until only one thread has them", list_threads(.threads))]
    Ambiguous {
        /// The text.
        text: String,
        /// The threads that have it, in the order of their ids.
        threads: Vec<ThreadId>,
    },
}

/// Returns the words for the comparison of ids with a part of this length.
fn comparison(part: &str) -> &'static str {
    if part.len() == SUFFIX_LENGTH { "begins or ends with" } else { "begins with" }
}

fn list_threads(threads: &[ThreadId]) -> String {
    let named: Vec<String> = threads.iter().take(LISTED).map(|it| format!("`{it}`")).collect();
    let more = threads.len().saturating_sub(LISTED);
    let last = if more == 0 { String::new() } else { format!(" or {more} more") };
    format!("{}{last}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<ThreadId> {
        ["index-019a0000-0000-7000-8000-0000000000ff", "index-019a0001-0000-7000-8000-0000000000aa"]
            .iter()
            .chain(&["tidy-019a0002-0000-7000-8000-0000000000aa"])
            .map(|text| text.parse().unwrap())
            .collect()
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let known = known();
        let resolved = text.parse::<ThreadReference>().and_then(|it| it.resolve(&known));
        let resolved = resolved.map(|it| it.to_string()).map_err(|error| error.to_string());
        assert_eq!(resolved.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn a_unique_part_refers_to_its_thread() {
        check("tidy", Ok("tidy-019a0002-0000-7000-8000-0000000000aa"));
        check("index-019a0000", Ok("index-019a0000-0000-7000-8000-0000000000ff"));
        check("000000ff", Ok("index-019a0000-0000-7000-8000-0000000000ff"));
        check(
            "index-019a0001-0000-7000-8000-0000000000aa",
            Ok("index-019a0001-0000-7000-8000-0000000000aa"),
        );
    }

    #[test]
    fn a_whole_id_refers_to_itself_though_unknown() {
        check(
            "other-019a0001-0000-7000-8000-0000000000aa",
            Ok("other-019a0001-0000-7000-8000-0000000000aa"),
        );
    }

    #[test]
    fn a_part_of_several_or_of_none_is_refused() {
        check(
            "000000aa",
            Err("`000000aa` may mean `index-019a0001-0000-7000-8000-0000000000aa`, \
                 `tidy-019a0002-0000-7000-8000-0000000000aa`; add characters until only one thread has them"),
        );
        // Seven characters of an end are too few: only eight refer to it.
        for (text, compared) in
            [("00000ff", "begins with"), ("x", "begins with"), ("00000000", "begins or ends with")]
        {
            let unknown = format!(
                "no thread here has an id that {compared} `{text}`; `rye threads list` shows all"
            );
            check(text, Err(&unknown));
        }
    }

    #[test]
    fn each_letter_of_an_id_may_be_in_a_part() {
        let known: Vec<ThreadId> =
            vec!["A_b.c-019a0000-0000-7000-8000-0000000000ff".parse().unwrap()];
        for text in ["A", "A_", "A_b.c-0"] {
            let reference: ThreadReference = text.parse().unwrap();
            assert_eq!(
                (reference.to_string().as_str(), reference.resolve(&known)),
                (text, Ok(known[0].clone()))
            );
        }
        let whole = ThreadReference::from(&known[0]);
        assert_eq!(
            (whole.to_string(), whole.resolve([])),
            (known[0].to_string(), Ok(known[0].clone()))
        );
    }

    /// A thread that is known twice is one. Of many, five are named.
    #[test]
    fn the_threads_that_a_part_may_mean_are_listed() {
        let thread = |number: usize| format!("a-019a0000-0000-7000-8000-00000000000{number}");
        let resolve = |numbers: &[usize]| {
            let known: Vec<ThreadId> =
                numbers.iter().map(|it| thread(*it).parse().unwrap()).collect();
            let reference: ThreadReference = "a-".parse().unwrap();
            reference.resolve(&known).map(|it| it.to_string()).map_err(|error| error.to_string())
        };
        let named = |numbers: &[usize]| {
            numbers.iter().map(|it| format!("`{}`", thread(*it))).collect::<Vec<_>>().join(", ")
        };
        let advice = "add characters until only one thread has them";
        assert_eq!(resolve(&[3, 3]), Ok(thread(3)));
        for (numbers, listed) in [
            (vec![2, 1], named(&[1, 2])),
            (vec![5, 4, 3, 2, 1], named(&[1, 2, 3, 4, 5])),
            (vec![7, 6, 5, 4, 3, 2, 1], format!("{} or 2 more", named(&[1, 2, 3, 4, 5]))),
        ] {
            assert_eq!(resolve(&numbers), Err(format!("`a-` may mean {listed}; {advice}")));
        }
    }

    #[test]
    fn what_no_id_holds_is_malformed() {
        for text in ["", "../x", "a b", "é"] {
            let problem = text.parse::<ThreadReference>().unwrap_err();
            assert!(matches!(problem, ThreadReferenceError::Malformed { .. }), "{text}");
        }
    }
}
