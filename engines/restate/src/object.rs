//! The virtual object of a thread tree on Restate. Its key is the id of the root.

use std::sync::Arc;

use restate_sdk::prelude::*;
use serde_json::Value;

use crate::engine::{Engine, Place};
use crate::records::{Standing, Step};

/// One thread with all below it.
pub struct RyeThread(pub Arc<Engine>);

/// The signed request that started the thread.
const START: &str = "start";
/// The number of steps.
const STEPS: &str = "steps";
/// The end of the last run.
const END: &str = "end";

fn step_key(number: u64) -> String {
    format!("step/{number:08}")
}

/// The bytes after which an answer of `steps` ends. The server retries for ever with an answer above its limit of 32 MiB.
const PAGE_BYTES: usize = 1 << 20;

/// The most steps of one answer, each of which is read by itself.
const PAGE: u64 = 64;

#[restate_sdk::object]
impl RyeThread {
    /// Starts the thread, and returns at once.
    #[handler]
    async fn start(
        &self,
        context: ObjectContext<'_>,
        start: Json<Value>,
    ) -> Result<(), HandlerError> {
        let Json(start) = start;
        self.0.check_start(context.key(), &start).map_err(terminal)?;
        if context.get::<Json<Value>>(START).await?.is_some() {
            return Err(TerminalError::new_with_code(409, "there is such a thread already").into());
        }
        context.set(START, Json(start));
        go_on(&context);
        Ok(())
    }

    /// Drives the thread up to the next request to its model, or to its end.
    #[handler]
    async fn turn(&self, context: ObjectContext<'_>) -> Result<(), HandlerError> {
        let Some(Json(start)) = context.get::<Json<Value>>(START).await? else { return Ok(()) };
        if context.get::<Json<Value>>(END).await?.is_some() {
            return Ok(());
        }
        let kept = context.get::<u64>(STEPS).await?.unwrap_or(0);
        let mut place = Place { root: context.key().to_owned(), kept, steps: Vec::new() };
        loop {
            let number = place.next();
            let (engine, at, start) = (Arc::clone(&self.0), place.clone(), start.clone());
            let Json(step) = context
                .run(move || async move {
                    Ok(Json(engine.advance(&at, &start).await.map_err(retryable)?))
                })
                .name(format!("step {number}"))
                .await?;
            keep(&context, number, &step);
            if step.end.is_some() {
                return Ok(());
            }
            if step.begins_turn(&place.root) {
                go_on(&context);
                return Ok(());
            }
            place.steps.push(step);
        }
    }

    /// Carries out a signed order: to decide about a call, or to cancel the thread.
    #[handler]
    async fn order(
        &self,
        context: ObjectContext<'_>,
        order: Json<Value>,
    ) -> Result<(), HandlerError> {
        let Json(order) = order;
        self.0.check_order(context.key(), &order).map_err(terminal)?;
        if context.get::<Json<Value>>(START).await?.is_none() {
            return Err(TerminalError::new_with_code(404, "there is no such thread").into());
        }
        let kept = context.get::<u64>(STEPS).await?.unwrap_or(0);
        let place = Place { root: context.key().to_owned(), kept, steps: Vec::new() };
        let engine = Arc::clone(&self.0);
        let Json(obeyed) =
            context
                .run(move || async move {
                    Ok(Json(engine.obey(&place, &order).await.map_err(retryable)?))
                })
                .name(format!("order at step {kept}"))
                .await?;
        let step: Step = obeyed.map_err(|why: String| TerminalError::new_with_code(409, why))?;
        keep(&context, kept, &step);
        if step.end.is_none() {
            context.clear(END);
            go_on(&context);
        }
        Ok(())
    }

    /// Returns where the thread stands, at any time.
    #[handler]
    async fn standing(
        &self,
        context: SharedObjectContext<'_>,
    ) -> Result<Json<Standing>, HandlerError> {
        let start = context.get::<Json<Value>>(START).await?.map(Json::into_inner);
        let steps = context.get::<u64>(STEPS).await?.unwrap_or(0);
        let end = context.get::<Json<_>>(END).await?.map(Json::into_inner);
        Ok(Json(Standing { start, steps, end }))
    }

    /// Returns some steps from this number on, at any time.
    #[handler]
    async fn steps(
        &self,
        context: SharedObjectContext<'_>,
        from: Json<u64>,
    ) -> Result<Json<Vec<Step>>, HandlerError> {
        let all = context.get::<u64>(STEPS).await?.unwrap_or(0);
        let mut steps: Vec<Step> = Vec::new();
        let mut bytes = 0;
        for number in from.0..all.min(from.0.saturating_add(PAGE)) {
            let step = context.get::<Json<Step>>(&step_key(number)).await?;
            steps.extend(step.map(Json::into_inner));
            bytes += steps.last().map_or(0, Step::bytes);
            if PAGE_BYTES <= bytes {
                break;
            }
        }
        Ok(Json(steps))
    }
}

/// Adds a step to the object's state.
fn keep(context: &ObjectContext<'_>, number: u64, step: &Step) {
    context.set(&step_key(number), Json(step.clone()));
    context.set(STEPS, number + 1);
    if let Some(end) = &step.end {
        context.set(END, Json(end.clone()));
    }
}

/// Has any worker go on with the thread.
fn go_on(context: &ObjectContext<'_>) {
    let _invocation = context.object_client::<RyeThreadClient>(context.key()).turn().send();
}

/// An error that no worker mends.
fn terminal(error: anyhow::Error) -> HandlerError {
    TerminalError::new_with_code(400, format!("{error:#}")).into()
}

/// An error after which another worker, or this one later, may go on.
fn retryable(error: anyhow::Error) -> HandlerError {
    eprintln!("rye-worker: {error:#}");
    let error: Box<dyn std::error::Error + Send + Sync> = format!("{error:#}").into();
    error.into()
}
