//! Directives and knowledge that steps execute by name, which a thread takes in later (SPEC D16).

use std::collections::BTreeSet;

use rye_parse::Directive;
use rye_project::{
    Callee, Chained, GivenInputs, LibraryItems, Placing, Project, callee, resolve_chain,
    step_calls, with_causes,
};
use rye_resolve::{Item, ItemId, ResolveError};
use rye_types::ItemKind;

use super::ItemFacts;

/// The items that a directive executes, and those that these execute.
pub(super) struct Executed {
    pub(super) items: Vec<ItemFacts>,
    /// The items that cannot be had, each with the reason.
    pub(super) missing: Vec<String>,
}

/// Finds what the steps of a directive name literally or by the default of an input; what another input names is known when the thread
/// runs.
pub(super) fn execution_items(project: &Project, leaf: &Item<Directive>) -> Executed {
    let mut executed = Executed { items: Vec::new(), missing: Vec::new() };
    let mut seen = BTreeSet::from([(ItemKind::Directive, leaf.id.clone())]);
    let mut left: Vec<(ItemKind, ItemId)> = named_items(project, leaf.content.value());
    while let Some(item) = left.pop() {
        if !seen.insert(item.clone()) {
            continue;
        }
        let (kind, id) = &item;
        let taken = match kind {
            ItemKind::Directive => executed.take_directive(project, id, &mut left),
            _ => project
                .library()
                .knowledge(id)
                .map(|item| executed.items.push(ItemFacts::of(&item))),
        };
        if let Err(error) = taken {
            let reason = with_causes(&error);
            executed
                .missing
                .push(format!("a step executes {kind} `{id}`, which cannot be had: {reason}"));
        }
    }
    executed
}

impl Executed {
    /// Takes a directive with its chain and the context of that.
    fn take_directive(
        &mut self,
        project: &Project,
        id: &ItemId,
        left: &mut Vec<(ItemKind, ItemId)>,
    ) -> Result<(), ResolveError> {
        let leaf = project.library().directive(id)?;
        left.extend(named_items(project, leaf.content.value()));
        match resolve_chain(project.library(), id, &Placing::AsWritten) {
            Ok(Chained { chain, knowledge, .. }) => {
                self.items.extend(chain.root_first().rev().map(ItemFacts::of));
                self.items.extend(knowledge.iter().map(ItemFacts::of));
            }
            Err(error) => {
                self.items.push(ItemFacts::of(&leaf));
                let reason = with_causes(&error);
                self.missing.push(format!(
                    "directive `{id}`, which a step executes, cannot be followed: {reason}"
                ));
            }
        }
        Ok(())
    }
}

/// The items that the steps of a directive execute in its own thread, by literal ids and by defaults of inputs.
fn named_items(project: &Project, directive: &Directive) -> Vec<(ItemKind, ItemId)> {
    let items = LibraryItems::of(project.library());
    let calls = step_calls(directive, &GivenInputs::new()).into_iter();
    let executed = calls.filter_map(|call| match callee(&call.placed.value, &items) {
        Some(Callee::Executed(kind, id)) => Some((kind, id)),
        _ => None,
    });
    executed.collect()
}
