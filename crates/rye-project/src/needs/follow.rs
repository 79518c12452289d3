//! The needs of a whole directive: its calls, followed into the directives that they execute and start.

use std::collections::BTreeSet;

use rye_caps::Pattern;
use rye_parse::{Action, Directive, Hook, Outputs};
use rye_resolve::{ItemId, ItemKind};

use super::calls::{Callee, action_needs, callee, hook_needs, starting};
use super::items::CalledItems;
use super::prose::has_prose;
use super::{NeedSource, Needs};
use crate::plan::return_capability;

/// Collects the needs of a directive, and of the `hooks` that act in its threads. Declared outputs need nothing, because
/// declaring them grants returning them (SPEC 9.2).
pub fn needs_of<'h>(
    directive: &Directive,
    hooks: impl IntoIterator<Item = &'h Hook>,
    items: &dyn CalledItems,
) -> Needs {
    let mut collector = Collector::new(items);
    collector.body(directive, None);
    if directive.continuation_directive.is_some() {
        let reason = "the directive that says how it continues is for a model";
        collector.needs.add_unjudged(reason.to_owned());
    }
    for hook in hooks {
        let source = NeedSource::Hook(hook.id.value.clone());
        for action in hook.actions.iter().map(|action| &action.value) {
            collector.call(&source, action, hook_needs(hook, action));
        }
    }
    collector.finish(directive)
}

/// Collects the needs of one call of a step of `directive`.
pub(crate) fn needs_of_step_action(
    directive: &Directive,
    source: &NeedSource,
    action: &Action,
    items: &dyn CalledItems,
) -> Needs {
    let mut collector = Collector::new(items);
    collector.call(source, action, action_needs(action));
    collector.finish(directive)
}

/// Collects the needs of one action of a hook in a thread of `directive`.
pub(crate) fn needs_of_hook_action(
    directive: &Directive,
    hook: &Hook,
    action: &Action,
    items: &dyn CalledItems,
) -> Needs {
    let mut collector = Collector::new(items);
    let source = NeedSource::Hook(hook.id.value.clone());
    collector.call(&source, action, hook_needs(hook, action));
    collector.finish(directive)
}

struct Collector<'i> {
    items: &'i dyn CalledItems,
    needs: Needs,
    /// The directives whose bodies were followed.
    followed: BTreeSet<ItemId>,
}

impl<'i> Collector<'i> {
    fn new(items: &'i dyn CalledItems) -> Self {
        Self { items, needs: Needs::default(), followed: BTreeSet::new() }
    }

    fn finish(mut self, directive: &Directive) -> Needs {
        if !matches!(directive.outputs, Outputs::None) {
            self.needs.forget(&Pattern::exactly(&return_capability()));
        }
        self.needs
    }

    /// Adds the needs of a body, which is that of the directive itself or of the directive `executed`.
    fn body(&mut self, directive: &Directive, executed: Option<&ItemId>) {
        let of = executed.map(|id| format!(" of directive `{id}`")).unwrap_or_default();
        if has_prose(directive) {
            self.needs.add_unjudged(format!("the text{of} beside its steps is for a model"));
        }
        for (place, step) in directive.steps.iter().map(|step| &step.value).enumerate() {
            let name = step.name.clone().unwrap_or_else(|| (place + 1).to_string());
            if step.actions.is_empty() {
                self.needs.add_unjudged(format!("step `{name}`{of} names no call"));
            }
            let source = match executed {
                Some(id) => NeedSource::Executed(id.clone()),
                None => NeedSource::Step(name),
            };
            for action in step.actions.iter().map(|action| &action.value) {
                self.call(&source, action, action_needs(action));
            }
        }
    }

    fn call(&mut self, source: &NeedSource, action: &Action, own: Result<Vec<Pattern>, String>) {
        match own {
            Ok(patterns) => patterns.into_iter().for_each(|it| self.needs.add(it, source)),
            Err(reason) => self.needs.add_unjudged(format!("{source} {reason}")),
        }
        match callee(action, self.items) {
            Some(Callee::Executed(ItemKind::Directive, id)) => self.follow(source, &id),
            Some(Callee::Child(id)) => self.needs.add_child(source, &id, self.items),
            Some(Callee::OpenChild(id)) => {
                // A call without an id is one for a model to complete.
                let pattern = starting(&id).filter(|_| !id.is_empty());
                pattern.into_iter().for_each(|it| self.needs.add(it, source));
                let reason = "starts a directive that is known when it runs";
                self.needs.add_unjudged(format!("{source} {reason}"));
            }
            Some(Callee::OpenDirective) => {
                let reason = "executes a directive that is known when it runs";
                self.needs.add_unjudged(format!("{source} {reason}"));
            }
            Some(Callee::Executed(..)) | None => {}
        }
    }

    /// Adds the needs of a directive that the thread itself carries out. Its own permissions grant nothing (SPEC D16).
    fn follow(&mut self, source: &NeedSource, id: &ItemId) {
        if !self.followed.insert(id.clone()) {
            return;
        }
        match self.items.called_directive(id) {
            Some(called) => self.body(&called.directive, Some(id)),
            None => self.unreadable(source, id),
        }
    }

    fn unreadable(&mut self, source: &NeedSource, id: &ItemId) {
        self.needs.add_unjudged(format!("{source} calls directive `{id}`, which cannot be read"));
    }
}

impl Needs {
    /// Adds what a child needs of its parent: to be started, and all that it declares (SPEC D6). A child returns its outputs
    /// without its parent (SPEC 9.2).
    pub fn add_child(&mut self, source: &NeedSource, id: &ItemId, items: &dyn CalledItems) {
        starting(id.as_str()).into_iter().for_each(|it| self.add(it, source));
        let Some(declared) = items.called_directive(id).and_then(|called| called.declared) else {
            self.has_unknown_child = true;
            let reason = "the permissions of which are not known";
            return self.add_unjudged(format!("{source} starts directive `{id}`, {reason}"));
        };
        let returning = Pattern::exactly(&return_capability());
        let declared = declared.patterns().iter().filter(|it| **it != returning);
        let source = NeedSource::Child(id.clone());
        declared.for_each(|pattern| self.add(pattern.clone(), &source));
    }
}
