//! Redaction of a secret in the texts of its receiver.

use std::fmt;

use serde_json::{Map, Value};

use self::pattern::Pattern;

mod encodings;
mod pattern;
mod spelling;

/// A redactor for a secret, which replaces it by a note with its name.
pub struct Redactor {
    name: String,
    pattern: Pattern,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Creates the redactor of a secret. Its notes have this name.
    #[must_use]
    pub fn new(name: &str, secret: &str) -> Self {
        Self { name: name.to_owned(), pattern: Pattern::new(&encodings::of(secret)) }
    }

    /// Returns the text without the secret, in upper or lower case, because hosts and types are written in
    /// lower case. It must be called before the text is cut, because a part of the secret would not be found.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let mut told = String::new();
        let mut end = 0;
        for range in self.pattern.ranges(text.as_bytes()) {
            told.push_str(text.get(end..range.start).unwrap_or_default());
            told.push_str("[credential ");
            told.push_str(&self.name);
            told.push(']');
            end = range.end;
        }
        told.push_str(text.get(end..).unwrap_or_default());
        told
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
