//! Files of one folder, and of no other.
//!
//! A path is resolved part by part over open folder handles (`openat`), never by handing a string to the system, so a
//! folder that is swapped for a link between the check and the use is refused and not followed. Links inside the folder
//! work; a link that leads out, or has an absolute target, does not.
//!
//! Two areas are kept whatever the path is spelled like, at any depth, through links and on file systems that ignore
//! case: nothing is written below `.ai/config/keys` and `.ai/threads`, and nothing below `.ai/config/keys/signing` is
//! read (SPEC 5.5).
//!
//! What is not defended against: someone with other access to the machine who moves an open folder elsewhere, or mounts
//! another file system inside the project.

mod error;
mod ls;
mod path;
mod protected;
mod read;
mod root;
mod walk;
mod write;

pub use self::error::{Error, PathFault};
pub use self::ls::{Entry, EntryKind, FirstLines, Listing, MAX_ENTRIES, ls};
pub use self::protected::Area;
pub use self::read::{FileText, Lines, MAX_CONTENT_BYTES, MAX_FILE_BYTES, read};
pub use self::root::Root;
pub use self::write::{MAX_WRITE_BYTES, Written, write};
