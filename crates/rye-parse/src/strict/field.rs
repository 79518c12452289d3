//! Typed values of a document, with problems at their keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Document, unknown_key, wrong_type};
use crate::{Problem, ProblemKind, problem::Report};

impl Document {
    /// Returns a text. An empty text counts as absent.
    pub(crate) fn text(&self, report: &mut Report<'_>, key: &str) -> Option<String> {
        match self.value.get(key)? {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Null => None,
            other => {
                self.wrong(report, &[key], other, "text");
                None
            }
        }
    }

    /// Returns a required text.
    pub(crate) fn required_text(&self, report: &mut Report<'_>, key: &str) -> Option<String> {
        let text = self.text(report, key);
        if matches!(self.value.get(key), None | Some(Value::Null | Value::String(_)))
            && text.is_none()
        {
            self.missing(report, key);
        }
        text
    }

    /// Returns a list of texts. A single text is a list of one.
    pub(crate) fn texts(&self, report: &mut Report<'_>, key: &str) -> Vec<String> {
        match self.value.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(values)) => {
                values.iter().filter_map(|value| self.one_text(report, &[key], value)).collect()
            }
            Some(other) => {
                self.wrong(report, &[key], other, "a list of texts");
                Vec::new()
            }
        }
    }

    /// Returns a mapping of texts.
    pub(crate) fn text_map(&self, report: &mut Report<'_>, key: &str) -> BTreeMap<String, String> {
        let Some(mapping) = self.mapping(report, key) else { return BTreeMap::new() };
        mapping
            .iter()
            .filter_map(|(name, value)| {
                Some((name.clone(), self.one_text(report, &[key, name], value)?))
            })
            .collect()
    }

    /// Returns a mapping of any values.
    pub(crate) fn mapping(
        &self,
        report: &mut Report<'_>,
        key: &str,
    ) -> Option<&Map<String, Value>> {
        match self.value.get(key)? {
            Value::Object(mapping) => Some(mapping),
            Value::Null => None,
            other => {
                self.wrong(report, &[key], other, "a mapping");
                None
            }
        }
    }

    /// Returns a whole number.
    pub(crate) fn number(&self, report: &mut Report<'_>, key: &str) -> Option<u64> {
        let value = self.value.get(key)?;
        if value.as_u64().is_none() {
            self.wrong(report, &[key], value, "a whole number");
        }
        value.as_u64()
    }

    /// Returns a boolean; `false` if it is absent.
    pub(crate) fn flag(&self, report: &mut Report<'_>, key: &str) -> bool {
        let Some(value) = self.value.get(key) else { return false };
        if value.as_bool().is_none() {
            self.wrong(report, &[key], value, "`true` or `false`");
        }
        value.as_bool().unwrap_or(false)
    }

    /// Reports a missing key.
    pub(crate) fn missing(&self, report: &mut Report<'_>, key: &str) {
        let place = self.place(&[key]);
        let kind = ProblemKind::MissingKey { key: key.to_owned() };
        report.error(
            Problem::new(kind, place, format!("`{key}` is missing"))
                .help(format!("add `{key}: …`")),
        );
    }

    /// Reports an unknown key.
    pub(crate) fn unknown(&self, report: &mut Report<'_>, key: &str, known: &[&str]) {
        report.error(unknown_key(key, known, self.place(&[key])));
    }

    /// Reports a value of the wrong type.
    pub(crate) fn wrong(
        &self,
        report: &mut Report<'_>,
        path: &[&str],
        value: &Value,
        expected: &str,
    ) {
        let what = format!("`{}`", path.join("."));
        report.error(wrong_type(report.source, what, value, expected, self.place(path)));
    }

    fn one_text(&self, report: &mut Report<'_>, path: &[&str], value: &Value) -> Option<String> {
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong(report, path, value, "text");
        }
        text
    }
}
