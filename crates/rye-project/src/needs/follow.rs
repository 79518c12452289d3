//! The needs of a whole directive: its calls, followed into the directives that they execute and start.

use std::collections::{BTreeMap, BTreeSet};

use rye_caps::Pattern;
use rye_parse::{Action, Directive, Hook, Outputs};
use rye_resolve::{ItemId, ItemKind};

use super::calls::{Callee, action_needs, callee, hook_needs, starting};
use super::items::{CalledDirective, CalledItems};
use super::prose::has_prose;
use super::{LaterNeed, Need, NeedSource, Needs, Start, TakenItem};
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
    // Hooks act at any time.
    collector.is_in_order = false;
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

/// The number of starts from which those of repeated bodies are not counted any more.
const MOST_STARTS: usize = 1_000;

struct Collector<'i> {
    items: &'i dyn CalledItems,
    needs: Needs,
    /// The children whose needs were collected since the last item was taken in. So one that is started again behind an item is
    /// looked at again.
    started: BTreeSet<ItemId>,
    /// The directives whose bodies were followed, each with the number of the items that were taken in before. So one that
    /// is executed twice is followed again behind the items between.
    followed: BTreeSet<(ItemId, usize)>,
    /// The threads that the body of each followed directive starts.
    body_starts: BTreeMap<ItemId, Vec<Start>>,
    /// `true` if the calls are those of steps, which come one after another.
    is_in_order: bool,
}

impl<'i> Collector<'i> {
    fn new(items: &'i dyn CalledItems) -> Self {
        Self {
            items,
            needs: Needs::default(),
            started: BTreeSet::new(),
            followed: BTreeSet::new(),
            body_starts: BTreeMap::new(),
            is_in_order: true,
        }
    }

    /// Collects the needs of the steps of a child. Each of those that it starts is looked at once. The order of its calls is judged
    /// when the child itself is.
    fn of_child(
        directive: &Directive,
        items: &'i dyn CalledItems,
        started: &mut BTreeSet<ItemId>,
    ) -> Needs {
        let started_before = std::mem::take(started);
        let mut collector =
            Self { started: started_before, is_in_order: false, ..Self::new(items) };
        collector.body(directive, None);
        *started = std::mem::take(&mut collector.started);
        collector.finish(directive)
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
        self.needs.mentions.add(directive);
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
            Ok(patterns) => patterns.into_iter().for_each(|it| self.need(it, source)),
            Err(reason) => self.needs.add_unjudged(format!("{source} {reason}")),
        }
        match callee(action, self.items) {
            Some(Callee::Executed(kind, id)) => {
                self.take(kind, &id, source);
                if kind == ItemKind::Directive {
                    self.follow(source, &id);
                }
            }
            Some(Callee::Child(id)) => {
                self.start(id.as_str(), source);
                self.child(source, &id);
            }
            Some(Callee::OpenChild(id)) => {
                self.start(&id, source);
                // A call without an id is one for a model to complete.
                let pattern = starting(&id).filter(|_| !id.is_empty());
                pattern.into_iter().for_each(|it| self.need(it, source));
                let reason = "starts a directive that is known when it runs";
                self.needs.add_unjudged(format!("{source} {reason}"));
            }
            Some(Callee::OpenDirective) => {
                let reason = "executes a directive that is known when it runs";
                self.needs.add_unjudged(format!("{source} {reason}"));
            }
            Some(Callee::OpenKnowledge) => {
                let reason = "executes knowledge that is known when it runs";
                self.needs.add_unjudged(format!("{source} {reason}"));
            }
            None => {}
        }
    }

    fn need(&mut self, pattern: Pattern, source: &NeedSource) {
        let taken = self.needs.taken.len();
        if self.is_in_order && taken != 0 {
            let source = source.clone();
            self.needs.later.push(LaterNeed { pattern: pattern.clone(), source, taken });
        }
        self.needs.add(pattern, source);
    }

    fn start(&mut self, id: &str, source: &NeedSource) {
        if self.is_in_order {
            self.needs.starts.push(Start { id: id.to_owned(), source: source.clone() });
        }
    }

    /// Notes an item that the thread has from now on.
    fn take(&mut self, kind: ItemKind, id: &ItemId, source: &NeedSource) {
        let is_known = self.needs.taken.iter().any(|it| (it.kind, &it.id) == (kind, id));
        if self.is_in_order && !is_known {
            let source = source.clone();
            self.needs.taken.push(TakenItem { kind, id: id.clone(), source });
            self.started.clear();
        }
    }

    /// Adds the needs of a child, which the thread has to be allowed as well.
    fn child(&mut self, source: &NeedSource, id: &ItemId) {
        let mut of_child = Needs::default();
        of_child.add_started(source, id, self.items, &mut self.started);
        self.needs.has_unknown_child |= of_child.has_unknown_child;
        for Need { pattern, sources } in of_child.needs {
            sources.iter().for_each(|source| self.need(pattern.clone(), source));
        }
        of_child.unjudged.into_iter().for_each(|reason| self.needs.add_unjudged(reason));
    }

    /// Adds the needs of a directive that the thread itself carries out. Its own permissions grant nothing (SPEC D16).
    fn follow(&mut self, source: &NeedSource, id: &ItemId) {
        if !self.followed.insert((id.clone(), self.needs.taken.len())) {
            return self.start_again(id);
        }
        let before = self.needs.starts.len();
        match self.items.called_directive(id) {
            Some(called) => self.body(&called.directive, Some(id)),
            None => self.unreadable(source, id),
        }
        let starts = self.needs.starts.get(before..).unwrap_or_default().to_vec();
        self.body_starts.insert(id.clone(), starts);
    }

    /// Adds the threads that a body starts which is carried out once more. Bodies that execute others twice start more with each
    /// level, and each start is one too many from some number on.
    fn start_again(&mut self, id: &ItemId) {
        let again = self.body_starts.get(id).filter(|_| self.is_in_order);
        let again = again.into_iter().flatten().cloned();
        let left = MOST_STARTS.saturating_sub(self.needs.starts.len());
        self.needs.starts.extend(again.take(left));
    }

    fn unreadable(&mut self, source: &NeedSource, id: &ItemId) {
        self.needs.add_unjudged(format!("{source} calls directive `{id}`, which cannot be read"));
    }
}

