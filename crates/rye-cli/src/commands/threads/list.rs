//! `rye threads list`.

use rye::parse::{did_you_mean, nearest_name};
use rye::thread::{ThreadId, ThreadSummary};
use serde_json::{Value, json};

use super::{Known, List, NONE};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Answer;

/// Prints the list of a project without threads.
pub(super) fn nothing(environment: &Environment) -> Exit {
    if environment.json() {
        Answer::of("threads", []).print();
    } else {
        eprintln!("{NONE}");
    }
    Exit::Fine
}

pub(super) fn list(
    arguments: &List,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let mut listed = Vec::new();
    for thread in &known.summaries {
        let standing = known.standing(&thread.thread, thread.state);
        if arguments.selects(&thread.directive, standing) {
            listed.push((thread, standing));
        }
    }
    if environment.json() {
        Answer::of("threads", listed.into_iter().map(|(thread, _)| row(known, thread))).print();
        return Ok(Exit::Fine);
    }
    for (thread, state) in listed {
        let cost = known.cost_of(thread).to_string();
        let mark = match known.is_unverified(thread) {
            Some(true) => "  unverified",
            Some(false) => "",
            None => "  unverified?",
        };
        println!("{}  {state:<9}  {cost:>12}  {}{mark}", thread.created, thread.thread);
    }
    let directives = || known.summaries.iter().map(|thread| thread.directive.as_str());
    for id in &arguments.directive {
        if directives().all(|directive| directive != id.as_str()) {
            let near = did_you_mean(nearest_name(id.as_str(), directives()));
            eprintln!("no thread of directive `{id}` is here{near}");
        }
    }
    Ok(Exit::Fine)
}

impl List {
    /// Returns `true` if the filters select a thread of this directive in this state.
    pub(super) fn selects(&self, directive: &str, standing: &str) -> bool {
        let is_state = self.state.is_empty() || self.state.iter().any(|state| state == standing);
        let is_directive =
            self.directive.is_empty() || self.directive.iter().any(|id| id.as_str() == directive);
        is_state && is_directive
    }
}

/// Returns the JSON row of a thread, with the owner of its tree.
pub(super) fn row(known: &Known, thread: &ThreadSummary) -> Value {
    let driver = match thread.state.is_final() {
        true => None,
        false => known.driver(&thread.thread),
    };
    let figures = known.figures_of(thread);
    json!({
        "thread": thread.thread.as_str(),
        "parent": thread.parent.as_ref().map(ThreadId::as_str),
        "directive": thread.directive,
        "state": thread.state.as_str(),
        "driven_by": driver,
        "created": thread.created.to_string(),
        "updated": thread.updated.to_string(),
        "duration_millis": u64::try_from(figures.duration.as_millis()).unwrap_or(u64::MAX),
        "model": thread.model,
        "turns": figures.turns,
        "tokens": {
            "input": figures.usage.input,
            "output": figures.usage.output,
            "cache_read": figures.usage.cache_read,
            "cache_write": figures.usage.cache_write,
        },
        "cost_nanos": figures.cost.get(),
        "used_unsigned": known.is_unverified(thread),
    })
}
