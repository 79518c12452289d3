//! Literals of Python and JavaScript, as JSON.

use serde_json::{Map, Number, Value};

/// Returns the literal at the start of a text; `None` for anything else, such as a call or a name.
pub(crate) fn value(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0 };
    reader.value(0)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

const DEEPEST: usize = 64;

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Passes over white space and comments.
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') && !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn take(&mut self, mark: char) -> bool {
        self.space();
        let is_there = self.peek() == Some(mark);
        if is_there {
            self.at += mark.len_utf8();
        }
        is_there
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        self.space();
        match self.peek()? {
            '{' => self.mapping(depth),
            '[' => self.list(depth),
            '(' => {
                self.take('(');
                let inside = self.value(depth + 1)?;
                self.take(',');
                self.take(')').then_some(inside)
            }
            '"' | '\'' | '`' => self.texts(),
            letter if letter.is_ascii_digit() || letter == '-' => self.number(),
            _ => self.word(),
        }
    }

    fn mapping(&mut self, depth: usize) -> Option<Value> {
        self.take('{');
        let mut members = Map::new();
        while !self.take('}') {
            self.space();
            let name = match self.peek()? {
                '"' | '\'' => self.text()?,
                _ => self.name()?,
            };
            if !self.take(':') {
                return None;
            }
            members.insert(name, self.value(depth + 1)?);
            if !self.take(',') {
                return self.take('}').then_some(Value::Object(members));
            }
        }
        Some(Value::Object(members))
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.take('[');
        let mut values = Vec::new();
        while !self.take(']') {
            values.push(self.value(depth + 1)?);
            if !self.take(',') {
                return self.take(']').then_some(Value::Array(values));
            }
        }
        Some(Value::Array(values))
    }

    /// Texts beside each other are one text.
    fn texts(&mut self) -> Option<Value> {
        let mut text = self.text()?;
        loop {
            let before = self.at;
            self.space();
            if self.peek() == Some('+') {
                self.at += 1;
                self.space();
            }
            if !matches!(self.peek(), Some('"' | '\'')) {
                self.at = before;
                return Some(Value::String(text));
            }
            text += &self.text()?;
        }
    }

    fn text(&mut self) -> Option<String> {
        let rest = self.rest();
        let quote =
            ["\"\"\"", "'''", "\"", "'", "`"].into_iter().find(|quote| rest.starts_with(quote))?;
        self.at += quote.len();
        let mut text = String::new();
        loop {
            if self.rest().starts_with(quote) {
                self.at += quote.len();
                return Some(text);
            }
            let letter = self.peek()?;
            self.at += letter.len_utf8();
            match letter {
                '\\' => {
                    let escaped = self.peek()?;
                    self.at += escaped.len_utf8();
                    match escaped {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        '\n' => {}
                        '\\' | '"' | '\'' | '`' => text.push(escaped),
                        _ => text.extend(['\\', escaped]),
                    }
                }
                '\n' if quote.len() == 1 && quote != "`" => return None,
                _ => text.push(letter),
            }
        }
    }

    fn number(&mut self) -> Option<Value> {
        let rest = self.rest();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+-._".contains(letter);
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let digits = rest.get(..length)?.replace('_', "");
        self.at += length;
        if let Ok(number) = digits.parse::<i64>() {
            return Some(number.into());
        }
        digits.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number)
    }

    fn name(&mut self) -> Option<String> {
        let rest = self.rest();
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let name = rest.get(..length).filter(|name| !name.is_empty())?.to_owned();
        self.at += length;
        Some(name)
    }

    fn word(&mut self) -> Option<Value> {
        match self.name()?.as_str() {
            "True" | "true" => Some(Value::Bool(true)),
            "False" | "false" => Some(Value::Bool(false)),
            "None" | "null" | "undefined" => Some(Value::Null),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn literals_are_read() {
        for (text, expected) in [
            (
                "{\"a\": [1, 2.5, -3], 'b': True, # c\n \"c\": None,}",
                Some(r#"{"a":[1,2.5,-3],"b":true,"c":null}"#),
            ),
            (
                "{ type: \"object\", properties: { n: { type: 'string' } } };",
                Some(r#"{"type":"object","properties":{"n":{"type":"string"}}}"#),
            ),
            ("(\n  \"one \"\n  \"two\"\n)", Some("\"one two\"")),
            ("\"\"\"a\nb\"\"\"", Some("\"a\\nb\"")),
            ("some_call()", None),
            ("{\"a\": OTHER}", None),
            ("{", None),
            ("\"no end", None),
        ] {
            assert_eq!(value(text).map(|value| value.to_string()).as_deref(), expected, "{text}");
        }
        assert_eq!(value(&"[".repeat(100_000)), None);
    }
}
