//! The threads below one thread in this process: their states, and the threads that may ask about
//! them.

mod arguments;
mod bounded;
mod handle;
mod report;
mod supervisor;
mod thinking;
mod tools;
mod watching;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rye_caps::Authority;
use rye_project::ProviderChoice;
use rye_sign::SigningKey;
use rye_sign::token::Token;
use rye_thread::store::{Inbox, ReceivedRequest};
use rye_thread::{
    AddedItem, ApprovalRequest, Cancel, Decision, Observer, RecordedSpawn, Spawn, SpawnRequest,
    ThreadId, ToolOutput,
};
use rye_types::{ReturnStyle, Timestamp};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::Span;

pub(super) use self::bounded::bound;
pub(crate) use self::handle::Handle;
pub(super) use self::report::Report;
pub(super) use self::supervisor::{ThreadSupervisor, follow_cancel, run_supervised};
use self::thinking::Thought;
use super::authority::under;

/// The authority, tokens and settings that the children of a thread inherit.
#[derive(Debug, Clone)]
pub(crate) struct InheritedSettings {
    pub(crate) authority: Authority,
    /// The root of its tree.
    pub(crate) root: ThreadId,
    /// The tokens from the first thread's down to the thread's own.
    pub(crate) tokens: Vec<Token>,
    pub(crate) provider: ProviderChoice,
    pub(crate) model: Option<String>,
    pub(crate) returns: Option<ReturnStyle>,
}

/// The state of a thread of the tree.
#[derive(Debug, Clone)]
pub(super) enum Standing {
    /// It is under way in this program.
    Running,
    /// It has ended for good.
    Ended(Arc<Report>),
    /// It waits for a decision.
    Suspended(Box<ApprovalRequest>),
    /// It was stopped and can be resumed.
    Interrupted,
}

#[derive(Debug)]
struct Node {
    parent: Option<ThreadId>,
    directive: String,
    cancel: Cancel,
    standing: watch::Sender<Standing>,
    inherited: Option<Arc<InheritedSettings>>,
    /// The items that calls added to the conversation of the thread.
    added: Vec<AddedItem>,
    thought: Thought,
}

/// A call that the approver is asked about.
#[derive(Debug)]
struct Question {
    request: ApprovalRequest,
    decide: oneshot::Sender<Decision>,
}

/// All threads that descend from one, as far as this program knows them.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Mutex<BTreeMap<ThreadId, Node>>,
    /// Warnings about descendants, for the operator that started the first thread.
    warnings: Mutex<Vec<String>>,
    /// `true` if the operator has a key to sign with.
    has_key: bool,
    /// `true` if programs that its tools start may be able to write requests.
    is_exposed: AtomicBool,
    /// The calls that the approver is asked about, by their threads.
    questions: Mutex<BTreeMap<ThreadId, Question>>,
    /// Each with the span in which it was given, where what comes of it belongs.
    orders: mpsc::UnboundedSender<(Span, Order)>,
}

/// A request of a thread's tools to the supervisor.
#[derive(Debug)]
pub(super) enum Order {
    Prepare {
        parent: ThreadId,
        request: SpawnRequest,
        reply: Reply<Result<Spawn, ToolOutput>>,
    },
    Start {
        parent: ThreadId,
        spawn: Spawn,
        arguments: Value,
        reply: Reply<Result<(), ToolOutput>>,
    },
    Adopt {
        parent: ThreadId,
        spawns: Vec<RecordedSpawn>,
        reply: Reply<Result<(), String>>,
    },
    /// Asks for the operator's key, where there is one, and for what time it is.
    Key {
        reply: Reply<Option<(Arc<SigningKey>, Timestamp)>>,
    },
    /// Ends a thread that has no driver.
    Close {
        thread: ThreadId,
        reply: Reply<Result<(), String>>,
    },
    /// Does what another process asks for.
    Request(ReceivedRequest),
}

type Reply<T> = oneshot::Sender<T>;

impl Tree {
    pub(super) fn new(has_key: bool) -> (Arc<Self>, mpsc::UnboundedReceiver<(Span, Order)>) {
        let (orders, received) = mpsc::unbounded_channel();
        let nodes = Mutex::default();
        let warnings = Mutex::default();
        let questions = Mutex::default();
        let is_exposed = AtomicBool::new(false);
        let tree = Self { nodes, warnings, has_key, is_exposed, questions, orders };
        (Arc::new(tree), received)
    }

