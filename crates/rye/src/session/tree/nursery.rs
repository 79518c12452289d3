//! The one place where the threads of a tree are begun and driven: beside the first of them, for as long as it takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use rye_sign::SigningKey;
use rye_thread::budget::Ledger as _;
use rye_thread::{
    Cancel, FailureKind, Limits, Nanos, Outcome, Spawn, SpawnRequest, SpendLimit, ThreadId,
    ThreadState, ToolOutput, Waiting, spawned_children,
};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tracing::{Instrument as _, Span};

use super::arguments::{Wanted, told, wanted};
use super::{Lineage, Order, Report, Standing, Tree};
use crate::Rye;
use crate::outcome::Class;
use crate::session::begin::Begun;
use crate::session::prepare::{Prepared, prepare};
use crate::session::request::{Host, RunRequest};
use crate::session::{PrepareError, Store, leave_failed, with_causes};
use crate::thread_reading::{Found, ThreadReading, Voucher};

/// What all threads of a tree are driven with.
pub(in crate::session) struct Nursery<'a> {
    rye: &'a Rye,
    host: Host<'a>,
    tree: Arc<Tree>,
    store: Arc<Store>,
    key: Arc<SigningKey>,
    places: Arc<Semaphore>,
    prepared: BTreeMap<ThreadId, Prepared>,
    running: FuturesUnordered<BoxFuture<'a, ()>>,
}

impl<'a> Nursery<'a> {
    pub(in crate::session) fn new(
        rye: &'a Rye,
        host: Host<'a>,
        tree: Arc<Tree>,
        store: Arc<Store>,
        key: Arc<SigningKey>,
        places: Arc<Semaphore>,
    ) -> Self {
        let (prepared, running) = (BTreeMap::new(), FuturesUnordered::new());
        // Events do not say whose they are, so that whoever watches the first thread watches it alone.
        let host = Host { observer: &(), ..host };
        Self { rye, host, tree, store, key, places, prepared, running }
    }
}

/// Drives `first`, and all that is started below it, until all of them stand still.
pub(in crate::session) async fn nursed<T>(
    mut nursery: Nursery<'_>,
    mut orders: mpsc::UnboundedReceiver<(Span, Order)>,
    first: impl Future<Output = T>,
) -> T {
    let ended = {
        tokio::pin!(first);
        loop {
            tokio::select! {
                biased;
                ended = &mut first => break ended,
                Some((span, order)) = orders.recv() => span.in_scope(|| nursery.take(order)),
                Some(()) = nursery.running.next() => {}
            }
        }
    };
    // Every thread parts with its children before it ends, so that this is for those that could not.
    nursery.tree.interrupt_all();
    while !nursery.running.is_empty() {
        tokio::select! {
            biased;
            Some((span, order)) = orders.recv() => span.in_scope(|| nursery.take(order)),
            Some(()) = nursery.running.next() => {}
        }
    }
    ended
}

impl<'a> Nursery<'a> {
    /// Whoever asked may have been stopped since, and hears nothing.
    fn take(&mut self, order: Order) {
        match order {
            Order::Prepare { parent, request, reply } => {
                drop(reply.send(self.prepare(&parent, &request)));
            }
            Order::Start { parent, spawn, arguments, reply } => {
                drop(reply.send(self.start(&parent, &spawn, &arguments)));
            }
            Order::Adopt { parent, spawns, reply } => {
                drop(reply.send(self.adopt(&parent, &spawns)));
            }
            Order::Key { reply } => {
                let at = self.host.clock.now().timestamp();
                let key = self.host.signing_key.as_ref();
                drop(reply.send(key.map(|key| (Arc::clone(key), at))));
            }
            Order::Close { thread, reply } => drop(reply.send(self.close(&thread))),
        }
    }

    fn prepare(&mut self, parent: &ThreadId, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let wanted = wanted(&request.arguments)?;
        let child = child_id(parent, request.number, &wanted, &self.host)?;
        let prepared = self.prepared(parent, &child, &wanted, &request.left)?;
        let limits = prepared.record.limits.clone();
        let (call_id, directive) = (&request.call_id, wanted.directive.as_str());
        let spawn = Spawn::new(call_id, child.clone(), directive, wanted.waiting, limits);
        self.prepared.insert(child, prepared);
        Ok(spawn)
    }

