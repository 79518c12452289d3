//! Mappings that are read key by key while problems are collected.

use std::cell::RefCell;
use std::time::Duration;

use rye_parse::{did_you_mean, nearest_name, quoted};
use serde_json::{Map, Value};
use strum::VariantArray;

use super::{ConfigError, ConfigProblem};

/// The problems met so far.
#[derive(Default)]
pub(super) struct Report(RefCell<Vec<ConfigProblem>>);

impl Report {
    pub(super) fn into_error(self) -> Option<ConfigError> {
        ConfigError::new(self.0.into_inner())
    }

    fn add(&self, path: &str, message: &str) {
        self.0
            .borrow_mut()
            .push(ConfigProblem { path: path.to_owned(), message: message.to_owned() });
    }
}

/// A mapping of the file. Methods report a value that cannot be read, and return `None` for it.
pub(super) struct Section<'a> {
    report: &'a Report,
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Section<'a> {
    pub(super) fn root(value: &'a Value, report: &'a Report) -> Option<Self> {
        if let Value::Object(map) = value {
            return Some(Self { report, path: String::new(), map });
        }
        report.add("", "a provider config is a mapping");
        None
    }

    pub(super) fn problem(&self, key: &str, message: &str) {
        self.report.add(&self.path_of(key), message);
    }

    /// Reads a word of a closed list.
    pub(super) fn word<T: VariantArray + Copy + Into<&'static str>>(
        &self,
        key: &str,
        word: &str,
    ) -> Option<T> {
        let known = || T::VARIANTS.iter().map(|variant| (*variant).into());
        let found = T::VARIANTS.iter().copied().find(|variant| (*variant).into() == word);
        if found.is_none() {
            let meant = did_you_mean(nearest_name(word, known()));
            let valid = quoted(known());
            self.problem(key, &format!("has no value `{word}`; valid: {valid}{meant}"));
        }
        found
    }

    /// Reports each key that is not in `known`.
    pub(super) fn only(&self, known: &[&str]) {
        for key in self.map.keys().filter(|key| !known.contains(&key.as_str())) {
            let meant = did_you_mean(nearest_name(key, known.iter().copied()));
            let hint = if meant.is_empty() {
                format!("; valid: {}", quoted(known.iter().copied()))
            } else {
                meant
            };
            self.problem(key, &format!("is not a key of a provider config{hint}"));
        }
    }

    /// Reports keys that are not in `known`, without repeating them, because they may be secrets. Only a key
    /// that is nearly a known one is repeated.
    pub(super) fn only_told(&self, known: &[&str]) {
        let mut is_untold = false;
        for key in self.keys().filter(|key| !known.contains(key)) {
            match did_you_mean(nearest_name(key, known.iter().copied())) {
                meant if meant.is_empty() => is_untold = true,
                meant => self.problem(key, &format!("is not a key of a provider config{meant}")),
            }
        }
        if is_untold {
            let valid = quoted(known.iter().copied());
            self.report.add(&self.path, &format!("has a key that is none; valid: {valid}"));
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.map.keys().map(String::as_str)
    }

    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    pub(super) fn section(&self, key: &str) -> Option<Section<'a>> {
        match self.map.get(key)? {
            Value::Object(map) => {
                Some(Section { report: self.report, path: self.path_of(key), map })
            }
            _ => {
                self.problem(key, "is not a mapping");
                None
            }
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        match self.map.get(key)? {
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            Value::String(_) => {
                self.problem(key, "is empty");
                None
            }
            _ => {
                self.problem(key, "is not text; put it in quotes");
                None
            }
        }
    }

    pub(super) fn required_text(&self, key: &str) -> Option<String> {
        self.require(key);
        self.text(key)
    }

    pub(super) fn require(&self, key: &str) {
        if !self.map.contains_key(key) {
            self.problem(key, "is missing");
        }
    }

    /// Reads a whole number from 1 to `maximum`.
    pub(super) fn count(&self, key: &str, maximum: u64) -> Option<u64> {
        let value = self.map.get(key)?;
        let count = value.as_u64().filter(|count| (1..=maximum).contains(count));
        if count.is_none() {
            self.problem(key, &format!("is not a whole number from 1 to {maximum}"));
        }
        count
    }

    /// Reads a number of seconds above 0 and up to a day; fractions are allowed.
    pub(super) fn seconds(&self, key: &str) -> Option<Duration> {
        let seconds =
            self.map.get(key)?.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0);
        let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if duration.is_none() {
            self.problem(key, "is not a number of seconds over 0 and up to 86400");
        }
        duration
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}
