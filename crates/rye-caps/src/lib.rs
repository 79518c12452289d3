//! Decides whether a grant covers a capability.
//!
//! A *capability* is one action on one item: `rye.execute.tool.rye.bash.bash` is running the tool `rye/bash/bash`. A
//! *grant* is a set of wildcard patterns over capabilities, and nothing is allowed that no pattern covers. An
//! *authority* is a stack of grants, each from somebody with a say, and all of them have to allow a call.
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
//! The operator, the directive itself and every thread above it are layers. A [`Permit`] is the proof that
//! all of them said yes; code that takes one cannot be reached without asking. What is asked for is an [`Invocation`]: an
//! item with the functions that it stands for.
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
//! # Example: does this grant cover that one?
//!
//! Inclusion is decided exactly, over all capabilities that can be written, and a no comes with evidence.
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
//! # Example: a mistake, and what to write instead
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
//! A pattern is matched against the whole text of a capability, as `fnmatch` does it. Case matters.
//!
//! | syntax | meaning |
//! | --- | --- |
//! | letter, digit, `_`, `-`, `.` | itself |
//! | `/` | `.` |
//! | `*` | any run of characters, none too, dots included; `**` is the same |
//! | `?` | any one character, a dot included |
//! | `[ab-]` | one of these characters; `-` stands first or last |
//! | `[a-z0-9]` | one character of these ranges, each of lower-case letters, of upper-case letters or of digits |
//! | `[!ab]` | any one character but these |
//! | `.*` at the end | the name before it, or anything below it: `rye.load.tool.a.*` covers `a`, `a.b` and `a.b.c`, not `ab` |
//! | `rye.fetch.` at the start | `rye.search.` and `rye.load.` both |
//!
//! Everything else is an error that says what to write instead: backslashes, braces, `[^`, white space, an empty, an
//! unclosed or an unopened class, a reversed or mixed range, control characters and all that is not ASCII. The grammar
//! is closed because the dialects of `fnmatch` agree on no more than this, and a grant has to mean one thing.
//!
//! There is no way to exclude: grants are added up, and what shall not be allowed is not granted.
//!
//! What may surprise:
//!
//! - `*` does not stop at dots, so `rye.*.directive.*` covers the tool `my/directive/x` as well.
//! - Only a pattern that is spelled `rye.fetch.…` means the two actions; `rye.f*` covers nothing.
//! - A pattern may cover nothing at all, as `rye.run.*` and `bash` do. That is no error here;
//!   [`Pattern::example`] tells.
//!
//! # Limits
//!
//! A pattern has at most 8 `*` and at most 256 bytes, not counting a leading `rye.<primary>.<kind>.`, so that every
//! item can be granted by its id. Matching takes time in proportion to the capability, whatever the pattern. Deciding
//! inclusion stops after a fixed amount of work, some milliseconds; only patterns that are made for it get
//! there, and then the answer is no, without evidence.
//!
//! # Risk
//!
//! The module [`risk`] says how dangerous a grant is, and what has to be acknowledged.

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod letters;
mod shown;

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
