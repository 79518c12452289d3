//! The thread trees that this worker drives, and the way from the engine's steps to a driver and back.
//!
//! A driver goes on only while a step of the engine waits for it: each sync of a transcript ends a step, and the sync
//! returns in the next one. So everything that a driver does rests on records that the engine keeps, as on one machine
//! everything rests on records that are on disk. A worker that has no driver for a tree makes one from the engine's
//! records, as `rye resume` does after a crash.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rye::sign::{PublicKey, SigningKey};
use rye::thread::{Cancel, Decider, Failure, FailureKind, Outcome, ThreadId, pending_approval};
use rye::types::{Nanos, ThreadState};
use rye::{Class, Host, ReopenError, RunError, RunReport, RunRequest, Rye, StepChain, SystemClock};
use serde_json::{Value, json};

use crate::admission::admit;
use crate::drivers::{Alone, Driven, Drivers, Place, Remote};
use crate::entry::Extent;
use crate::ingress::Ingress;
use crate::progress;
use crate::project::{Environment, Project};
use crate::queue::Queue;
use crate::records::{Advance, AskedCall, End, Step, assemble};
use crate::requests::{Authority, NamedCall, Order, read_order, read_start};
use crate::tree_files::TreeFolder;

/// Drives thread trees for the engine.
#[derive(Debug)]
pub struct Engine {
    /// The copies of projects on this machine, of one operator.
    projects: Vec<Arc<Project>>,
    authority: Authority,
    /// The client of the engine, with the names of the objects.
    pub ingress: Ingress,
    drivers: Drivers,
}

impl Engine {
    /// Creates an engine for the threads of an operator's projects.
    pub fn new(projects: Vec<Project>, authority: Authority, ingress: Ingress) -> Self {
        let projects = projects.into_iter().map(Arc::new).collect();
        Self { projects, authority, ingress, drivers: Drivers::default() }
    }

    /// Returns the key of the list of the operator's threads: the fingerprint of the operator's key.
    pub fn operator(&self) -> String {
        self.authority.operator.fingerprint().to_string()
    }

    /// Checks a request to start the thread `root`.
    ///
    /// # Errors
    ///
    /// When it is malformed, or this worker's operator did not sign it.
    pub fn check_start(&self, root: &str, start: &Value) -> anyhow::Result<()> {
        read_start(start, root, &self.authority)?;
        self.authority.check_new(start)
    }

    /// Checks an order about the tree `root`.
    ///
    /// # Errors
    ///
    /// As [`Engine::check_start`].
    pub fn check_order(&self, root: &str, order: &Value) -> anyhow::Result<()> {
        read_order(order, root, &self.authority)?;
        self.authority.check_new(order)
    }

    /// Drives the tree to its next sync, or to its end. `bundle` is what the engine keeps of the files with which the thread began.
    ///
    /// # Errors
    ///
    /// When this worker cannot go on with the tree: it has other files, another trust policy or operator, or the engine's records were
    /// changed. Another worker may be able to.
    pub async fn advance(
        &self,
        place: &Place,
        start: &Value,
        bundle: Option<&Value>,
    ) -> anyhow::Result<Advance> {
        if bundle.is_none() && 0 < place.next() {
            anyhow::bail!("the engine has no bundle of `{}`, which has begun", place.root);
        }
        let known = self.drivers.take(place);
        let mut new = None;
        let mut driven = match known {
            Some(driven) if !place.steps.is_empty() => driven,
            // Once in each turn, because the files may have changed.
            known => {
                let (project, signed) = self.admit(&place.root, start, bundle).await?;
                new = signed;
                match known {
                    Some(driven) if Arc::ptr_eq(&driven.project, &project) => driven,
                    other => {
                        drop(other);
                        self.begin(place, start, project).await?
                    }
                }
            }
        };
        let key = driven.project.key();
        let tree = driven.project.tree(&place.root.parse()?);
        progress::note(&tree.progress(), place)?;
        let remote = driven.remote();
        let advanced = tokio::select! {
            advanced = driven.advance(place) => advanced?,
            never = self.watch_orders(&place.root, &remote) => match never {},
        };
        match &advanced.step.end {
            None => self.drivers.keep(&place.root, driven),
            Some(end) => {
                let alone = self.drivers.wait_alone(&place.root).await;
                let end = end.clone();
                let forget = move || {
                    let _alone = alone;
                    forget_ended(&tree, &end);
                };
                tokio::task::spawn_blocking(forget).await?;
            }
        }
        Ok(Advance { step: seal(advanced.step, place, &key)?, bundle: new, ..advanced })
    }

