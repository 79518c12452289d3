//! What a command prints for programs: one object with a list of rows and a summary.

use serde_json::{Map, Value};

/// The answer of a command as data.
///
/// It is the only form that commands have for data, so that `summary` and a named list are in every one of them.
#[derive(Debug)]
pub(crate) struct Answer {
    lists: Map<String, Value>,
    summary: Map<String, Value>,
}

impl Answer {
    /// An answer whose rows are named `list`; the summary counts them as `total`, and says that all is fine until
    /// [`fine_if`](Self::fine_if) says otherwise.
    pub(crate) fn of(list: &str, rows: impl IntoIterator<Item = Value>) -> Self {
        let rows: Vec<Value> = rows.into_iter().collect();
        let summary = [("total", Value::from(rows.len())), ("ok", Value::from(true))];
        let summary = summary.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        Self { lists: Map::from_iter([(list.to_owned(), rows.into())]), summary }
    }

    /// The answer of a command that is about one thing.
    pub(crate) fn one(list: &str, row: Value) -> Self {
        Self::of(list, [row])
    }

    /// Adds a list beside the rows, which the summary does not count.
    pub(crate) fn beside(mut self, list: &str, rows: impl IntoIterator<Item = Value>) -> Self {
        self.lists.insert(list.to_owned(), rows.into_iter().collect());
        self
    }

    /// Says in the summary whether the command ends with exit code 0.
    pub(crate) fn fine_if(self, is_fine: bool) -> Self {
        self.with("ok", is_fine)
    }

    /// Adds to the summary.
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
