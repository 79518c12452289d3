//! One run of a directive, wired: SPEC 10.1 from its first arrow to its last.

mod account;
mod ancestors;
mod approving;
mod authority;
mod begin;
mod calling;
mod continuing;
mod conversation;
mod facts;
mod links;
mod live;
mod prepare;
mod recorded;
mod reopen;
mod replay;
mod report_json;
mod request;
mod self_starting;
mod store;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use rye_project::{Class, LimitSource, PrepareError, with_causes};
use rye_sign::SigningKey;
use rye_thread::store::{Inbox, StoreOptions, TreeOwnership};
use rye_thread::{
    Opening, Outcome, OutputContract, ResumeError, Run, ThreadId, ThreadRecord, ThreadSummary,
    ToolResult, ToolSpec,
};
use rye_types::{ClockError, LimitSet};
use tokio::sync::Semaphore;

use self::approving::OneAtATime;
use self::begin::Begun;
pub use self::conversation::ContinueError;
pub(crate) use self::facts::{TOKEN, TOKENS_ABOVE};
pub use self::links::{LinkedThreads, refuse_linked_threads};
pub use self::live::UnfinishedAnswer;
use self::prepare::{Prepared, prepare};
#[cfg(feature = "mcp")]
pub(crate) use self::reopen::Stands;
pub(crate) use self::reopen::Waiting;
pub use self::reopen::{Cancelled, ReopenError, decision_commands, resume_command};
pub use self::replay::divergence_diff;
#[cfg(feature = "mcp")]
pub(crate) use self::report_json::waits_for;
pub use self::request::{Continuation, Host, RunRequest, Secrets};
pub(crate) use self::store::Store;
use self::tree::{Standing, ThreadSupervisor, Tree, follow_cancel, run_supervised};
use crate::rye::Rye;

/// The result of a run and the place of its record.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunReport {
    /// The thread.
    pub thread: ThreadId,
    /// The folder with `thread.json`, `transcript.jsonl` and `transcript.md`.
    pub folder: PathBuf,
    /// The outcome of the thread.
    pub outcome: Outcome,
    /// Warnings for the operator that did not stop the run.
    pub warnings: Vec<String>,
    /// The current state of the parent, if a child was resumed alone.
    pub parent: Option<ThreadSummary>,
    /// The predecessors in the conversation, the first one first.
    pub continues: Vec<ThreadId>,
    /// The self-starting files that tools of the run changed, such as `.envrc`, by their paths in the project.
    pub self_starting: Vec<String>,
    /// The source of the limit that ended the thread; none where no limit did, and for a resumed thread.
    pub limit_set_by: Option<LimitSource>,
    /// The command with which the operator has the thread go on that a limit or its provider ended (SPEC D18).
    pub resume: Option<String>,
    /// The result of the tool that the thread called, for a thread of [`Rye::call`] whose call has one.
    pub called: Option<ToolResult>,
    /// The ownership of the tree, until the conversation comes to rest.
    tree: Option<TreeOwnership>,
}

/// The reason why a run did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The clock shows a time before 1970.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// A thread was continued, and the next one cannot be begun; `rye resume` tries again.
    #[error("thread `{thread}` goes on in a new one, which cannot begin")]
    Continue {
        /// The thread that was continued.
        thread: ThreadId,
        /// The cause of the failure.
        source: Box<ContinueError>,
    },
    /// The directive cannot be prepared; the thread's record says so too.
    #[error("directive `{directive}` cannot run")]
    Prepare {
        /// The directive.
        directive: String,
        /// The thread that would have run it, when its record could be written.
        thread: Option<ThreadId>,
        /// The reason why its record could not be written, when there is a project to write it in.
        unrecorded: Option<String>,
        /// The cause of the failure.
        source: Box<PrepareError>,
    },
    /// The thread's record would be written through a link.
    #[error(transparent)]
    Linked(#[from] LinkedThreads),
    /// The thread's record cannot be written.
    #[error("the record of the thread cannot be written")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl RunError {
    /// Returns the class of the error, which decides the exit code.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Continue { source, .. } => source.class(),
            Self::Prepare { source, .. } => source.class(),
            Self::Linked(_) => Class::Refused,
            Self::Clock(_) | Self::Store(_) => Class::Failed,
        }
    }
}

