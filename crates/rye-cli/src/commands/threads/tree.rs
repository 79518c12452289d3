//! `rye threads tree`.

use std::collections::BTreeMap;

use rye::thread::{ThreadId, ThreadSummary};
use rye::types::ThreadState;
use serde_json::Value;

use super::list::row;
use super::{Known, no_thread, read};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};
use crate::thread_argument::OptionalThread;

pub(super) fn tree(
    top: &OptionalThread,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let tops = tops(top.resolve(environment)?.as_ref(), known)?;
    let below = Below { known, children: children(known), goes_on: goes_on(known, environment)? };
    if environment.json() {
        Answer::of("threads", tops.into_iter().map(|top| below.json(top, 0))).print();
    } else {
        tops.into_iter().for_each(|top| below.print(top, 0));
    }
    Ok(Exit::Fine)
}

fn tops<'a>(top: Option<&ThreadId>, known: &'a Known) -> Result<Vec<&'a ThreadSummary>, Failure> {
    match top {
        None => Ok(known.summaries.iter().filter(|thread| known.is_first(thread)).collect()),
        Some(thread) => known.find(thread).map(|top| vec![top]).ok_or_else(|| no_thread(thread)),
    }
}

/// Returns the successors of threads, according to the signed records.
fn goes_on(
    known: &Known,
    environment: &Environment,
) -> Result<BTreeMap<ThreadId, ThreadId>, Failure> {
    let mut goes_on = BTreeMap::new();
    for summary in known.summaries.iter().filter(|it| it.state == ThreadState::Continued) {
        let reading = read(&summary.thread, &known.threads, environment)?;
        goes_on.extend(reading.record.continued_by.map(|next| (summary.thread.clone(), next)));
    }
    Ok(goes_on)
}

/// Returns the children of each thread, oldest first.
fn children(known: &Known) -> BTreeMap<&ThreadId, Vec<&ThreadSummary>> {
    let mut children: BTreeMap<&ThreadId, Vec<&ThreadSummary>> = BTreeMap::new();
    for summary in known.summaries.iter().rev() {
        if let Some(parent) = &summary.parent {
            children.entry(parent).or_default().push(summary);
        }
    }
    children
}

struct Below<'a> {
    known: &'a Known,
    children: BTreeMap<&'a ThreadId, Vec<&'a ThreadSummary>>,
    goes_on: BTreeMap<ThreadId, ThreadId>,
}

impl<'a> Below<'a> {
    /// Returns the children of a thread. The depth is limited, because rows of the registry are not signed
    /// and may form a circle.
    fn children(
        &self,
        thread: &'a ThreadSummary,
        depth: usize,
    ) -> impl Iterator<Item = &'a ThreadSummary> + use<'_, 'a> {
        let children = self.children.get(&thread.thread).filter(|_| depth < MOST_LEVELS);
        children.into_iter().flatten().copied()
    }

    fn print(&self, thread: &'a ThreadSummary, depth: usize) {
        let lead = "  ".repeat(depth);
        let state = self.known.standing(&thread.thread, thread.state);
        let next = self.goes_on.get(&thread.thread);
        let next = next.map_or(String::new(), |next| format!("  as {next}"));
        let figures = self.known.figures_of(thread);
        let (turns, cost) = (output::turns(figures.turns), figures.cost);
        let inputs = self.known.inputs_of(&thread.thread);
        let inputs = inputs.iter().map(|(name, value)| format!("  {name}={}", in_short(value)));
        let inputs: String = inputs.collect();
        println!("{lead}{}  {state}  {turns}  {cost}{next}{inputs}", thread.thread);
        self.children(thread, depth).for_each(|child| self.print(child, depth + 1));
    }

    fn json(&self, thread: &'a ThreadSummary, depth: usize) -> Value {
        let mut branch = row(self.known, thread);
        if let Some(next) = self.goes_on.get(&thread.thread) {
            branch["continued_by"] = next.as_str().into();
        }
        branch["inputs"] = self.known.inputs_of(&thread.thread).into();
        branch["total_nanos"] = self.known.cost_of(thread).get().into();
        let children = self.children(thread, depth).map(|child| self.json(child, depth + 1));
        branch["children"] = children.collect();
        branch
    }
}

/// Returns the beginning of an input.
fn in_short(value: &Value) -> String {
    let text = output::text(value);
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

const MOST_CHARS: usize = 40;
const MOST_LEVELS: usize = 16;
