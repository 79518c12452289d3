//! The hooks of a run: what they put into the opening, and what they do later (SPEC 8.5, 10.3).

mod texts;

use std::sync::Arc;

use rye_caps::Grant;
use rye_parse::{Action, Primary};
use rye_prompt::{Context, HookEntry, Inputs, Wrap, element_name};
use rye_resolve::{ExtendsChain, Item, ItemId, Library, Location, PlacedHook, ResolveError};
use rye_sign::Provenance;
use rye_thread::{ActionTarget, Hook, HookAction, Hooks, Palette};
use rye_types::{HookEffect, HookEvent, HookLayer, ItemKind};
use serde_json::{Map, Value};

use self::texts::Texts;
use super::called_items;
use super::error::PrepareError;
use crate::aliases::tool_id;
use crate::config::HOOKS_FILE;

/// The hooks of a run, in turn, with everything that they put before its model.
#[derive(Debug)]
#[non_exhaustive]
pub struct Hooking {
    /// The hooks, in turn.
    pub placed: Vec<PlacedHook>,
    /// The entries of the opening, each with the hook that adds it.
    pub opening: Vec<(String, HookEntry)>,
    /// The entries around the text with which a continuation begins.
    pub continuing: Vec<(String, HookEntry)>,
    texts: Texts,
    hooks: Vec<Hook>,
}

/// Loads what hooks refer to, for the chain's leaf and these inputs.
pub(crate) fn hooking(
    library: &Library,
    chain: &ExtendsChain,
    context: &Context,
    inputs: &Inputs,
) -> Result<Hooking, PrepareError> {
    let inputs = Value::Object(inputs.values().clone().into_iter().collect());
    let at = At { library, chain, context, inputs: &inputs };
    let placed = library.hooks(chain)?;
    let mut hooking = Hooking {
        placed: Vec::new(),
        opening: Vec::new(),
        continuing: Vec::new(),
        texts: Texts::default(),
        hooks: vec![continuing_hook()],
    };
    let mut problems = Vec::new();
    let mut missing = Vec::new();
    let mut lacking = Vec::new();
    for hook in placed.iter().filter(|hook| hook.hook.event.value != HookEvent::ResolveExtends) {
        let by = declared_by(chain, hook);
        let known = missing.len();
        if let Err(problem) = hooking.admit(&at, hook, &mut missing) {
            problems.push(format!("`{}` of {by}: {problem}", hook.hook.id.value));
        }
        if known < missing.len() {
            lacking.push(format!("hook `{}` of {by}", hook.hook.id.value));
        }
    }
    hooking.placed = placed;
    if let Some(error) = PrepareError::gather(missing) {
        return Err(PrepareError::HookItems { hooks: lacking, source: Box::new(error) });
    }
    if problems.is_empty() { Ok(hooking) } else { Err(PrepareError::Hooks { problems }) }
}

/// Out of the box, a conversation that nearly fills its model's window goes on in a new thread (SPEC 10.10).
fn continuing_hook() -> Hook {
    let event = rye_types::HookEvent::ContextLimitReached;
    let mut hook = Hook::new("continue_in_a_new_thread", "the program", event, HookLayer::BuiltIn);
    hook.effect = Some(HookEffect::Continue);
    hook
}

/// The context in which hooks are prepared.
struct At<'a> {
    library: &'a Library,
    chain: &'a ExtendsChain,
    context: &'a Context,
    inputs: &'a Value,
}

impl Hooking {
    fn admit(
        &mut self,
        at: &At<'_>,
        placed: &PlacedHook,
        missing: &mut Vec<ResolveError>,
    ) -> Result<(), String> {
        let event = placed.hook.event.value;
        // What a directive extends is settled before there is a thread.
        if !event.is_of_thread() {
            return Ok(());
        }
        let by = declared_by(at.chain, placed);
        let mut hook = Hook::new(&placed.hook.id.value, &by, event, placed.layer);
        hook.order = placed.order;
        hook.condition = placed.hook.condition.as_ref().map(|condition| {
            let mut condition = condition.value.clone();
            called_items::resolve_aliases(&mut condition);
            Arc::new(move |data: &Value| condition.holds(data)) as Arc<_>
        });
        hook.effect = placed.hook.effect.as_ref().map(|effect| effect.value);
        for action in placed.hook.actions.iter().map(|action| &action.value) {
            if is_composed(placed.hook.event.value, action) {
                let data = at_the_start(event, at.chain, at.inputs);
                if hook.condition.as_ref().is_none_or(|condition| condition.holds(&data)) {
                    self.compose(at.library, placed, action, missing)?;
                }
            } else {
                let target = self.target(at, placed, action, missing)?;
                hook.actions.extend(target);
            }
        }
        if hook.effect.is_some() || !hook.actions.is_empty() {
            self.hooks.push(hook);
        }
        Ok(())
    }

