//! Primary operations: search, load, fetch, sign and execute (SPEC 12.4), and checks for clients (SPEC 17.5).
//!
//! The program, the MCP server and embedding programs call these functions and return the same JSON. Every
//! result and every error has a `to_json`. A [`Caller`] has the rights of the asker. No caller finds, reads
//! or runs an item that is not verified.
//!
//! ```
//! use rye_project::primary::{Caller, LoadRequest, load};
//! use rye_resolve::Spaces;
//! use rye_types::ItemKind;
//! use rye_types::Timestamp;
//! use rye_project::{Project, Setup, shipped_files};
//!
//! let spaces = Spaces::new().with_shipped(shipped_files());
//! let project = Project::open(&Setup::new(spaces, Timestamp::from_unix(1_800_000_000)))?;
//! let request = LoadRequest::new(ItemKind::Directive, "rye/agent/core/base".parse()?);
//!
//! let loaded = load(&project, &request, &Caller::operator())?.to_json();
//! assert_eq!(loaded["space"], "builtin");
//!
//! let stranger = Caller::client(rye_caps::Grant::nothing());
//! let error = load(&project, &request, &stranger).unwrap_err().to_json();
//! assert_eq!(error["error"]["class"], "refused");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod caller;
mod error;

mod item;
mod search;

mod copy;
mod load;
mod needed;
mod reading;

mod sign;

mod execute;
mod tool;

mod fetch;

mod operation;

mod check;

pub use self::caller::Caller;
pub use self::check::{CheckPlace, CheckRequest, CheckedFile, CheckedItems, check};
pub use self::copy::{CopyError, Destination, DestinationError};
pub use self::error::{PrimaryError, causes, error_json};
pub use self::execute::{ExecuteRequest, Executed, execute};
pub(crate) use self::execute::{take_directive, take_knowledge};
pub use self::fetch::{FetchRequest, Fetched, fetch};
pub use self::item::facts as item_facts;
pub use self::load::{LoadRequest, Loaded, load};
pub use self::needed::needed_items;
pub use self::operation::{
    Asked, KINDS, Operation, inputs_by_either_name, item_id_schema, item_type_schema,
    object_schema, read_arguments,
};
pub(crate) use self::operation::{id, kind, usage};
pub(crate) use self::reading::{TakenDirective, read as read_knowledge};
pub use self::search::{Found, search};
pub(crate) use self::sign::ToSign;
pub use self::sign::{SignRequest, sign};
