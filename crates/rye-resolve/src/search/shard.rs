//! Items as sequences of numbered words, in a form that is quick to scan and to store.

use std::ops::Range;

use super::{
    bytes::{self, Reader, push_number},
    content::Content,
    vocabulary::{Interner, Vocabulary},
    words::each_word,
};
use crate::ItemId;

/// A set of items, and the vocabulary that numbers their words.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    pub(crate) vocabulary: Vocabulary,
    /// For each item: its whole tags in lower case, then its [`FIELDS`]. Each of these is a count, followed
    /// by that many word numbers.
    pub(crate) bytes: Vec<u8>,
    pub(crate) documents: Vec<Document>,
}

/// One item of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// Its index among the winners.
    pub(crate) winner: usize,
    /// The SHA-256 of the file that it was made from.
    pub(crate) digest: [u8; 32],
    pub(crate) stream: Range<usize>,
}

/// The number of searched fields of an item: id, title, description, tags, body.
pub(crate) const FIELDS: usize = 5;

impl Shard {
    pub(crate) fn stream(&self, document: &Document) -> Option<Reader<'_>> {
        self.bytes.get(document.stream.clone()).map(Reader::new)
    }

    /// Returns `true` if `document` has exactly the words of the item `id` with this content.
    pub(crate) fn says(&self, document: &Document, id: &ItemId, content: &Content) -> bool {
        let Some(mut reader) = self.stream(document) else { return false };
        let mut says = |expected: &[String]| {
            let count = reader.length();
            count == Some(expected.len())
                && expected.iter().all(|word| {
                    reader.number().and_then(|number| self.vocabulary.word(number))
                        == Some(word.as_str())
                })
        };
        let mut same = says(&labels(content));
        for texts in fields(id, content) {
            same =
                same && says(&texts.into_iter().flat_map(super::words::words).collect::<Vec<_>>());
        }
        same && reader.is_at_end()
    }
}

/// The builder of a shard.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    interner: Interner,
    bytes: Vec<u8>,
    documents: Vec<Document>,
    numbers: Vec<u32>,
}

impl Writer {
    pub(crate) fn push(&mut self, winner: usize, digest: [u8; 32], id: &ItemId, content: &Content) {
        let start = self.bytes.len();
        for label in labels(content) {
            self.numbers.push(self.interner.number(&label));
        }
        self.end_field();
        for texts in fields(id, content) {
            for text in texts {
                each_word(text, |word, _| self.numbers.push(self.interner.number(word)));
            }
            self.end_field();
        }
        self.documents.push(Document { winner, digest, stream: start..self.bytes.len() });
    }

    /// Copies an item of another shard; `None` if that shard is damaged.
    ///
    /// `renumbered` maps the word numbers of the other shard to those of this one, and is filled on the way.
    pub(crate) fn adopt(
        &mut self,
        shard: &Shard,
        document: &Document,
        renumbered: &mut [Option<u32>],
    ) -> Option<()> {
        let start = self.bytes.len();
        let mut reader = shard.stream(document)?;
        for _ in 0..=FIELDS {
            for _ in 0..reader.number()? {
                let old = reader.number()?;
                let new = renumbered.get_mut(usize::try_from(old).ok()?)?;
                let number = match *new {
                    Some(number) => number,
                    None => *new.insert(self.interner.number(shard.vocabulary.word(old)?)),
                };
                self.numbers.push(number);
            }
            self.end_field();
        }
        let stream = start..self.bytes.len();
        self.documents.push(Document { stream, ..document.clone() });
        Some(())
    }

    pub(crate) fn finish(self) -> Shard {
        let Self { interner, bytes, documents, .. } = self;
        Shard { vocabulary: interner.finish(), bytes, documents }
    }

    fn end_field(&mut self) {
        push_number(&mut self.bytes, bytes::number(self.numbers.len()));
        for number in self.numbers.drain(..) {
            push_number(&mut self.bytes, number);
        }
    }
}

/// A tag as filters compare it.
pub(crate) fn label(tag: &str) -> String {
    tag.trim().to_lowercase()
}

fn labels(content: &Content) -> Vec<String> {
    content.tags.iter().map(|tag| label(tag)).collect()
}

/// The texts of each field, in the order of the weights.
fn fields<'a>(id: &'a ItemId, content: &'a Content) -> [Vec<&'a str>; FIELDS] {
    [
        vec![id.as_str()],
        content.title.as_deref().into_iter().collect(),
        content.description.as_deref().into_iter().collect(),
        content.tags.iter().map(String::as_str).collect(),
        vec![content.body.as_str()],
    ]
}