    /// Looks for orders about the tree while a step of it runs, at first after a second.
    async fn watch_orders(&self, root: &str, remote: &Remote) -> Infallible {
        let mut pause = Duration::from_secs(1);
        loop {
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(Duration::from_secs(4));
            // An engine that does not answer now answers later.
            for order in self.ingress.orders(root).await.unwrap_or_default() {
                // One whose handler was removed through the administration stays there.
                if self.authority.check_new(&order).is_err() {
                    continue;
                }
                if let Ok(order) = read_order(&order, root, &self.authority) {
                    remote.make_room_for(&order);
                }
            }
        }
    }

    /// Returns the copy of the project with the files that the thread began with.
    async fn admit(
        &self,
        root: &str,
        start: &Value,
        pinned: Option<&Value>,
    ) -> anyhow::Result<(Arc<Project>, Option<Value>)> {
        admit(&self.projects, root, start, pinned, &self.authority).await
    }

    /// Makes a driver from what the engine keeps of the tree.
    async fn begin(
        &self,
        place: &Place,
        start: &Value,
        project: Arc<Project>,
    ) -> anyhow::Result<Driven> {
        let request = read_start(start, &place.root, &self.authority)?.request;
        // An attempt that was cut off may have left a driver that still writes its last lines.
        let alone = self.drivers.wait_alone(&place.root).await;
        let tree = project.tree(&request.thread);
        let Restored { extents, end } = self.restore(place, &tree, &alone).await?;
        if let Some(End { state, .. }) = end {
            anyhow::bail!("the last step of `{}` ended it as {state}", place.root);
        }
        let has_begun = extents.contains_key(&place.root);
        let queue = Arc::new(Queue::new(extents));
        let rye = project.rye(&tree, Arc::clone(&queue) as _)?;
        let running = Arc::clone(&project);
        let cancel = Cancel::new();
        let own = cancel.clone();
        let run = async move {
            let _alone = alone;
            if has_begun {
                resume(&rye, &request.thread, &running, &own).await
            } else {
                begin(&rye, request, &running, &own).await
            }
        };
        let driver = tokio::spawn(run);
        Ok(Driven::new(place, project, (queue, cancel), driver))
    }

    /// Writes the transcripts of the tree as the engine keeps them.
    ///
    /// What this machine derived from other records goes: it would claim them. Steps that no worker of the operator signed are refused.
    async fn restore(
        &self,
        place: &Place,
        tree: &TreeFolder,
        alone: &Alone,
    ) -> anyhow::Result<Restored> {
        let mut steps = self.ingress.steps(&place.root, place.kept).await?;
        steps.extend_from_slice(&place.steps);
        let transcripts = assemble(steps.iter().flat_map(|step| &step.changes))?;
        let has_records = steps.iter().any(|step| !step.changes.is_empty());
        if has_records && transcripts.get(&place.root).is_none_or(String::is_empty) {
            anyhow::bail!("the engine has steps of `{}` without a record of it", place.root);
        }
        let tree = tree.clone();
        let place = place.clone();
        let alone = Alone::clone(alone);
        let operator = self.authority.operator.clone();
        let restored = move || {
            let _alone = alone;
            let digests = verify(&steps, &place, &operator)?;
            progress::check(&tree.progress(), &place.root, &digests)?;
            let extents = tree.restore(&transcripts)?;
            Ok(Restored { extents, end: steps.pop().and_then(|step| step.end) })
        };
        tokio::task::spawn_blocking(restored).await?
    }

