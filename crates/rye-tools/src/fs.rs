//! Files of one folder, and of no other.
//!
//! A path is resolved part by part over open folder handles (`openat`), never by handing a string to the system, so a
//! folder that is swapped for a link between the check and the use is refused and not followed. Links inside the folder
//! work; a link that leads out, or has an absolute target, does not.
//!
//! Some areas are kept whatever the path is spelled like, at any depth, through links and on file systems that ignore
//! case (SPEC 5.5). Nothing is written below `.ai/config`, `.ai/threads`, `.ai/tools/rye/agent/providers` and `.git`, nor to
//! `.ai/rye.lock`. Nothing below `.ai/config/keys/signing` is read. A bare repository is neither made nor changed, and no `.ai` is made
//! below another folder than the root.
//!
//! Whole trees are walked the same way, by open folders and without following links, in the order of the names' bytes:
//! what [`glob()`] and [`grep()`] find is what [`read()`] of the same path reads.
//!
//! What is not defended against: someone with other access to the machine who moves an open folder elsewhere, or mounts
//! another file system inside the project.

mod edit;
mod error;
mod glob;
mod grep;
mod ignored;
mod ls;
mod names;
mod path;
mod patterns;
mod protected;
mod read;
mod replace;
mod repository;
mod root;
mod sieve;
mod tree;
mod view;
mod walk;
mod write;

pub use self::edit::{Edit, EditFault, EditProblem, Edited, MAX_EDITS, Occurrences, edit};
pub use self::error::{Error, PathFault};
pub use self::glob::{GlobMatches, GlobQuery, MAX_PATHS, glob};
pub use self::grep::{
    Case, FileMatches, GrepMatches, GrepQuery, MAX_CONTEXT, MAX_GLOBS, MAX_MATCHES,
    MAX_SEARCHED_BYTES, MAX_SEARCHED_FILE_BYTES, Show, Syntax, grep,
};
pub use self::ls::{Entry, EntryKind, FirstLines, Listing, LsQuery, MAX_ENTRIES, ls};
pub(crate) use self::names::fold;
pub use self::protected::Area;
pub use self::read::{FileText, Lines, MAX_CONTENT_BYTES, MAX_FILE_BYTES, read};
pub use self::root::Root;
pub use self::tree::MAX_VISITED;
pub use self::view::{Cut, Skipped, Stop, View};
pub use self::write::{MAX_WRITE_BYTES, Written, create, write};
