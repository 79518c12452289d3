//! File operations confined to one folder.
//!
//! A path is resolved part by part over open folder handles (`openat`) and is never passed to the system as a
//! whole. If a folder is replaced by a link between the check and the use, the link is refused. Links inside
//! the folder work, unless they lead out or have an absolute target.
//!
//! Some areas are protected under every spelling, at any depth, through links, and on file systems that
//! ignore case (SPEC 5.5). Nothing is written below `.ai/config`, `.ai/signed`, `.ai/threads`,
//! `.ai/tools/rye/agent/providers` and `.git`, nor to `.ai/rye.lock`. Nothing below `.ai/config/keys/signing`
//! is read. Bare repositories are neither made nor changed, and no `.ai` is made below another folder than
//! the root.
//!
//! Folder trees are walked in the same way: over open folders, without following links, and in the order of
//! the bytes of the names. Every path that [`glob()`] or [`grep()`] returns can be passed to [`read()`].
//!
//! There is no protection against other access to the machine, by which an open folder is moved elsewhere or another
//! file system is mounted inside the project.

mod edit;
mod entry_filter;
mod entry_kind;
mod error;
mod glob;
mod grep;
mod ignored;
mod ls;
mod path;
mod path_limits;
mod patterns;
mod protected;
mod read;
mod replace;
mod repository;
mod root;
mod tree;
mod view;
mod walk;
mod write;

pub use self::edit::problem::{EditFault, EditProblem};
pub use self::edit::{Edit, Edited, MAX_EDITS, Occurrences, edit};
pub use self::entry_kind::EntryKind;
pub use self::error::{Error, PathFault};
pub use self::glob::{GlobMatches, GlobQuery, MAX_PATHS, glob};
pub use self::grep::{
    Case, FileMatches, GrepMatches, GrepQuery, MAX_CONTEXT, MAX_GLOBS, MAX_MATCHES,
    MAX_SEARCHED_BYTES, MAX_SEARCHED_FILE_BYTES, Show, Syntax, grep,
};
pub use self::ls::{Entry, FirstLines, Listing, LsQuery, MAX_ENTRIES, ls};
pub use self::protected::Area;
pub use self::read::{FileText, Lines, MAX_CONTENT_BYTES, MAX_FILE_BYTES, read};
pub use self::root::Root;
pub use self::tree::MAX_VISITED;
pub use self::view::{Cut, Skipped, Stop, View};
pub use self::write::{MAX_WRITE_BYTES, Written, create, write};