impl Needs {
    /// Adds what a child needs of its parent: to be started, what its own steps need, and all else that it declares, without
    /// which it starts as well (SPEC D6). A child returns its outputs without its parent (SPEC 9.2).
    pub fn add_child(&mut self, source: &NeedSource, id: &ItemId, items: &dyn CalledItems) {
        self.add_started(source, id, items, &mut BTreeSet::new());
    }

    /// Adds the needs of a child that is not among those that were `started`, and those of its own children.
    fn add_started(
        &mut self,
        source: &NeedSource,
        id: &ItemId,
        items: &dyn CalledItems,
        started: &mut BTreeSet<ItemId>,
    ) {
        starting(id.as_str()).into_iter().for_each(|it| self.add(it, source));
        let Some(CalledDirective { directive, declared: Some(declared) }) =
            items.called_directive(id)
        else {
            self.has_unknown_child = true;
            let reason = "the permissions of which are not known";
            return self.add_unjudged(format!("{source} starts directive `{id}`, {reason}"));
        };
        if !started.insert(id.clone()) {
            return;
        }
        let own = Collector::of_child(&directive, items, started);
        // What the child itself is not granted is a fault of the child.
        let is_declared =
            |need: &&Need| declared.patterns().iter().any(|pattern| pattern.meets(&need.pattern));
        let source = NeedSource::Child(id.clone());
        for need in own.needs.iter().filter(|need| need.is_of_a_call()).filter(is_declared) {
            self.add(need.pattern.clone(), &source);
        }
        let returning = Pattern::exactly(&return_capability());
        let declared = declared.patterns().iter().filter(|it| **it != returning);
        let source = NeedSource::Declared(id.clone());
        declared.for_each(|pattern| self.add(pattern.clone(), &source));
    }
}
