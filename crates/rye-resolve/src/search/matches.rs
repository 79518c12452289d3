//! Matches between words of a vocabulary and words of a query.

use super::{query::Atom, vocabulary::Vocabulary};

/// A match of a word of an item with a word of the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) atom: usize,
    pub(crate) slot: usize,
    /// Between 0 and 1.
    pub(crate) worth: f64,
}

/// The matches of each word of a vocabulary.
#[derive(Debug)]
pub(crate) struct Matches {
    /// For each word, by its number, an index into `groups`.
    groups_of: Vec<u32>,
    /// The first is empty, for the many words that match nothing.
    groups: Vec<Vec<Match>>,
}

impl Matches {
    pub(crate) fn new(vocabulary: &Vocabulary, atoms: &[Atom], misspelt: &[bool]) -> Self {
        let mut matches = Self { groups_of: Vec::new(), groups: vec![Vec::new()] };
        let mut group = Vec::new();
        for word in vocabulary.words() {
            of_word(word, atoms, misspelt, &mut group);
            if group.is_empty() {
                matches.groups_of.push(0);
            } else {
                matches.groups_of.push(super::bytes::number(matches.groups.len()));
                matches.groups.push(std::mem::take(&mut group));
            }
        }
        matches
    }

    /// The matches of the word with this number, or `None` if the vocabulary has no such word.
    pub(crate) fn of(&self, number: u32) -> Option<&[Match]> {
        let group = *self.groups_of.get(number as usize)?;
        self.groups.get(group as usize).map(Vec::as_slice)
    }
}

/// Puts the matches of `word` into `matches`.
///
/// `misspelt` is `true` for each atom that no item has as it is written.
pub(crate) fn of_word(word: &str, atoms: &[Atom], misspelt: &[bool], matches: &mut Vec<Match>) {
    matches.clear();
    for (atom, (wanted, misspelt)) in atoms.iter().zip(misspelt).enumerate() {
        for (slot, wanted) in wanted.slots.iter().enumerate() {
            let as_written = wanted.worth(word);
            let worth = match misspelt {
                true if as_written == 0.0 => wanted.worth_misspelt(word),
                _ => as_written,
            };
            if worth > 0.0 {
                matches.push(Match { atom, slot, worth });
            }
        }
    }
}

/// The matches in one field, in the order of its words.
#[derive(Debug, Default)]
pub(crate) struct Occurrences(Vec<(usize, Match)>);

impl Occurrences {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, position: usize, matches: &[Match]) {
        self.0.extend(matches.iter().map(|found| (position, *found)));
    }

    /// Adds the worth of all occurrences of each atom to its number in `found`.
    pub(crate) fn add_to(&self, found: &mut [f64], atoms: &[Atom]) {
        for (index, (position, last)) in self.0.iter().enumerate() {
            let Some(atom) = atoms.get(last.atom) else { continue };
            if last.slot + 1 == atom.slots.len()
                && let Some(worth) = self.chain(index, *position, *last)
                && let Some(sum) = found.get_mut(last.atom)
            {
                *sum += worth;
            }
        }
    }

    /// Returns the worth of the atom that ends with `last`, or `None` if its other slots are not directly
    /// before it.
    ///
    /// The worth is that of the worst match.
    fn chain(&self, index: usize, position: usize, last: Match) -> Option<f64> {
        let mut worth = last.worth;
        let mut before = self.0.get(..index)?.iter().rev().peekable();
        for (distance, slot) in (0..last.slot).rev().enumerate() {
            let wanted = position.checked_sub(distance + 1)?;
            while before.next_if(|(position, _)| *position > wanted).is_some() {}
            let mut there =
                std::iter::from_fn(|| before.next_if(|(position, _)| *position == wanted));
            let (_, found) =
                there.find(|(_, found)| (found.atom, found.slot) == (last.atom, slot))?;
            worth = worth.min(found.worth);
        }
        Some(worth)
    }
}