    /// A child prepared as every run is, under what its parent may do and has left.
    fn prepared(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        wanted: &Wanted,
        left: &Limits,
    ) -> Result<Prepared, ToolOutput> {
        let gone = || told("the thread that wants a child is not driven here");
        let heritage = self.tree.heritage(parent).ok_or_else(gone)?;
        let mut request = RunRequest::new(wanted.directive.clone(), child.clone());
        request.inputs.clone_from(&wanted.inputs);
        request.provider = heritage.provider.clone();
        request.model.clone_from(&heritage.model);
        request.returns = heritage.returns;
        (request.limits.turns, request.limits.tokens) = (wanted.turns, wanted.tokens);
        (request.limits.spend, request.limits.duration_seconds) =
            (wanted.spend, wanted.duration_seconds);
        request.lineage = Some(Arc::new(Lineage {
            parent: parent.clone(),
            authority: heritage.authority.clone(),
            tokens: heritage.tokens.clone(),
            caps: caps(left, wanted),
            share: share(left, wanted.waiting),
        }));
        prepare(self.rye, &request, &self.host, &self.key)
            .map_err(|error| self.unprepared(&error, &request))
    }

    /// What the model is told, and a record of the thread that could not begin (SPEC 10.1).
    fn unprepared(&self, error: &PrepareError, request: &RunRequest) -> ToolOutput {
        let reason = with_causes(error);
        if let Some(threads) = self.rye.threads() {
            // The transcript of the parent holds the reason, whatever becomes of this record.
            let key = Arc::clone(&self.key);
            drop(leave_failed(&self.store, &threads, request, &self.host, key, &reason));
        }
        let content =
            json!({ "error": format!("directive `{}` cannot run: {reason}", request.directive) });
        match error.class() {
            Class::Refused => ToolOutput::refused(content),
            _ => ToolOutput::error(content),
        }
    }

    /// Begins a child, goes on with it, or finds that it has ended.
    fn start(
        &mut self,
        parent: &ThreadId,
        spawn: &Spawn,
        arguments: &Value,
    ) -> Result<(), ToolOutput> {
        let child = &spawn.child;
        match self.tree.standing(child) {
            Some(Standing::Running | Standing::Ended(_)) => return Ok(()),
            Some(Standing::Suspended(_) | Standing::Interrupted) | None => {}
        }
        let failed = |error: &dyn std::error::Error| told(&with_causes(error));
        if self.store.has(child) {
            self.go_on_or_wait(parent, spawn);
            return Ok(());
        }
        let prepared = match self.prepared.remove(child) {
            Some(prepared) => prepared,
            None => self.prepared(parent, child, &wanted(arguments)?, &spawn.limits)?,
        };
        self.store.forget_unbegun(child).map_err(|error| failed(&error))?;
        let spend = prepared.record.limits.spend;
        let key = Arc::clone(&self.key);
        let begun = Begun::new(prepared, &self.store, key).map_err(|error| failed(&error))?;
        if let Err(error) = self.store.threads.open_child(parent, child, spend) {
            let reason = with_causes(&error);
            drop(begun.journal.fail(&reason, self.host.clock.now()));
            return Err(told(&reason));
        }
        self.drive(parent, spawn, begun);
        Ok(())
    }

    /// What keeps a child from going on now, such as a program that drives it or a key that is not there, may be gone
    /// when somebody goes on with its parent once more; until then the parent waits for it, and the reason is told.
    fn go_on_or_wait(&mut self, parent: &ThreadId, spawn: &Spawn) {
        if let Err(reason) = self.go_on(parent, spawn) {
            self.tree.warn(format!("thread `{}` does not go on for now: {reason}", spawn.child));
            self.tree.enter(&spawn.child, Some(parent), &spawn.directive, Standing::Interrupted);
        }
    }

