//! What the object of a thread tree keeps, under which names, and the part of it that a handler changes.

use restate_sdk::prelude::*;
use serde_json::Value;

use crate::drivers::Place;
use crate::records::{Advance, Head, Step};

/// The signed request that started the thread.
pub(super) const START: &str = "start";
/// The signed list of the files with which it began.
pub(super) const BUNDLE: &str = "bundle";
/// What changes with each step: [`Head`].
pub(super) const HEAD: &str = "head";

/// The name of a step, which is kept by itself.
pub(super) fn step_key(number: u64) -> String {
    format!("step/{number:08}")
}

/// A tree as the engine keeps it, but for the steps of earlier invocations.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) start: Value,
    pub(super) bundle: Option<Value>,
    pub(super) head: Head,
    pub(super) place: Place,
}

impl Tree {
    /// Reads the tree of the object; `None` if no thread was started.
    pub(super) async fn read(context: &ObjectContext<'_>) -> Result<Option<Self>, TerminalError> {
        let Some(Json(start)) = context.get::<Json<Value>>(START).await? else { return Ok(None) };
        let head = context.get::<Json<Head>>(HEAD).await?.map(Json::into_inner).unwrap_or_default();
        let bundle = context.get::<Json<Value>>(BUNDLE).await?.map(Json::into_inner);
        let place = Place::new(context.key(), head.steps, head.last.clone());
        Ok(Some(Self { start, bundle, head, place }))
    }

    /// Keeps what a worker did, and moves behind it.
    pub(super) fn keep_advance(&mut self, context: &ObjectContext<'_>, advance: Advance) {
        if let Some(bundle) = advance.bundle {
            context.set(BUNDLE, Json(bundle.clone()));
            self.bundle = Some(bundle);
        }
        self.keep(context, advance.step);
    }

    /// Keeps a step, and moves behind it.
    pub(super) fn keep(&mut self, context: &ObjectContext<'_>, step: Step) {
        context.set(&step_key(self.head.steps), Json(step.clone()));
        self.head.keep(&step);
        context.set(HEAD, Json(self.head.clone()));
        self.place.advance(step);
    }
}
