//! A thread that is there, opened again: to go on, to decide on a call, to end it (SPEC 10.8, 10.11).

mod asking;
mod below;
mod changes;
mod commands;
mod ending;
mod error;
mod raising;
mod reopened;
#[cfg(feature = "mcp")]
mod stands;
mod waiting;

use std::path::Path;
use std::sync::Arc;

use rye_project::ChildBounds;
use rye_sign::SigningKey;
use rye_thread::store::{StoreError, ThreadRequest, TreeOwnership};
use rye_thread::transcript::Reading;
use rye_thread::{
    ApprovalRequest, Decider, Decision, FailureKind, JournalError, PendingApproval, ResumeError,
    ThreadId, ThreadRecord, decided_approval, decision_on, recorded_limits, recorded_tools,
};
use rye_types::{LimitSet, RaisedLimits, ThreadState};
use serde_json::Map;

use self::asking::{Answer, AskedTree, is_held};
pub use self::commands::decision_commands;
pub use self::ending::Cancelled;
pub use self::error::ReopenError;
use self::raising::command_after;
pub(in crate::session) use self::raising::option;
pub use self::raising::resume_command;
#[cfg(feature = "mcp")]
pub(crate) use self::stands::Stands;
pub(crate) use self::waiting::Waiting;
use super::begin::{Before, Begun};
use super::conversation::{Conversation, Latest};
use super::facts::{SANDBOX, TOKEN};
use super::prepare::Prepared;
use super::{Host, RunReport, RunRequest, Store, begin_run, own_key, refuse_linked_threads};
use crate::rye::Rye;

const SELF_VOUCHED: &str = "the record of this thread is signed with a key of its own, which shows changes but not who wrote it; with `rye keys generate` your next threads are signed with yours";

impl Rye {
    /// Goes on with a thread whose program was stopped or killed, or that waited for a decision (SPEC 10.8).
    ///
    /// A thread that was continued goes on in the one that continues it, which is begun where it was not.
    ///
    /// Everything that the thread rests on is verified again and must be what it was: the chain, its knowledge, tools,
    /// configuration, inputs and authority.
    ///
    /// # Errors
    ///
    /// When anything of that changed, the record was changed, the thread has ended, or another program drives it; then
    /// nothing is done. A thread that goes on always gives a report.
    pub async fn resume(
        &self,
        thread: &ThreadId,
        host: Host<'_>,
    ) -> Result<RunReport, ReopenError> {
        self.resume_as(thread, None, host).await
    }

    /// Resumes a thread as [`Rye::resume`] does, within the limits that the operator raises (SPEC D18). The thread may have been ended
    /// by a limit or by a failure of its provider.
    ///
    /// This is the operator's act: no surface offers it to a model, a hook or a client.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::resume`]. It also fails if a given limit is not higher than the thread's own, if the limit that ended the
    /// thread is not raised, or if another thread started this one.
    pub async fn resume_raising(
        &self,
        thread: &ThreadId,
        raised: RaisedLimits,
        host: Host<'_>,
    ) -> Result<RunReport, ReopenError> {
        self.resume_as(thread, Some(raised), host).await
    }

    async fn resume_as(
        &self,
        thread: &ThreadId,
        raised: Option<RaisedLimits>,
        host: Host<'_>,
    ) -> Result<RunReport, ReopenError> {
        host.clock.now().validate()?;
        let (store, root) = self.tree_of(thread)?;
        let tree = store.own_unblocked(&root).await.map_err(held_by_owner_of(thread))?;
        self.refuse_ended_below(thread)?;
        let mut report = self.resume_last(thread, raised, &host, &tree).await?;
        while report.outcome.state == ThreadState::Continued {
            let mut continues = std::mem::take(&mut report.continues);
            continues.push(report.thread.clone());
            let next = self.resume_last(&report.thread, None, &host, &tree).await?;
            report = RunReport { continues, ..next };
        }
        Ok(self.finish(report))
    }

