//! `rye threads list`.

use rye::thread::{ThreadId, ThreadSummary};
use serde_json::{Value, json};

use super::{Known, NONE};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// The list of a project in which no thread has run.
pub(super) fn nothing(environment: &Environment) -> Exit {
    if environment.json() {
        output::json(&json!([]));
    } else {
        eprintln!("{NONE}");
    }
    Exit::Fine
}

pub(super) fn list(known: &Known, environment: &Environment) -> Result<Exit, Failure> {
    if environment.json() {
        let rows = known.summaries.iter().map(|thread| row(known, thread));
        output::json(&rows.collect::<Result<Value, _>>()?);
        return Ok(Exit::Fine);
    }
    for thread in &known.summaries {
        let (state, cost) =
            (known.standing(&thread.thread, thread.state)?, thread.cost.to_string());
        println!("{}  {state:<9}  {cost:>12}  {}", thread.created, thread.thread);
    }
    Ok(Exit::Fine)
}

/// What the registry and the leases say of a thread.
pub(super) fn row(known: &Known, thread: &ThreadSummary) -> Result<Value, Failure> {
    Ok(json!({
        "thread": thread.thread.as_str(),
        "parent": thread.parent.as_ref().map(ThreadId::as_str),
        "directive": thread.directive,
        "state": thread.state.as_str(),
        "driven_by": known.driver(&thread.thread)?,
        "created": thread.created.to_string(),
        "updated": thread.updated.to_string(),
        "cost_nanos": thread.cost.get(),
    }))
}
