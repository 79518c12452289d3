//! The virtual object of a thread tree on Restate. Its key is the id of the root.

mod state;

use std::sync::Arc;
use std::time::Duration;

use restate_sdk::context::RequestTarget;
use restate_sdk::endpoint::{HandlerOptions, ServiceOptions};
use restate_sdk::prelude::*;
use restate_sdk::service::ServiceDefinition;
use serde_json::Value;

use self::state::{HEAD, Invocation, START, Tree, step_key};
use crate::dispatch::{definition, dispatch};
use crate::engine::Engine;
use crate::ingress::Object;
use crate::orders::Waiting;
use crate::queue::STEP_BYTES;
use crate::records::{Advance, CANCELLED, Carrying, End, Head, Row, Standing, Step};
use crate::requests::is_cancel;

/// One thread with all below it.
pub struct RyeThread(pub Arc<Engine>);

/// The bytes after which an answer of `steps` ends. The server retries for ever with an answer above its limit of 32 MiB.
const PAGE_BYTES: usize = 1 << 20;

/// The most steps of one answer, and how many of them are read at once. Each read is an answer of the server.
const PAGE: u64 = 64;
const READS: usize = 8;

// Whatever the last of them hold, an answer is not above the server's limit: JSON in JSON at most doubles a text.
const _: () = assert!(2 * (PAGE_BYTES + READS * STEP_BYTES) < 32 << 20);

/// The code of a refusal that another worker may not repeat (RFC 9110, section 15.5.20). The server and proxies have 500 to 504 for
/// their own troubles.
const REFUSED_HERE: u16 = 421;

/// The time after which the server cuts off a step, such as a long call. It would do so after eleven minutes by itself.
const LONGEST_STEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

impl RyeThread {
    /// Returns the object with its settings, as the server is told of it.
    pub fn define(self) -> ServiceDefinition {
        // A tool that reaches the server must not make turns, or carry out orders without a worker that knows of them.
        let driving = || HandlerOptions::new().ingress_private(true).abort_timeout(LONGEST_STEP);
        let reading = || HandlerOptions::new().journal_retention(Duration::ZERO);
        let settings = ServiceOptions::new()
            .handler("turn", driving())
            .handler("carry_out", driving())
            .handler("standing", reading())
            .handler("steps", reading())
            // A step reads what it needs, and not all steps before it.
            .enable_lazy_state(true)
            // The server would pause a thread after an hour without workers.
            .retry_policy_initial_interval(Duration::from_millis(50))
            .retry_policy_exponentiation_factor(2.0)
            // An order comes soon after a worker that it waited for.
            .retry_policy_max_interval(Duration::from_secs(2))
            .retry_policy_max_attempts(u64::from(u32::MAX));
        let name = self.0.ingress.name(Object::Thread);
        definition(self, &name).options(settings)
    }

    /// Has this worker drive the tree up to its next step, unless an earlier attempt recorded that. The inner error is the worker's refusal.
    async fn advance(
        &self,
        context: &ObjectContext<'_>,
        tree: &Tree,
    ) -> Result<Result<Advance, String>, TerminalError> {
        let engine = Arc::clone(&self.0);
        let at = tree.clone();
        let advance = move || async move {
            let advanced = engine.advance(&at.place, &at.start, at.bundle.as_ref()).await;
            Ok(Json(advanced.map_err(|error| refusal(&error))))
        };
        let name = format!("step {}", tree.place.next());
        context.run(advance).name(name).await.map(Json::into_inner)
    }

    /// Has this worker carry out an order about a tree that waits, unless an earlier attempt recorded that. The errors are the worker's
    /// refusal, and inside of it one that every worker repeats.
    async fn obey(
        &self,
        context: &ObjectContext<'_>,
        tree: &Tree,
        order: Value,
    ) -> Result<Result<Result<Vec<Step>, String>, String>, TerminalError> {
        let engine = Arc::clone(&self.0);
        let at = tree.clone();
        let obey = move || async move {
            let obeyed = engine.obey(&at.place, &at.start, &order, at.bundle.as_ref()).await;
            Ok(Json(obeyed.map_err(|error| refusal(&error))))
        };
        let name = format!("order at step {}", tree.head.steps);
        context.run(obey).name(name).await.map(Json::into_inner)
    }