    /// Puts knowledge around the prompt.
    fn compose(
        &mut self,
        library: &Library,
        placed: &PlacedHook,
        action: &Action,
        missing: &mut Vec<ResolveError>,
    ) -> Result<(), String> {
        let id = item_id(action)?;
        let Some(entry) = self.texts.knowledge(library, &id, placed, missing) else {
            return Ok(());
        };
        let entries = match placed.hook.event.value {
            HookEvent::ThreadContinued => &mut self.continuing,
            _ => &mut self.opening,
        };
        entries.push((placed.hook.id.value.clone(), entry));
        Ok(())
    }

    /// Returns the target that an action of the loop runs.
    fn target(
        &mut self,
        at: &At<'_>,
        placed: &PlacedHook,
        action: &Action,
        missing: &mut Vec<ResolveError>,
    ) -> Result<Option<HookAction>, String> {
        if let Some(problem) = hook_action_problem(action) {
            return Err(problem);
        }
        let id = item_id(action)?;
        let library = at.library;
        let arguments = action.parameters.clone();
        let target = match (action.primary, kind(action)?) {
            (Primary::Execute, ItemKind::Tool) => {
                ActionTarget::Tool(tool_id(id.as_str()).to_owned())
            }
            (Primary::Execute, ItemKind::Directive) => {
                match self.texts.directive(library, &id, missing)? {
                    Some(name) => ActionTarget::Text(name),
                    None => return Ok(None),
                }
            }
            (Primary::Execute | Primary::Load | Primary::Fetch, ItemKind::Knowledge)
                if at.context.suppresses(id.as_str()) =>
            {
                return Ok(None);
            }
            (Primary::Execute | Primary::Load | Primary::Fetch, ItemKind::Knowledge) => {
                match self.texts.knowledge_text(library, &id, placed, action.primary, missing)? {
                    Some(name) => ActionTarget::Text(name),
                    None => return Ok(None),
                }
            }
            (primary, kind) => {
                return Err(format!("no hook can {} a {kind}", primary.as_str()));
            }
        };
        let action = HookAction::new(target, arguments);
        let element = match &action.target {
            ActionTarget::Tool(id) if placed.wrap => Some(element_name(id)),
            _ => None,
        };
        Ok(Some(match element {
            Some(name) => action.in_element(&name),
            None => action,
        }))
    }

    /// Returns the provenance of the hooks and of every item that they put before the model. Each
    /// of them may bound the thread.
    pub(crate) fn provenances(&self) -> impl Iterator<Item = &Provenance> {
        let acting = self.placed.iter();
        let acting = acting.filter(|hook| hook.hook.event.value != HookEvent::ResolveExtends);
        let directives = self.texts.directives.iter().map(|item| item.content.provenance());
        acting.map(|hook| &hook.provenance).chain(directives)
    }

    /// Returns each hooks file that has a hook which acts, with its provenance.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Location, &Provenance)> {
        let mut known: Vec<&Location> = Vec::new();
        let of_files = self.placed.iter().filter(|it| it.layer != rye_types::HookLayer::Directive);
        let acting = of_files.filter(|it| it.hook.event.value != HookEvent::ResolveExtends);
        acting.filter_map(move |hook| {
            let is_new = !known.contains(&&hook.location);
            is_new.then(|| known.push(&hook.location));
            is_new.then_some((&hook.location, &hook.provenance))
        })
    }

    /// Hands over the knowledge that hooks may put before the model.
    pub(crate) fn take_knowledge(&mut self) -> Vec<Item<rye_parse::Knowledge>> {
        std::mem::take(&mut self.texts.knowledge)
    }

    /// Returns the entries that hooks add to the opening.
    pub(crate) fn entries(&self) -> Vec<HookEntry> {
        self.opening.iter().map(|(_, entry)| entry.clone()).collect()
    }

    /// The directives whose instructions hooks may put before the model.
    #[must_use]
    pub fn directives(&self) -> &[Item<rye_parse::Directive>] {
        &self.texts.directives
    }

    /// Returns the hooks that the loop runs.
    ///
    /// Texts that `asked` covers wait for a decision, as calls of the model do.
    pub(crate) fn hooks(
        &self,
        chain: &ExtendsChain,
        inputs: &Inputs,
        asked: &Grant,
    ) -> Result<Hooks, PrepareError> {
        let entries = self.texts.entries().into_iter();
        let texts = Palette::new(entries.map(|entry| entry.asking_for(asked)).collect())?;
        let inputs = Value::Object(inputs.values().clone().into_iter().collect());
        let about = about(chain, &inputs);
        Ok(Hooks::new(self.hooks.clone(), texts, about))
    }
}

