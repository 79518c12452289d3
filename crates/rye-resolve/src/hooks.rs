//! The hooks of a run, over the spaces and the chain (SPEC 4.4, 7.3, 10.3, D10).

use rye_parse::{ConfigHook, Directive, Hook, Spanned};
use rye_types::{HookEvent, HookLayer, Position};
use serde_json::{Map, Value};

use crate::{ExtendsChain, Item, ItemId, Library, PlacedHook, ResolveError, Space};

/// The configuration name of hooks files: `config/agent/hooks.yaml` and its other extensions.
const NAME: &str = "agent/hooks";

impl Library {
    /// The hooks of the hooks files of all spaces, sorted by layer and order. Equal ones are sorted nearest
    /// space first.
    ///
    /// # Errors
    ///
    /// Those of [`config`](Self::config), and every hook in a layer that its space may not use.
    pub fn config_hooks(&self) -> Result<Vec<PlacedHook>, ResolveError> {
        let mut hooks = Vec::new();
        let mut problems = Vec::new();
        for file in self.layers(NAME, rye_parse::hooks)? {
            for hook in file.content.value() {
                match of_config(&file, &hook.value) {
                    Ok(hook) => hooks.push(hook),
                    Err(problem) => problems.push(problem),
                }
            }
        }
        ResolveError::gather(problems)?;
        Ok(in_turn(hooks))
    }

    /// Every hook of a run of the chain's leaf, in the order of execution: those of
    /// [`config_hooks`](Self::config_hooks) and those of [`ExtendsChain::hooks`].
    ///
    /// # Errors
    ///
    /// Those of [`config_hooks`](Self::config_hooks).
    pub fn hooks(&self, chain: &ExtendsChain) -> Result<Vec<PlacedHook>, ResolveError> {
        let mut hooks = self.config_hooks()?;
        hooks.extend(chain.hooks());
        Ok(in_turn(hooks))
    }

    /// The `resolve_extends` hook that says what `leaf` extends (SPEC 7.3).
    pub(crate) fn extending(
        &self,
        leaf: &Item<Directive>,
    ) -> Result<Option<PlacedHook>, ResolveError> {
        let hooks = self.config_hooks()?;
        Ok(extending_hook(&hooks, &leaf.id, leaf.content.value()).cloned())
    }
}

/// Returns the hook that says what a directive extends: the first `resolve_extends` hook whose condition holds for it (SPEC 7.3).
/// `hooks` are in the order of execution, as [`Library::config_hooks`] returns them.
#[must_use]
pub fn extending_hook<'h>(
    hooks: &'h [PlacedHook],
    id: &ItemId,
    directive: &Directive,
) -> Option<&'h PlacedHook> {
    let resolves = |placed: &&PlacedHook| placed.hook.event.value == HookEvent::ResolveExtends;
    let mut resolving = hooks.iter().filter(resolves).peekable();
    resolving.peek()?;
    let event = event(id, directive);
    resolving.find(|placed| {
        let condition = placed.hook.condition.as_ref();
        condition.is_none_or(|condition| condition.value.holds(&event))
    })
}

impl ExtendsChain {
    /// The hooks that the directives of the chain declare, root first.
    ///
    /// A hook nearer the leaf replaces an inherited hook with the same id (SPEC D10).
    pub fn hooks(&self) -> Vec<PlacedHook> {
        let mut hooks: Vec<PlacedHook> = Vec::new();
        for link in self.root_first() {
            for hook in &link.content.value().hooks {
                let hook = of_directive(link, hook);
                let same = |other: &&mut PlacedHook| other.hook.id.value == hook.hook.id.value;
                match hooks.iter_mut().find(same) {
                    Some(inherited) => *inherited = hook,
                    None => hooks.push(hook),
                }
            }
        }
        hooks
    }
}

/// The layers that hooks files of a space may use. The first is the layer of hooks that name none.
///
/// The operator may use every layer except the directive's. A project may use neither a layer before the
/// operator's nor the infrastructure layer, whose hooks run whatever came before.
fn layers_of(space: Space) -> &'static [HookLayer] {
    use HookLayer::{BuiltIn, Infrastructure, Project, User};
    match space {
        Space::Project => &[Project],
        Space::User => &[User, BuiltIn, Project, Infrastructure],
        Space::System | Space::Builtin => &[BuiltIn, Infrastructure],
    }
}

fn of_config(
    file: &Item<Vec<Spanned<ConfigHook>>>,
    declared: &ConfigHook,
) -> Result<PlacedHook, ResolveError> {
    let allowed = layers_of(file.location.space);
    let first = allowed.first().copied().expect("because every space has a layer");
    let layer = declared.layer.as_ref().map_or(first, |layer| layer.value);
    if !allowed.contains(&layer) {
        return Err(ResolveError::ForeignLayer {
            location: file.location.clone(),
            hook: declared.hook.id.value.clone(),
            layer,
            allowed: allowed.to_vec(),
        });
    }
    Ok(PlacedHook {
        hook: declared.hook.clone(),
        layer,
        order: declared.order,
        position: declared.position,
        wrap: declared.wrap,
        extends: declared.extends.as_ref().map(|id| id.value.clone()),
        location: file.location.clone(),
        provenance: file.content.provenance().clone(),
    })
}

fn of_directive(link: &Item<Directive>, hook: &Spanned<Hook>) -> PlacedHook {
    PlacedHook {
        hook: hook.value.clone(),
        layer: HookLayer::Directive,
        order: 0,
        position: Position::default(),
        wrap: true,
        extends: None,
        location: link.location.clone(),
        provenance: link.content.provenance().clone(),
    }
}

impl ExtendsChain {
    /// The event data that hooks see: `directive` with those of `id`, `name`, `category`, `version`, `author`
    /// and `extends` that the leaf declares.
    pub fn event_data(&self) -> Value {
        let leaf = self.leaf();
        event(&leaf.id, leaf.content.value())
    }
}

/// Sorts by layer, then by order. Equal hooks keep their order.
fn in_turn(mut hooks: Vec<PlacedHook>) -> Vec<PlacedHook> {
    hooks.sort_by_key(|hook| (hook.layer, hook.order));
    hooks
}

/// The event data that a `resolve_extends` hook sees, without the fields that the directive does not declare.
fn event(id: &ItemId, directive: &Directive) -> Value {
    let text = |value: &Option<Spanned<String>>| value.as_ref().map(|text| text.value.clone());
    let fields = [
        ("id", Some(id.to_string())),
        ("name", Some(directive.name.value.clone())),
        ("category", text(&directive.category)),
        ("version", text(&directive.version)),
        ("author", text(&directive.author)),
        ("extends", text(&directive.extends)),
    ];
    let fields: Map<String, Value> = fields
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.into())))
        .collect();
    Value::Object(Map::from_iter([("directive".to_owned(), fields.into())]))
}
