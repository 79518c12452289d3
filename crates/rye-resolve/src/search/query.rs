//! Search queries.

use std::{collections::BTreeSet, str::FromStr};

use rye_types::ItemKind;

use super::{shard::label, slot::Slot, words::words};

/// A query of [`Library::search`](crate::Library::search).
///
/// Its text is words separated by white space. A word matches as it is written and as the start of a longer
/// word. If no item has it in either way, words with typos match: one wrong letter from four letters on, two
/// from eight on if the first letter is right.
///
/// A word such as `file-system` matches where its parts follow each other. Words between `"` are a phrase,
/// which an item must have exactly. `word*` matches the start of a word. Case does not matter.
///
/// ```
/// use rye_resolve::SearchQuery;
/// use rye_types::ItemKind;
///
/// let query: SearchQuery = "deploy \"release notes\" roll*".parse()?;
/// let query = query.with_kind(ItemKind::Knowledge).with_tag("ops").with_limit(5);
/// assert_eq!(query.text(), "deploy \"release notes\" roll*");
/// # Ok::<(), rye_resolve::SearchQueryError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SearchQuery {
    text: String,
    atoms: Vec<Atom>,
    kinds: BTreeSet<ItemKind>,
    tags: Vec<String>,
    limit: usize,
}

/// Words that match together: one word, the parts of one, or a phrase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Atom {
    pub(crate) slots: Vec<Slot>,
    /// `true` if an item without it is not a result.
    pub(crate) is_required: bool,
}

impl SearchQuery {
    /// The limit of a query that sets none.
    pub const DEFAULT_LIMIT: usize = 20;
    /// The longest text, in bytes.
    pub const MAX_BYTES: usize = 4096;
    /// The largest number of words and phrases.
    pub const MAX_WORDS: usize = 64;

    /// Adds `kind` to the searched kinds. If no kind is added, directives, knowledge and tools are searched.
    #[must_use]
    pub fn with_kind(mut self, kind: ItemKind) -> Self {
        self.kinds.insert(kind);
        self
    }

    /// Searches only these kinds. If `kinds` is empty, directives, knowledge and tools are searched.
    #[must_use]
    pub fn with_kinds(self, kinds: &[ItemKind]) -> Self {
        Self { kinds: kinds.iter().copied().collect(), ..self }
    }

    /// Searches only items that also have `tag`, ignoring case.
    #[must_use]
    pub fn with_tag(mut self, tag: &str) -> Self {
        self.tags.push(label(tag));
        self
    }

    /// Limits the results to the best `limit`.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// The text that was parsed, without white space around it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The largest number of results.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The kinds that are searched, each once and in order.
    pub fn kinds(&self) -> Vec<ItemKind> {
        ItemKind::ALL.iter().copied().filter(|kind| self.wants(*kind)).collect()
    }

    pub(crate) fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    pub(crate) fn tags(&self) -> &[String] {
        &self.tags
    }

    pub(crate) fn wants(&self, kind: ItemKind) -> bool {
        if self.kinds.is_empty() { kind != ItemKind::Config } else { self.kinds.contains(&kind) }
    }
}

impl FromStr for SearchQuery {
    type Err = SearchQueryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.len() > Self::MAX_BYTES {
            return Err(SearchQueryError::TooLong { bytes: text.len() });
        }
        let mut atoms = Vec::new();
        // Every second part is between quotes.
        for (index, part) in text.split('"').enumerate() {
            match index % 2 {
                0 => atoms.extend(part.split_whitespace().filter_map(word)),
                _ => atoms.extend(phrase(part)),
            }
        }
        if text.matches('"').count() % 2 == 1 {
            return Err(SearchQueryError::OpenPhrase { text: text.to_owned() });
        }
        if atoms.len() > Self::MAX_WORDS {
            return Err(SearchQueryError::TooManyWords { words: atoms.len() });
        }
        if atoms.is_empty() {
            return Err(SearchQueryError::NoWords { text: text.to_owned() });
        }
        let kinds = BTreeSet::new();
        let tags = Vec::new();
        let limit = Self::DEFAULT_LIMIT;
        Ok(Self { text: text.to_owned(), atoms, kinds, tags, limit })
    }
}

fn word(text: &str) -> Option<Atom> {
    let mut words = words(text);
    let last = words.pop()?;
    let end = if text.ends_with('*') { Slot::start(last) } else { Slot::loose(last) };
    let slots = words.into_iter().map(Slot::whole).chain([end]).collect();
    Some(Atom { slots, is_required: false })
}

fn phrase(text: &str) -> Option<Atom> {
    let slots: Vec<Slot> = words(text).into_iter().map(Slot::exact).collect();
    (!slots.is_empty()).then_some(Atom { slots, is_required: true })
}

/// The reason why a text is not a query.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchQueryError {
    /// The text has no letters or digits.
    #[error("the query `{}` has no words; write at least one", .text.escape_debug())]
    NoWords {
        /// The refused text.
        text: String,
    },
    /// A phrase has no closing quote.
    #[error("the query `{}` has a phrase without an end; write `\"` behind it", .text.escape_debug())]
    OpenPhrase {
        /// The refused text.
        text: String,
    },
    /// The text is longer than [`SearchQuery::MAX_BYTES`].
    #[error("a query of {bytes} bytes is too long; use at most {}", SearchQuery::MAX_BYTES)]
    TooLong {
        /// The length of the refused text, in bytes.
        bytes: usize,
    },
    /// There are more than [`SearchQuery::MAX_WORDS`] words and phrases.
    #[error("a query of {words} words is too long; use at most {}", SearchQuery::MAX_WORDS)]
    TooManyWords {
        /// The number of words and phrases in the refused text.
        words: usize,
    },
}