    /// Carries out an order of the operator about a tree that no worker drives any more.
    ///
    /// # Errors
    ///
    /// As [`Engine::advance`].
    pub async fn obey(
        &self,
        place: &Place,
        start: &Value,
        order: &Value,
        bundle: Option<&Value>,
    ) -> anyhow::Result<Result<Vec<Step>, String>> {
        // The server may have kept it for longer than its own check allows.
        if let Err(expired) = self.authority.check_new(order) {
            return Ok(Err(expired.to_string()));
        }
        let order = read_order(order, &place.root, &self.authority)?;
        drop(self.drivers.remove(&place.root));
        let alone = self.drivers.wait_alone(&place.root).await;
        let project = match (self.admit(&place.root, start, bundle).await, &order) {
            (Ok((project, _)), _) => project,
            // A tree that this worker does not go on with can still be ended, for which no file of a project is used.
            (Err(refusal), Order::Cancel) => self.projects.first().cloned().ok_or(refusal)?,
            (Err(refusal), Order::Decide { .. }) => return Err(refusal),
        };
        let root = place.root.parse::<ThreadId>()?;
        let tree = project.tree(&root);
        let Restored { extents, .. } = self.restore(place, &tree, &alone).await?;
        match &order {
            Order::Cancel if !extents.contains_key(&place.root) => {
                let end = Some(end_before_the_beginning());
                let step = Step { end, ..Step::default() };
                return Ok(Ok(vec![seal(step, place, &project.key())?]));
            }
            Order::Decide { call, .. } if !extents.contains_key(call.thread.as_str()) => {
                return Ok(Err(format!("no thread `{}` is in this tree", call.thread)));
            }
            _ => {}
        }
        let key = project.key();
        let queue = Arc::new(Queue::without_waits(extents));
        let rye = project.rye(&tree, Arc::clone(&queue) as _)?;
        let done = move || {
            let _alone = alone;
            let done = carry_out(&rye, &root, order, &project)?;
            if let Ok(Some(end)) = &done {
                forget_ended(&tree, end);
            }
            anyhow::Ok(done)
        };
        let done = tokio::task::spawn_blocking(done).await??;
        match done.and_then(|end| steps_of(&queue, end)) {
            Ok(steps) => Ok(Ok(seal_all(steps, place, &key)?)),
            Err(refusal) => Ok(Err(refusal)),
        }
    }
}

/// Returns the step with the signature of this worker. `place` is its own.
fn seal(step: Step, place: &Place, key: &SigningKey) -> anyhow::Result<Step> {
    let mut chain = StepChain::at(&place.root, place.next(), place.last.clone());
    chain.add(&json!(step.changes), &json!(step.end));
    let signature = chain.sign(key, SystemClock::new().timestamp())?;
    Ok(Step { signature, ..step })
}

/// Returns the steps, which follow one another, with the signatures of this worker.
fn seal_all(steps: Vec<Step>, place: &Place, key: &SigningKey) -> anyhow::Result<Vec<Step>> {
    let mut place = place.clone();
    let sealed = steps.into_iter().map(|step| {
        let sealed = seal(step, &place, key)?;
        place.advance(sealed.clone());
        Ok(sealed)
    });
    sealed.collect()
}

/// What this worker restored of a tree.
struct Restored {
    /// The extents of its transcripts.
    extents: BTreeMap<String, Extent>,
    /// The end in the last step. No turn follows one.
    end: Option<End>,
}

/// Checks that workers of the operator made the steps before a place, and that none was changed, added, or left out before the last.
/// Returns the digest of each step.
///
/// This worker signs the digest of the last step, so that it has to be theirs, too.
fn verify(steps: &[Step], place: &Place, operator: &PublicKey) -> anyhow::Result<Vec<String>> {
    let root = &place.root;
    let mut chain = StepChain::new(root);
    let digests = steps.iter().filter_map(|step| {
        chain.add(&json!(step.changes), &json!(step.end));
        chain.digest().map(str::to_owned)
    });
    let digests = digests.collect();
    let signature = steps.last().map_or("", |step| &step.signature);
    let verified = chain.verify(signature, operator);
    verified
        .with_context(|| format!("the engine's steps of `{root}` are not as workers made them"))?;
    if chain.digest() != place.last.as_deref() {
        anyhow::bail!("the engine's steps of `{root}` are not those whose digest it keeps");
    }
    Ok(digests)
}

