//! Members of a message, assembled from chunks, with any name.

use serde_json::value::RawValue;

use crate::halves::Pieces;
use crate::raw::{MOST_MEMBERS, raw, text_value, too_many_members};

/// The members, in the order of their first chunks.
#[derive(Default)]
pub(super) struct Members(Vec<(String, Grown)>);

/// The value of a member so far.
enum Grown {
    /// A text, to which more text is added.
    Text(Pieces),
    /// A list, to which more entries are added.
    List(List),
    /// Anything else, which a later value replaces.
    Other(Box<RawValue>),
}

/// A list that grows. Text between its entries is a part of its own.
#[derive(Default)]
struct List {
    /// The entries as received.
    entries: String,
    text: Pieces,
}

impl Members {
    /// Adds a piece and returns the new text.
    pub(super) fn grow(&mut self, name: &str, value: Box<RawValue>) -> serde_json::Result<&str> {
        let is_full = MOST_MEMBERS <= self.0.len();
        let at = match self.0.iter().position(|(member, _)| member == name) {
            Some(at) => at,
            None if is_full => return Err(too_many_members()),
            None => {
                self.0.push((name.to_owned(), Grown::Other(raw(&()))));
                self.0.len() - 1
            }
        };
        let (_, grown) = self.0.get_mut(at).expect("because the place was just found or made");
        if name == "role" {
            *grown = Grown::Other(raw(&()));
        }
        Ok(grown.add(name, value))
    }

    /// The text of a member so far, if it is one.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(member, grown)| match grown {
            Grown::Text(text) if member == name => Some(text.as_str()),
            _ => None,
        })
    }

    pub(super) fn into_raw(self) -> impl Iterator<Item = (String, Box<RawValue>)> {
        self.0.into_iter().map(|(name, grown)| (name, grown.into_raw()))
    }
}

impl Grown {
    /// Adds a value and returns the new text of it.
    fn add(&mut self, name: &str, value: Box<RawValue>) -> &str {
        let is_text = value.get().starts_with('"');
        let entries = value.get().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        // The content of a message is text or a list. A single part of it is an entry of that list.
        let is_part = name == "content" && value.get().starts_with('{');
        let entries = if is_part { Some(value.get()) } else { entries };
        let is_null = value.get() == "null";
        match self {
            Self::Text(text) if entries.is_some() => {
                *self = Self::List(List { text: std::mem::take(text), entries: String::new() });
            }
            Self::Other(_) if is_text => *self = Self::Text(Pieces::default()),
            Self::Other(_) if entries.is_some() => *self = Self::List(List::default()),
            _ => {}
        }
        if is_text {
            return match self {
                Self::Text(text) | Self::List(List { text, .. }) => {
                    text.push(&value).unwrap_or_default()
                }
                Self::Other(_) => "",
            };
        }
        match (self, entries) {
            (Self::List(list), Some(entries)) => list.add(entries),
            _ if is_null => {}
            (other, _) => *other = Self::Other(value),
        }
        ""
    }

    fn into_raw(self) -> Box<RawValue> {
        match self {
            Self::Text(text) => text_value(&text.finish().0),
            Self::List(mut list) => {
                list.end_text();
                RawValue::from_string(format!("[{}]", list.entries))
                    .expect("because it is made of lists")
            }
            Self::Other(value) => value,
        }
    }
}

impl List {
    fn add(&mut self, entries: &str) {
        let entries = entries.trim();
        if !entries.is_empty() {
            self.end_text();
            self.push(entries);
        }
    }

    fn push(&mut self, entries: &str) {
        if !self.entries.is_empty() {
            self.entries.push(',');
        }
        self.entries.push_str(entries);
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            let (text, _) = std::mem::take(&mut self.text).finish();
            let part = serde_json::json!({ "type": "text", "text": text });
            self.push(&part.to_string());
        }
    }
}