/// Knowledge goes into the opening; everything else of these events happens before the first request.
pub(crate) fn is_composed(event: HookEvent, action: &Action) -> bool {
    matches!(event, HookEvent::ThreadStarted | HookEvent::ThreadContinued)
        && action.item_type.as_deref() == Some("knowledge")
        && matches!(action.primary, Primary::Execute | Primary::Load | Primary::Fetch)
}

/// Returns the problem that keeps a hook from performing `action`, judged by the form of the action
/// alone.
pub(crate) fn hook_action_problem(action: &Action) -> Option<String> {
    let meant = item_id(action).and_then(|_| kind(action));
    match (action.primary, meant) {
        (_, Err(problem)) => Some(problem),
        (Primary::Execute, Ok(ItemKind::Directive)) if action.options.contains_key("thread") => {
            Some("hooks start no threads; leave `thread` out, and the directive is followed in the same conversation".to_owned())
        }
        (Primary::Execute, Ok(ItemKind::Tool | ItemKind::Directive | ItemKind::Knowledge))
        | (Primary::Load | Primary::Fetch, Ok(ItemKind::Knowledge)) => None,
        (primary, Ok(kind)) => Some(format!(
            "hooks do not `{primary}` items of kind `{kind}`; they execute tools and directives, and execute or load knowledge"
        )),
    }
}

fn item_id(action: &Action) -> Result<ItemId, String> {
    let Some(id) = &action.item_id else {
        return Err(format!("the action `{}` names no item; give it an `item_id`", action.primary));
    };
    id.parse().map_err(|error| format!("`{id}` is no item id: {error}"))
}

fn kind(action: &Action) -> Result<ItemKind, String> {
    match action.item_type.as_deref() {
        Some("tool") => Ok(ItemKind::Tool),
        Some("directive") => Ok(ItemKind::Directive),
        Some("knowledge") => Ok(ItemKind::Knowledge),
        _ => {
            Err("the action does not say what kind of item it means; give it an `item_type`"
                .to_owned())
        }
    }
}

/// Returns the data that a hook of the opening can read.
fn at_the_start(event: rye_types::HookEvent, chain: &ExtendsChain, inputs: &Value) -> Value {
    let mut data = about(chain, inputs);
    data.insert("event".to_owned(), event.as_str().into());
    Value::Object(data)
}

fn about(chain: &ExtendsChain, inputs: &Value) -> Map<String, Value> {
    let mut about = match chain.event_data() {
        Value::Object(about) => about,
        _ => Map::new(),
    };
    about.insert("inputs".to_owned(), inputs.clone());
    about
}

/// Returns the name of the directive or file that declares a hook, for messages.
fn declared_by(chain: &ExtendsChain, hook: &PlacedHook) -> String {
    let mut links = chain.root_first().filter(|_| hook.layer == rye_types::HookLayer::Directive);
    match links.find(|link| link.location == hook.location) {
        Some(link) => format!("directive `{}`", link.id),
        None => format!("config `{HOOKS_FILE}` of the {} space", hook.location.space),
    }
}

/// The knowledge of a hook as the prompt takes it.
fn entry(item: &Item<rye_parse::Knowledge>, placed: &PlacedHook) -> HookEntry {
    let knowledge = item.content.value();
    let name = knowledge.name.clone().unwrap_or_default();
    HookEntry {
        position: placed.position,
        id: item.id.as_str().to_owned(),
        name,
        content: knowledge.body.value.clone(),
        wrap: if placed.wrap { Wrap::Element } else { Wrap::Bare },
    }
}
