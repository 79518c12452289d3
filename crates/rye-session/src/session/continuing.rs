//! A conversation that goes on in a new thread, once it nearly fills its model's window (SPEC 10.10).

mod progress;

use std::collections::BTreeMap;

use rye_parse::{Directive, Outputs};
use rye_project::{Plan, PrepareError};
use rye_prompt::{HookEntry, Inputs, Link, render};
use rye_resolve::{Item, ItemId};
use rye_thread::transcript::payload::Injected;
use rye_thread::{Hooks, Opening};
use rye_types::{Position, ReturnStyle};
use serde_json::Value;

pub(crate) use self::progress::continuation_inputs;
use super::authority::under;
use super::facts::{hook_entry, injected_items};
use super::request::Continuation;
use crate::rye::Rye;

/// The beginning of a thread.
pub(crate) struct Begins {
    pub(crate) opening: Opening,
    /// The second message of a thread that goes on.
    pub(crate) text: Option<String>,
    /// The directive that it came from.
    pub(crate) directive: Option<Item<Directive>>,
    pub(crate) injected: Vec<Injected>,
}

/// The texts that a thread begins with. One that goes on has the limits, hooks and authority of a continuation.
pub(crate) fn begins(
    rye: &Rye,
    plan: &mut Plan,
    mut opening: Opening,
    continuation: Option<&Continuation>,
) -> Result<Begins, PrepareError> {
    let mut injected = injected_items(&plan.composed);
    let Some(continuation) = continuation else {
        // One that is named must be there before anything is sent.
        plan.continuation_directive(rye)?;
        return Ok(Begins { opening, text: None, directive: None, injected });
    };
    plan.limits.limits = continuation.limits.clone();
    plan.hooks = std::mem::replace(&mut plan.hooks, Hooks::none()).continuing();
    let directive = bounded_by_continuation(rye, plan, continuation)?;
    let entries = plan.composed.hooking.continuing.iter();
    let entries: Vec<&(String, HookEntry)> =
        entries.filter(|(_, entry)| !plan.composed.context.suppresses(&entry.id)).collect();
    injected.extend(entries.iter().map(|(hook, entry)| hook_entry(hook, entry)));
    let told = instructions(&directive, &continuation.inputs)?;
    let text = [texts(&entries, Position::Before), vec![told], texts(&entries, Position::After)];
    let system = opening.system.into_iter().chain(texts(&entries, Position::System));
    opening.system = Some(system.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty());
    let text = Some(text.concat().join("\n\n"));
    Ok(Begins { opening, text, directive: Some(directive), injected })
}

/// Bounds a thread that continues a conversation by the signer of what it is told to do, and by the items that calls added
/// before.
pub(super) fn bounded_by_continuation(
    rye: &Rye,
    plan: &mut Plan,
    continuation: &Continuation,
) -> Result<Item<Directive>, PrepareError> {
    let directive = match plan.continuation_directive(rye)? {
        Some(directive) => directive,
        None => rye.library().directive(&shipped_directive())?,
    };
    plan.narrow(directive.content.provenance())?;
    plan.authority = under(&plan.authority, &continuation.added);
    Ok(directive)
}

fn texts(entries: &[&(String, HookEntry)], slot: Position) -> Vec<String> {
    let there = entries.iter().filter(|(_, entry)| entry.position == slot);
    there.map(|(_, entry)| entry.text()).collect()
}

/// The directive that says how to go on where none is named.
const SHIPPED: &str = "rye/agent/core/continuation";

fn shipped_directive() -> ItemId {
    SHIPPED.parse().expect("because the id of the shipped directive is a valid id")
}

/// Returns the instructions of the directive, with the values of the inputs that it declares. Its
/// own outputs are ignored, because the conversation keeps those of its first directive.
fn instructions(
    item: &Item<Directive>,
    given: &BTreeMap<String, Value>,
) -> Result<String, PrepareError> {
    let mut directive = item.content.value().clone();
    directive.outputs = Outputs::None;
    let declared = |name: &String| directive.inputs.iter().any(|it| it.value.name.value == *name);
    let given = given.iter().filter(|(name, _)| declared(name));
    let given = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    let inputs = Inputs::bind(&directive.inputs, &given)
        .map_err(|source| PrepareError::Inputs { id: item.id.clone(), source })?;
    let link = Link::new(item.id.as_str(), &directive);
    render(link, None, &inputs, ReturnStyle::default())
        .map_err(|source| PrepareError::Prompt { id: item.id.clone(), source })
}