    /// Notes that programs run in the tree that may be able to write requests.
    pub(super) fn expose(&self) {
        self.is_exposed.store(true, Ordering::Relaxed);
    }

    fn is_exposed(&self) -> bool {
        self.is_exposed.load(Ordering::Relaxed)
    }

    fn questions(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Question>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a request of another process decide the call that its thread waits with; the result is that decision.
    pub(super) fn question(&self, request: &ApprovalRequest) -> oneshot::Receiver<Decision> {
        let (decide, decided) = oneshot::channel();
        let question = Question { request: request.clone(), decide };
        self.questions().insert(request.thread.clone(), question);
        decided
    }

    /// Forgets the question of a thread, which was decided or given up.
    pub(super) fn drop_question(&self, thread: &ThreadId) {
        self.questions().remove(thread);
    }

    /// Decides the call that the approver is asked about; `false` where it is asked about another one, or about none.
    fn answer(&self, request: &ApprovalRequest, decision: Decision) -> bool {
        let mut questions = self.questions();
        let name =
            |it: &ApprovalRequest| (it.call_id.clone(), it.item_id.clone(), it.sha256.clone());
        let asked = questions.get(&request.thread).map(|question| name(&question.request));
        if asked != Some(name(request)) {
            return false;
        }
        questions
            .remove(&request.thread)
            .is_some_and(|question| question.decide.send(decision).is_ok())
    }

    /// A panic elsewhere leaves no half of a change behind.
    fn nodes(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a warning that no other thread gave.
    fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Tells what is known before a thread sends anything, each once in a tree.
    pub(super) fn announce(&self, notices: Vec<String>, observer: &dyn Observer) {
        for notice in notices {
            let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
            if !warnings.contains(&notice) {
                observer.notice(&notice);
                warnings.push(notice);
            }
        }
    }

    /// Returns the warnings so far.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Enters a thread, or that one which is known is under way again.
    pub(super) fn enter(
        &self,
        thread: &ThreadId,
        parent: Option<&ThreadId>,
        directive: &str,
        standing: Standing,
    ) -> Cancel {
        let mut nodes = self.nodes();
        if let Some(node) = nodes.get_mut(thread) {
            node.cancel = Cancel::new();
            node.standing.send_replace(standing);
            return node.cancel.clone();
        }
        let node = Node {
            parent: parent.cloned(),
            directive: directive.to_owned(),
            cancel: Cancel::new(),
            standing: watch::Sender::new(standing),
            inherited: None,
            added: Vec::new(),
            thought: Thought::default(),
        };
        let cancel = node.cancel.clone();
        nodes.insert(thread.clone(), node);
        cancel
    }

    pub(super) fn set_inherited(&self, thread: &ThreadId, inherited: InheritedSettings) {
        if let Some(node) = self.nodes().get_mut(thread) {
            node.inherited = Some(Arc::new(inherited));
            node.added.clear();
        }
    }

    /// Notes an item that a call added to the conversation of the thread.
    fn add(&self, thread: &ThreadId, item: &AddedItem) {
        if let Some(node) = self.nodes().get_mut(thread) {
            node.added.push(item.clone());
        }
    }

    /// Returns the authority that bounds a child, if the thread starts it after calls added this
    /// many items to its conversation.
    fn authority(&self, thread: &ThreadId, added: u64) -> Option<Authority> {
        let nodes = self.nodes();
        let node = nodes.get(thread)?;
        let most = usize::try_from(added).unwrap_or(usize::MAX).min(node.added.len());
        let added = node.added.get(..most).unwrap_or_default();
        node.inherited.as_ref().map(|inherited| under(&inherited.authority, added))
    }

    fn inherited_settings(&self, thread: &ThreadId) -> Option<Arc<InheritedSettings>> {
        self.nodes().get(thread).and_then(|node| node.inherited.clone())
    }

    fn stand(&self, thread: &ThreadId, standing: Standing) {
        if let Some(node) = self.nodes().get(thread) {
            node.standing.send_replace(standing);
        }
    }

    /// Records that an approval wait of the thread begins; its ancestors wait for it too.
    fn asks(&self, thread: &ThreadId, now: Duration) {
        self.above(thread, |thought| thought.begin(now));
    }

    /// Records that an approval wait of the thread ends.
    fn end_wait(&self, thread: &ThreadId, now: Duration) {
        self.above(thread, |thought| thought.end(now));
    }

    fn above(&self, thread: &ThreadId, change: impl Fn(&mut Thought)) {
        let mut nodes = self.nodes();
        let mut next = nodes.get(thread).and_then(|node| node.parent.clone());
        while let Some(node) = next.and_then(|above| nodes.get_mut(&above)) {
            change(&mut node.thought);
            next = node.parent.clone();
        }
    }

    /// Returns the time of the approval waits below the thread.
    fn approval_wait(&self, thread: &ThreadId, now: Duration) -> Duration {
        self.nodes().get(thread).map(|node| node.thought.until(now)).unwrap_or_default()
    }

    fn interrupt_all(&self) {
        self.nodes().values().for_each(|node| node.cancel.interrupt());
    }

    fn standing(&self, thread: &ThreadId) -> Option<Standing> {
        self.nodes().get(thread).map(|node| node.standing.borrow().clone())
    }

    fn cancel(&self, thread: &ThreadId) -> Option<Cancel> {
        self.nodes().get(thread).map(|node| node.cancel.clone())
    }

    /// Waits until the thread is no longer under way.
    async fn wait_for_end(&self, thread: &ThreadId) -> Option<Standing> {
        let mut watching = self.nodes().get(thread)?.standing.subscribe();
        let stood = watching.wait_for(|standing| !matches!(standing, Standing::Running)).await;
        stood.map(|standing| standing.clone()).ok()
    }

    fn children(&self, thread: &ThreadId) -> Vec<ThreadId> {
        let nodes = self.nodes();
        let below = nodes.iter().filter(|(_, node)| node.parent.as_ref() == Some(thread));
        below.map(|(child, _)| child.clone()).collect()
    }

    /// All below the thread, each after the one that started it.
    fn descendants(&self, thread: &ThreadId) -> Vec<ThreadId> {
        let mut found = self.children(thread);
        let mut place = 0;
        while let Some(next) = found.get(place) {
            let below = self.children(next);
            found.extend(below);
            place += 1;
        }
        found
    }

    fn descends(&self, thread: &ThreadId, from: &ThreadId) -> bool {
        let nodes = self.nodes();
        let parent = |thread: &ThreadId| nodes.get(thread).and_then(|node| node.parent.clone());
        std::iter::successors(parent(thread), parent).any(|above| above == *from)
    }

    /// Returns the number of ancestors of the thread.
    fn depth(&self, thread: &ThreadId) -> usize {
        let nodes = self.nodes();
        let parent = |thread: &ThreadId| nodes.get(thread).and_then(|node| node.parent.clone());
        std::iter::successors(parent(thread), parent).count()
    }

    fn directive(&self, thread: &ThreadId) -> String {
        self.nodes().get(thread).map(|node| node.directive.clone()).unwrap_or_default()
    }

    /// Returns the description of a thread without its result.
    fn row(&self, thread: &ThreadId) -> Option<Value> {
        let nodes = self.nodes();
        let node = nodes.get(thread)?;
        Some(report::row(thread, node.parent.as_ref(), &node.directive, &node.standing.borrow()))
    }

    async fn order<T>(&self, order: impl FnOnce(Reply<T>) -> Order) -> Option<T> {
        let (reply, replied) = oneshot::channel();
        self.orders.send((Span::current(), order(reply))).ok()?;
        replied.await.ok()
    }

    /// Ends a thread of the tree that has no driver.
    async fn close(&self, thread: &ThreadId) -> Result<(), String> {
        let thread = thread.clone();
        let closed = self.order(|reply| Order::Close { thread, reply }).await;
        closed.unwrap_or_else(|| Err(OVER.to_owned()))
    }
}

/// The message of a tree that takes no more orders.
const OVER: &str = "the tree of threads has ended";

impl Inbox for Tree {
    fn knows(&self, thread: &ThreadId) -> bool {
        self.nodes().contains_key(thread)
    }

    fn receive(&self, request: ReceivedRequest) {
        // A tree that comes to rest takes no more; its lock is free soon.
        drop(self.orders.send((Span::none(), Order::Request(request))));
    }
}
