//! One name for reading and finding (SPEC D4).

use rye_resolve::SearchQuery;
use serde_json::Value;

use super::caller::Caller;
use super::error::PrimaryError;
use super::load::{LoadRequest, Loaded, load};
use super::search::{Found, search};
use crate::project::Project;

/// A request to fetch.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC D4 names these two")]
pub enum FetchRequest {
    /// An item by its id.
    Load(LoadRequest),
    /// Items by what they say.
    Search(SearchQuery),
}

/// A fetched result.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "one for each request")]
pub enum Fetched {
    /// The item.
    Loaded(Box<Loaded>),
    /// The items.
    Found(Found),
}

/// Loads or searches.
///
/// # Errors
///
/// Those of [`load`] and of [`search`].
pub fn fetch(
    project: &Project,
    request: &FetchRequest,
    caller: &Caller,
) -> Result<Fetched, PrimaryError> {
    match request {
        FetchRequest::Load(request) => {
            load(project, request, caller).map(|loaded| Fetched::Loaded(Box::new(loaded)))
        }
        FetchRequest::Search(query) => search(project, query, caller).map(Fetched::Found),
    }
}

impl Fetched {
    /// The JSON of what it is.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Loaded(loaded) => loaded.to_json(),
            Self::Found(found) => found.to_json(),
        }
    }
}
