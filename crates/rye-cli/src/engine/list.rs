//! The threads on an engine.

use rye::thread::{ThreadId, ThreadReference};
use serde_json::{Value, json};

use super::Engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::key_store::signing_key;

impl Engine {
    /// Returns the rows of all threads of the operator on the engine, the newest first.
    pub(crate) fn list(&self, environment: &Environment) -> Result<Vec<Value>, Failure> {
        let operator = signing_key(environment)?.public();
        let place = format!("RyeThreads/{}/list", operator.fingerprint());
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
            rows.extend(page.iter().cloned());
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

/// The most threads that are listed, so that a server cannot answer without end.
const MOST: usize = 1_000_000;
