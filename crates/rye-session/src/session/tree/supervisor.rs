//! The one place where the threads of a tree are begun and driven: beside the first of them, for as long as it takes.

mod adoption;
mod beginning;
mod conversation;
mod requests;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use rye_caps::Authority;
use rye_project::{ChildBounds, PrepareError, with_causes};
use rye_sign::SigningKey;
use rye_thread::store::ReceivedRequest;
use rye_thread::{Cancel, Outcome, Spawn, ThreadId};
use rye_types::{LimitSet, Nanos, ThreadState};
use tokio::sync::{Semaphore, mpsc};
use tracing::{Instrument as _, Span};

use self::conversation::ChildConversation;
use super::{InheritedSettings, Order, Report, Standing, Tree};
use crate::rye::Rye;
use crate::session::Store;
use crate::session::begin::Begun;
use crate::session::conversation::Conversation;
use crate::session::prepare::{Prepared, renew};
use crate::session::request::Host;
use crate::thread_reading::ThreadReading;

/// The parts that are shared by all threads of a tree.
pub(in crate::session) struct ThreadSupervisor<'a> {
    rye: &'a Rye,
    /// The thread that is driven beside all others.
    first: ThreadId,
    host: Host<'a>,
    tree: Arc<Tree>,
    store: Arc<Store>,
    key: Arc<SigningKey>,
    places: Arc<Semaphore>,
    prepared: BTreeMap<ThreadId, Prepared>,
    running: FuturesUnordered<BoxFuture<'a, ()>>,
    /// The requests to end the first thread, which are removed once its end is on record.
    cancelling: Vec<ReceivedRequest>,
}

impl<'a> ThreadSupervisor<'a> {
    pub(in crate::session) fn new(
        rye: &'a Rye,
        first: &ThreadId,
        host: Host<'a>,
        (tree, store): (Arc<Tree>, Arc<Store>),
        key: Arc<SigningKey>,
        places: Arc<Semaphore>,
    ) -> Self {
        let prepared = BTreeMap::new();
        let running = FuturesUnordered::new();
        let first = first.clone();
        let cancelling = Vec::new();
        Self { rye, first, host, tree, store, key, places, prepared, running, cancelling }
    }
}

/// Drives `first`, and all that is started below it, until all of them stand still.
pub(in crate::session) async fn run_supervised<T>(
    mut supervisor: ThreadSupervisor<'_>,
    mut orders: mpsc::UnboundedReceiver<(Span, Order)>,
    first: impl Future<Output = T>,
) -> T {
    let ended = {
        tokio::pin!(first);
        loop {
            tokio::select! {
                biased;
                ended = &mut first => break ended,
                Some((span, order)) = orders.recv() => span.in_scope(|| supervisor.take(order)),
                Some(()) = supervisor.running.next() => {}
            }
        }
    };
    // Every thread parts with its children before it ends, so that this is for those that could not.
    supervisor.tree.interrupt_all();
    while !supervisor.running.is_empty() {
        tokio::select! {
            biased;
            Some((span, order)) = orders.recv() => span.in_scope(|| supervisor.take(order)),
            Some(()) = supervisor.running.next() => {}
        }
    }
    supervisor.cancelling.iter().for_each(ReceivedRequest::remove);
    ended
}

/// Returns the authority that bounds a child of `parent`, at this time.
fn child_bounds(
    parent: &ThreadId,
    inherited: &InheritedSettings,
    authority: Authority,
    (caps, share): (LimitSet, Option<Nanos>),
    (host, key): (&Host<'_>, &SigningKey),
) -> Result<ChildBounds, PrepareError> {
    let tokens = renew(&inherited.tokens, &caps, host.clock.now().timestamp(), key)?;
    let parent = parent.clone();
    let root = inherited.root.clone();
    Ok(ChildBounds { parent, root, authority, tokens, caps, share })
}

impl<'a> ThreadSupervisor<'a> {
    /// Performs an order. A reply is dropped if the asking thread has stopped since.
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
            Order::Request(request) => self.perform_request(request),
        }
    }

    /// Has a child's conversation driven beside everything else, and stopped as its parent is.
    fn drive(&mut self, child: ChildConversation<'a>, begun: Begun) {
        let tree = Arc::clone(&self.tree);
        let first = child.first().clone();
        let own = tree.enter(&first, Some(&child.parent), &child.directive, Standing::Running);
        let above = tree.cancel(&child.parent).unwrap_or_default();
        let driven = async move {
            let standing = follow_cancel(&above, &own, child.run_to_end(&own, begun)).await;
            tree.stand(&first, standing);
        };
        self.running.push(Box::pin(driven.in_current_span()));
    }

    fn child(&self, parent: &ThreadId, spawn: &Spawn) -> ChildConversation<'a> {
        ChildConversation {
            rye: self.rye,
            host: self.host.clone(),
            tree: Arc::clone(&self.tree),
            store: Arc::clone(&self.store),
            key: Arc::clone(&self.key),
            places: Arc::clone(&self.places),
            parent: parent.clone(),
            directive: spawn.directive.clone(),
            added: spawn.added,
            threads: vec![spawn.child.clone()],
            used: Vec::new(),
        }
    }

    /// Ends a thread without a driver here, and its descendants, with all their continuations.
    fn close(&mut self, thread: &ThreadId) -> Result<(), String> {
        let ended = self.rye.end_all(thread, &self.host, &self.store, Some(&self.key));
        let mut closed = ended.map(drop).map_err(|error| with_causes(&error));
        for each in std::iter::once(thread).chain(&self.tree.descendants(thread)) {
            if matches!(self.tree.standing(each), Some(Standing::Ended(_))) {
                continue;
            }
            match self.conversation(each).map(|readings| came_to(&readings)) {
                Ok(ended @ Standing::Ended(_)) => self.tree.stand(each, ended),
                Ok(_) => {}
                Err(reason) => closed = closed.and(Err(reason)),
            }
        }
        closed
    }

    /// The threads of the conversation that begins with this one, oldest first. For an operator with a key, only that key vouches
    /// for them: what a child came to is what its parent's model is told.
    fn conversation(&self, thread: &ThreadId) -> Result<Vec<ThreadReading>, String> {
        let conversation = Conversation::load(self.rye, thread);
        let readings = conversation.and_then(|conversation| conversation.into_own(&self.host));
        readings.map_err(|error| with_causes(&error))
    }
}

/// Returns the state of a conversation of these threads.
fn came_to(conversation: &[ThreadReading]) -> Standing {
    match conversation.split_last() {
        Some((last, before)) if last.record.state.is_final() => {
            let before = before.iter().map(Report::of_reading);
            let report = before.fold(Report::of_reading(last), |report, it| report.after(&it));
            Standing::Ended(Arc::new(report))
        }
        _ => Standing::Interrupted,
    }
}

/// Does `work`, whose flag is `own`, and raises that flag when the one above is.
pub(in crate::session) async fn follow_cancel<T>(
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

/// Returns the state of a thread after it was driven.
fn standing(outcome: &Outcome) -> Standing {
    match (outcome.state, &outcome.asked) {
        (ThreadState::Suspended, Some(request)) => Standing::Suspended(Box::new(request.clone())),
        (state, _) if state.is_final() => Standing::Ended(Arc::new(Report::of_outcome(outcome))),
        _ => Standing::Interrupted,
    }
}