/// The most steps of one order. The server keeps them as one value, whose limit is 32 MiB.
const MOST_STEPS_OF_ORDER: usize = 8;

/// Returns the records of an order in steps, the last of which has the end. The error is one that every worker repeats.
fn steps_of(queue: &Queue, end: Option<End>) -> Result<Vec<Step>, String> {
    let mut steps = vec![Step { changes: queue.take().changes, ..Step::default() }];
    loop {
        let changes = queue.take().changes;
        if changes.is_empty() {
            break;
        }
        steps.push(Step { changes, ..Step::default() });
        if MOST_STEPS_OF_ORDER < steps.len() {
            return Err(format!(
                "the records of the order do not fit into {MOST_STEPS_OF_ORDER} MiB"
            ));
        }
    }
    if let Some(last) = steps.last_mut() {
        last.end = end;
    }
    Ok(steps)
}

/// Removes this machine's records of a tree that has ended. If the engine lacks the last step, it is made again from those before.
fn forget_ended(tree: &TreeFolder, end: &End) {
    if end.state != ThreadState::Suspended.as_str() {
        tree.remove_threads();
    }
}

async fn begin(
    rye: &Rye,
    request: RunRequest,
    project: &Project,
    cancel: &Cancel,
) -> anyhow::Result<End> {
    let clock = SystemClock::new();
    match rye.run(request, host(&clock, cancel, project)).await {
        Ok(report) => end(rye, report),
        // Another worker may have what this one lacks.
        Err(RunError::Prepare { source, .. }) if source.is_of_machine() => Err((*source).into()),
        Err(error @ RunError::Prepare { .. }) => Ok(end_of_failure(&error)),
        Err(error) => Err(error.into()),
    }
}

async fn resume(
    rye: &Rye,
    thread: &ThreadId,
    project: &Project,
    cancel: &Cancel,
) -> anyhow::Result<End> {
    let clock = SystemClock::new();
    match rye.resume(thread, host(&clock, cancel, project)).await {
        Ok(report) => end(rye, report),
        Err(ReopenError::Ended { thread, .. }) => recorded_end(rye, &thread),
        Err(error) => Err(error.into()),
    }
}

fn host<'a>(clock: &'a SystemClock, cancel: &'a Cancel, project: &Project) -> Host<'a> {
    let mut host = Host::new(clock, cancel);
    host.secrets = &Environment;
    host.signing_key = Some(project.key());
    host
}

fn end(rye: &Rye, report: RunReport) -> anyhow::Result<End> {
    let Outcome { state, turns, cost, failure, asked, .. } = report.outcome;
    if state == ThreadState::Running {
        let failure = failure.map_or_else(String::new, |failure| format!(": {failure}"));
        anyhow::bail!("the thread stopped on this worker{failure}");
    }
    let asked = asked.map(|request| asked_call(rye, &request.thread)).transpose()?;
    Ok(End { asked, ..end_of(state, failure.as_ref(), turns, cost) })
}

/// Returns the call that a thread waits with.
fn asked_call(rye: &Rye, thread: &ThreadId) -> anyhow::Result<AskedCall> {
    let threads = rye.threads().context("there is no project")?;
    let reading = rye.thread(&threads, thread)?;
    let asked = pending_approval(&reading.transcript).context("no call waits")?;
    Ok(AskedCall {
        thread: thread.as_str().to_owned(),
        seq: asked.seq,
        item: asked.request.item_id,
        sha256: asked.request.sha256,
    })
}

/// Returns the end that the transcript of a thread holds.
fn recorded_end(rye: &Rye, thread: &ThreadId) -> anyhow::Result<End> {
    let threads = rye.threads().context("there is no project")?;
    let record = rye.thread(&threads, thread)?.record;
    Ok(end_of(record.state, record.failure.as_ref(), record.turns, record.cost))
}

fn end_of(state: ThreadState, failure: Option<&Failure>, turns: u64, cost: Nanos) -> End {
    let end = End {
        state: state.as_str().to_owned(),
        class: failure.and_then(class),
        turns,
        cost_nanos: cost.get(),
        ..End::default()
    };
    match failure {
        Some(failure) => end.because(&failure.to_string()),
        None => end,
    }
}

