//! What is searched for.

use std::{collections::BTreeSet, str::FromStr};

use super::{shard::label, slot::Slot, words::words};
use crate::ItemKind;

/// What [`Library::search`](crate::Library::search) looks for.
///
/// Its text is words between white space. A word is found as it is written, as the start of a longer word, and, when it
/// occurs in neither way, with one wrong letter (from four letters on) or two (from eight on, the first being right). A
/// word such as `file-system` is found where its parts follow each other. Words between `"` are a phrase, which an item
/// must have just so; `word*` asks for the start alone. Case does not matter.
///
/// ```
/// use rye_resolve::{ItemKind, SearchQuery};
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

/// Words that are found together: one word, the parts of one, or a phrase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Atom {
    pub(crate) slots: Vec<Slot>,
    /// Whether an item without it is no result.
    pub(crate) is_required: bool,
}

impl SearchQuery {
    /// How many results a query asks for that does not say.
    pub const DEFAULT_LIMIT: usize = 20;
    /// The longest text, in bytes.
    pub const MAX_BYTES: usize = 4096;
    /// The most words and phrases.
    pub const MAX_WORDS: usize = 64;

    /// Searches items of `kind` too; without any kind, directives, knowledge and tools are searched.
    #[must_use]
    pub fn with_kind(mut self, kind: ItemKind) -> Self {
        self.kinds.insert(kind);
        self
    }

    /// Searches these kinds and no others; none is as if no kind was ever named.
    #[must_use]
    pub fn with_kinds(self, kinds: &[ItemKind]) -> Self {
        Self { kinds: kinds.iter().copied().collect(), ..self }
    }

    /// Searches only items that have `tag` as well, in any case.
    #[must_use]
    pub fn with_tag(mut self, tag: &str) -> Self {
        self.tags.push(label(tag));
        self
    }

    /// Asks for the best `limit` results.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// The text that was parsed, without white space around it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many results it asks for.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The kinds that are searched, each once and in order.
    pub fn kinds(&self) -> Vec<ItemKind> {
        ItemKind::ALL.into_iter().filter(|kind| self.wants(*kind)).collect()
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
        // Every second part stands between quotes.
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
        let (kinds, tags, limit) = (BTreeSet::new(), Vec::new(), Self::DEFAULT_LIMIT);
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

/// Why a text is no query.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchQueryError {
    /// Nothing in it is a letter or a digit.
    #[error("the query `{}` has no words; write at least one", .text.escape_debug())]
    NoWords {
        /// The refused text.
        text: String,
    },
    /// A phrase begins and does not end.
    #[error("the query `{}` has a phrase without an end; write `\"` behind it", .text.escape_debug())]
    OpenPhrase {
        /// The refused text.
        text: String,
    },
    /// The text is longer than [`SearchQuery::MAX_BYTES`].
    #[error("a query of {bytes} bytes is too long; use at most {}", SearchQuery::MAX_BYTES)]
    TooLong {
        /// How long the refused text is.
        bytes: usize,
    },
    /// There are more than [`SearchQuery::MAX_WORDS`] words and phrases.
    #[error("a query of {words} words is too long; use at most {}", SearchQuery::MAX_WORDS)]
    TooManyWords {
        /// How many the refused text has.
        words: usize,
    },
}
