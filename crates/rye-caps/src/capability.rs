//! One action on one item.

use std::{cmp::Ordering, fmt, str::FromStr, sync::Arc};

use strum::{Display, EnumString, IntoStaticStr, VariantArray};
use thiserror::Error;

use crate::{letters, untrusted_text::sanitize};

/// The longest item id in bytes (`SPEC 1.3`).
pub(crate) const MAX_ID_BYTES: usize = 256;

/// One action on one item, such as `rye.execute.tool.rye.file-system.read` (`SPEC 9.1`).
///
/// A capability is *requested*; a [`Pattern`](crate::Pattern) is *granted*. The two are different types, although their
/// texts look alike, so that neither can be used as the other: a capability never contains a wildcard.
///
/// Clones share the text.
///
/// ```
/// use rye_caps::{Capability, Kind, Primary};
///
/// let capability = Capability::new(Primary::Execute, Kind::Tool, "rye/file-system/read")?;
/// assert_eq!(capability.as_str(), "rye.execute.tool.rye.file-system.read");
/// assert_eq!(capability, "rye.execute.tool.rye.file-system.read".parse()?);
/// assert!("rye.execute.tool.rye.*".parse::<Capability>().is_err());
/// # Ok::<(), rye_caps::CapabilityError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Capability {
    /// The text with a final `.`, so that a name and the names below it have the same beginning.
    dotted: Arc<str>,
    primary: Primary,
    kind: Kind,
}

impl Capability {
    /// Makes the capability of the action `primary` on the item `id` of `kind`. The id is written with `/`, or with `.`
    /// as in the text of a capability.
    ///
    /// # Errors
    ///
    /// [`CapabilityError::Id`] if `id` breaks the grammar of item ids (`SPEC 1.3`). An id has 1 to 256 bytes. Each
    /// segment starts with an ASCII letter, a digit or `_`, and contains only these, `-` and `.`.
    pub fn new(primary: Primary, kind: Kind, id: &str) -> Result<Self, CapabilityError> {
        if let Some(reason) = id_problem(id) {
            return Err(CapabilityError::Id { id: sanitize(id), reason });
        }
        let dotted = format!("rye.{primary}.{kind}.{id}.").replace('/', ".").into();
        Ok(Self { dotted, primary, kind })
    }

    /// The action.
    pub fn primary(&self) -> Primary {
        self.primary
    }

    /// The kind of the item.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The whole text, `rye.<primary>.<kind>.<id>`, with dots in the id.
    pub fn as_str(&self) -> &str {
        self.dotted.strip_suffix('.').unwrap_or_default()
    }

    /// The id of the item with dots: the text after `rye.<primary>.<kind>.`.
    ///
    /// The id with slashes cannot be recovered from it, because segments may also contain dots.
    pub fn dotted_id(&self) -> &str {
        self.id_and_dot().strip_suffix('.').unwrap_or_default()
    }

    /// The dotted id with a final `.`. It starts with `a.` both if the id is `a` and if the id is below `a`.
    pub(crate) fn id_and_dot(&self) -> &str {
        let head = "rye...".len() + self.primary.as_str().len() + self.kind.as_str().len();
        self.dotted.get(head..).unwrap_or_default()
    }
}

impl PartialOrd for Capability {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Capability {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl FromStr for Capability {
    type Err = CapabilityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(4, '.');
        let (Some("rye"), Some(primary), Some(kind), Some(id)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(CapabilityError::Shape { text: sanitize(text) });
        };
        if primary == "fetch" {
            return Err(CapabilityError::Fetch { text: sanitize(text) });
        }
        Self::new(primary.parse()?, kind.parse()?, id)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capability({:?})", self.as_str())
    }
}

/// The four actions on an item (`SPEC D4`).
///
/// `fetch` is not an action. It stands for [`Search`](Self::Search) and [`Load`](Self::Load) together and occurs only
/// in grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the primary actions are complete by definition")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", parse_err_fn = CapabilityError::unknown_primary, parse_err_ty = CapabilityError)]
pub enum Primary {
    /// Running a tool, or following a directive.
    Execute,
    /// Finding items by their content.
    Search,
    /// Reading an item.
    Load,
    /// Signing an item.
    Sign,
}

impl Primary {
    /// All actions, in the order of their declaration.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name of the action in capabilities, in lower case.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The kinds of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the kinds of item are complete by definition")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", parse_err_fn = CapabilityError::unknown_kind, parse_err_ty = CapabilityError)]
pub enum Kind {
    /// A program that a thread may call.
    Tool,
    /// A workflow that an agent follows.
    Directive,
    /// A text that an agent reads.
    Knowledge,
}

impl Kind {
    /// All kinds, in the order of their declaration.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name of the kind in capabilities, in lower case.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A text that is not a capability.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CapabilityError {
    /// The text does not have the four parts of a capability.
    #[error("`{text}` is not a capability; write `rye.<primary>.<kind>.<id>`")]
    Shape {
        /// The text, shortened if it is long.
        text: String,
    },
    /// The action is `fetch`, which stands for two actions and can only be granted.
    #[error("`{text}` names two actions; ask for `rye.search.…` or for `rye.load.…`")]
    Fetch {
        /// The text, shortened if it is long.
        text: String,
    },
    /// The name of the action is unknown.
    #[error("unknown primary action `{found}`; valid are `execute`, `search`, `load`, `sign`")]
    UnknownPrimary {
        /// The name, shortened if it is long.
        found: String,
    },
    /// The name of the kind is unknown.
    #[error("unknown item kind `{found}`; valid are `tool`, `directive`, `knowledge`")]
    UnknownKind {
        /// The name, shortened if it is long.
        found: String,
    },
    /// The id breaks the grammar of item ids.
    #[error("`{id}` is not an item id: {reason}")]
    Id {
        /// The id, shortened if it is long.
        id: String,
        /// The rule that the id breaks.
        reason: &'static str,
    },
}

impl CapabilityError {
    fn unknown_primary(name: &str) -> Self {
        Self::UnknownPrimary { found: sanitize(name) }
    }

