//! The list of an operator's threads on the engine.
//!
//! It is an index: nothing is decided by it, and the object of each thread says how the thread stands.

use std::time::Duration;

use restate_sdk::endpoint::{HandlerOptions, ServiceOptions};
use restate_sdk::prelude::*;
use restate_sdk::service::ServiceDefinition;
use rye::SystemClock;

use crate::dispatch::{definition, dispatch};
use crate::records::{Listed, Row};

/// The threads of one operator. The key of the object is the fingerprint of the operator's key.
pub struct RyeThreads;

/// The most threads of one answer.
const PAGE: usize = 500;

impl RyeThreads {
    /// Returns the object under this name with its settings, as the server is told of it.
    pub fn define(self, name: &str) -> ServiceDefinition {
        let settings = ServiceOptions::new()
            // One thread changes, and the others are not read for it.
            .enable_lazy_state(true)
            .handler("list", HandlerOptions::new().enable_lazy_state(false))
            // A tool that reaches the server must not write here.
            .handler("note", HandlerOptions::new().ingress_private(true))
            .retry_policy_max_interval(Duration::from_secs(10))
            .retry_policy_max_attempts(u64::from(u32::MAX));
        definition(self, name).options(settings)
    }
}

dispatch!(RyeThreads: note, list;);

#[restate_sdk::object]
impl RyeThreads {
    /// Takes note of how a thread stands. A note that comes after a newer one counts for nothing.
    #[handler]
    async fn note(&self, context: ObjectContext<'_>, row: Json<Row>) -> Result<(), HandlerError> {
        let Json(row) = row;
        let known = context.get::<Json<Listed>>(&row.thread).await?.map(Json::into_inner);
        if known.as_ref().is_some_and(|known| row.step < known.row.step) {
            return Ok(());
        }
        let now = context.run(async || Ok(SystemClock::new().timestamp().to_string()));
        let updated = now.name("time").await?;
        let created = known.map_or_else(|| updated.clone(), |known| known.created);
        let thread = row.thread.clone();
        context.set(&thread, Json(Listed { row, created, updated }));
        Ok(())
    }

    /// Returns some threads, the newest first, at any time: those that are older than the thread `after`, or all if that is empty.
    #[handler]
    async fn list(
        &self,
        context: SharedObjectContext<'_>,
        after: Json<String>,
    ) -> Result<Json<Vec<Listed>>, HandlerError> {
        let mut threads = context.get_keys().await?;
        threads.sort_by(|one, other| age(other).cmp(&age(one)));
        let Json(after) = after;
        let older = threads.iter().filter(|it| after.is_empty() || age(it) < age(&after));
        let mut page = Vec::new();
        for thread in older.take(PAGE) {
            let listed = context.get::<Json<Listed>>(thread).await?;
            page.extend(listed.map(Json::into_inner));
        }
        Ok(Json(page))
    }
}

/// The order of the ids by the time in them: each ends with a UUID of version 7.
fn age(thread: &str) -> (&str, &str) {
    let start = thread.len().checked_sub(36);
    (start.and_then(|start| thread.get(start..)).unwrap_or_default(), thread)
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn threads_are_ordered_by_time_and_not_by_name() {
        let old = "zebra-019a0000-0000-7000-8000-000000000001";
        let new = "ant-019a0000-0000-7000-8000-000000000002";
        assert!(age(old) < age(new));
        assert!(age("x") < age(old), "what is no id comes last");
    }
}
