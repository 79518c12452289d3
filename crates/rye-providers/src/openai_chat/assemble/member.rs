//! Members of a message, assembled from chunks, with any name.

use serde_json::value::RawValue;

use crate::raw::{MOST_MEMBERS, text_value, too_many_members};

/// The members, in the order of their first chunks.
#[derive(Default)]
pub(super) struct Members(Vec<(String, Grown)>);

/// The value of a member so far.
enum Grown {
    /// A text, to which more text is added.
    Text(String),
    /// The entries of a list as received, to which more are added.
    List(String),
    /// Anything else, which a later value replaces.
    Other(Box<RawValue>),
}

impl Members {
    pub(super) fn grow(&mut self, name: &str, value: Box<RawValue>) -> serde_json::Result<()> {
        let grown = Grown::of(value);
        let is_full = MOST_MEMBERS <= self.0.len();
        match self.0.iter_mut().find(|(member, _)| member == name) {
            Some((_, old)) if name == "role" => *old = grown,
            Some((_, old)) => old.add(grown),
            None if is_full => return Err(too_many_members()),
            None => self.0.push((name.to_owned(), grown)),
        }
        Ok(())
    }

    pub(super) fn into_raw(self) -> impl Iterator<Item = (String, Box<RawValue>)> {
        self.0.into_iter().map(|(name, grown)| (name, grown.into_raw()))
    }
}

impl Grown {
    fn of(value: Box<RawValue>) -> Self {
        let entries = value.get().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match (serde_json::from_str(value.get()), entries) {
            (Ok(text), _) => Self::Text(text),
            (_, Some(entries)) => Self::List(entries.trim().to_owned()),
            _ => Self::Other(value),
        }
    }

    fn add(&mut self, more: Self) {
        match (self, more) {
            (Self::Text(text), Self::Text(more)) => text.push_str(&more),
            (Self::List(list), Self::List(more)) if list.is_empty() => *list = more,
            (Self::List(_), Self::List(more)) if more.is_empty() => {}
            (Self::List(list), Self::List(more)) => {
                list.push(',');
                list.push_str(&more);
            }
            (_, Self::Other(more)) if more.get() == "null" => {}
            (old, more) => *old = more,
        }
    }

    fn into_raw(self) -> Box<RawValue> {
        match self {
            Self::Text(text) => text_value(&text),
            Self::List(list) => {
                RawValue::from_string(format!("[{list}]")).expect("because it is made of lists")
            }
            Self::Other(value) => value,
        }
    }
}
