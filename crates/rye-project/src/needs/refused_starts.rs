//! The threads that steps start, held against limits: those of the thread itself, and those of the threads that it starts (SPEC 10.5).

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

use rye_resolve::ItemId;
use rye_types::LimitSet;

use super::follow::starts_and_walk;
use super::items::CalledItems;
use super::start::Start;
use super::{NeedSource, Needs};
use crate::plan::limit_of_start;

/// A call of a step that starts a thread, which a limit refuses, or which starts one that a limit refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedStart {
    /// The directives from the one that the step starts to the one that may not be started; they may have placeholders.
    pub(crate) ids: Vec<String>,
    /// The step or executed directive that starts the first.
    pub(crate) source: NeedSource,
    /// The name of the limit in `<limits>`.
    pub(crate) limit: &'static str,
    /// The value of the limit where it is set.
    pub(crate) value: u64,
    /// The directive that a call starts with this limit; `None` if the limit is that of the directive itself.
    pub(crate) set_for: Option<String>,
    pub(crate) reason: StartReason,
}

/// The reason why a start is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartReason {
    /// The limit is 0.
    Zero,
    /// The calls before it, or the threads above it, use the limit up.
    UsedUp,
    /// Without a model, the directives start each other until the limit is used up.
    Endless,
    /// The steps of the last directive take so many turns without a model.
    Turns(u64),
}

impl fmt::Display for RefusedStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ids, source, limit, value, set_for, reason } = self;
        write!(f, "{source} starts")?;
        for (place, id) in ids.iter().enumerate() {
            let then = if place == 0 { "" } else { ", which starts" };
            match id.as_str() {
                "" => write!(f, "{then} a directive")?,
                id => write!(f, "{then} directive `{id}`")?,
            }
        }
        match reason {
            StartReason::Endless => f.write_str(" again")?,
            StartReason::Turns(turns) => {
                write!(f, ", whose steps take {turns} turns without a model")?;
            }
            StartReason::Zero | StartReason::UsedUp => {}
        }
        match set_for {
            None => write!(f, ", and the limit `{limit}` of this directive is {value}")?,
            Some(id) => write!(f, ", and the call of `{id}` sets `{limit}` to {value}")?,
        }
        match (reason, *limit) {
            (StartReason::UsedUp, "spawns") => f.write_str(", which the calls before it use up"),
            (StartReason::UsedUp, _) => f.write_str(", which the threads above it use up"),
            _ => Ok(()),
        }
    }
}

impl Needs {
    /// Returns the starts of threads that these limits refuse, each once: those of the directive itself, and those of the directives
    /// that it starts. What a child's own limits refuse is a fault of the child. Where no model is asked, each step is carried out, so
    /// that what `is_without_model` starts has no other end than the limits.
    pub(crate) fn refused_starts(
        &self,
        limits: &LimitSet,
        items: &dyn CalledItems,
        is_without_model: bool,
    ) -> Vec<RefusedStart> {
        let mut judge = Judge {
            items,
            threads: HashMap::new(),
            judged: BTreeSet::new(),
            above: Vec::new(),
            refused: Vec::new(),
        };
        let bound = |value| Bound { value, left: value, set_for: None };
        let bounds = Bounds {
            depth: bound(limits.depth),
            spawns: bound(limits.spawns),
            turns: bound(limits.turns),
        };
        for (before, start) in (0..).zip(&self.starts) {
            judge.start(before, start, &start.source, &bounds, is_without_model, limits);
        }
        judge.refused
    }
}

/// A limit of a thread, with where it is from.
#[derive(Debug, Clone)]
struct Bound {
    /// The value where it is set.
    value: u64,
    /// The part of it that the thread has.
    left: u64,
    /// The directive of the call that sets it; `None` for the directive that is judged.
    set_for: Option<String>,
}

impl Bound {
    /// The same for a child, which a call may bound more.
    fn of_child(&self, left: u64, call: Option<u64>, child: &str) -> Self {
        match call.filter(|call| *call < left) {
            Some(call) => Self { value: call, left: call, set_for: Some(child.to_owned()) },
            None => Self { left, ..self.clone() },
        }
    }
}