impl Rye {
    /// Runs a directive to its end: resolve, verify, bind, compose, authorise, assess risk, offer tools, bound, render,
    /// and then the loop (SPEC 10.1).
    ///
    /// # Errors
    ///
    /// When the directive cannot be prepared, which costs no tokens and leaves a thread in state `error`; and when the
    /// record cannot be written. A run that begins always gives a report, failed or not.
    pub async fn run(&self, request: RunRequest, host: Host<'_>) -> Result<RunReport, RunError> {
        host.clock.now().validate()?;
        if let Some(threads) = self.threads() {
            refuse_linked_threads(&threads)?;
        }
        let report = self.begin(&request, host.clone()).await?;
        let report = self.go_on(report, host).await?;
        Ok(self.finish(report))
    }

    /// Runs one thread without its successors.
    async fn begin(&self, request: &RunRequest, host: Host<'_>) -> Result<RunReport, RunError> {
        let key = host.signing_key.clone().map_or_else(own_key, Ok)?;
        self.begin_with(request, host, key).await
    }

    /// The same, signed with this key.
    async fn begin_with(
        &self,
        request: &RunRequest,
        host: Host<'_>,
        key: Arc<SigningKey>,
    ) -> Result<RunReport, RunError> {
        match prepare(self, request, &host, &key) {
            Ok(prepared) => Box::pin(self.drive(prepared, request, host, key)).await,
            Err(source) => Err(self.leave_failed_thread(Box::new(source), request, &host, key)),
        }
    }

    async fn drive(
        &self,
        prepared: Prepared,
        request: &RunRequest,
        host: Host<'_>,
        key: Arc<SigningKey>,
    ) -> Result<RunReport, RunError> {
        let limits = prepared.limits.clone();
        let store = self.store(&prepared.threads)?;
        let tree = store.own_unblocked(&prepared.record.root).await.map_err(storage_error)?;
        let begun = Begun::new(prepared, &store, Arc::clone(&key))?;
        let folder = begun.folder.clone();
        let tended = self.run_tree(&request.thread, begun, &host, (&store, &tree), key);
        let tended = Box::pin(tended).await;
        let (outcome, warnings) =
            tended.expect("because only a thread that goes on can contradict itself");
        let thread = request.thread.clone();
        let limit_set_by = limits.source_of_end(&outcome);
        Ok(RunReport {
            thread,
            folder,
            outcome,
            warnings,
            parent: None,
            continues: Vec::new(),
            self_starting: Vec::new(),
            limit_set_by,
            resume: None,
            called: None,
            tree: Some(tree),
        })
    }

    /// Drives a thread with its descendants, and returns the outcome with the warnings.
    async fn run_tree(
        &self,
        thread: &ThreadId,
        mut begun: Begun,
        host: &Host<'_>,
        (store, ownership): (&Arc<Store>, &TreeOwnership),
        key: Arc<SigningKey>,
    ) -> Result<(Outcome, Vec<String>), ResumeError> {
        let (tree, orders) = Tree::new(host.signing_key.is_some());
        let inbox: Arc<dyn Inbox> = Arc::clone(&tree) as _;
        ownership.receive(&inbox);
        tree.announce(std::mem::take(&mut begun.warnings), host.observer);
        let approver = OneAtATime::new(host.approver, &tree);
        let host = Host { approver: &approver, ..host.clone() };
        let cancel = tree.enter(thread, None, "", Standing::Running);
        let places = Arc::new(Semaphore::new(begun.requests()));
        begun.join(thread, &tree, &places);
        let of_tree = Arc::clone(&tree);
        let store_of_tree = Arc::clone(store);
        let supervisor = ThreadSupervisor::new(
            self,
            thread,
            host.clone(),
            (of_tree, store_of_tree),
            key,
            places,
        );
        // On the heap, because the futures of a whole run are large and stand inside each other.
        let driven = Box::pin(begun.drive(&host, &cancel));
        let first = Box::pin(follow_cancel(host.cancel, &cancel, driven));
        let outcome = Box::pin(run_supervised(supervisor, orders, first)).await?;
        let mut warnings = tree.warnings();
        warnings.extend(outcome.warnings.iter().cloned());
        Ok((outcome, warnings))
    }