    fn unknown_kind(name: &str) -> Self {
        Self::UnknownKind { found: sanitize(name) }
    }
}

fn id_problem(id: &str) -> Option<&'static str> {
    if id.len() > MAX_ID_BYTES {
        return Some("it is longer than 256 bytes");
    }
    id.split('/').find_map(segment_problem)
}

fn segment_problem(segment: &str) -> Option<&'static str> {
    let Some(first) = segment.bytes().next() else {
        return Some("it is empty, or has an empty segment");
    };
    if !letters::holds(letters::SUBJECT, segment.bytes()) {
        return Some("segments hold ASCII letters, digits, `_`, `-` and `.` only");
    }
    if !letters::holds(letters::WORD, [first]) {
        return Some("a segment starts with an ASCII letter, a digit or `_`");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let parsed = text.parse::<Capability>().map(|capability| capability.to_string());
        assert_eq!(
            parsed.map_err(|error| error.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned)
        );
    }

    #[test]
    fn valid_texts_round_trip_and_slashes_become_dots() {
        check("rye.execute.tool.rye.bash.bash", Ok("rye.execute.tool.rye.bash.bash"));
        check("rye.execute.tool.rye/bash/bash", Ok("rye.execute.tool.rye.bash.bash"));
        check("rye.sign.directive._x.9-a", Ok("rye.sign.directive._x.9-a"));
        // The id `a./b` has this text.
        check("rye.load.knowledge.a..b", Ok("rye.load.knowledge.a..b"));
        check(
            &format!("rye.load.knowledge.{}", "a".repeat(256)),
            Ok(&format!("rye.load.knowledge.{}", "a".repeat(256))),
        );
    }

    #[test]
    fn each_broken_text_has_its_own_message() {
        let shape = "is not a capability; write `rye.<primary>.<kind>.<id>`";
        check("", Err(&format!("`` {shape}")));
        check("rye.execute.tool", Err(&format!("`rye.execute.tool` {shape}")));
        check("ray.execute.tool.x", Err(&format!("`ray.execute.tool.x` {shape}")));
        check(
            "rye.fetch.tool.x",
            Err("`rye.fetch.tool.x` names two actions; ask for `rye.search.…` or for `rye.load.…`"),
        );
        check(
            "rye.run.tool.x",
            Err("unknown primary action `run`; valid are `execute`, `search`, `load`, `sign`"),
        );
        check(
            "rye.load.tools.x",
            Err("unknown item kind `tools`; valid are `tool`, `directive`, `knowledge`"),
        );
        check("rye.load.tool.", Err("`` is not an item id: it is empty, or has an empty segment"));
        check(
            "rye.load.tool.a//b",
            Err("`a//b` is not an item id: it is empty, or has an empty segment"),
        );
        let first = "a segment starts with an ASCII letter, a digit or `_`";
        check("rye.load.tool.a/../b", Err(&format!("`a/../b` is not an item id: {first}")));
        check("rye.load.tool.-a", Err(&format!("`-a` is not an item id: {first}")));
        let held = "segments hold ASCII letters, digits, `_`, `-` and `.` only";
        check("rye.load.tool.a*", Err(&format!("`a*` is not an item id: {held}")));
        check(
            "rye.load.tool.a\u{1b}[2J",
            Err(&format!("`a\\u{{1b}}[2J` is not an item id: {held}")),
        );
        check("rye.load.tool.é", Err(&format!("`é` is not an item id: {held}")));
        check(
            &format!("rye.load.tool.{}", "a".repeat(257)),
            Err(&format!("`{}…` is not an item id: it is longer than 256 bytes", "a".repeat(120))),
        );
    }

    #[test]
    fn the_dotted_id_is_what_follows_the_kind() {
        let capability: Capability = "rye.search.knowledge.a.b".parse().unwrap();
        assert_eq!(capability.dotted_id(), "a.b");
        assert_eq!((capability.primary(), capability.kind()), (Primary::Search, Kind::Knowledge));
    }

    #[test]
    fn capabilities_are_shown_and_ordered_by_their_text() {
        let [one, other]: [Capability; 2] =
            ["rye.load.tool.a", "rye.load.tool.a-b"].map(|text| text.parse().unwrap());
        assert_eq!(one.partial_cmp(&other), Some(Ordering::Less));
        assert_eq!(other.cmp(&one), Ordering::Greater);
        assert_eq!(format!("{one:?}"), "Capability(\"rye.load.tool.a\")");
    }
}