fn class(failure: &Failure) -> Option<String> {
    match failure.kind {
        FailureKind::Limit(_) => Some("limit".to_owned()),
        FailureKind::Refused => Some("refused".to_owned()),
        _ => None,
    }
}

fn end_of_failure(error: &RunError) -> End {
    let mut failure = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        failure = format!("{failure}: {cause}");
        source = cause.source();
    }
    let class = (error.class() == Class::Refused).then(|| "refused".to_owned());
    let end = End { state: ThreadState::Error.as_str().to_owned(), class, ..End::default() };
    end.because(&failure)
}

/// Carries out an order. The inner error is a refusal, which another worker would repeat.
fn carry_out(
    rye: &Rye,
    root: &ThreadId,
    order: Order,
    project: &Project,
) -> anyhow::Result<Result<Option<End>, String>> {
    let clock = SystemClock::new();
    let cancel = Cancel::new();
    let host = host(&clock, &cancel, project);
    match order {
        Order::Cancel => match rye.cancel(root, &host) {
            Ok(cancelled) => {
                let last = cancelled.went_on_in.as_ref().unwrap_or(root);
                Ok(Ok(Some(recorded_end(rye, last)?)))
            }
            Err(error @ ReopenError::Ended { .. }) => Ok(Err(error.to_string())),
            Err(error) => Err(error.into()),
        },
        Order::Decide { call, decision } => {
            let NamedCall { thread, seq, item, sha256 } = call;
            let threads = rye.threads().context("there is no project")?;
            let reading = rye.thread(&threads, &thread)?;
            let asked = pending_approval(&reading.transcript).filter(|it| it.seq == seq);
            let Some(asked) = asked else {
                return Ok(Err(format!("no call of `{thread}` waits with record {seq}")));
            };
            if asked.request.item_id != item || asked.request.sha256 != sha256 {
                let shown = "the call that waits is another one than the engine showed";
                return Ok(Err(format!("{shown}; decide again after `rye run` or a look at it")));
            }
            match rye.decide_about(&asked, &decision, &Decider::command(), &host) {
                Ok(_) => Ok(Ok(None)),
                Err(error) if is_for_all(&error) => Ok(Err(error.to_string())),
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// Returns `true` for a refusal of a decision that every worker repeats.
fn is_for_all(error: &ReopenError) -> bool {
    matches!(
        error,
        ReopenError::AnotherCall { .. }
            | ReopenError::AskedBelow { .. }
            | ReopenError::BelowEnded { .. }
            | ReopenError::Decided { .. }
            | ReopenError::EachByItself { .. }
            | ReopenError::Ended { .. }
            | ReopenError::NothingAsked { .. }
    )
}

/// Returns the end of a thread that was cancelled before it began, of which nothing is on record.
fn end_before_the_beginning() -> End {
    End { state: ThreadState::Cancelled.as_str().to_owned(), ..End::default() }
}

#[cfg(test)]
mod tests {
    use rye::thread::store::Replica as _;

    use super::*;
    use crate::queue::STEP_BYTES;

    /// A thread of many children has a record of its end for each.
    #[test]
    fn the_records_of_an_order_take_several_steps_with_one_end() {
        let thread = "one-019a0000-0000-7000-8000-000000000002".parse().unwrap();
        let steps = |bytes| {
            let queue = Queue::without_waits(BTreeMap::new());
            queue.append(&thread, &vec![b'a'; bytes]).unwrap();
            steps_of(&queue, Some(end_before_the_beginning()))
        };
        let kept = steps(2 * STEP_BYTES + 1).unwrap();
        let ends: Vec<bool> = kept.iter().map(|step| step.end.is_some()).collect();
        assert_eq!(ends, [false, false, true]);
        assert_eq!(kept.iter().map(Step::bytes).sum::<usize>(), 2 * STEP_BYTES + 1);
        assert_eq!(steps(MOST_STEPS_OF_ORDER * STEP_BYTES).unwrap().len(), MOST_STEPS_OF_ORDER);
        let error = steps(MOST_STEPS_OF_ORDER * STEP_BYTES + 1).unwrap_err();
        assert!(error.contains("do not fit"), "{error}");
    }
}