    /// Goes on with a child that has a record, or finds what it came to.
    fn go_on(&mut self, parent: &ThreadId, spawn: &Spawn) -> Result<(), String> {
        let child = &spawn.child;
        let reading = self.vouched(child)?;
        if reading.record.parent.as_ref() != Some(parent) {
            return Err(format!("thread `{child}` is not one that `{parent}` started"));
        }
        if reading.record.state.is_final() {
            self.settle(child);
            let standing = Standing::Ended(Arc::new(Report::of_reading(&reading)));
            self.tree.enter(child, Some(parent), &spawn.directive, standing);
            return self.learn(child, &reading.transcript);
        }
        let lineage = self.tree.heritage(parent).map(|heritage| {
            Arc::new(Lineage {
                parent: parent.clone(),
                authority: heritage.authority.clone(),
                tokens: heritage.tokens.clone(),
                caps: reading.record.limits.clone(),
                share: None,
            })
        });
        let spend = reading.record.limits.spend;
        let (key, host) = (Arc::clone(&self.key), &self.host);
        let begun = self.rye.going_on(child, lineage, host, &self.store, Some(key));
        let begun = begun.map_err(|error| with_causes(&error))?;
        let opened = self.store.threads.open_child(parent, child, spend);
        opened.map_err(|error| with_causes(&error))?;
        self.drive(parent, spawn, begun);
        Ok(())
    }

    /// Has the child driven beside everything else, and stopped as its parent is.
    fn drive(&mut self, parent: &ThreadId, spawn: &Spawn, mut begun: Begun) {
        let (tree, store) = (Arc::clone(&self.tree), Arc::clone(&self.store));
        let (child, host, rye) = (spawn.child.clone(), self.host.clone(), self.rye);
        let own = tree.enter(&child, Some(parent), &spawn.directive, Standing::Running);
        let above = tree.cancel(parent).unwrap_or_default();
        begun.join(&child, &tree, &self.places);
        let driven = async move {
            let outcome = followed(&above, &own, begun.driven(&host, &own, &store)).await;
            let standing = match outcome {
                Ok(outcome) => standing(rye, &store, &child, &outcome),
                Err(_) => Standing::Interrupted,
            };
            if let Standing::Ended(_) = standing {
                // What cannot be settled now is when somebody goes on with the parent.
                drop(store.threads.close_child(&child));
            }
            tree.stand(&child, standing);
        };
        self.running.push(Box::pin(driven.in_current_span()));
    }

    /// Takes over what an earlier program started: what has ended is known, what runs beside its parent goes on.
    fn adopt(&mut self, parent: &ThreadId, spawns: &[Spawn]) -> Result<(), String> {
        for spawn in spawns {
            // A child whose call was answered before it had a record never began.
            if !self.store.has(&spawn.child) {
                continue;
            }
            self.go_on_or_wait(parent, spawn);
        }
        Ok(())
    }

    /// The record of a thread, which for an operator with a key counts only where a trusted key vouches for it: what a child
    /// came to is what its parent's model is told.
    fn vouched(&self, thread: &ThreadId) -> Result<ThreadReading, String> {
        let found = self.rye.found(&self.store.folder, thread);
        let Found { reading, .. } = found.map_err(|error| with_causes(&error))?;
        if self.host.signing_key.is_some() && reading.vouched_by != Voucher::TrustedKey {
            return Err(format!("thread `{thread}` is signed by nobody who is trusted"));
        }
        Ok(reading)
    }

    /// Enters what an ended thread has started, all of which ended before it.
    fn learn(
        &self,
        parent: &ThreadId,
        transcript: &rye_thread::transcript::Reading,
    ) -> Result<(), String> {
        let unreadable = || format!("a child of thread `{parent}` cannot be read");
        for spawn in spawned_children(transcript).ok_or_else(unreadable)? {
            if !self.store.has(&spawn.child) {
                continue;
            }
            if self.tree.standing(&spawn.child).is_some() {
                continue;
            }
            let reading = self.vouched(&spawn.child)?;
            if reading.record.parent.as_ref() != Some(parent) {
                return Err(format!("thread `{}` is not one that `{parent}` started", spawn.child));
            }
            let standing = match reading.record.state {
                state if state.is_final() => {
                    Standing::Ended(Arc::new(Report::of_reading(&reading)))
                }
                _ => Standing::Interrupted,
            };
            self.tree.enter(&spawn.child, Some(parent), &spawn.directive, standing);
            self.learn(&spawn.child, &reading.transcript)?;
        }
        Ok(())
    }

