//! The directives that a client may follow, in pages.

use rye_caps::Primary;
use rye_parse::Directive;
use rye_project::Project;
use rye_project::primary::Caller;
use rye_resolve::{Item, ItemId};
use rye_types::ItemKind;

/// As many directives are read for one page.
const PAGE: usize = 100;

/// One page of what is made of directives.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    /// The place where the next page goes on.
    pub(super) next: Option<String>,
}

/// Returns one page of the directives that the client may follow, sorted by id. One that is refused or broken is left out, and so is
/// one of which `make` makes nothing.
pub(super) fn page<T>(
    project: &Project,
    caller: &Caller,
    after: Option<&str>,
    make: impl Fn(&Item<Directive>) -> Option<T>,
) -> Page<T> {
    let survey = project.library().survey(ItemKind::Directive);
    let ids = survey.items.into_iter().map(|listed| listed.id);
    let mut ids = ids
        .filter(|id| after.is_none_or(|after| id.as_str() > after))
        .filter(|id| may_follow(caller, id));
    let mut items = Vec::new();
    let mut last = None;
    for id in ids.by_ref().take(PAGE) {
        let directive = project.library().directive(&id).ok();
        items.extend(directive.as_ref().and_then(&make));
        last = Some(id);
    }
    let next = last.filter(|_| ids.next().is_some()).map(|id| id.to_string());
    Page { items, next }
}

/// Returns `true` if the client may have the directive in its own conversation.
pub(super) fn may_follow(caller: &Caller, id: &ItemId) -> bool {
    FOLLOWING.into_iter().any(|primary| caller.may(primary, ItemKind::Directive, id))
}

/// Returns `true` if there may be a directive that the client may follow.
pub(super) fn may_follow_some(caller: &Caller) -> bool {
    FOLLOWING.into_iter().any(|primary| caller.may_some(primary, ItemKind::Directive))
}

const FOLLOWING: [Primary; 2] = [Primary::Load, Primary::Execute];