    /// Owns the tree of a thread, or joins the owner where that is this process.
    fn own_tree(&self, thread: &ThreadId) -> Result<(Arc<Store>, TreeOwnership), ReopenError> {
        let (store, root) = self.tree_of(thread)?;
        let tree = store.own(&root).map_err(held_by_owner_of(thread))?;
        Ok((store, tree))
    }

    /// Returns the store and the root of a thread's tree.
    fn tree_of(&self, thread: &ThreadId) -> Result<(Arc<Store>, ThreadId), ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        refuse_linked_threads(&threads)?;
        let root = self.found(&threads, thread)?.reading.record.root;
        Ok((self.open_store(&threads)?, root))
    }

    /// Goes on with the last thread of a conversation, or begins the one after it.
    async fn resume_last(
        &self,
        thread: &ThreadId,
        raised: Option<RaisedLimits>,
        host: &Host<'_>,
        tree: &TreeOwnership,
    ) -> Result<RunReport, ReopenError> {
        match self.latest(thread, host)? {
            Latest::Thread(last) => self.resume_one(&last, raised, host.clone(), tree).await,
            Latest::ToBegin(request) if raised.is_some_and(|raised| !raised.is_empty()) => {
                Err(ReopenError::NotBegun { thread: thread.clone(), next: request.thread })
            }
            Latest::ToBegin(request) => self.begin_after(*request, host).await,
        }
    }

    /// Begins a thread that goes on with another one's conversation, below the parent of that one.
    async fn begin_after(
        &self,
        mut request: RunRequest,
        host: &Host<'_>,
    ) -> Result<RunReport, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let store = self.open_store(&threads)?;
        self.make_room(&request.thread, &store, host)?;
        let key = host.signing_key.clone().map_or_else(own_key, Ok)?;
        if let Some(before) = &request.continues {
            let before = self.found(&threads, &before.thread)?.into_own(host)?.record;
            request.child_bounds = self.child_bounds(&before, Some((host, &key)))?;
        }
        let report = Box::pin(self.begin_with(&request, host.clone(), key)).await?;
        let parent = request.child_bounds.as_ref().map(|bounds| &bounds.parent);
        let parent = parent.map(|parent| store.registry.show(parent)).transpose()?.flatten();
        Ok(RunReport { parent, ..report })
    }

    async fn resume_one(
        &self,
        thread: &ThreadId,
        raised: Option<RaisedLimits>,
        host: Host<'_>,
        tree: &TreeOwnership,
    ) -> Result<RunReport, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let store = self.open_store(&threads)?;
        let begun = self.going_on(thread, (None, None), raised, &host, &store)?;
        let limits = begun.journal.record().limits.clone();
        let folder = begun.folder.clone();
        let key = begun.journal.signing_key();
        let parent = begun.journal.record().parent.clone();
        self.take_account(&begun, tree, &host)?;
        let (outcome, warnings) =
            Box::pin(self.run_tree(thread, begun, &host, (&store, tree), key))
                .await
                .map_err(|source| not_resumed(thread, &limits, source))?;
        let thread = thread.clone();
        let continues = Vec::new();
        let parent = parent.map(|parent| store.registry.show(&parent)).transpose()?.flatten();
        Ok(RunReport {
            thread,
            folder,
            outcome,
            warnings,
            parent,
            continues,
            self_starting: Vec::new(),
            limit_set_by: None,
            resume: None,
            called: None,
            tree: None,
        })
    }

    /// A thread that can go on from where it is, prepared anew and held against what it rested on.
    ///
    /// `child_bounds` is known where its parent is driven, and with it the key that this opening is signed with when the operator
    /// has none. `raised` is there where the operator has the thread go on, also after an end.
    pub(super) fn going_on(
        &self,
        thread: &ThreadId,
        (child_bounds, key): (Option<Arc<ChildBounds>>, Option<Arc<SigningKey>>),
        raised: Option<RaisedLimits>,
        host: &Host<'_>,
        store: &Arc<Store>,
    ) -> Result<Begun, ReopenError> {
        let mut reopened = match raised {
            Some(raised) => self.reopen_stopped(thread, &raised, host)?,
            None => self.reopen(thread, host)?,
        };
        reopened.refuse_foreign(host)?;
        if let (Some(key), false) = (key, reopened.is_operators) {
            reopened.key = key;
        }
        let child_bounds = match child_bounds {
            None => self.child_bounds(&reopened.record, Some((host, &reopened.key)))?,
            known => known,
        };
        let prepared = self.prepare_again(&reopened, host, child_bounds)?;
        self.check_unchanged(&reopened, &prepared)?;
        let signed_again = changes::signed_again(&reopened.record.facts, &prepared.record.facts);
        let signed_again =
            (!signed_again.is_empty()).then(|| ("signed_again".to_owned(), signed_again.into()));
        // The record keeps the token that the thread began with; each later opening has one of its own.
        let began = prepared.record.facts.get(TOKEN).cloned();
        let token = prepared.token_by_now.clone().or(began).unwrap_or_default();
        let sandbox = prepared.record.facts.get(SANDBOX).cloned();
        let Prepared { contract, opening, text, means, inherited, mut warnings, .. } = prepared;
        let limits = reopened.record.limits.clone();
        let is_operators = reopened.is_operators;
        let has_ended = reopened.record.state.is_final();
        let (journal, reading) = reopened.journal(store)?;
        let limits = recorded_limits(&reading).map_or(limits, |recorded| recorded.first);
        warnings.extend(torn_end_warning(&reading));
        warnings.extend((!is_operators).then(|| SELF_VOUCHED.to_owned()));
        let max_output = means.provider.describe().max_output;
        let text = text.as_deref();
        let tools = means.palette.specs_as_recorded(&contract, &recorded_tools(&reading));
        let run = begin_run(opening, text, tools, contract, limits, max_output);
        let mut facts = Map::from_iter([(TOKEN.to_owned(), token)]);
        // It may be another machine by now, or another sandbox on the same one.
        facts.extend(sandbox.map(|sandbox| (SANDBOX.to_owned(), sandbox)));
        facts.extend(signed_again);
        let raised = raised.unwrap_or_default();
        let before = Before { reading, facts, reopens: has_ended, raised };
        Ok(Begun::again(run, journal, means, inherited, warnings, before))
    }

    /// Has the owner of the tree know what the thread and all below it have spent and hold.
    fn take_account(
        &self,
        begun: &Begun,
        tree: &TreeOwnership,
        host: &Host<'_>,
    ) -> Result<(), ReopenError> {
        let (Some(before), Some(threads)) = (begun.before(), self.threads()) else { return Ok(()) };
        let thread = begun.journal.thread().clone();
        let folded = self.fold_account(&threads, before, host);
        tree.take_account(folded.map_err(|source| ReopenError::Unbounded { thread, source })?);
        Ok(())
    }

    pub(super) fn open_store(&self, threads: &Path) -> Result<Arc<Store>, ReopenError> {
        refuse_linked_threads(threads)?;
        self.store(threads).map_err(|error| ReopenError::Store(error.into()))
    }

    /// Returns the call that a thread waits with, or the thread that continued it.
    ///
    /// Show this call before it is decided on with [`Rye::decide_about`].
    ///
    /// # Errors
    ///
    /// When no call waits, it is already decided on, or the record was changed.
    pub fn pending_approval(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
    ) -> Result<PendingApproval, ReopenError> {
        let conversation = Conversation::load(self, thread)?.without_failed_start(host);
        let thread = conversation.last().record.thread.clone();
        if let Some(next) = conversation.successor(host).cloned() {
            return Err(ReopenError::NotBegun { thread, next });
        }
        self.refuse_ended_below(&thread)?;
        let reopened = self.reopen(&thread, host)?;
        reopened.refuse_foreign(host)?;
        if let Some(decided) = reopened.decided {
            return Err(ReopenError::Decided { thread, decided: Box::new(decided) });
        }
        let (asked, record) = (reopened.asked, reopened.record);
        let store = self.open_store(&reopened.threads)?;
        asked.ok_or_else(|| self.nothing_asked(&record, &store))
    }

    /// Records a decision about the waiting call of a thread, or of the thread that continued it, whichever call that is.
    /// [`Rye::resume`] then resumes the thread.
    ///
    /// # Errors
    ///
    /// When no call waits, it is already decided on, the record was changed, or another program drives the thread.
    pub fn decide(
        &self,
        thread: &ThreadId,
        decision: &Decision,
        host: &Host<'_>,
    ) -> Result<ApprovalRequest, ReopenError> {
        self.decide_about(
            &self.pending_approval(thread, host)?,
            decision,
            &Decider::command(),
            host,
        )
    }

    /// Records a decision about exactly this call, or has the owner of the thread tree record it; [`Rye::resume`] goes on.
    ///
    /// # Errors
    ///
    /// Those of [`Rye::decide`], and [`ReopenError::AnotherCall`] if the thread does not wait with this call any more.
    pub fn decide_about(
        &self,
        asked: &PendingApproval,
        decision: &Decision,
        by: &Decider,
        host: &Host<'_>,
    ) -> Result<ApprovalRequest, ReopenError> {
        let thread = &asked.request.thread;
        let reading = self.found(&self.threads().ok_or(ReopenError::NoProject)?, thread)?.reading;
        let waiting = Waiting::read(&reading.record, &reading.transcript)
            .filter(|waiting| waiting.is(asked))
            .ok_or_else(|| why_not(asked, &reading.transcript))?;
        self.decide_or_ask(thread, &waiting, (decision, by), host)
    }

    /// Records a decision about exactly this call of a thread. Does nothing if the thread waits
    /// with another call by now.
    #[cfg(feature = "mcp")]
    pub(crate) fn decide_on(
        &self,
        waiting: &Waiting,
        said: (Decision, &Decider),
        host: &Host<'_>,
    ) -> Result<ApprovalRequest, ReopenError> {
        let (decision, by) = said;
        let thread = &waiting.request().thread;
        self.decide_or_ask(thread, waiting, (&decision, by), host)
    }

    /// Records a decision, or has the process record it that drives the thread.
    fn decide_or_ask(
        &self,
        thread: &ThreadId,
        expected: &Waiting,
        (decision, by): (&Decision, &Decider),
        host: &Host<'_>,
    ) -> Result<ApprovalRequest, ReopenError> {
        let owned = self.own_tree(thread);
        let decided = owned.and_then(|(store, tree)| {
            let _changing = tree.change();
            self.record_decision(thread, expected, (decision, by), host, &store)
        });
        match decided {
            Err(error) if is_held(&error) => {
                self.ask_to_decide(thread, expected, (decision, by), host)
            }
            decided => decided,
        }
    }

    /// Has the process that owns the tree record a decision, and records it once that process has ended.
    fn ask_to_decide(
        &self,
        thread: &ThreadId,
        expected: &Waiting,
        (decision, by): (&Decision, &Decider),
        host: &Host<'_>,
    ) -> Result<ApprovalRequest, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let store = self.open_store(&threads)?;
        let found = self.found(&threads, thread)?.reading;
        if let Some(decided) = decided_approval(&found.transcript) {
            return Err(ReopenError::Decided {
                thread: thread.clone(),
                decided: Box::new(decided),
            });
        }
        let waiting = self.waiting_call(&found.record, &found.transcript, &store)?;
        waiting.check(expected, decision)?;
        let seq = waiting.seq();
        let sha256 = waiting.request().sha256.clone();
        let request = ThreadRequest::decide(thread.clone(), seq, sha256, decision.clone());
        let recorded = || Ok(decision_on(&self.found(&threads, thread)?.reading.transcript, seq));
        let asked = AskedTree { store: &store, root: &found.record.root, host };
        match asked.ask(|| Ok(request.clone()), recorded)? {
            Answer::Free(_tree) => {
                self.record_decision(thread, &waiting, (decision, by), host, &store)
            }
            Answer::Recorded(decided) if decided.decision == *decision => {
                Ok(waiting.into_request())
            }
            Answer::Recorded(decided) => {
                Err(ReopenError::Decided { thread: thread.clone(), decided: Box::new(decided) })
            }
        }
    }

    /// Records a decision in a tree that this process owns.
    pub(super) fn record_decision(
        &self,
        thread: &ThreadId,
        expected: &Waiting,
        (decision, by): (&Decision, &Decider),
        host: &Host<'_>,
        store: &Arc<Store>,
    ) -> Result<ApprovalRequest, ReopenError> {
        self.refuse_ended_below(thread)?;
        let reopened = self.reopen(thread, host)?;
        reopened.refuse_foreign(host)?;
        if let Some(decided) = reopened.decided {
            return Err(ReopenError::Decided {
                thread: thread.clone(),
                decided: Box::new(decided),
            });
        }
        let record = reopened.record.clone();
        if reopened.asked.is_none() {
            return Err(self.nothing_asked(&record, store));
        }
        let (journal, reading) = reopened.journal(store)?;
        let waiting = self.waiting_call(&record, &reading, store)?;
        waiting.check(expected, decision)?;
        journal.decide(waiting.request(), decision.clone(), by, host.clock.now())?;
        Ok(waiting.into_request())
    }

    /// The call that a thread waits with.
    fn waiting_call(
        &self,
        record: &ThreadRecord,
        reading: &Reading,
        store: &Store,
    ) -> Result<Waiting, ReopenError> {
        Waiting::read(record, reading).ok_or_else(|| self.nothing_asked(record, store))
    }

    fn nothing_asked(&self, record: &ThreadRecord, store: &Store) -> ReopenError {
        let thread = record.thread.clone();
        let state = record.state;
        let below = self.waiting_below(&thread, store);
        match below.is_empty() {
            true => ReopenError::NothingAsked { thread, state },
            false => ReopenError::AskedBelow { thread, below },
        }
    }
}

