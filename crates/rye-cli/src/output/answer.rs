//! JSON answers of commands: an object with a list of rows and a summary.

use serde_json::{Map, Value};

/// The JSON answer of a command.
///
/// All commands use this form, so that each answer has `summary` and a named list.
#[derive(Debug)]
pub(crate) struct Answer {
    lists: Map<String, Value>,
    summary: Map<String, Value>,
}

impl Answer {
    /// Creates an answer whose rows are named `list`. The summary counts them as `total`. Its `ok` is true until
    /// [`fine_if`](Self::fine_if) changes it.
    pub(crate) fn of(list: &str, rows: impl IntoIterator<Item = Value>) -> Self {
        let rows: Vec<Value> = rows.into_iter().collect();
        let summary = [("total", Value::from(rows.len())), ("ok", Value::from(true))];
        let summary = summary.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        Self { lists: Map::from_iter([(list.to_owned(), rows.into())]), summary }
    }

    /// Creates the answer of a command for one thing.
    pub(crate) fn one(list: &str, row: Value) -> Self {
        Self::of(list, [row])
    }

    /// Adds a list beside the rows. The summary does not count it.
    pub(crate) fn beside(mut self, list: &str, rows: impl IntoIterator<Item = Value>) -> Self {
        self.lists.insert(list.to_owned(), rows.into_iter().collect());
        self
    }

    /// Sets `ok` of the summary: `true` if the command ends with exit code 0.
    pub(crate) fn fine_if(self, is_fine: bool) -> Self {
        self.with("ok", is_fine)
    }

    /// Adds a member to the summary.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.summary.insert(name.to_owned(), value.into());
        self
    }

    /// Prints the object.
    pub(crate) fn print(self) {
        let mut object = self.lists;
        object.insert("summary".to_owned(), self.summary.into());
        super::document(&object.into());
    }
}
