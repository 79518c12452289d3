//! A mapping in a hooks file, with the places of its keys for problems.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::{
    Problem, ProblemKind, Spanned,
    problem::Report,
    strict::{Document, unknown_key, wrong_type},
    xml::expect::{self, shorten},
};

/// One mapping with the keys that lead to it.
pub(super) struct Node<'d> {
    document: &'d Document,
    path: Vec<String>,
    pub(super) value: &'d Map<String, Value>,
}

impl<'d> Node<'d> {
    /// Makes a node of the mapping at `path`, and reports any other value as not a `what`.
    pub(super) fn new(
        report: &mut Report<'_>,
        document: &'d Document,
        path: Vec<String>,
        value: &'d Value,
        what: &str,
    ) -> Option<Self> {
        if let Value::Object(value) = value {
            return Some(Self { document, path, value });
        }
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let place = document.place(&keys);
        report.error(wrong_type(report.source, what.to_owned(), value, "a mapping", place));
        None
    }

    /// Makes a node of the mapping at `keys` below this one.
    pub(super) fn child(
        &self,
        report: &mut Report<'_>,
        keys: &[&str],
        value: &'d Value,
        what: &str,
    ) -> Option<Node<'d>> {
        Node::new(report, self.document, self.below(keys), value, what)
    }

    /// Returns the place of a key or, if the key is absent, that of the first key.
    pub(super) fn place(&self, key: &str) -> Range<usize> {
        let first = self.value.keys().next();
        let key = self.value.get_key_value(key).map(|(key, _)| key).or(first);
        let path = self.below(&key.map(String::as_str).into_iter().collect::<Vec<_>>());
        self.document.place(&path.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Reports every key that is not in `known`.
    pub(super) fn only(&self, report: &mut Report<'_>, known: &[&str]) {
        for key in self.value.keys().filter(|key| !known.contains(&key.as_str())) {
            report.error(unknown_key(key, known, self.place(key)));
        }
    }

    /// Returns a trimmed text, and reports an empty one.
    pub(super) fn text(&self, report: &mut Report<'_>, key: &str) -> Option<Spanned<String>> {
        let value = self.value.get(key)?;
        let Some(text) = value.as_str() else {
            self.wrong(report, key, value, "text");
            return None;
        };
        if text.trim().is_empty() {
            let kind = ProblemKind::Empty { what: format!("`{key}`") };
            report.error(Problem::new(kind, self.place(key), "a value is missing"));
            return None;
        }
        Some(Spanned::new(text.trim().to_owned(), self.place(key)))
    }

    /// Returns a required text, and reports an absent one.
    pub(super) fn require(&self, report: &mut Report<'_>, key: &str) -> Option<Spanned<String>> {
        if !self.value.contains_key(key) {
            self.missing(report, key, &format!("add `{key}: …`"));
        }
        self.text(report, key)
    }

    /// Returns an item id, if there is one.
    pub(super) fn item_id(&self, report: &mut Report<'_>, key: &str) -> Option<Spanned<String>> {
        let text = self.text(report, key)?;
        expect::item_id(report, key, text)
    }

    /// Reports a missing key.
    pub(super) fn missing(&self, report: &mut Report<'_>, key: &str, help: &str) {
        let kind = ProblemKind::MissingKey { key: key.to_owned() };
        let problem = Problem::new(kind, self.place(key), format!("`{key}` is missing here"));
        report.error(problem.help(help));
    }

    /// Reports a value of the wrong type.
    pub(super) fn wrong(&self, report: &mut Report<'_>, key: &str, value: &Value, expected: &str) {
        let (what, place) = (format!("`{key}`"), self.place(key));
        report.error(wrong_type(report.source, what, value, expected, place));
    }

    /// Reports a value of the wrong form.
    pub(super) fn bad(
        &self,
        report: &mut Report<'_>,
        key: &str,
        value: &Value,
        expected: &str,
        help: Option<String>,
    ) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = Spanned::new(shorten(&value), self.place(key));
        report.error(Problem { help, ..expect::bad(&text, key, expected) });
    }

    fn below(&self, keys: &[&str]) -> Vec<String> {
        self.path.iter().cloned().chain(keys.iter().map(|key| (*key).to_owned())).collect()
    }
}
