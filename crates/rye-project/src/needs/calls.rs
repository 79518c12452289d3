//! The needs of one call, and the directive that it starts or executes.

use rye_caps::{Capability, Kind, Pattern, Primary};
use rye_parse::{Action, Hook, Placeholder, placeholders};
use rye_resolve::ItemId;
use rye_thread::DIRECTIVE_RETURN;
use rye_types::{HookEvent, ItemKind};
use serde_json::Value;

use super::items::CalledItems;
use super::placed::GivenInputs;
use crate::aliases::tool_id;
use crate::plan::is_composed;
use crate::primary::Destination;

/// The item that a call brings into the thread or into a thread below it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a reader has to decide on each of them")]
pub enum Callee {
    /// A directive or knowledge that is returned into the same thread (SPEC D16).
    Executed(ItemKind, ItemId),
    /// A directive that a child runs (SPEC 10.9).
    Child(ItemId),
    /// A directive that a child runs, whose id is known when the call is made.
    OpenChild(String),
    /// A directive whose id is known when the call is made.
    OpenDirective,
    /// Knowledge whose id is known when the call is made.
    OpenKnowledge,
}

/// Returns the directive or knowledge that a call brings in; `None` for a call of another item.
pub fn callee(action: &Action, items: &dyn CalledItems) -> Option<Callee> {
    if action.primary != rye_parse::Primary::Execute {
        return None;
    }
    let id = action.item_id.as_deref()?;
    match action.item_type.as_deref()? {
        "tool" => {
            let tool: ItemId = tool_id(id).parse().ok()?;
            items.starts_threads(&tool).then(|| child(started_id(action)))
        }
        "directive" => Some(match (action.options.get("thread"), id.parse()) {
            (None, Ok(id)) => Callee::Executed(ItemKind::Directive, id),
            (Some(thread), Ok(id)) if thread == "inline" => {
                Callee::Executed(ItemKind::Directive, id)
            }
            (Some(thread), _) if thread == "fork" => child(id),
            _ => Callee::OpenDirective,
        }),
        "knowledge" => match id.parse() {
            Ok(id) => Some(Callee::Executed(ItemKind::Knowledge, id)),
            // An id that is none is told where the needs of the call are.
            Err(_) => (with_stars(id) != id).then_some(Callee::OpenKnowledge),
        },
        _ => None,
    }
}

/// Returns `true` for the call that returns a directive's outputs.
pub(crate) fn is_return(action: &Action) -> bool {
    action.primary == rye_parse::Primary::Execute
        && action.item_type.as_deref() == Some("tool")
        && action.item_id.as_deref() == Some(DIRECTIVE_RETURN)
}

