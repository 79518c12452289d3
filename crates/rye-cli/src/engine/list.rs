//! The threads on an engine.

use rye::thread::{ThreadId, ThreadReference};
use serde_json::{Value, json};

use super::client::Engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::key_store::signing_key;
use crate::output;

impl Engine {
    /// Returns the rows of all threads of the operator on the engine, the newest first.
    pub(crate) fn list(&self, environment: &Environment) -> Result<Vec<Value>, Failure> {
        let operator = signing_key(environment)?.public();
        let place = format!("{}/{}/list", self.object("RyeThreads"), operator.fingerprint());
        let mut rows: Vec<Value> = Vec::new();
        loop {
            let after = rows.last().and_then(|row| row["thread"].as_str()).unwrap_or_default();
            let page = self.ask(&place, &json!(after))?;
            let page = page.as_array().ok_or_else(|| {
                Failure::failed("the engine's list of threads is not understood".to_owned())
            })?;
            if page.is_empty() {
                return Ok(rows);
            }
            if MOST < rows.len() + page.len() {
                return Err(Failure::failed(format!("the engine lists more than {MOST} threads")));
            }
            for row in page {
                let thread = row["thread"].as_str().unwrap_or_default();
                // A list that does not get older would have no end.
                if rows.last().is_some_and(|last| age(&last["thread"]) <= age(&row["thread"])) {
                    return Err(Failure::failed(format!(
                        "the engine's list of threads is not in order at `{}`",
                        output::line(thread)
                    )));
                }
                rows.push(row.clone());
            }
        }
    }

    /// Returns the thread on the engine that the reference means, or the newest one. A whole id is returned without a look at the engine.
    pub(crate) fn resolve(
        &self,
        reference: Option<&ThreadReference>,
        environment: &Environment,
    ) -> Result<ThreadId, Failure> {
        if let Some(Ok(whole)) = reference.map(|reference| reference.resolve([])) {
            return Ok(whole);
        }
        let rows = self.list(environment)?;
        let known: Vec<ThreadId> =
            rows.iter().filter_map(|row| row["thread"].as_str()?.parse().ok()).collect();
        match reference {
            Some(reference) => reference.resolve(&known).map_err(Failure::from),
            None => known
                .into_iter()
                .next()
                .ok_or_else(|| Failure::failed("you have no thread on this engine".to_owned())),
        }
    }
}

/// The order of the ids by the time in them: each ends with a UUID of version 7.
fn age(thread: &Value) -> (&str, &str) {
    let thread = thread.as_str().unwrap_or_default();
    let start = thread.len().checked_sub(36);
    (start.and_then(|start| thread.get(start..)).unwrap_or_default(), thread)
}

/// The most threads that are listed, so that a server cannot answer without end.
const MOST: usize = 1_000_000;
