//! Members of a message that grow from chunk to chunk, whatever a server calls them.

use serde_json::value::RawValue;

use crate::raw::{raw, text_value};

/// The members in the order in which they first came.
#[derive(Default)]
pub(super) struct Members(Vec<(String, Grown)>);

/// What a member has grown to.
enum Grown {
    /// A text, to which more text is added.
    Text(String),
    /// A list, to which more entries are added.
    List(Vec<Box<RawValue>>),
    /// Anything else, which a later value replaces.
    Other(Box<RawValue>),
}

impl Members {
    pub(super) fn grow(&mut self, name: &str, value: Box<RawValue>) {
        let grown = Grown::of(value);
        match self.0.iter_mut().find(|(member, _)| member == name) {
            Some((_, old)) if name == "role" => *old = grown,
            Some((_, old)) => old.add(grown),
            None => self.0.push((name.to_owned(), grown)),
        }
    }

    pub(super) fn into_raw(self) -> impl Iterator<Item = (String, Box<RawValue>)> {
        self.0.into_iter().map(|(name, grown)| (name, grown.into_raw()))
    }
}

impl Grown {
    fn of(value: Box<RawValue>) -> Self {
        if let Ok(text) = serde_json::from_str(value.get()) {
            Self::Text(text)
        } else if let Ok(list) = serde_json::from_str(value.get()) {
            Self::List(list)
        } else {
            Self::Other(value)
        }
    }

    fn add(&mut self, more: Self) {
        match (self, more) {
            (Self::Text(text), Self::Text(more)) => text.push_str(&more),
            (Self::List(list), Self::List(more)) => list.extend(more),
            (_, Self::Other(more)) if more.get() == "null" => {}
            (old, more) => *old = more,
        }
    }

    fn into_raw(self) -> Box<RawValue> {
        match self {
            Self::Text(text) => text_value(&text),
            Self::List(list) => raw(&list),
            Self::Other(value) => value,
        }
    }
}
