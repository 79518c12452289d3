//! The needs of a whole directive: its calls, followed into the directives that they execute and start.

use std::collections::{BTreeMap, BTreeSet};

use rye_caps::Pattern;
use rye_parse::{Action, Directive, Hook, Outputs, Step};
use rye_prompt::known_steps;
use rye_providers::MAX_PLANNED_DEPTH;
use rye_resolve::ItemId;
use rye_types::ItemKind;
use serde_json::json;

use super::calls::{
    Callee, action_needs, callee, hook_needs, inputs_of_callee, is_fork, is_return, starting,
};
use super::items::{CalledDirective, CalledItems};
use super::placed::{GivenInputs, StepCall};
use super::prose::has_prose;
use super::start::{Start, StartLimits};
use super::walk::Walk;
use super::{LaterNeed, MissingItem, Need, NeedSource, Needs, TakenItem};
use crate::aliases::tool_id;
use crate::plan::return_capability;

/// Collects the needs of a directive, and of the `hooks` that act in its threads. Declared outputs need nothing, because
/// declaring them grants returning them (SPEC 9.2). An input that is not `given` may have any value, its default among them, so that
/// an id with its placeholder needs all that it may name, and what it names by default is judged as well.
pub fn needs_of<'h>(
    directive: &Directive,
    given: &GivenInputs,
    hooks: impl IntoIterator<Item = &'h Hook>,
    items: &dyn CalledItems,
) -> Needs {
    let mut collector = Collector::new(items);
    collector.body(directive, None, Some(given));
    if directive.continuation_directive.is_some() {
        let reason = "the directive that says how it continues is for a model";
        collector.needs.add_unjudged(reason.to_owned());
    }
    // Hooks act at any time.
    collector.is_in_order = false;
    for hook in hooks {
        let source = NeedSource::Hook(hook.id.value.clone());
        for action in hook.actions.iter().map(|action| &action.value) {
            collector.own_needs(&source, hook_needs(hook, action));
            collector.call(&source, action, action);
        }
    }
    collector.finish(directive)
}

/// Collects the needs of one call of a step of `directive`.
pub(crate) fn needs_of_step_call(
    directive: &Directive,
    call: &StepCall<'_>,
    items: &dyn CalledItems,
) -> Needs {
    let mut collector = Collector::new(items);
    let source = NeedSource::Step(call.step.clone());
    collector.step_call(&source, call.written, &call.placed.value);
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
    collector.own_needs(&source, hook_needs(hook, action));
    collector.call(&source, action, action);
    collector.finish(directive)
}

/// Returns the threads that the steps of a directive start, in their order, and the turns that the steps take without a model, whatever
/// its inputs are.
pub(super) fn starts_and_walk(
    directive: &Directive,
    items: &dyn CalledItems,
) -> (Vec<Start>, Walk) {
    let mut collector = Collector::new(items);
    collector.body(directive, None, None);
    (collector.needs.starts, collector.needs.walk)
}

/// The number of starts from which those of repeated bodies are not counted any more, and that of followed bodies from which their
/// inputs are not looked at any more.
const MOST_FOLLOWED: usize = 1_000;

/// The body of an executed directive: its id, its inputs as JSON text, and the number of the items that were taken in before. So one
/// that is executed twice is followed again behind the items between.
type Followed = (ItemId, String, usize);

/// A child whose needs were collected, with its inputs as JSON text.
type Started = (ItemId, String);

/// The additions of a body each time that it is carried out.
#[derive(Debug, Default)]
struct Body {
    /// The threads that it starts.
    starts: Vec<Start>,
    /// The turns and the steps that it takes without a model, and the depth to which it executes others below it.
    walk: Walk,
}

