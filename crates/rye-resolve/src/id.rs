//! Item ids, checked before they are used as paths.

use std::{fmt, str::FromStr};

/// The slash-separated path of an item below its kind's folder, without extension (SPEC 1.3).
///
/// Each segment is `[A-Za-z0-9_][A-Za-z0-9_.-]*` and the whole is at most 256 bytes, so an id can
/// neither climb out of its folder nor name a hidden file.
///
/// ```
/// use rye_resolve::ItemId;
///
/// let id: ItemId = "deploy/staging".parse()?;
/// assert_eq!((id.folder(), id.name()), (Some("deploy"), "staging"));
/// assert!("../staging".parse::<ItemId>().is_err());
/// # Ok::<(), rye_resolve::ItemIdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(String);

impl ItemId {
    /// The longest id, in bytes.
    pub const MAX_BYTES: usize = 256;

    /// Makes an id that no text parses as; its caller checked it.
    pub(crate) fn beyond_grammar(text: String) -> Self {
        Self(text)
    }

    /// The id as written, segments joined by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment, which is the file's name without its extension.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.as_str(), |(_, name)| name)
    }

    /// Everything before the last segment, or `None` for an id of one segment.
    pub fn folder(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(folder, _)| folder)
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ItemId {
    type Err = ItemIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(ItemIdError::Empty);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(ItemIdError::TooLong { bytes: text.len() });
        }
        match text.split('/').find_map(|segment| fault(segment, text)) {
            Some(error) => Err(error),
            None => Ok(Self(text.to_owned())),
        }
    }
}

/// The reason why a text is not an item id.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemIdError {
    /// The id has no bytes at all.
    #[error("an item id cannot be empty; write it as `folder/name`")]
    Empty,
    /// The id is longer than [`ItemId::MAX_BYTES`].
    #[error("an item id of {bytes} bytes is too long; use at most {}", ItemId::MAX_BYTES)]
    TooLong {
        /// The length of the refused id, in bytes.
        bytes: usize,
    },
    /// The id begins or ends with `/` or holds `//`.
    #[error("item id `{}` has an empty segment; write single slashes, none at the ends", .id.escape_debug())]
    EmptySegment {
        /// The refused id.
        id: String,
    },
    /// A segment is `.` or `..`.
    #[error("item id `{}` has a `{segment}` segment; write the path below the kind's folder", .id.escape_debug())]
    Climbs {
        /// The refused id.
        id: String,
        /// The segment: `.` or `..`.
        segment: String,
    },
    /// A character stands where the grammar does not allow it.
    #[error(
        "item id `{}` has {character:?} where a segment cannot have it; use letters, digits, `_`, and after the first character also `.` and `-`",
        .id.escape_debug()
    )]
    Character {
        /// The refused id.
        id: String,
        /// The first character that breaks the grammar.
        character: char,
    },
}

fn fault(segment: &str, id: &str) -> Option<ItemIdError> {
    let id = || id.to_owned();
    match segment {
        "" => return Some(ItemIdError::EmptySegment { id: id() }),
        "." | ".." => return Some(ItemIdError::Climbs { id: id(), segment: segment.to_owned() }),
        _ => {}
    }
    let allowed = |index: usize, c: char| {
        c.is_ascii_alphanumeric() || c == '_' || (index > 0 && matches!(c, '.' | '-'))
    };
    let (_, character) = segment.char_indices().find(|&(index, c)| !allowed(index, c))?;
    Some(ItemIdError::Character { id: id(), character })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn accepts(text: &str, folder: Option<&str>, name: &str) {
        let id: ItemId = text.parse().unwrap();
        assert_eq!((id.as_str(), id.folder(), id.name()), (text, folder, name));
    }

    #[track_caller]
    fn refuses(text: &str, message: &str) {
        assert_eq!(text.parse::<ItemId>().unwrap_err().to_string(), message);
    }

    #[test]
    fn one_segment() {
        accepts("staging", None, "staging");
    }

    #[test]
    fn many_segments() {
        accepts("rye/agent/core/Identity", Some("rye/agent/core"), "Identity");
    }

    #[test]
    fn dots_dashes_and_underscores() {
        accepts("mcp/my-server.v2/_type.create-", Some("mcp/my-server.v2"), "_type.create-");
    }

    #[test]
    fn the_longest() {
        accepts(&"a".repeat(256), None, &"a".repeat(256));
        refuses(&"a".repeat(257), "an item id of 257 bytes is too long; use at most 256");
    }

    #[test]
    fn empty() {
        refuses("", "an item id cannot be empty; write it as `folder/name`");
    }

    #[test]
    fn empty_segments() {
        let empty = |id: &str| {
            format!("item id `{id}` has an empty segment; write single slashes, none at the ends")
        };
        for id in ["/a", "a/", "a//b", "/"] {
            refuses(id, &empty(id));
        }
    }

    #[test]
    fn steps() {
        refuses(
            "a/../b",
            "item id `a/../b` has a `..` segment; write the path below the kind's folder",
        );
        refuses("./b", "item id `./b` has a `.` segment; write the path below the kind's folder");
    }

    #[test]
    fn characters() {
        let tail = "where a segment cannot have it; use letters, digits, `_`, and after the first character also `.` and `-`";
        refuses("a\\b", &format!("item id `a\\\\b` has '\\\\' {tail}"));
        refuses(".hidden", &format!("item id `.hidden` has '.' {tail}"));
        refuses("a/-b", &format!("item id `a/-b` has '-' {tail}"));
        refuses("a b", &format!("item id `a b` has ' ' {tail}"));
        refuses("a\nb", &format!("item id `a\\nb` has '\\n' {tail}"));
        refuses("naïve", &format!("item id `naïve` has 'ï' {tail}"));
        refuses("a:b", &format!("item id `a:b` has ':' {tail}"));
        refuses("a\0b", &format!("item id `a\\0b` has '\\0' {tail}"));
    }

    proptest! {
        #[test]
        fn an_accepted_id_stays_below_its_folder(text in "[a-z0-9_./-]{0,40}") {
            if let Ok(id) = text.parse::<ItemId>() {
                let path = std::path::Path::new(id.as_str());
                prop_assert!(path.components().all(|c| matches!(c, std::path::Component::Normal(_))));
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
