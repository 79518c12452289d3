//! Needs: the capabilities that the steps and the hooks of a directive name, and the permissions that cover them.

mod block;
mod uses;

use std::fmt;

use rye_caps::{Capability, Kind, Pattern, Primary};
use rye_parse::{Action, Directive, Hook, HookEvent, placeholders};
use rye_thread::ThreadId;

pub use self::block::block;
pub(crate) use self::block::element;
pub use self::uses::{Use, is_denied, least, uses_as_written};
use crate::aliases::tool_id;
use crate::plan::is_composed;

/// Something that a directive has to be allowed, and where that is known from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// The needed pattern, which is mostly one capability. A search has wildcards, and so has a step that
    /// leaves a part of an id to a placeholder.
    pub pattern: Pattern,
    /// The sources of the need, in the order in which they were found, each once.
    pub sources: Vec<NeedSource>,
}

/// The source of a need.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NeedSource {
    /// The step of this name; its place from 1, where it has none.
    Step(String),
    /// The thread of this id, which called it.
    Thread(ThreadId),
    /// The hook of this id, of the chain or of a hooks file.
    Hook(String),
}

impl fmt::Display for NeedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(name) => write!(f, "step `{name}`"),
            Self::Thread(thread) => write!(f, "thread `{thread}`"),
            Self::Hook(id) => write!(f, "hook `{id}`"),
        }
    }
}

/// All needs that are known, and what is not.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Needs {
    /// Sorted by their pattern.
    pub needs: Vec<Need>,
    /// A sentence for each need that the steps do not show.
    pub unjudged: Vec<String>,
}

impl Needs {
    /// Adds a need, or one more source of it.
    pub fn add(&mut self, pattern: Pattern, source: &NeedSource) {
        let place = self.needs.binary_search_by(|need| need.pattern.cmp(&pattern));
        let place = place.unwrap_or_else(|place| {
            self.needs.insert(place, Need { pattern, sources: Vec::new() });
            place
        });
        if let Some(need) = self.needs.get_mut(place).filter(|need| !need.sources.contains(source))
        {
            need.sources.push(source.clone());
        }
    }

    /// Leaves out what is granted in another way.
    pub fn forget(&mut self, pattern: &Pattern) {
        self.needs.retain(|need| need.pattern != *pattern);
    }
}

/// Collects the needs of the structured steps of a directive, and of the `hooks` that act in its threads.
pub fn needs_of<'h>(directive: &Directive, hooks: impl IntoIterator<Item = &'h Hook>) -> Needs {
    let mut needs = of_steps(directive);
    for hook in hooks {
        let source = NeedSource::Hook(hook.id.value.clone());
        for action in hook.actions.iter().map(|action| &action.value) {
            match hook_needs(hook, action) {
                Ok(patterns) => {
                    patterns.into_iter().for_each(|pattern| needs.add(pattern, &source));
                }
                Err(reason) => needs.unjudged.push(format!("{source} {reason}")),
            }
        }
    }
    needs
}

/// Returns the needs of an action of a hook. Knowledge that a hook puts into the opening is context, which
/// needs no permission.
pub(crate) fn hook_needs(hook: &Hook, action: &Action) -> Result<Vec<Pattern>, String> {
    let event = hook.event.value;
    if event == HookEvent::ResolveExtends || is_composed(event, action) {
        return Ok(Vec::new());
    }
    action_needs(action)
}

/// Collects the needs of the structured steps of a directive. A directive without steps has no needs and
/// nothing unjudged.
fn of_steps(directive: &Directive) -> Needs {
    let mut needs = Needs::default();
    for (place, step) in directive.steps.iter().map(|step| &step.value).enumerate() {
        let name = step.name.clone().unwrap_or_else(|| (place + 1).to_string());
        if step.actions.is_empty() {
            needs.unjudged.push(format!("step `{name}` names no call"));
        }
        let source = NeedSource::Step(name);
        for action in step.actions.iter().map(|action| &action.value) {
            match action_needs(action) {
                Ok(patterns) => {
                    patterns.into_iter().for_each(|pattern| needs.add(pattern, &source))
                }
                Err(reason) => needs.unjudged.push(format!("{source} {reason}")),
            }
        }
    }
    needs
}

/// Returns the needs of one call, or a reason why they are not known. The reason reads behind the name of the
/// step.
pub(crate) fn action_needs(action: &Action) -> Result<Vec<Pattern>, String> {
    use rye_parse::Primary as Named;
    match action.primary {
        Named::Execute => of_item(action, Primary::Execute),
        Named::Load => of_item(action, Primary::Load),
        Named::Sign => of_item(action, Primary::Sign),
        Named::Fetch if action.item_id.is_some() => of_item(action, Primary::Load),
        Named::Search | Named::Fetch => of_search(action),
    }
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
        result.push_str(with);
        end = found.span.end;
    }
    result.push_str(text.get(end..).unwrap_or_default());
    result
}
