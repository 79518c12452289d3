//! Finds the one verified item that an id stands for.
//!
//! Items live in *spaces*: the project's `.ai` folder, the operator's, extra system roots and the files
//! shipped inside the program. The nearest space that has an id decides. If its file is unsigned, tampered
//! with or unparseable, the result is an error, and no farther space is searched.
//!
//! ```
//! use rye_resolve::{Library, ShippedFile, Space, Spaces, trust_store};
//! use rye_types::ItemKind;
//! use rye_sign::Policy;
//! use rye_types::Timestamp;
//!
//! static SHIPPED: &[ShippedFile] = &[ShippedFile {
//!     path: "knowledge/rye/identity.md",
//!     text: "```yaml\nname: identity\ntitle: Identity\n```\n\nYou are careful.\n",
//! }];
//!
//! let spaces = Spaces::new().with_shipped(SHIPPED);
//! let now = Timestamp::from_unix(1_800_000_000);
//! let (trust, _notes) = trust_store(&spaces, &[], now)?;
//! let library = Library::new(spaces, trust, Policy::default(), now);
//!
//! let identity = library.knowledge(&"rye/identity".parse()?)?;
//! assert_eq!(identity.location.space, Space::Builtin);
//! assert_eq!(identity.content.value().body.value, "You are careful.");
//!
//! let error = library.text(ItemKind::Knowledge, &"rye/identty".parse()?).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "knowledge `rye/identty` not found; did you mean `rye/identity`? looked in `builtin:knowledge`"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//!
//! The caller gives the roots, the keys, the policy and the time; only [`project_root`] looks for a root. The
//! crate writes nothing except the search cache, in a folder that the caller names. It does not know what
//! settings mean or which spaces may only tighten them.

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod error;
mod file_path;
mod id;

mod disk;
mod reserved;
mod root;
mod spaces;
mod stamp;
mod standing;
mod stem;

mod decide;
mod listing;
mod place;
mod suggest;
mod walk;

mod chain;
mod config;
mod declared;
mod grant;
mod hooks;
mod item;
mod library;
mod placed_hook;
mod stated;
mod trust;

mod search;

pub use chain::ExtendsChain;
pub use config::Config;
pub use decide::Located;
pub use declared::{DeclaredProblem, declared_problems, declared_problems_of_knowledge};
pub use error::{PermissionProblem, ResolveError};
pub use file_path::{FilePath, FilePathError};
pub use grant::{permission_grant, permission_problems};
pub use hooks::extending_hook;
pub use id::{ItemId, ItemIdError};
pub use item::Item;
pub use library::Library;
pub use listing::{Listed, Survey};
pub use place::{item_at, project_root};
pub use placed_hook::PlacedHook;
pub use search::{
    Described, Excerpt, Preview, SearchHit, SearchQuery, SearchQueryError, SearchResults, Summary,
};
pub use spaces::{Location, ShippedFile, Space, Spaces};
pub use standing::{fault_of_place, fault_of_plain_place};
pub use stated::{StatedLimits, StatedModel};
pub use suggest::nearest_id;
pub use trust::{
    REVOCATION_LIST, RevocationEntry, RunDocument, TRUST_DOCUMENTS, TrustEntry, TrustNote,
    TrustReading, TrustRemark, TrustSubject, is_revocation_list, trust_entries, trust_store,
};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