    /// Has the list of the operator's threads say how this one stands.
    fn list(&self, context: &ObjectContext<'_>, start: &Value, head: &Head) {
        let target = self.target(Object::Threads, &self.0.operator(), "note");
        let note = context.request::<_, ()>(target, Json(Row::of(context.key(), start, head)));
        let _invocation = note.send();
    }

    /// Has any worker of the object go on with the thread, after a pause if there is one. A turn that was to come before does nothing.
    fn go_on(&self, context: &ObjectContext<'_>, head: &mut Head, pause: Option<Duration>) {
        head.turn += 1;
        context.set(HEAD, Json(head.clone()));
        let target = self.target(Object::Thread, context.key(), "turn");
        let turn = context.request::<_, ()>(target, Json(head.turn));
        let _invocation = match pause {
            Some(pause) => turn.send_after(pause),
            None => turn.send(),
        };
    }

    /// Returns the address of a handler of an object of workers with this label.
    fn target(&self, object: Object, key: &str, handler: &str) -> RequestTarget {
        RequestTarget::object(self.0.ingress.name(object), key, handler)
    }
}

dispatch!(RyeThread: start, turn, order, carry_out, steps; standing);

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
        let engine = Arc::clone(&self.0);
        let root = context.key().to_owned();
        let request = start.clone();
        let check = async move || Ok(Json(objection(engine.check_start(&root, &request))));
        let Json(objection) = context.run(check).name("check").await?;
        refuse(objection)?;
        if context.get::<Json<Value>>(START).await?.is_some() {
            return Err(TerminalError::new_with_code(409, "there is such a thread already").into());
        }
        self.list(&context, &start, &Head::default());
        context.set(START, Json(start));
        self.go_on(&context, &mut Head::default(), None);
        Ok(())
    }

    /// Drives the tree for about a second, up to requests to models that are not sent while nothing else is under way, or to its end.
    ///
    /// If this worker refuses, any worker is asked again after a pause.
    #[handler]
    async fn turn(&self, context: ObjectContext<'_>, turn: Json<u64>) -> Result<(), HandlerError> {
        let Some(mut tree) = Tree::read(&context).await? else { return Ok(()) };
        if tree.head.end.is_some() || tree.head.turn != turn.0 {
            return Ok(());
        }
        let mut invocation = Invocation::default();
        loop {
            let advance = match self.advance(&context, &tree).await? {
                Ok(advance) => advance,
                Err(last) => {
                    let pause = tree.head.refuse(last);
                    self.go_on(&context, &mut tree.head, Some(pause));
                    return Ok(());
                }
            };
            let is_over = invocation.ends_with(&advance, &tree.place);
            tree.keep_advance(&context, advance);
            if tree.head.end.is_some() {
                self.list(&context, &tree.start, &tree.head);
                return Ok(());
            }
            if is_over {
                tree.head.refusals = None;
                self.go_on(&context, &mut tree.head, None);
                return Ok(());
            }
        }
    }

    /// Takes a signed order: to decide about a call, or to cancel the thread. It is answered once it is carried out.
    ///
    /// Code 409 is a refusal that every worker repeats. After [`REFUSED_HERE`], any worker is asked again until the order expires.
    #[handler]
    async fn order(
        &self,
        context: SharedObjectContext<'_>,
        order: Json<Value>,
    ) -> Result<(), HandlerError> {
        let Json(order) = order;
        let engine = Arc::clone(&self.0);
        let root = context.key().to_owned();
        let request = order.clone();
        let check = async move || Ok(Json(objection(engine.check_order(&root, &request))));
        let Json(objection) = context.run(check).name("check").await?;
        refuse(objection)?;
        // Before the turn can see the order, and end for it.
        let head = context.get::<Json<Head>>(HEAD).await?.map(Json::into_inner).unwrap_or_default();
        let name = context.invocation_id().to_owned();
        let waiting = Waiting { name: name.clone(), order: order.clone() };
        let leave = self.target(Object::Orders, context.key(), "leave");
        context.request::<_, ()>(leave, Json(waiting)).call().await?;
        let carry_out = self.target(Object::Thread, context.key(), "carry_out");
        let carrying = Carrying { order, is_running: head.end.is_none() };
        let carried = context.request::<_, ()>(carry_out, Json(carrying)).call().await;
        let remove = self.target(Object::Orders, context.key(), "remove");
        let _invocation = context.request::<_, ()>(remove, Json(name)).send();
        Ok(carried?)
    }

    /// Carries out an order that [`RyeThread::order`] took.
    #[handler]
    async fn carry_out(
        &self,
        context: ObjectContext<'_>,
        carrying: Json<Carrying>,
    ) -> Result<(), HandlerError> {
        let Json(Carrying { order, is_running }) = carrying;
        let Some(mut tree) = Tree::read(&context).await? else {
            return Err(TerminalError::new_with_code(404, "there is no such thread").into());
        };
        let is_cancelled = tree.head.end.as_ref().is_some_and(|end| end.state == CANCELLED);
        if is_running && is_cancelled && is_cancel(&order) {
            // The turn that was under way did so.
            return Ok(());
        }
        let steps = match self.obey(&context, &tree, order.clone()).await? {
            Ok(Ok(steps)) => steps,
            Ok(Err(why)) => return Err(TerminalError::new_with_code(409, why).into()),
            Err(why) => {
                let pause = tree.head.refuse(why.clone());
                context.set(HEAD, Json(tree.head));
                let again = self.target(Object::Thread, context.key(), "order");
                let _invocation = context.request::<_, ()>(again, Json(order)).send_after(pause);
                return Err(TerminalError::new_with_code(REFUSED_HERE, why).into());
            }
        };
        tree.head.refusals = None;
        steps.into_iter().for_each(|step| tree.keep(&context, step));
        self.list(&context, &tree.start, &tree.head);
        if tree.head.end.is_none() {
            self.go_on(&context, &mut tree.head, None);
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
        let head = context.get::<Json<Head>>(HEAD).await?.map(Json::into_inner).unwrap_or_default();
        let refused = head.refusals.map(|refusals| refusals.last);
        let directive = start.map(|it| it["directive"].as_str().unwrap_or_default().to_owned());
        Ok(Json(Standing { directive, steps: head.steps, end: head.end, refused }))
    }

    /// Returns some steps from this number on, at any time.
    #[handler]
    async fn steps(
        &self,
        context: SharedObjectContext<'_>,
        from: Json<u64>,
    ) -> Result<Json<Vec<Step>>, HandlerError> {
        let head = context.get::<Json<Head>>(HEAD).await?;
        let all = head.map_or(0, |Json(head)| head.steps);
        let numbers = from.0..all.min(from.0.saturating_add(PAGE));
        let keys: Vec<String> = numbers.map(step_key).collect();
        let mut steps: Vec<Step> = Vec::new();
        for keys in keys.chunks(READS) {
            // All of them are asked for before the first is waited for.
            let reads: Vec<_> = keys.iter().map(|key| context.get::<Json<Step>>(key)).collect();
            for read in reads {
                steps.extend(read.await?.map(Json::into_inner));
            }
            if PAGE_BYTES <= steps.iter().map(Step::bytes).sum() {
                break;
            }
        }
        Ok(Json(steps))
    }
}

/// The result of a check as it is recorded. A later time, or another worker, may have another one, and a handler that runs again has to
/// go the same way.
fn objection(checked: anyhow::Result<()>) -> Option<String> {
    checked.err().map(|error| format!("{error:#}"))
}

fn refuse(objection: Option<String>) -> Result<(), TerminalError> {
    objection.map_or(Ok(()), |why| Err(TerminalError::new_with_code(400, why)))
}

/// The sentence of a worker that does not go on. Another worker, or this one later, may. It is kept with each step until then.
fn refusal(error: &anyhow::Error) -> String {
    eprintln!("rye-worker: {error:#}");
    format!("{error:#}").chars().take(End::MOST_CHARS).collect()
}
