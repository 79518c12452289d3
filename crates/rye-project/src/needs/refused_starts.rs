//! The threads that steps start, held against limits: those of the thread itself, and those of the threads that it starts (SPEC 10.5).

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

use rye_resolve::ItemId;
use rye_thread::Limits;

use super::follow::starts_of;
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
}

impl fmt::Display for RefusedStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ids, source, limit, value, set_for } = self;
        write!(f, "{source} starts")?;
        for (place, id) in ids.iter().enumerate() {
            let then = if place == 0 { "" } else { ", which starts" };
            match id.as_str() {
                "" => write!(f, "{then} a directive")?,
                id => write!(f, "{then} directive `{id}`")?,
            }
        }
        match set_for {
            None => write!(f, ", and the limit `{limit}` of this directive is {value}")?,
            Some(id) => write!(f, ", and the call of `{id}` sets `{limit}` to {value}")?,
        }
        let is_used_up = *limit == "spawns" && *value != 0;
        let is_too_low = *limit == "depth" && *value != 0;
        match (is_used_up, is_too_low) {
            (true, _) => f.write_str(", which the calls before it use up"),
            (_, true) => f.write_str(", which the threads above it use up"),
            _ => Ok(()),
        }
    }
}

impl Needs {
    /// Returns the starts of threads that these limits refuse, each once: those of the directive itself, and those of the directives
    /// that it starts. What a child's own limits refuse is a fault of the child.
    pub(crate) fn refused_starts(
        &self,
        limits: &Limits,
        items: &dyn CalledItems,
    ) -> Vec<RefusedStart> {
        let mut judge = Judge {
            items,
            starts: HashMap::new(),
            judged: BTreeSet::new(),
            above: Vec::new(),
            refused: Vec::new(),
        };
        let depth = Bound { value: limits.depth, left: limits.depth, set_for: None };
        let spawns = Bound { value: limits.spawns, left: limits.spawns, set_for: None };
        for (before, start) in (0..).zip(&self.starts) {
            judge.start((before, start), &start.source, (&depth, &spawns), limits);
        }
        judge.refused
    }
}

/// A limit of a thread, with where it is from.
#[derive(Debug, Clone)]
struct Bound {
    /// The value where it is set.
    value: u64,
    /// The rest that the thread has of it.
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

struct Judge<'i> {
    items: &'i dyn CalledItems,
    /// The starts of each directive that was looked at.
    starts: HashMap<ItemId, Rc<[Start]>>,
    /// The directives that were judged, each with what it had of `depth` and `spawns`.
    judged: BTreeSet<(ItemId, u64, u64)>,
    /// The directives of the threads from the first child down.
    above: Vec<String>,
    refused: Vec<RefusedStart>,
}

impl Judge<'_> {
    /// Judges the start that comes after `before` others of the same thread.
    fn start(
        &mut self,
        (before, start): (u64, &Start),
        source: &NeedSource,
        (depth, spawns): (&Bound, &Bound),
        limits: &Limits,
    ) {
        let mut own = limits.clone();
        (own.depth, own.spawns) = (depth.left, spawns.left);
        if let Some(limit) = limit_of_start(&own, before) {
            let Bound { value, set_for, .. } =
                if limit == "depth" { depth } else { spawns }.clone();
            let ids = self.above.iter().cloned().chain([start.id.clone()]).collect();
            let refused = RefusedStart { ids, source: source.clone(), limit, value, set_for };
            if !self.refused.contains(&refused) {
                self.refused.push(refused);
            }
            return;
        }
        // A directive that starts itself, as a model may have it do, ends by the limits.
        let Ok(id) = start.id.parse::<ItemId>() else { return };
        if self.above.contains(&start.id) {
            return;
        }
        let left = depth.left.saturating_sub(1);
        let depth = depth.of_child(left, start.limits.depth, &start.id);
        let spawns = spawns.of_child(spawns.left, start.limits.spawns, &start.id);
        if !self.judged.insert((id.clone(), depth.left, spawns.left)) {
            return;
        }
        self.above.push(start.id.clone());
        for (before, below) in (0..).zip(self.starts_of(&id).iter()) {
            self.start((before, below), source, (&depth, &spawns), limits);
        }
        self.above.pop();
    }

    fn starts_of(&mut self, id: &ItemId) -> Rc<[Start]> {
        let items = self.items;
        let starts = || items.called_directive(id).map(|it| starts_of(&it.directive, items));
        let known = self.starts.entry(id.clone());
        Rc::clone(known.or_insert_with(|| starts().unwrap_or_default().into()))
    }
}
