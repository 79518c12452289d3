//! Finding items by what they say (SPEC 1.6), among those that the caller may find (SPEC 9.3).

use rye_caps::Primary;
use rye_resolve::{Excerpt, Location, ResolveError, SearchHit, SearchQuery, SearchResults};
use rye_sign::Provenance;
use rye_types::ItemKind;
use serde_json::{Value, json};

use super::caller::Caller;
use super::error::{PrimaryError, causes};
use crate::place::place;
use crate::project::Project;

/// The result of a search.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// The results, best first; only what the caller may find.
    pub results: SearchResults,
}

/// Searches the spaces for what the caller may find.
///
/// # Errors
///
/// When the caller may not search any kind that the query is for.
pub fn search(
    project: &Project,
    query: &SearchQuery,
    caller: &Caller,
) -> Result<Found, PrimaryError> {
    let (wanted, closed): (Vec<ItemKind>, Vec<ItemKind>) =
        query.kinds().into_iter().partition(|kind| caller.may_some(Primary::Search, *kind));
    if wanted.is_empty() {
        return Err(refusal(&closed));
    }
    if wanted.iter().all(|kind| caller.may_all(Primary::Search, *kind)) && closed.is_empty() {
        return Ok(Found { results: project.library.search(query) });
    }
    let query_of_all = query.clone().with_kinds(&wanted).with_limit(usize::MAX);
    Ok(Found { results: within(project.library.search(&query_of_all), query.limit(), caller) })
}

/// Returns the hits and the refusals that the caller may know of. The result does not show that there are
/// others.
fn within(mut results: SearchResults, limit: usize, caller: &Caller) -> SearchResults {
    results.hits.retain(|hit| caller.may(Primary::Search, hit.item.kind, &hit.item.id));
    results.n_matched = results.hits.len();
    results.hits.truncate(limit);
    results.refused.retain(|error| may_be_told(error, caller));
    results
}

fn may_be_told(error: &ResolveError, caller: &Caller) -> bool {
    let of = |location: &Location| {
        let placed = place(&location.path);
        placed.is_some_and(|(kind, id)| caller.may(Primary::Search, kind, &id))
    };
    match error {
        ResolveError::Unverified { location, .. }
        | ResolveError::Unsignable { location }
        | ResolveError::Unparseable { location, .. }
        | ResolveError::Changing { location } => of(location),
        ResolveError::Ambiguous { kind, id, .. } => caller.may(Primary::Search, *kind, id),
        _ => false,
    }
}

fn refusal(closed: &[ItemKind]) -> PrimaryError {
    if closed == [ItemKind::Config] {
        return PrimaryError::Configuration;
    }
    let kinds: Vec<&str> = closed.iter().map(|kind| kind.as_str()).collect();
    PrimaryError::NothingToSearch { kinds: kinds.join(", ") }
}

impl Found {
    /// `{"results": […], "matched": N, "refused": […]}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let reason = |error: &ResolveError| json!({ "reason": causes(error).join(": ") });
        json!({
            "results": self.results.hits.iter().map(row).collect::<Value>(),
            "matched": self.results.n_matched,
            "refused": self.results.refused.iter().map(reason).collect::<Value>(),
        })
    }
}

fn row(hit: &SearchHit) -> Value {
    let item = &hit.item;
    let Excerpt { summary, preview, .. } = item.content.value();
    json!({
        "kind": item.kind.as_str(),
        "id": item.id.as_str(),
        "space": item.location.space.as_str(),
        "path": item.location.path.to_string_lossy(),
        "score": hit.score,
        "title": summary.title,
        "description": summary.description,
        "tags": summary.tags,
        "preview": preview.text,
        "line": preview.line,
        "signed": *item.content.provenance() != Provenance::Unsigned,
    })
}
