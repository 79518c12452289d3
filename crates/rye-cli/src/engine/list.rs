//! The threads on an engine.

use rye::thread::{ThreadId, ThreadReference};
use serde_json::{Value, json};

use super::client::Engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::key_store::signing_key;

/// A thread on the engine as the user named it.
pub(crate) struct NamedThread {
    pub(crate) thread: ThreadId,
    /// The user gave the whole id. Otherwise the server's list chose the thread, and the list is not signed.
    pub(super) is_whole: bool,
}

impl Engine {
    /// Returns the rows of all threads of the operator on the engine, the newest first.
    pub(crate) fn list(&self, environment: &Environment) -> Result<Vec<Value>, Failure> {
        let operator = signing_key(environment)?.public();
        let place = format!("{}/{}/list", self.object("RyeThreads"), operator.fingerprint());
        let mut rows: Vec<Value> = Vec::new();
        let mut bytes = 0;
        loop {
            let after = rows.last().and_then(|row| row["thread"].as_str()).unwrap_or_default();
            let page = self.ask(&place, &json!(after))?;
            let page = page.as_array().ok_or_else(not_understood)?;
            if page.is_empty() {
                return Ok(rows);
            }
            for listed in page {
                let row = row(listed).ok_or_else(not_understood)?;
                bytes += row.to_string().len();
                if MOST_BYTES < bytes {
                    let n_rows = rows.len();
                    return Err(Failure::failed(format!(
                        "the engine lists more than {n_rows} threads"
                    )));
                }
                // A list that does not get older would have no end.
                if rows.last().is_some_and(|last| age(&last["thread"]) <= age(&row["thread"])) {
                    return Err(Failure::failed(format!(
                        "the engine's list of threads is not in order at {}",
                        row["thread"]
                    )));
                }
                rows.push(row);
            }
        }
    }

    /// Returns the thread on the engine that the reference means, or the newest one. A whole id is returned without a look at the engine.
    pub(crate) fn resolve(
        &self,
        reference: Option<&ThreadReference>,
        environment: &Environment,
    ) -> Result<NamedThread, Failure> {
        if let Some(Ok(thread)) = reference.map(|reference| reference.resolve([])) {
            return Ok(NamedThread { thread, is_whole: true });
        }
        let rows = self.list(environment)?;
        let known: Vec<ThreadId> =
            rows.iter().filter_map(|row| row["thread"].as_str()?.parse().ok()).collect();
        let none = || Failure::failed("you have no thread on this engine".to_owned());
        let thread = match reference {
            Some(reference) => reference.resolve(&known)?,
            None => known.into_iter().next().ok_or_else(none)?,
        };
        Ok(NamedThread { thread, is_whole: false })
    }
}

fn not_understood() -> Failure {
    Failure::failed("the engine's list of threads is not understood".to_owned())
}

/// Returns the members of a row that commands know, or `None` if one of them is missing or has another type.
fn row(listed: &Value) -> Option<Value> {
    let text = |name: &str| listed[name].as_str().filter(|text| text.len() <= MOST_CHARS);
    let thread: ThreadId = text("thread")?.parse().ok()?;
    Some(json!({
        "thread": thread.as_str(),
        "directive": text("directive")?,
        "state": text("state")?,
        "turns": listed["turns"].as_u64()?,
        "cost_nanos": listed["cost_nanos"].as_u64()?,
        "created": text("created")?,
        "updated": text("updated")?,
    }))
}

/// The order of the ids by the time in them: each ends with a UUID of version 7.
fn age(thread: &Value) -> (&str, &str) {
    let thread = thread.as_str().unwrap_or_default();
    let start = thread.len().checked_sub(36);
    (start.and_then(|start| thread.get(start..)).unwrap_or_default(), thread)
}

/// The most bytes of the list and of one text in it, so that a server cannot answer without end.
const MOST_BYTES: usize = 256 << 20;
const MOST_CHARS: usize = 1_000;