/// The limits of a thread that bound the threads below it.
#[derive(Debug, Clone)]
struct Bounds {
    depth: Bound,
    spawns: Bound,
    turns: Bound,
}

impl Bounds {
    fn of_child(&self, start: &Start) -> Self {
        let Self { depth, spawns, turns } = self;
        let (id, limits) = (&start.id, &start.limits);
        Self {
            depth: depth.of_child(depth.left.saturating_sub(1), limits.depth, id),
            spawns: spawns.of_child(spawns.left, limits.spawns, id),
            turns: turns.of_child(turns.left, limits.turns, id),
        }
    }
}

/// A directive that runs as a thread.
struct Thread {
    starts: Vec<Start>,
    /// The turns of its steps without a model; `None` if it asks one.
    turns: Option<u64>,
}

struct Judge<'i> {
    items: &'i dyn CalledItems,
    /// Each directive that was looked at.
    threads: HashMap<ItemId, Rc<Thread>>,
    /// The directives that were judged, each with what it had of `depth`, `spawns` and `turns`.
    judged: BTreeSet<(ItemId, u64, u64, u64)>,
    /// The directives of the threads from the first child down.
    above: Vec<String>,
    refused: Vec<RefusedStart>,
}

impl Judge<'_> {
    /// Judges the start that comes after `before` others of the same thread. `is_certain` says that no model decides on it.
    fn start(
        &mut self,
        before: u64,
        start: &Start,
        source: &NeedSource,
        bounds: &Bounds,
        is_certain: bool,
        limits: &LimitSet,
    ) {
        let mut own = limits.clone();
        (own.depth, own.spawns) = (bounds.depth.left, bounds.spawns.left);
        if let Some(limit) = limit_of_start(&own, before) {
            let bound = if limit == "depth" { &bounds.depth } else { &bounds.spawns };
            let reason = if bound.value == 0 { StartReason::Zero } else { StartReason::UsedUp };
            return self.refuse(start, source, limit, bound, reason);
        }
        let Ok(id) = start.id.parse::<ItemId>() else { return };
        if self.above.contains(&start.id) {
            // A directive that a model has start itself ends as the model decides, or by the limits.
            if is_certain {
                self.refuse(start, source, "depth", &bounds.depth, StartReason::Endless);
            }
            return;
        }
        let below = bounds.of_child(start);
        let Bounds { depth, spawns, turns } = &below;
        if !self.judged.insert((id.clone(), depth.left, spawns.left, turns.left)) {
            return;
        }
        let thread = self.thread(&id);
        if let Some(needed) = thread.turns.filter(|needed| *needed > turns.left) {
            self.refuse(start, source, "turns", turns, StartReason::Turns(needed));
        }
        self.above.push(start.id.clone());
        let is_certain = is_certain && thread.turns.is_some();
        for (before, next) in (0..).zip(&thread.starts) {
            self.start(before, next, source, &below, is_certain, limits);
        }
        self.above.pop();
    }

    fn refuse(
        &mut self,
        start: &Start,
        source: &NeedSource,
        limit: &'static str,
        bound: &Bound,
        reason: StartReason,
    ) {
        let ids = self.above.iter().cloned().chain([start.id.clone()]).collect();
        let Bound { value, set_for, .. } = bound.clone();
        let refused = RefusedStart { ids, source: source.clone(), limit, value, set_for, reason };
        if !self.refused.contains(&refused) {
            self.refused.push(refused);
        }
    }

    fn thread(&mut self, id: &ItemId) -> Rc<Thread> {
        let items = self.items;
        let read = || match items.called_directive(id) {
            Some(called) => {
                let (starts, walk) = starts_and_walk(&called.directive, items);
                let turns = called.is_without_model.then(|| walk.turns_of(&called.directive));
                Thread { starts, turns }
            }
            None => Thread { starts: Vec::new(), turns: None },
        };
        Rc::clone(self.threads.entry(id.clone()).or_insert_with(|| Rc::new(read())))
    }
}
