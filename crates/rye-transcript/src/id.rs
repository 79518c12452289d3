//! The id of a thread, which is also the name of its folder.

use std::fmt;
use std::str::FromStr;

use rye_sign::Digest;
use rye_types::Moment;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A thread's id: the directive's last segment, `-`, and a version 7 UUID (SPEC 10.2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(String);

impl ThreadId {
    /// Joins the last segment of a directive's id and a UUID in its usual spelling.
    ///
    /// # Errors
    ///
    /// [`ThreadIdError`] if the segment breaks the grammar of item ids, or the UUID is not of version 7 in lower case.
    pub fn new(directive: &str, uuid: &str) -> Result<Self, ThreadIdError> {
        let segment = directive.rsplit('/').next().unwrap_or(directive);
        format!("{segment}-{uuid}").parse()
    }

    /// Returns the id of the successor that begins `at` this time. The same time gives the same id, so a resuming
    /// process finds it.
    #[must_use]
    pub fn successor(&self, at: Moment) -> Self {
        let segment = self.0.get(..self.0.len() - UUID_LENGTH - 1).unwrap_or_default();
        let hex = Digest::of(format!("{}\ncontinued", self.0).as_bytes()).to_string();
        let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
        let millis = at.as_unix_millis().max(0) & 0xffff_ffff_ffff;
        let high = millis >> 16;
        let low = millis & 0xffff;
        let a = part(0..3);
        let b = part(3..6);
        let c = part(6..18);
        Self(format!("{segment}-{high:08x}-{low:04x}-7{a}-8{b}-{c}"))
    }

    /// Returns the text, which is safe as the name of a folder.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for ThreadId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ThreadId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ThreadId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ThreadId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ThreadId {
    type Err = ThreadIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || ThreadIdError { text: text.to_owned() };
        let split = text.len().checked_sub(UUID_LENGTH + 1).ok_or_else(invalid)?;
        let (segment, rest) = text.split_at_checked(split).ok_or_else(invalid)?;
        let uuid = rest.strip_prefix('-').ok_or_else(invalid)?;
        if is_segment(segment) && is_uuid_v7(uuid) {
            Ok(Self(text.to_owned()))
        } else {
            Err(invalid())
        }
    }
}

const UUID_LENGTH: usize = 36;
const MAX_SEGMENT: usize = 200;

fn is_segment(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    starts
        && text.len() <= MAX_SEGMENT
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

fn is_uuid_v7(text: &str) -> bool {
    text.len() == UUID_LENGTH
        && text.char_indices().all(|(index, c)| match index {
            8 | 13 | 18 | 23 => c == '-',
            14 => c == '7',
            19 => matches!(c, '8' | '9' | 'a' | 'b'),
            _ => matches!(c, '0'..='9' | 'a'..='f'),
        })
}

/// A text that is not a thread id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "`{text}` is not a thread id: the last segment of a directive's id, `-`, and a version 7 UUID"
)]
pub struct ThreadIdError {
    /// The text.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "019a0000-0000-7000-8000-0000000000ff";

    #[test]
    fn takes_the_last_segment() {
        let id = ThreadId::new("deploy/staging.v2", UUID).unwrap();
        assert_eq!(id.as_str(), format!("staging.v2-{UUID}"));
        assert_eq!(id.as_str().parse(), Ok(id));
    }

    #[test]
    fn each_letter_of_an_item_id_may_be_in_it() {
        for segment in ["_x", "9", "A", "a_b.c-d", "a-", &"a".repeat(200)] {
            let text = format!("{segment}-{UUID}");
            assert_eq!(text.parse::<ThreadId>().map(|id| id.to_string()), Ok(text));
        }
    }

    /// The time is that of a version 7 UUID: 48 bits, and none before 1970. The rest is
    /// `printf '%s\ncontinued' ID | sha256sum`.
    #[test]
    fn the_successor_of_a_thread_follows_from_its_id_and_the_time() {
        let id = ThreadId::new("hello", "019a0000-0000-7000-8000-000000000001").unwrap();
        for (millis, time) in [
            (1_795_197_600_250, "01a1fa1d-81fa"),
            (0, "00000000-0000"),
            (-1, "00000000-0000"),
            (0xffff_ffff_fffe, "ffffffff-fffe"),
            (0x1_0000_0000_0001, "00000000-0001"),
        ] {
            let next = id.successor(Moment::from_unix_millis(millis));
            assert_eq!(next.as_str(), format!("hello-{time}-7234-8fe5-bfaacb6706f5"));
            assert_eq!(next.as_str().parse(), Ok(next));
        }
    }

    #[test]
    fn what_is_no_safe_folder_name_is_refused() {
        let long = "a".repeat(201);
        let rows = [
            String::new(),
            UUID.to_owned(),
            format!("-{UUID}"),
            format!("..-{UUID}"),
            format!(".hidden-{UUID}"),
            format!("a/b-{UUID}"),
            format!("a\\b-{UUID}"),
            format!("é-{UUID}"),
            format!("{long}-{UUID}"),
            "a-019a0000-0000-4000-8000-0000000000ff".to_owned(),
            "a-019A0000-0000-7000-8000-0000000000FF".to_owned(),
            "a-019a0000-0000-7000-c000-0000000000ff".to_owned(),
            "a-019a0000_0000-7000-8000-0000000000ff".to_owned(),
            "a-019a0000-0000-7000-8000-0000000000fg".to_owned(),
            format!("a+{UUID}"),
            format!("a-{UUID}-"),
            "é".repeat(30),
        ];
        for text in rows {
            assert_eq!(
                text.parse::<ThreadId>().unwrap_err().to_string(),
                format!(
                    "`{text}` is not a thread id: the last segment of a directive's id, `-`, and a version 7 UUID"
                )
            );
        }
    }
}