/// Why a thread did not go on, with the command that raises the limit that stands in its way.
fn not_resumed(thread: &ThreadId, limits: &LimitSet, source: ResumeError) -> ReopenError {
    let thread = thread.clone();
    match source {
        ResumeError::LimitStands { hit } => {
            let kind = FailureKind::Limit(hit.clone());
            let command = command_after(&thread, &kind, limits);
            ReopenError::LimitStands { thread, hit, command }
        }
        ResumeError::NotRaised(source) => ReopenError::NotRaised { thread, source },
        source => ReopenError::Resume { thread, source: Box::new(source) },
    }
}

/// Why a call that was shown cannot be decided on any more.
fn why_not(asked: &PendingApproval, reading: &Reading) -> ReopenError {
    let thread = asked.request.thread.clone();
    match decided_approval(reading) {
        Some(decided) => ReopenError::Decided { thread, decided: Box::new(decided) },
        None => ReopenError::AnotherCall { thread },
    }
}

fn torn_end_warning(reading: &Reading) -> Option<String> {
    let torn = reading.torn.as_ref()?;
    Some(format!(
        "the last {} bytes of the transcript were not written whole, which a program that was killed leaves; they are cut off",
        torn.len()
    ))
}

/// Names the thread in an error about the lock of its root.
fn held_by_owner_of(thread: &ThreadId) -> impl FnOnce(JournalError) -> JournalError {
    |error| match error {
        JournalError::Store(StoreError::Held { owner, .. }) => {
            StoreError::Held { thread: thread.clone(), owner }.into()
        }
        error => error,
    }
}
