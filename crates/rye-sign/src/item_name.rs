//! The kind and id that a signature is for.

use std::fmt;

/// The kind and id that a signature binds, so that the item does not verify under another name (SPEC 2.4).
///
/// The id is any non-empty text without control characters. The resolver checks the grammar of ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemName {
    kind: &'static str,
    id: String,
}

/// A reason why a kind and an id do not make an [`ItemName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemNameError {
    /// The id contains a line break or another control character, which could imitate another message.
    #[error("the id {id:?} holds a control character; an id is one line of text")]
    ControlCharacter {
        /// The given id.
        id: String,
    },
    /// The id is empty.
    #[error("the id of the {kind} is empty; write its path below the kind's folder")]
    EmptyId {
        /// The given kind.
        kind: &'static str,
    },
    /// Items of this kind cannot be signed.
    #[error("unknown kind `{kind}`; valid are `config`, `directive`, `knowledge`, `tool`, `trust`")]
    UnknownKind {
        /// The given kind.
        kind: String,
    },
}

impl ItemName {
    /// Names an item of kind `directive`, `tool`, `knowledge`, `config` or `trust`.
    ///
    /// # Errors
    ///
    /// An unknown kind, or an id that is empty or contains a control character.
    pub fn new(kind: &str, id: &str) -> Result<Self, ItemNameError> {
        let kind = known_kind(kind)?;
        if id.is_empty() {
            return Err(ItemNameError::EmptyId { kind });
        }
        if id.chars().any(char::is_control) {
            return Err(ItemNameError::ControlCharacter { id: id.to_owned() });
        }
        Ok(Self { kind, id: id.to_owned() })
    }

    /// The kind, as in `directive`.
    pub fn kind(&self) -> &str {
        self.kind
    }

    /// The id, as in `rye/core/create`.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Display for ItemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.id)
    }
}

pub(crate) fn known_kind(kind: &str) -> Result<&'static str, ItemNameError> {
    let unknown = || ItemNameError::UnknownKind { kind: kind.to_owned() };
    KINDS.into_iter().find(|known| *known == kind).ok_or_else(unknown)
}

pub(crate) const KINDS: [&str; 5] = ["config", "directive", "knowledge", "tool", "trust"];

#[cfg(test)]
mod tests {
    use super::ItemName;

    #[track_caller]
    fn check_refused(kind: &str, id: &str, message: &str) {
        assert_eq!(
            ItemName::new(kind, id).map_err(|error| error.to_string()),
            Err(message.to_owned())
        );
    }

    #[test]
    fn names_show_kind_and_id() {
        let item = ItemName::new("tool", "rye/bash/bash").expect("a valid name");
        assert_eq!((item.kind(), item.id()), ("tool", "rye/bash/bash"));
        assert_eq!(item.to_string(), "tool `rye/bash/bash`");
    }

    #[test]
    fn refuses_an_unknown_kind() {
        let message =
            "unknown kind `Tool`; valid are `config`, `directive`, `knowledge`, `tool`, `trust`";
        check_refused("Tool", "a", message);
    }

    #[test]
    fn refuses_an_empty_id() {
        check_refused(
            "tool",
            "",
            "the id of the tool is empty; write its path below the kind's folder",
        );
    }

    #[test]
    fn refuses_a_second_line() {
        check_refused(
            "tool",
            "a\nb",
            "the id \"a\\nb\" holds a control character; an id is one line of text",
        );
    }
}
