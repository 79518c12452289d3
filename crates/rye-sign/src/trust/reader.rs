//! The fields of a TOML file about keys.

use toml::{Table, Value};

use rye_types::Timestamp;

use crate::trust::error::{TomlError, TrustProblem};

/// A sort of file about keys.
pub(super) struct Form {
    pub(super) category: &'static str,
    /// All fields, for messages.
    pub(super) fields: &'static str,
}

/// A reason why a text is no table of fields.
pub(super) enum NoTable {
    NotToml { source: TomlError },
    TooLong { bytes: usize },
}

/// Reads the TOML of a text of at most `most` bytes, with its signature line.
pub(super) fn read_table(text: &str, most: usize) -> Result<Table, NoTable> {
    if text.len() > most {
        return Err(NoTable::TooLong { bytes: text.len() });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.parse().map_err(|error| not_toml(text, &error))
}

fn not_toml(text: &str, error: &toml::de::Error) -> NoTable {
    let start = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
    NoTable::NotToml { source: TomlError { line, message: error.message().to_owned() } }
}

/// Removes known fields from the table, so that unknown fields remain.
pub(super) struct Reader {
    table: Table,
    form: &'static Form,
    pub(super) problems: Vec<TrustProblem>,
}

impl Reader {
    pub(super) fn new(table: Table, form: &'static Form) -> Self {
        Self { table, form, problems: Vec::new() }
    }

    pub(super) fn check_constants(&mut self) {
        if let Some(version) = self.text("version")
            && version.split('.').next() != Some("1")
        {
            self.problems.push(TrustProblem::Version { text: version });
        }
        if let Some(category) = self.text("category")
            && category != self.form.category
        {
            let expected = self.form.category;
            self.problems.push(TrustProblem::Category { expected, text: category });
        }
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.table.contains_key(field)
    }

    pub(super) fn take(&mut self, field: &str) -> Option<Value> {
        self.table.remove(field)
    }

    pub(super) fn text(&mut self, field: &'static str) -> Option<String> {
        match self.take(field)? {
            Value::String(text) => Some(text),
            _ => self.refuse(TrustProblem::WrongType { field, expected: "a string" }),
        }
    }

    pub(super) fn required_text(&mut self, field: &'static str) -> Option<String> {
        if !self.has(field) {
            return self.refuse(TrustProblem::Missing { field });
        }
        match self.text(field)? {
            text if text.trim().is_empty() => self.refuse(TrustProblem::Empty { field }),
            text => Some(text),
        }
    }

    pub(super) fn time(&mut self, field: &'static str) -> Option<Timestamp> {
        let text = match self.take(field)? {
            Value::Datetime(time) => time.to_string(),
            Value::String(text) => text,
            _ => return self.refuse(TrustProblem::WrongType { field, expected: "a UTC time" }),
        };
        let parsed = text.parse().ok();
        parsed.or_else(|| self.refuse(TrustProblem::Time { field, text }))
    }

    /// Reports the remaining fields. An unknown field may be a misspelled limit, and ignoring a limit would widen the
    /// grants.
    pub(super) fn refuse_the_rest(&mut self) {
        for (field, _) in std::mem::take(&mut self.table) {
            self.refuse_unknown(field);
        }
    }

    pub(super) fn refuse_unknown(&mut self, field: String) {
        self.problems.push(TrustProblem::Unknown { field, valid: self.form.fields });
    }

    pub(super) fn refuse<T>(&mut self, problem: TrustProblem) -> Option<T> {
        self.problems.push(problem);
        None
    }
}