struct Collector<'i> {
    items: &'i dyn CalledItems,
    needs: Needs,
    /// The children whose needs were collected since the last item was taken in. So one that is started again behind an item is
    /// looked at again.
    started: BTreeSet<Started>,
    /// The directives whose bodies were followed; `None` while one is.
    followed: BTreeMap<Followed, Option<Body>>,
    /// The number of executed directives around the body that is looked at.
    depth: usize,
    /// `true` if the calls are those of steps, which come one after another.
    is_in_order: bool,
    /// The step of the directive that is judged, whose calls are looked at.
    step: String,
    /// The child or executed directive whose calls are looked at; `None` for the directive that is judged.
    below: Option<Below>,
}

/// A directive that a step leads to.
#[derive(Clone)]
struct Below {
    directive: NeedSource,
    /// The step of the directive that is judged.
    step: String,
}

impl<'i> Collector<'i> {
    fn new(items: &'i dyn CalledItems) -> Self {
        Self {
            items,
            needs: Needs::default(),
            started: BTreeSet::new(),
            followed: BTreeMap::new(),
            depth: 0,
            is_in_order: true,
            step: String::new(),
            below: None,
        }
    }

    /// Collects the needs of the steps of a child. Each of those that it starts is looked at once for the same inputs. The order of its
    /// calls is judged when the child itself is.
    fn of_child(
        &mut self,
        id: &ItemId,
        directive: &Directive,
        given: Option<&GivenInputs>,
    ) -> Needs {
        let mut collector = Self {
            started: std::mem::take(&mut self.started),
            depth: self.depth + 1,
            is_in_order: false,
            below: self.below_step(NeedSource::Child(id.clone())),
            ..Self::new(self.items)
        };
        collector.body(directive, None, given);
        self.started = std::mem::take(&mut collector.started);
        collector.finish(directive)
    }

    fn below_step(&self, directive: NeedSource) -> Option<Below> {
        let step = self.below.as_ref().map_or(&self.step, |below| &below.step).clone();
        Some(Below { directive, step })
    }

    fn finish(mut self, directive: &Directive) -> Needs {
        if !matches!(directive.outputs, Outputs::None) {
            self.needs.forget(&Pattern::exactly(&return_capability()));
        }
        self.needs
    }

