//! Numbered words.

use std::collections::HashMap;

use super::bytes::number;

/// The words of a shard, numbered in the order of their first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vocabulary {
    /// All words, one after the other.
    text: String,
    /// The offset in `text` at which each word ends.
    ends: Vec<usize>,
}

impl Vocabulary {
    /// Splits `text` into words of these lengths; `None` if the lengths do not fit the text.
    pub(crate) fn from_parts(text: String, lengths: impl Iterator<Item = usize>) -> Option<Self> {
        let mut ends = Vec::new();
        let mut end = 0_usize;
        for length in lengths {
            end = end.checked_add(length).filter(|end| text.is_char_boundary(*end))?;
            ends.push(end);
        }
        (end == text.len()).then_some(Self { text, ends })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn word(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?;
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.text.get(start.unwrap_or(0)..end)
    }

    /// Every word, in the order of the numbers.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let word = self.text.get(start..end).unwrap_or_default();
            start = end;
            word
        })
    }

    fn push(&mut self, word: &str) -> u32 {
        let number = number(self.ends.len());
        self.text.push_str(word);
        self.ends.push(self.text.len());
        number
    }
}

/// The builder of a vocabulary.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    vocabulary: Vocabulary,
    numbers: HashMap<String, u32>,
}

impl Interner {
    pub(crate) fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.vocabulary.push(word);
        self.numbers.insert(word.to_owned(), number);
        number
    }

    pub(crate) fn finish(self) -> Vocabulary {
        self.vocabulary
    }
}
