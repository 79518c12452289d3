//! Decides whether a grant covers a capability.
//!
//! A *capability* is one action on one item: `rye.execute.tool.rye.bash.bash` is running the tool `rye/bash/bash`. A
//! *grant* is a set of wildcard patterns over capabilities; what no pattern covers is not allowed. An *authority* is a
//! stack of grants from the operator, the directive and other sources. All of them must allow a call.
//!
//! The crate is pure: strings and sets, no I/O, no clock, no environment.
//!
//! # Example: one pattern
//!
//! ```
//! use rye_caps::{Capability, Pattern};
//!
//! let files: Pattern = "rye.execute.tool.rye.file-system.*".parse()?;
//! let read: Capability = "rye.execute.tool.rye.file-system.read".parse()?;
//! let bash: Capability = "rye.execute.tool.rye.bash.bash".parse()?;
//!
//! assert!(files.matches(&read));
//! assert!(!files.matches(&bash));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Example: an authority, and a permit from it
//!
//! The operator, the directive itself and every ancestor thread are layers. A [`Permit`] proves that all of them allow
//! the call, so code that takes one cannot run without this check. A permit is requested for an [`Invocation`]: an item
//! with the functions that it stands for.
//!
//! ```
//! use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Permit, Primary};
//!
//! fn read(permit: &Permit) -> String {
//!     format!("reading, as permitted by {}", permit.capability())
//! }
//!
//! // `<permissions><execute><tool>rye/file-system/*</tool></execute></permissions>`
//! let declared = Grant::of_items("execute", "tool", "rye/file-system/*")?;
//! let authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()))
//!     .narrow(Layer::new(LayerName::Directive("notes/tidy".to_owned()), declared));
//!
//! let wanted = Capability::new(Primary::Execute, Kind::Tool, "rye/file-system/read")?;
//! assert!(read(&authority.permit(&wanted.into())?).ends_with("rye.execute.tool.rye.file-system.read"));
//!
//! let unwanted = Capability::new(Primary::Execute, Kind::Tool, "rye/bash/bash")?;
//! assert_eq!(
//!     authority.permit(&unwanted.into()).unwrap_err().to_string(),
//!     "`rye.execute.tool.rye.bash.bash` is not allowed by the directive `notes/tidy` (add \
//!      `<execute><tool>rye.bash.bash</tool></execute>` to its `<permissions>`)",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Example: inclusion of one grant in another
//!
//! Inclusion is decided exactly, over all possible capabilities. A negative answer comes with a counter-example.
//!
//! ```
//! use rye_caps::{Grant, Pattern};
//!
//! let parent = Grant::of_items("execute", "tool", "rye.*")?;
//! let child = Grant::of_items("execute", "tool", "rye.file-system.*")?;
//! assert!(parent.covers(&child).is_ok());
//! assert_eq!(
//!     child.covers(&parent).unwrap_err().to_string(),
//!     "`rye.execute.tool.rye` is covered by `rye.execute.tool.rye.*` but not by \
//!      `rye.execute.tool.rye.file-system.*`",
//! );
//!
//! // Different texts, one meaning.
//! let [a, b]: [Pattern; 2] = ["rye.load.tool.?*".parse()?, "rye.load.tool.*?".parse()?];
//! assert!(a.covers(&b).is_ok() && b.covers(&a).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Example: an invalid pattern
//!
//! ```
//! use rye_caps::Pattern;
//!
//! assert_eq!(
//!     "rye.execute.tool.[^a]".parse::<Pattern>().unwrap_err().to_string(),
//!     "`rye.execute.tool.[^a]` is not a capability pattern: `[^` is not allowed; write `[!` for every character \
//!      but these",
//! );
//! ```
//!
//! # Capabilities
//!
//! `rye.<primary>.<kind>.<id>`, with the `/` of the id written `.`.
//!
//! | part | values |
//! | --- | --- |
//! | `<primary>` | `execute`, `search`, `load`, `sign` |
//! | `<kind>` | `tool`, `directive`, `knowledge` |
//! | `<id>` | an item id: at most 256 bytes of ASCII letters, digits, `_`, `-`, `.` and `/`, where no segment is empty or starts with `-` or `.` |
//!
//! # Syntax
//!
//! A pattern is matched against the whole text of a capability, as in `fnmatch`. Case matters.
//!
//! | syntax | meaning |
//! | --- | --- |
//! | letter, digit, `_`, `-`, `.` | itself |
//! | `/` | `.` |
//! | `*` | any run of characters, also an empty one, dots included; `**` means the same |
//! | `?` | any one character, a dot included |
//! | `[ab-]` | one of these characters; `-` must be the first or the last |
//! | `[a-z0-9]` | one character of these ranges, each of lower-case letters, of upper-case letters or of digits |
//! | `[!ab]` | any one character except these |
//! | `.*` at the end | the name before it, or anything below it: `rye.load.tool.a.*` covers `a`, `a.b` and `a.b.c`, not `ab` |
//! | `rye.fetch.` at the start | both `rye.search.` and `rye.load.` |
//!
//! Everything else is an error that says what to write instead. This includes backslashes, braces, `[^`, white space,
//! control characters and characters outside ASCII. It also includes empty, unclosed and unopened classes, and reversed
//! and mixed ranges. The grammar has no more, because the dialects of `fnmatch` agree on no more, and a grant must have
//! one meaning.
//!
//! Patterns cannot exclude. The patterns of a grant add up; leave out what must not be allowed.
//!
//! Common surprises:
//!
//! - `*` also matches dots, so `rye.*.directive.*` covers the tool `my/directive/x` as well.
//! - Only a pattern that begins with `rye.fetch.` means both actions; `rye.f*` covers nothing.
//! - A pattern may cover nothing at all, such as `rye.run.*` and `bash`. This is not an error here;
//!   [`Pattern::example`] returns `None` for such a pattern.
//!
//! # Limits
//!
//! A pattern has at most 8 `*`. It has at most 256 bytes, not counting a leading `rye.<primary>.<kind>.`, so that every
//! item can be granted by its id. The time to match a pattern is linear in the length of the capability. The decision
//! on inclusion stops after a fixed amount of work (a few milliseconds), which only contrived patterns reach. The
//! answer is then no, without a counter-example.
//!
//! # Risk
//!
//! The module [`risk`] classifies grants by risk and decides which of them need an acknowledgement.

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod letters;
mod untrusted_text;

mod capability;
mod pattern;

mod automaton;
mod inclusion;

mod authority;
mod grant;
mod invocation;

pub mod risk;

pub use crate::{
    authority::{Authority, Denied, Layer, LayerName, Permit},
    capability::{Capability, CapabilityError, Kind, Primary},
    grant::Grant,
    inclusion::CounterExample,
    invocation::Invocation,
    pattern::{Pattern, PatternError, PatternProblem, PatternProblemKind},
};