    /// Ends a thread that nobody drives, and those below it.
    fn close(&mut self, thread: &ThreadId) -> Result<(), String> {
        let below = self.tree.descendants(thread);
        for each in std::iter::once(thread).chain(&below) {
            if matches!(self.tree.standing(each), Some(Standing::Ended(_))) {
                continue;
            }
            let ended = self.rye.end(each, &self.host, &self.store, Some(&self.key));
            ended.map_err(|error| with_causes(&error))?;
            let found = self.rye.found(&self.store.folder, each);
            let Found { reading, .. } = found.map_err(|error| with_causes(&error))?;
            self.tree.stand(each, Standing::Ended(Arc::new(Report::of_reading(&reading))));
        }
        self.settle(thread);
        Ok(())
    }

    /// Gives back what the child did not spend; one without an account has nothing to give.
    fn settle(&self, child: &ThreadId) {
        drop(self.store.threads.close_child(child));
    }
}

/// Does `work`, whose flag is `own`, and raises that flag when the one above is.
pub(in crate::session) async fn followed<T>(
    above: &Cancel,
    own: &Cancel,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        () = above.hand_on(own) => {}
        done = &mut work => return done,
    }
    work.await
}

/// How a thread stands after it was driven.
fn standing(rye: &Rye, store: &Store, thread: &ThreadId, outcome: &Outcome) -> Standing {
    let is_storage =
        outcome.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Storage);
    match (outcome.state, &outcome.asked) {
        // What could not be written may have been written by whoever took the thread over.
        _ if is_storage => match rye.found(&store.folder, thread) {
            Ok(Found { reading, .. }) if reading.record.state.is_final() => {
                Standing::Ended(Arc::new(Report::of_reading(&reading)))
            }
            _ => Standing::Interrupted,
        },
        (ThreadState::Suspended, Some(request)) => Standing::Suspended(Box::new(request.clone())),
        (state, _) if state.is_final() => Standing::Ended(Arc::new(Report::of_outcome(outcome))),
        _ => Standing::Interrupted,
    }
}

fn caps(left: &Limits, wanted: &Wanted) -> Limits {
    let mut caps = left.clone();
    caps.spawns = wanted.spawns.map_or(left.spawns, |spawns| spawns.min(left.spawns));
    caps.depth = wanted.depth.map_or(left.depth, |depth| depth.min(left.depth));
    caps
}

/// The most money for a child for which nobody says how much: half of what is left where the parent goes on beside it,
/// which needs some itself.
fn share(left: &Limits, waiting: Waiting) -> Option<Nanos> {
    match (waiting, left.spend) {
        (Waiting::ForNothing, SpendLimit::AtMost(left)) => Some(Nanos::new(left.get() / 2)),
        _ => None,
    }
}

/// The id of a child: made of its parent and its place among the children, so that it needs no chance.
fn child_id(
    parent: &ThreadId,
    number: u64,
    wanted: &Wanted,
    host: &Host<'_>,
) -> Result<ThreadId, ToolOutput> {
    let digest = rye_sign::Digest::of(format!("{parent}\n{number}").as_bytes()).to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let millis = host.clock.now().as_unix_millis().max(0) & 0xffff_ffff_ffff;
    let time = format!("{millis:012x}");
    let (high, low) = time.split_at(8);
    let uuid = format!("{high}-{low}-7{}-8{}-{}", part(0, 3), part(3, 6), part(6, 18));
    ThreadId::new(wanted.directive.as_str(), &uuid).map_err(|error| told(&error.to_string()))
}