/// The text that names the directive of a call that starts a thread.
fn started_id(action: &Action) -> &str {
    action.parameters.get("directive").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the inputs that a call gives the directive which it starts or executes, as far as they are written.
pub(super) fn inputs_of_callee(action: &Action) -> GivenInputs {
    let parameters = &action.parameters;
    let is_tool = action.item_type.as_deref() == Some("tool");
    let given = match is_tool {
        true => parameters.get("inputs").or(parameters.get("parameters")),
        false => return parameters.clone().into_iter().collect(),
    };
    match given {
        Some(Value::Object(inputs)) => inputs.clone().into_iter().collect(),
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        _ => GivenInputs::new(),
    }
}

/// Returns `true` if the call executes a directive as a thread of its own.
pub(super) fn is_fork(action: &Action) -> bool {
    let is_directive = action.item_type.as_deref() == Some("directive");
    is_directive && action.options.get("thread").is_some_and(|thread| thread == "fork")
}

fn child(id: &str) -> Callee {
    match id.parse() {
        Ok(id) => Callee::Child(id),
        Err(_) => Callee::OpenChild(id.to_owned()),
    }
}

/// Returns the needs of an action of a hook. Knowledge that a hook puts into the opening is context, which
/// needs no permission.
pub(super) fn hook_needs(hook: &Hook, action: &Action) -> Result<Vec<Pattern>, String> {
    let event = hook.event.value;
    if event == HookEvent::ResolveExtends || is_composed(event, action) {
        return Ok(Vec::new());
    }
    action_needs(action)
}

/// Returns what a thread needs to start this directive, whose id may have placeholders.
pub(super) fn starting(id: &str) -> Option<Pattern> {
    format!("rye.execute.directive.{}", with_stars(id)).parse().ok()
}

/// Returns the needs of one call, or a reason why they are not known. The reason reads behind the name of the
/// step.
pub(super) fn action_needs(action: &Action) -> Result<Vec<Pattern>, String> {
    use rye_parse::Primary as Named;
    match action.primary {
        Named::Execute => of_item(action, Primary::Execute),
        Named::Load => of_load(action),
        Named::Sign => of_item(action, Primary::Sign),
        Named::Fetch if action.item_id.is_some() => of_item(action, Primary::Load),
        Named::Search | Named::Fetch => of_search(action),
    }
}

/// A load that copies the item needs what writes there, too (SPEC 12.4).
fn of_load(action: &Action) -> Result<Vec<Pattern>, String> {
    let mut needs = of_item(action, Primary::Load)?;
    let named =
        [&action.options, &action.parameters].into_iter().find_map(|it| it.get("destination"));
    let destination = named.and_then(|name| name.as_str()?.parse::<Destination>().ok());
    needs.extend(destination.map(|it| Pattern::exactly(&it.capability())));
    Ok(needs)
}

fn of_item(action: &Action, primary: Primary) -> Result<Vec<Pattern>, String> {
    let named = action.item_type.as_deref().and_then(|name| name.parse::<Kind>().ok());
    let kind = named.ok_or_else(|| format!("does not say what sort of item it is to {primary}"))?;
    let id =
        action.item_id.as_deref().ok_or_else(|| format!("does not say what it is to {primary}"))?;
    let unknown = || format!("is to {primary} `{id}`, which is not an item id");
    let open = with_stars(id);
    if open == id {
        let id = if kind == Kind::Tool { tool_id(id) } else { id };
        let capability = Capability::new(primary, kind, id).map_err(|_| unknown())?;
        return Ok(vec![Pattern::exactly(&capability)]);
    }
    // A wildcard of the author's own is not a placeholder.
    let stands = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if !without_placeholders(id).chars().all(stands) {
        return Err(unknown());
    }
    let pattern = format!("rye.{primary}.{kind}.{open}").parse().map_err(|_| unknown())?;
    Ok(vec![pattern])
}

/// A search shows what is granted of the kinds that it looks at, so all of that is used (SPEC 9.3).
fn of_search(action: &Action) -> Result<Vec<Pattern>, String> {
    let scope = action.item_type.as_deref().or(action.scope.as_deref()).unwrap_or("all");
    let all = |kind: Kind| format!("rye.search.{kind}.*").parse::<Pattern>().ok();
    if scope == "all" {
        return Ok(Kind::ALL.iter().copied().filter_map(all).collect());
    }
    let words = scope.split([',', ' ', '|', '+']).filter(|word| !word.is_empty());
    let kinds: Result<Vec<Kind>, _> = words.map(str::parse::<Kind>).collect();
    match kinds {
        Ok(kinds) if !kinds.is_empty() => Ok(kinds.into_iter().filter_map(all).collect()),
        _ => Err(format!("searches `{scope}`, which are no kinds of items")),
    }
}

/// A text with `*` in the place of each placeholder.
fn with_stars(text: &str) -> String {
    replace_placeholders(text, "*")
}

fn without_placeholders(text: &str) -> String {
    replace_placeholders(text, "")
}

fn replace_placeholders(text: &str, with: &str) -> String {
    let mut result = String::new();
    let mut end = 0;
    for found in placeholders(text) {
        result.push_str(text.get(end..found.span.start).unwrap_or_default());
        match &found.value {
            Placeholder::Escaped { text } => result.push_str(text),
            Placeholder::Input { .. } | Placeholder::Step(_) => result.push_str(with),
        }
        end = found.span.end;
    }
    result.push_str(text.get(end..).unwrap_or_default());
    result
}
