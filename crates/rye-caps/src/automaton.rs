//! Globs as automata.

use crate::{
    letters,
    pattern::{Glob, Token},
};

/// A glob as a nondeterministic automaton. The state `n` means that the first `n` tokens are matched.
#[derive(Debug)]
pub(crate) struct Automaton<'a> {
    tokens: &'a [Token],
    accepting: Positions,
}

impl<'a> Automaton<'a> {
    pub(crate) fn new(glob: &'a Glob) -> Self {
        let tokens = glob.tokens();
        let mut accepting = Positions::one(tokens.len());
        if glob.covers_stem() {
            // Both the final `.` and the final `*` are optional.
            accepting.insert(tokens.len() - 2);
        }
        Self { tokens, accepting }
    }

    /// The states before the first byte.
    pub(crate) fn start(&self) -> Positions {
        self.closure(Positions::one(0))
    }

    /// The states after one more byte.
    pub(crate) fn next(&self, states: Positions, byte: u8) -> Positions {
        let mut next = Positions::default();
        for position in states.iter() {
            match self.tokens.get(position) {
                Some(Token::Star) => next.insert(position),
                Some(Token::One(letters)) if letters & letters::one(byte) != 0 => {
                    next.insert(position + 1)
                }
                Some(Token::One(_)) | None => {}
            }
        }
        self.closure(next)
    }

    /// The states after `text`.
    pub(crate) fn after(&self, text: &str) -> Positions {
        let mut states = self.start();
        // No byte leads out of the empty set. The heads of most capabilities reach it at their fifth byte.
        for byte in text.bytes() {
            if states.is_empty() {
                break;
            }
            states = self.next(states, byte);
        }
        states
    }

    /// The tokens that can still be reached from `states`.
    pub(crate) fn ahead(&self, states: Positions) -> &'a [Token] {
        if states.is_empty() { &[] } else { self.tokens.get(states.first()..).unwrap_or_default() }
    }

    pub(crate) fn accepts(&self, states: Positions) -> bool {
        states.meets(self.accepting)
    }

    /// The smallest sets of states that together mean the same as the closed set `states`.
    pub(crate) fn generators(&self, states: Positions) -> impl Iterator<Item = Positions> {
        // The state after a `*` is only reached together with the `*`, which implies it.
        let after_star =
            |position: &usize| position.checked_sub(1).is_some_and(|before| self.is_star(before));
        states
            .iter()
            .filter(move |position| !after_star(position))
            .map(|position| self.closure(Positions::one(position)))
    }

    /// Adds the states that are reached without a byte, and drops redundant states.
    ///
    /// A text that is accepted from a state before a `*` is also accepted from that `*`: the text must pass it, and the
    /// `*` matches what comes before. States before the last reached `*` are therefore redundant.
    fn closure(&self, mut states: Positions) -> Positions {
        let last_star = states.iter().filter(|&position| self.is_star(position)).last();
        if let Some(star) = last_star {
            states.drop_below(star);
            states.insert(star + 1);
        }
        states
    }

    fn is_star(&self, position: usize) -> bool {
        self.tokens.get(position) == Some(&Token::Star)
    }
}

/// A set of positions in a glob.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Positions([u64; WORDS]);

impl Positions {
    fn one(position: usize) -> Self {
        let mut positions = Self::default();
        positions.insert(position);
        positions
    }

    /// Invariant: `position` is at most the number of tokens of the longest glob, which is less than 64 × [`WORDS`].
    fn insert(&mut self, position: usize) {
        if let Some(word) = self.0.get_mut(position / 64) {
            *word |= 1 << (position % 64);
        }
    }

    fn drop_below(&mut self, position: usize) {
        for (index, word) in self.0.iter_mut().enumerate() {
            let dropped = position.saturating_sub(index * 64);
            *word = if dropped >= 64 { 0 } else { *word >> dropped << dropped };
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == [0; WORDS]
    }

    pub(crate) fn is_subset(self, other: Self) -> bool {
        self.0.iter().zip(other.0).all(|(word, other)| word & !other == 0)
    }

    /// The lowest position, or 0 if the set is empty.
    pub(crate) fn first(self) -> usize {
        self.iter().next().unwrap_or(0)
    }

    fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(word, other)| word & other != 0)
    }

    /// The positions, in ascending order.
    fn iter(self) -> impl Iterator<Item = usize> {
        self.0
            .into_iter()
            .enumerate()
            .flat_map(|(index, word)| bits(word).map(move |bit| index * 64 + bit))
    }
}

fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}

/// The longest pattern is `rye.execute.knowledge.` and 256 more bytes: 278 tokens and 279 positions.
const WORDS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    fn positions(states: Positions) -> Vec<usize> {
        states.iter().collect()
    }

    /// Cases: a pattern, a text, the states after it, and the states of which those consist.
    #[test]
    fn states_before_the_last_reached_star_are_dropped() {
        let long = format!("{}*b*c", "a".repeat(100));
        let below = format!("{}b", "a".repeat(101));
        let cases: [(&str, &str, &[usize], &[usize]); 8] = [
            ("abc", "", &[0], &[0]),
            ("abc", "ab", &[2], &[2]),
            ("abc", "ac", &[], &[]),
            ("a*b*c", "a", &[1, 2], &[1]),
            ("a*b*c", "axb", &[3, 4], &[3]),
            ("a*bb", "abb", &[1, 2, 3, 4], &[1, 3, 4]),
            ("*", "a", &[0, 1], &[0]),
            (&long, &below, &[102, 103], &[102]),
        ];
        for (pattern, text, expected, generators) in cases {
            let parsed: Pattern = pattern.parse().unwrap();
            let automaton = Automaton::new(&parsed.globs()[0]);
            let states = automaton.after(text);
            assert_eq!(positions(states), expected, "{pattern} after {text}");
            let found: Vec<_> = automaton.generators(states).map(Positions::first).collect();
            assert_eq!(found, generators, "{pattern} after {text}");
        }
    }
}
