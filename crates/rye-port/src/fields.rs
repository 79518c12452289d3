//! The fields of a source, of which none is passed over in silence.

use serde_json::{Map, Value};

use crate::report::Account;
use crate::secrets;

/// The fields of a mapping that no reader has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    file: String,
    /// The place of the mapping in the file, such as `settings.`; empty for the file itself.
    prefix: String,
    values: Map<String, Value>,
}

impl Fields {
    pub(crate) fn new(file: &str, values: Map<String, Value>) -> Self {
        Self { file: file.to_owned(), prefix: String::new(), values }
    }

    /// The fields of a mapping inside a file, whose names begin with `prefix` and a dot.
    pub(crate) fn inside(file: &str, prefix: &str, values: Map<String, Value>) -> Self {
        Self { prefix: format!("{prefix}."), ..Self::new(file, values) }
    }

    /// Returns `true` if the field is there and was not taken.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value of a field, which stays.
    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Takes the value of a field. The caller says what becomes of it.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.values.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Takes a field that is a text, a number or a boolean, as a text. A value of another form stays, and is left out at the end.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        let text = scalar(self.values.get(name)?)?;
        self.values.shift_remove(name);
        Some(text)
    }

    /// Takes a field that is a list. A value of another form stays, and is left out at the end.
    pub(crate) fn list(&mut self, name: &str) -> Option<Vec<Value>> {
        if !self.values.get(name)?.is_array() {
            return None;
        }
        match self.values.shift_remove(name)? {
            Value::Array(values) => Some(values),
            _ => None,
        }
    }

    /// Takes a field that is a mapping, with its fields inside of it.
    pub(crate) fn mapping(&mut self, name: &str) -> Option<Self> {
        if !self.values.get(name)?.is_object() {
            return None;
        }
        match self.values.shift_remove(name)? {
            Value::Object(values) => {
                let prefix = format!("{}{name}", self.prefix);
                Some(Self::inside(&self.file, &prefix, values))
            }
            _ => None,
        }
    }

    /// Takes a field that is a list of texts, or one text with commas or, if it has none, spaces between words.
    pub(crate) fn words(&mut self, name: &str) -> Option<Vec<String>> {
        let words = match self.values.get(name)? {
            Value::String(text) => split_words(text),
            Value::Array(values) => values
                .iter()
                .map(|value| Some(scalar(value)?.trim().to_owned()))
                .collect::<Option<_>>()?,
            _ => return None,
        };
        self.values.shift_remove(name);
        Some(words)
    }

    /// The name of a field, with the place of its mapping.
    pub(crate) fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The names of the fields that are left, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.values.keys().cloned().collect()
    }

    /// Keeps those members of a mapping that `is_kept` selects, and the mapping if it has any.
    pub(crate) fn keep_members(&mut self, name: &str, is_kept: impl Fn(&str) -> bool) {
        if let Some(Value::Object(members)) = self.values.get_mut(name) {
            members.retain(|name, _| is_kept(name));
            if members.is_empty() {
                self.values.shift_remove(name);
            }
        }
    }

    /// Takes a field and says why it is left out.
    pub(crate) fn leave(&mut self, account: &mut impl Account, name: &str, reason: &str) {
        if self.values.shift_remove(name).is_some() {
            let field = self.name(name);
            account.leave(&self.file, &field, reason);
        }
    }

    /// Says of each field that nothing has taken that it is left out.
    pub(crate) fn finish(self, account: &mut impl Account) {
        for (name, value) in &self.values {
            let field = self.name(name);
            let reason = if value.is_null() {
                "it is empty".to_owned()
            } else {
                format!("no draft has a place for it; it says {}", shown(name, value))
            };
            account.leave(&self.file, &field, &reason);
        }
    }
}

/// A text, a number or a boolean as a text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The words of a list that is written as one text: with commas outside of parentheses or, without any, with spaces.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0_usize;
    let by_commas = text.contains(',');
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_end = depth == 0 && if by_commas { letter == ',' } else { letter.is_whitespace() };
        if is_end {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words.iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// The beginning of the value of a field, for a report; nothing of one that looks like a secret.
pub(crate) fn shown(name: &str, value: &Value) -> String {
    if holds_secret(name, value) { "what looks like a secret".to_owned() } else { short(value) }
}

fn holds_secret(name: &str, value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| holds_secret(name, value)),
        Value::Array(values) => values.iter().any(|value| holds_secret(name, value)),
        Value::String(text) => {
            let words = || text.split([' ', ',', '\n', '"']);
            let is_behind_option = || {
                words()
                    .zip(words().skip(1))
                    .any(|(option, _)| option.starts_with('-') && secrets::is_name(option))
            };
            secrets::is_name(name)
                || words().any(|word| secrets::is_value(word) || secrets::is_assignment(word))
                || is_behind_option()
        }
        _ => false,
    }
}

/// The beginning of a value.
fn short(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_commas_or_spaces() {
        for (text, expected) in [
            ("Read, Write", vec!["Read", "Write"]),
            ("Read Write", vec!["Read", "Write"]),
            ("Bash(git add:*, git commit:*), Read", vec!["Bash(git add:*, git commit:*)", "Read"]),
            ("Bash(git status:*)", vec!["Bash(git status:*)"]),
            ("Bash(jq:*) Read", vec!["Bash(jq:*)", "Read"]),
            ("", vec![]),
        ] {
            assert_eq!(split_words(text), expected, "{text}");
        }
    }
}
