//! Redaction of a secret in the texts of its receiver.

use std::fmt;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use serde_json::{Map, Value};

mod encodings;

/// A redactor for a secret, which replaces it by a note.
pub struct Redactor {
    note: String,
    searcher: AhoCorasick,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("note", &self.note).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Creates the redactor of a credential. Its notes have this name.
    #[must_use]
    pub fn new(name: &str, secret: &str) -> Self {
        Self::with_note(&format!("[credential {name}]"), secret)
    }

    /// Creates the redactor of a secret, which replaces it by `note`.
    ///
    /// It finds the secret as it is, in base64 and in hexadecimal digits, and each of these as JSON, addresses and HTML write it, twice
    /// over at most. The text behind a scheme such as `Basic`, the pair that it encodes and the password of the pair count as the secret.
    /// Parts of fewer than six bytes stay, because they occur by chance. The redactor keeps the secret in memory, and does not overwrite
    /// it at the end.
    #[must_use]
    pub fn with_note(note: &str, secret: &str) -> Self {
        let searcher = AhoCorasick::builder()
            // Hosts and types are written in lower case.
            .ascii_case_insensitive(true)
            .build(encodings::of(secret))
            .expect("because a secret is far shorter than 2 GiB");
        Self { note: note.to_owned(), searcher }
    }

    /// Returns the text without the secret. It must be called before the text is cut, because a part of the secret would not be found.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let mut redacted = String::new();
        let mut end = 0;
        for range in self.ranges(text) {
            redacted.push_str(text.get(end..range.start).unwrap_or_default());
            redacted.push_str(&self.note);
            end = range.end;
        }
        redacted.push_str(text.get(end..).unwrap_or_default());
        redacted
    }

    /// Returns the ranges to redact, in order. Overlapping matches become one range.
    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.searcher.find_overlapping_iter(text);
        let mut found: Vec<Range<usize>> = found.map(|found| found.range()).collect();
        found.sort_unstable_by_key(|range| range.start);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for range in found {
            match ranges.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => ranges.push(range),
            }
        }
        ranges
    }

    /// Redacts every text in a value, including the names of members. A number that contains the secret
    /// becomes a text.
    #[must_use]
    pub fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.redact(&text).into(),
            Value::Array(all) => all.into_iter().map(|one| self.redact_value(one)).collect(),
            Value::Object(all) => {
                let pair =
                    |(name, one): (String, Value)| (self.redact(&name), self.redact_value(one));
                Value::Object(all.into_iter().map(pair).collect::<Map<_, _>>())
            }
            Value::Number(number) => {
                let text = number.to_string();
                let told = self.redact(&text);
                if told == text { number.into() } else { told.into() }
            }
            plain => plain,
        }
    }
}

#[cfg(test)]
mod tests;
