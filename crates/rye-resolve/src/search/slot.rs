//! One word of a query, and the worth of words that match it.

/// A word of a query, and the deviations that still match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    word: String,
    /// The worth of a longer word that begins with this one, or `None` if such a word does not match.
    start: Option<f64>,
    /// The number of letters that may be wrong.
    typos: usize,
    letters: u64,
}

impl Slot {
    /// Makes a slot that matches only the word as it is written.
    pub(crate) fn exact(word: String) -> Self {
        let letters = letters(&word);
        Self { word, start: None, typos: 0, letters }
    }

    /// Makes a slot that matches the whole word, with or without typos.
    pub(crate) fn whole(word: String) -> Self {
        Self { typos: typos(&word), ..Self::exact(word) }
    }

    /// Makes a slot that matches the word, the start of a longer word, or the word with typos.
    pub(crate) fn loose(word: String) -> Self {
        let start = (word.chars().nth(1).is_some()).then_some(START);
        Self { start, ..Self::whole(word) }
    }

    /// Makes a slot that matches every word with this start at full worth.
    pub(crate) fn start(word: String) -> Self {
        Self { start: Some(WHOLE), ..Self::exact(word) }
    }

    /// Returns the worth of `word` for this slot: 1 for the same word, usually less for a longer word, 0 for
    /// any other.
    pub(crate) fn worth(&self, word: &str) -> f64 {
        match word.strip_prefix(self.word.as_str()) {
            Some("") => WHOLE,
            Some(_) => self.start.unwrap_or(0.0),
            None => 0.0,
        }
    }

    /// Returns the worth of `word` if this slot may have typos: 0 for a word that differs too much.
    pub(crate) fn worth_misspelt(&self, word: &str) -> f64 {
        // A shortcut that spares the full comparison of most words: each wrong letter changes at most two
        // members of the set of letters.
        let differ = (letters(word) ^ self.letters).count_ones() as usize;
        if self.typos == 0
            || differ > 2 * self.typos
            || word.len().abs_diff(self.word.len()) > 4 * self.typos
        {
            return 0.0;
        }
        match strsim::osa_distance(&self.word, word) {
            distance if distance > self.typos => 0.0,
            0 => WHOLE,
            1 => ONE_TYPO,
            // `unsigned` is not `signed`, although only two letters differ.
            _ if word.chars().next() != self.word.chars().next() => 0.0,
            _ => TWO_TYPOS,
        }
    }
}

fn typos(word: &str) -> usize {
    // A wrong digit makes another number, not a typo.
    if word.contains(|c: char| c.is_numeric()) {
        return 0;
    }
    match word.chars().count() {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}

fn letters(word: &str) -> u64 {
    word.chars().fold(0, |letters, c| letters | 1 << (c as u32 % 64))
}

const WHOLE: f64 = 1.0;
const START: f64 = 0.6;
const ONE_TYPO: f64 = 0.5;
const TWO_TYPOS: f64 = 0.3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(wanted: &str, word: &str, worth: f64, misspelt: f64) {
        let slot = Slot::loose(wanted.to_owned());
        assert_eq!((slot.worth(word), slot.worth_misspelt(word)), (worth, misspelt));
    }

    #[test]
    fn whole_words_and_starts() {
        check("deploy", "deploy", 1.0, 1.0);
        check("deploy", "deployment", 0.6, 0.0);
        check("deploy", "redeploy", 0.0, 0.0);
        check("a", "ab", 0.0, 0.0);
    }

    #[test]
    fn one_wrong_letter() {
        check("depoly", "deploy", 0.0, 0.5);
        check("deploi", "deploy", 0.0, 0.5);
        check("deplooy", "deploy", 0.0, 0.5);
        check("eploy", "deploy", 0.0, 0.5);
        check("dploi", "deploy", 0.0, 0.0);
    }

    #[test]
    fn two_in_a_long_word() {
        check("dokumentasion", "documentation", 0.0, 0.3);
        check("dokumentasiom", "documentation", 0.0, 0.0);
        check("unsigned", "signed", 0.0, 0.0);
    }

    #[test]
    fn short_words_and_numbers_are_taken_at_their_word() {
        check("cat", "car", 0.0, 0.0);
        check("2024", "2023", 0.0, 0.0);
    }

    #[test]
    fn what_is_asked_for_exactly() {
        assert_eq!(Slot::exact("deploy".to_owned()).worth("deployment"), 0.0);
        assert_eq!(Slot::start("d".to_owned()).worth("deploy"), 1.0);
        assert_eq!(Slot::exact("deploy".to_owned()).worth_misspelt("depoly"), 0.0);
    }

    proptest! {
        #[test]
        fn the_shortcuts_lose_nothing(wanted in "[a-dé検]{4,10}", word in "[a-dé検]{1,11}") {
            let slot = Slot::whole(wanted.clone());
            let distance = strsim::osa_distance(&wanted, &word);
            let begins_so = wanted.chars().next() == word.chars().next();
            let near = distance <= slot.typos && (distance < 2 || begins_so);
            prop_assert_eq!(slot.worth_misspelt(&word) > 0.0, near);
        }
    }
}