    /// Adds the needs of a body, which is that of the directive itself or of the directive `executed`. Its placeholders stay as
    /// written where no inputs are `given`.
    fn body(
        &mut self,
        directive: &Directive,
        executed: Option<&ItemId>,
        given: Option<&GivenInputs>,
    ) {
        let placed = given.map(|given| known_steps(directive, given)).unwrap_or_default();
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
            if let NeedSource::Step(name) = &source
                && self.below.is_none()
            {
                self.step.clone_from(name);
            }
            self.turn(step, executed.is_some());
            let placed = placed.get(place).unwrap_or(step);
            let actions = step.actions.iter().zip(&placed.actions);
            // An executed directive returns no outputs of its own (SPEC 10.13).
            let actions = actions.filter(|it| !(executed.is_some() && is_return(&it.0.value)));
            for (written, placed) in actions {
                self.step_call(&source, &written.value, &placed.value);
            }
        }
    }

    fn step_call(&mut self, source: &NeedSource, written: &Action, placed: &Action) {
        self.own_needs(source, action_needs(written));
        if placed.item_id != written.item_id {
            self.own_needs(source, action_needs(placed));
            self.missing(placed);
        }
        self.call(source, written, placed);
    }

    /// Notes an item that a directive below names by an input and that is not there. What the directive names by itself, it is told of.
    fn missing(&mut self, placed: &Action) {
        let Some(Below { directive, step }) = &self.below else { return };
        let kind = placed.item_type.as_deref().and_then(|name| name.parse::<ItemKind>().ok());
        let id = placed.item_id.as_deref().map(|id| match kind {
            Some(ItemKind::Tool) => tool_id(id),
            _ => id,
        });
        let (Some(kind), Some(Ok(id))) = (kind, id.map(str::parse::<ItemId>)) else { return };
        if placed.primary != rye_parse::Primary::Sign && !self.items.has(kind, &id) {
            let (source, step) = (directive.clone(), step.clone());
            self.needs.missing.push(MissingItem { kind, id, source, step });
        }
    }

    /// Counts a step of which a run without a model makes a turn. Returning outputs is left out of an executed directive.
    fn turn(&mut self, step: &Step, is_executed: bool) {
        let mut actions = step.actions.iter().map(|action| &action.value);
        let is_turn = actions.any(|action| !(is_executed && is_return(action)));
        self.needs.walk.turns += u64::from(self.is_in_order && is_turn);
        self.needs.walk.steps += usize::from(self.is_in_order && is_executed);
    }

    fn own_needs(&mut self, source: &NeedSource, own: Result<Vec<Pattern>, String>) {
        match own {
            Ok(patterns) => patterns.into_iter().for_each(|it| self.need(it, source)),
            Err(reason) => self.needs.add_unjudged(format!("{source} {reason}")),
        }
    }

    /// Follows a call into what it brings in, as it is written and with the inputs that are known.
    fn call(&mut self, source: &NeedSource, written: &Action, placed: &Action) {
        self.open_callee(source, written);
        if is_fork(placed) {
            self.needs.forked.extend(placed.item_id.as_deref().and_then(starting));
        }
        match callee(placed, self.items) {
            Some(Callee::Executed(kind, id)) => {
                self.take(kind, &id, source);
                if kind == ItemKind::Directive {
                    self.follow(source, &id, inputs_of_callee(placed));
                }
            }
            Some(Callee::Child(id)) => {
                self.start(id.as_str(), source, placed);
                self.child(source, &id, inputs_of_callee(placed));
            }
            Some(Callee::OpenChild(id)) => self.start(&id, source, placed),
            Some(Callee::OpenDirective | Callee::OpenKnowledge) | None => {}
        }
    }

    /// Tells of a call whose item is known when it is made.
    fn open_callee(&mut self, source: &NeedSource, written: &Action) {
        let reason = match callee(written, self.items) {
            Some(Callee::OpenChild(id)) => {
                // A call without an id is one for a model to complete.
                let pattern = starting(&id).filter(|_| !id.is_empty());
                pattern.into_iter().for_each(|it| self.need(it, source));
                "starts a directive that is known when it runs"
            }
            Some(Callee::OpenDirective) => "executes a directive that is known when it runs",
            Some(Callee::OpenKnowledge) => "executes knowledge that is known when it runs",
            Some(Callee::Executed(..) | Callee::Child(_)) | None => return,
        };
        self.needs.add_unjudged(format!("{source} {reason}"));
    }

    fn need(&mut self, pattern: Pattern, source: &NeedSource) {
        let taken = self.needs.taken.len();
        if self.is_in_order && taken != 0 {
            let source = source.clone();
            self.needs.later.push(LaterNeed { pattern: pattern.clone(), source, taken });
        }
        self.needs.add(pattern, source);
    }

    fn start(&mut self, id: &str, source: &NeedSource, action: &Action) {
        if self.is_in_order {
            let limits = StartLimits::of_call(action);
            self.needs.starts.push(Start { id: id.to_owned(), source: source.clone(), limits });
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
    ///
    /// These are: to start it, what its own steps need, and all else that it declares, without which it starts as well (SPEC D6). A
    /// child returns its outputs without its parent (SPEC 9.2).
    fn child(&mut self, source: &NeedSource, id: &ItemId, given: GivenInputs) {
        starting(id.as_str()).into_iter().for_each(|it| self.need(it, source));
        let Some(CalledDirective { directive, declared: Some(declared), .. }) =
            self.items.called_directive(id)
        else {
            self.needs.has_unknown_child = true;
            let reason = "the permissions of which are not known";
            return self.needs.add_unjudged(format!("{source} starts directive `{id}`, {reason}"));
        };
        let given = self.inputs_to_follow(given);
        if !self.started.insert((id.clone(), as_text(given.as_ref()))) {
            return;
        }
        let own = self.of_child(id, &directive, given.as_ref());
        self.needs.missing.extend(own.missing);
        self.needs.forked.extend(own.forked);
        // What the child itself is not granted is a fault of the child.
        let is_declared =
            |need: &&Need| declared.patterns().iter().any(|pattern| pattern.meets(&need.pattern));
        let source = NeedSource::Child(id.clone());
        for need in own.needs.iter().filter(|need| need.is_of_a_call()).filter(is_declared) {
            self.need(need.pattern.clone(), &source);
        }
        let returning = Pattern::exactly(&return_capability());
        let source = NeedSource::Declared(id.clone());
        for pattern in declared.patterns().iter().filter(|it| **it != returning) {
            self.need(pattern.clone(), &source);
        }
    }

    /// Returns the inputs with which a directive is followed; `None` from some depth and number on, because inputs that a directive
    /// makes of its own for itself would be new without end.
    fn inputs_to_follow(&self, given: GivenInputs) -> Option<GivenInputs> {
        let followed = self.followed.len() + self.started.len();
        (self.depth <= MAX_PLANNED_DEPTH && followed < MOST_FOLLOWED).then_some(given)
    }

    /// Adds the needs of a directive that the thread itself carries out. Its own permissions grant nothing (SPEC D16).
    fn follow(&mut self, source: &NeedSource, id: &ItemId, given: GivenInputs) {
        let given = self.inputs_to_follow(given);
        let key = (id.clone(), as_text(given.as_ref()), self.needs.taken.len());
        if self.followed.contains_key(&key) {
            return self.follow_again(&key);
        }
        self.followed.insert(key.clone(), None);
        let started = self.needs.starts.len();
        let around = std::mem::take(&mut self.needs.walk);
        let below = self.below_step(NeedSource::Executed(id.clone()));
        let around_below = std::mem::replace(&mut self.below, below);
        self.depth += 1;
        match self.items.called_directive(id) {
            Some(called) => self.body(&called.directive, Some(id), given.as_ref()),
            None => self.unreadable(source, id),
        }
        self.depth -= 1;
        self.below = around_below;
        let walk = self.needs.walk;
        let starts = self.needs.starts.get(started..).unwrap_or_default().to_vec();
        self.needs.walk = around.with_executed(walk);
        self.followed.insert(key, Some(Body { starts, walk }));
    }

    /// Adds what a body adds that is carried out once more. Bodies that execute others twice start more with each level, and each
    /// start is one too many from some number on.
    fn follow_again(&mut self, key: &Followed) {
        if !self.is_in_order {
            return;
        }
        let Some(Some(body)) = self.followed.get(key) else {
            self.needs.walk = self.needs.walk.with_executed(Walk::ENDLESS);
            return;
        };
        let left = MOST_FOLLOWED.saturating_sub(self.needs.starts.len());
        self.needs.starts.extend(body.starts.iter().take(left).cloned());
        self.needs.walk = self.needs.walk.with_executed(body.walk);
    }

    fn unreadable(&mut self, source: &NeedSource, id: &ItemId) {
        self.needs.add_unjudged(format!("{source} calls directive `{id}`, which cannot be read"));
    }
}

impl Needs {
    /// Adds what a child needs of its parent, whatever its inputs are.
    pub fn add_child(&mut self, source: &NeedSource, id: &ItemId, items: &dyn CalledItems) {
        let mut collector = Collector { is_in_order: false, ..Collector::new(items) };
        collector.depth = MAX_PLANNED_DEPTH + 1;
        collector.needs = std::mem::take(self);
        collector.child(source, id, GivenInputs::new());
        *self = collector.needs;
    }
}

/// The inputs as JSON text; empty if they are not known.
fn as_text(given: Option<&GivenInputs>) -> String {
    given.map_or_else(String::new, |given| json!(given).to_string())
}