    /// Leaves a thread in state `error` behind, where there is a project to leave it in and the directive was found
    /// (SPEC 12.1b).
    fn leave_failed_thread(
        &self,
        source: Box<PrepareError>,
        request: &RunRequest,
        host: &Host<'_>,
        key: Arc<SigningKey>,
    ) -> RunError {
        let directive = request.directive.to_string();
        // Another machine may begin it.
        let is_final = self.replica.is_none() || !source.is_of_machine();
        // The caller mends a usage error and runs again. The parent of a child, the predecessor of a successor and an engine wait for
        // its record.
        let is_awaited =
            request.child_bounds.is_some() || request.continues.is_some() || self.replica.is_some();
        let is_usage = source.class() == Class::Usage && !is_awaited;
        let is_left = is_final && !is_usage && !source.lacks(&request.directive);
        let threads = self.threads().filter(|_| is_left);
        let Some(threads) = threads else {
            return RunError::Prepare { directive, thread: None, unrecorded: None, source };
        };
        let reason = with_causes(source.as_ref());
        let left = self
            .store(&threads)
            .and_then(|store| leave_failed(&store, &threads, request, host, key, &reason));
        let (thread, unrecorded) = match left {
            Ok(()) => (Some(request.thread.clone()), None),
            Err(error) => (None, Some(with_causes(&error))),
        };
        RunError::Prepare { directive, thread, unrecorded, source }
    }

    /// Returns the operator's declaration about the machine on which the project's threads are
    /// kept.
    #[must_use]
    pub fn store_options(&self) -> StoreOptions {
        StoreOptions::single_host(self.is_single_host())
    }

    /// The store of the project's threads, which all that are driven at once share.
    pub(crate) fn store(&self, threads: &Path) -> Result<Arc<Store>, RunError> {
        let mut open = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = open.upgrade().filter(|store| store.folder == threads) {
            return Ok(store);
        }
        let options = self.store_options();
        let store = Arc::new(Store::open(threads, options, self.replica.clone())?);
        *open = Arc::downgrade(&store);
        Ok(store)
    }

    /// Returns the folder in which the project's threads are recorded.
    #[must_use]
    pub fn threads(&self) -> Option<PathBuf> {
        let project = self.library().spaces().project()?;
        Some(self.threads.clone().unwrap_or_else(|| project.join(".ai").join("threads")))
    }
}

/// Records a thread in state `error` for a run that failed before a [`Rye`] existed, for example
/// because of a refused trust policy (SPEC 10.1). `reason` goes into the record, which
/// every reader of the project can see.
///
/// # Errors
///
/// When the record cannot be written.
pub fn record_failure(
    project: &Path,
    request: &RunRequest,
    host: &Host<'_>,
    reason: &str,
) -> Result<(), RunError> {
    host.clock.now().validate()?;
    let threads = project.join(".ai").join("threads");
    refuse_linked_threads(&threads)?;
    let key = host.signing_key.clone().map_or_else(own_key, Ok)?;
    let store = Store::open(&threads, StoreOptions::default(), None)?;
    leave_failed(&store, &threads, request, host, key, reason)
}

fn leave_failed(
    store: &Store,
    threads: &Path,
    request: &RunRequest,
    host: &Host<'_>,
    key: Arc<SigningKey>,
    reason: &str,
) -> Result<(), RunError> {
    let now = host.clock.now();
    let limits = LimitSet::default();
    let mut record = ThreadRecord::new(&request.thread, request.directive.as_str(), &limits, now);
    let signed_by = facts::signed_by(&key, host.signing_key.is_some());
    record.root = request.root().clone();
    record.parent = request.child_bounds.as_ref().map(|bounds| bounds.parent.clone());
    record.continues = request.continues.as_ref().map(|before| before.thread.clone());
    record.facts.insert(facts::SIGNED_BY.to_owned(), signed_by);
    let journal = store.journal(threads, record, key)?;
    journal.fail(reason, now).map_err(storage_error)
}

/// The run that a thread begins with. `text` is the second message of a successor.
pub(crate) fn begin_run(
    opening: Opening,
    text: Option<&str>,
    tools: Vec<ToolSpec>,
    contract: OutputContract,
    limits: LimitSet,
    max_output: u64,
) -> Run {
    let mut run = Run::new(opening, tools, contract, limits, max_output);
    if let Some(text) = text {
        run.inject(text).expect("because a run that has not begun takes a text");
    }
    run
}

/// Generates a key for this thread alone, for an operator without a key. It signs the record and is
/// then dropped.
fn own_key() -> Result<Arc<SigningKey>, RunError> {
    SigningKey::generate().map(Arc::new).map_err(storage_error)
}

fn storage_error(error: impl std::error::Error + Send + Sync + 'static) -> RunError {
    RunError::Store(Box::new(error))
}
