//! A secret that was sent, and must not be told on, should whoever got it repeat it.

use std::fmt;

use serde_json::{Map, Value};

use self::pattern::Pattern;

mod disguises;
mod pattern;
mod spelling;

/// What stands for a secret wherever it would have stood.
pub(crate) struct Hidden {
    name: String,
    pattern: Pattern,
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hidden").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Hidden {
    /// The secret, which is told by that name instead.
    pub(crate) fn new(name: &str, secret: &str) -> Self {
        Self { name: name.to_owned(), pattern: Pattern::new(&disguises::of(secret)) }
    }

    /// The text without the secret, in large or small letters, because hosts and types are told in small ones; to be asked before
    /// anything of the text is cut, which could leave half of it.
    pub(crate) fn taken_from(&self, text: &str) -> String {
        let (mut told, mut end) = (String::new(), 0);
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

    /// The same for every text in a value, names of members among them; and a number that is one becomes a text.
    pub(crate) fn taken_from_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.taken_from(&text).into(),
            Value::Array(all) => all.into_iter().map(|one| self.taken_from_value(one)).collect(),
            Value::Object(all) => {
                let pair = |(name, one): (String, Value)| {
                    (self.taken_from(&name), self.taken_from_value(one))
                };
                Value::Object(all.into_iter().map(pair).collect::<Map<_, _>>())
            }
            Value::Number(number) => {
                let text = number.to_string();
                let told = self.taken_from(&text);
                if told == text { number.into() } else { told.into() }
            }
            plain => plain,
        }
    }
}

#[cfg(test)]
mod tests;
