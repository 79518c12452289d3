//! A thread that is there, opened again: to go on, to decide on a call, to end it (SPEC 10.8, 10.11).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rye_sign::token::{Claims, Token};
use rye_sign::{PublicKey, SigningKey};
use rye_thread::budget::{Ledger as _, LedgerError};
use rye_thread::store::{Claim, Store as _};
use rye_thread::transcript::Reading;
use rye_thread::{
    ApprovalRequest, Decision, Journal, JournalError, Moment, ResumeError, ThreadId, ThreadRecord,
    ThreadState, ThreadSummary, pending_approval, settle_left,
};
use serde_json::{Map, Value};

use super::begin::Begun;
use super::facts::{SIGNED_BY, TOKEN};
use super::going_on::Latest;
use super::prepare::{Prepared, prepare};
use super::programs::SANDBOX;
use super::recorded::recorded_request;
use super::{
    Host, Lineage, LinkedThreads, PrepareError, RunReport, Store, begun, refuse_linked_threads,
};
use crate::outcome::Class;
use crate::thread_reading::{Found, Voucher};
use crate::{Rye, ThreadReadError};

/// Why a thread was not opened again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReopenError {
    /// What the thread rests on is not what it was.
    #[error("thread `{thread}` does not go on: {} changed since it began; undo that, or start the directive again", changes.join(", "))]
    Changed {
        /// The thread.
        thread: ThreadId,
        /// What changed, in words.
        changes: Vec<String>,
    },
    /// The thread has ended.
    #[error(
        "thread `{thread}` is `{state}`, and nothing more happens in it; start the directive again"
    )]
    Ended {
        /// The thread.
        thread: ThreadId,
        /// How.
        state: ThreadState,
    },
    /// Its journal cannot be used, or another program drives it.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The thread's record would be written through a link.
    #[error(transparent)]
    Linked(#[from] LinkedThreads),
    /// There is no project.
    #[error("no project here: no folder above has an `.ai` folder")]
    NoProject,
    /// It was continued, and the next thread cannot be begun.
    #[error(transparent)]
    Continue(#[from] super::RunError),
    /// No call waits for a decision.
    #[error("no call of thread `{thread}` waits for a decision; it is `{state}`")]
    NothingAsked {
        /// The thread.
        thread: ThreadId,
        /// How it stands.
        state: ThreadState,
    },
    /// The operator's key signed the record, and is not at hand.
    #[error(
        "the record of thread `{thread}` was signed with the key `{key_id}`; go on with that key"
    )]
    OtherKey {
        /// The thread.
        thread: ThreadId,
        /// The key that signed it.
        key_id: String,
    },
    /// The operator has a key, and it is not what vouches for the record.
    #[error(
        "the record of thread `{thread}` is signed with a key of its own and not with yours, so whoever could write its folder could have written it; run its directive anew"
    )]
    SelfVouched {
        /// The thread.
        thread: ThreadId,
    },
    /// The directive can no longer be prepared.
    #[error("the directive of thread `{thread}` cannot be prepared any more")]
    Prepare {
        /// The thread.
        thread: ThreadId,
        /// What stands in the way.
        source: Box<PrepareError>,
    },
    /// The record cannot be read, or is not as a run wrote it.
    #[error(transparent)]
    Read(#[from] ThreadReadError),
    /// The run cannot be led through what was recorded.
    #[error("thread `{thread}` does not go on")]
    Resume {
        /// The thread.
        thread: ThreadId,
        /// What stands in the way.
        source: Box<ResumeError>,
    },
    /// The store of threads cannot be used.
    #[error("the record of the thread cannot be written")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The record does not say how the thread was started.
    #[error("the record of thread `{thread}` does not say how it was started: {problem}")]
    Unrepeatable {
        /// The thread.
        thread: ThreadId,
        /// What is missing.
        problem: String,
    },
}

impl ReopenError {
    /// Which exit code it comes to.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Changed { .. }
            | Self::Linked(_)
            | Self::OtherKey { .. }
            | Self::SelfVouched { .. } => Class::Refused,
            Self::Continue(error) => error.class(),
            Self::Prepare { source, .. } => source.class(),
            Self::Read(error) if error.is_tampering() => Class::Refused,
            Self::Resume { source, .. } if matches!(**source, ResumeError::Changed { .. }) => {
                Class::Refused
            }
            Self::NoProject => Class::Usage,
            _ => Class::Failed,
        }
    }
}

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
        let report = match self.latest(thread, &host)? {
            Latest::Thread(last) => self.resume_one(&last, host.clone()).await?,
            Latest::ToBegin(request) => {
                self.make_room(&request.thread, &host)?;
                self.begin(&request, host.clone()).await?
            }
        };
        Ok(self.go_on(report, host).await?)
    }

    async fn resume_one(
        &self,
        thread: &ThreadId,
        host: Host<'_>,
    ) -> Result<RunReport, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let store = self.opened(&threads)?;
        let begun = self.going_on(thread, None, &host, &store, None)?;
        let folder = begun.folder.clone();
        let (key, is_child) =
            (begun.journal.signing_key(), begun.journal.record().parent.is_some());
        if let Some(parent) = begun.journal.record().parent.clone() {
            // Its program may have ended before the child had its account below the parent's.
            let spend = begun.journal.record().limits.spend;
            let opened = store.threads.open_child(&parent, thread, spend);
            opened.map_err(|error| ReopenError::Store(error.into()))?;
        }
        let (outcome, warnings) =
            Box::pin(self.tended(thread, begun, &host, &store, key)).await.map_err(|source| {
                ReopenError::Resume { thread: thread.clone(), source: Box::new(source) }
            })?;
        if is_child && outcome.state.is_final() {
            store.threads.close_child(thread).map_err(|error| ReopenError::Store(error.into()))?;
        }
        let (thread, continues) = (thread.clone(), Vec::new());
        Ok(RunReport { thread, folder, outcome, warnings, continues })
    }

    /// A thread that can go on from where it is, prepared anew and held against what it rested on.
    ///
    /// `lineage` is known where its parent is driven, and with it the key that this opening is signed with when the operator
    /// has none.
    pub(super) fn going_on(
        &self,
        thread: &ThreadId,
        lineage: Option<Arc<Lineage>>,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<Arc<SigningKey>>,
    ) -> Result<Begun, ReopenError> {
        let mut reopened = self.reopened(thread, host)?;
        reopened.refuse_foreign(host)?;
        if let (Some(key), false) = (key, reopened.is_operators) {
            reopened.key = key;
        }
        let lineage = match lineage {
            None => self.lineage(&reopened.record, Some((host, &reopened.key)))?,
            known => known,
        };
        let prepared = self.prepared(&reopened, host, lineage)?;
        self.unchanged(&reopened, &prepared)?;
        // The record keeps the token that the thread began with; each later opening has one of its own.
        let token = prepared.record.facts.get(TOKEN).cloned().unwrap_or_default();
        let sandbox = prepared.record.facts.get(SANDBOX).cloned();
        let Prepared { contract, opening, text, means, heritage, mut warnings, .. } = prepared;
        let (limits, is_operators) = (reopened.record.limits.clone(), reopened.is_operators);
        let (journal, reading) = reopened.journal(store, host.clock.now())?;
        warnings.extend(torn(&reading));
        warnings.extend((!is_operators).then(|| SELF_VOUCHED.to_owned()));
        let max_output = means.provider.describe().max_output;
        let text = text.as_deref();
        let run = begun(opening, text, &means.palette, contract, limits, max_output);
        let mut facts = Map::from_iter([(TOKEN.to_owned(), token)]);
        // It may be another machine by now, or another sandbox on the same one.
        facts.extend(sandbox.map(|sandbox| (SANDBOX.to_owned(), sandbox)));
        Ok(Begun::again(run, journal, means, heritage, warnings, (reading, facts)))
    }

    pub(super) fn opened(&self, threads: &Path) -> Result<Arc<Store>, ReopenError> {
        refuse_linked_threads(threads)?;
        self.store(threads).map_err(|error| ReopenError::Store(error.into()))
    }

    /// Records what somebody says about the call that a thread waits with; [`Rye::resume`] goes on.
    ///
    /// # Errors
    ///
    /// When no call waits, the record was changed, or another program drives the thread.
    pub fn decide(
        &self,
        thread: &ThreadId,
        decision: Decision,
        host: &Host<'_>,
    ) -> Result<ApprovalRequest, ReopenError> {
        let reopened = self.reopened(thread, host)?;
        reopened.refuse_foreign(host)?;
        let (state, now) = (reopened.record.state, host.clock.now());
        let store = self.opened(&reopened.threads)?;
        let (journal, reading) = reopened.journal(&store, now)?;
        let Some(request) = pending_approval(&reading) else {
            return Err(ReopenError::NothingAsked { thread: thread.clone(), state });
        };
        journal.decide(&request, decision, now)?;
        Ok(request)
    }

    /// Ends a thread; one that another program drives is taken over, and that program stops where it next writes.
    ///
    /// # Errors
    ///
    /// When the thread has ended, or its record was changed.
    pub fn cancel(&self, thread: &ThreadId, host: &Host<'_>) -> Result<(), ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let store = self.opened(&threads)?;
        // The thread first, so that it starts no more while those below it are ended; and each of these may have started
        // one just before, which is found when it is looked for again.
        self.end(thread, host, &store, None)?;
        let mut seen = BTreeSet::new();
        loop {
            let mut below = self.below(thread, &store)?;
            below.retain(|child| seen.insert(child.clone()));
            if below.is_empty() {
                break;
            }
            for child in below {
                match self.end(&child, host, &store, None) {
                    // One that ended by itself meanwhile has what was wanted of it.
                    Err(ReopenError::Ended { .. }) => {}
                    ended => ended?,
                }
            }
        }
        match store.threads.close_child(thread) {
            // A thread that nobody started has no account in another one's.
            Err(LedgerError::UnknownAccount { .. }) => Ok(()),
            closed => closed.map(drop).map_err(|error| ReopenError::Store(error.into())),
        }
    }

    /// All threads that stand below this one in the registry and have not ended, each after the one that started it.
    fn below(&self, thread: &ThreadId, store: &Store) -> Result<Vec<ThreadId>, ReopenError> {
        let listed = store.registry.list().map_err(|error| ReopenError::Store(error.into()))?;
        let mut found = vec![thread.clone()];
        let mut place = 0;
        while let Some(parent) = found.get(place).cloned() {
            let is_new = |row: &&ThreadSummary| {
                row.parent.as_ref() == Some(&parent) && !found.contains(&row.thread)
            };
            let children: Vec<ThreadId> =
                listed.iter().filter(is_new).map(|row| row.thread.clone()).collect();
            found.extend(children);
            place += 1;
        }
        let has_ended = |thread: &ThreadId| {
            listed.iter().any(|row| row.thread == *thread && row.state.is_final())
        };
        Ok(found.into_iter().skip(1).filter(|thread| !has_ended(thread)).collect())
    }

    /// Ends one thread, and gives back what it did not spend where another one started it.
    pub(super) fn end(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        store: &Arc<Store>,
        key: Option<&Arc<SigningKey>>,
    ) -> Result<(), ReopenError> {
        let mut reopened = self.reopened(thread, host)?;
        if let (Some(key), false) = (key, reopened.is_operators) {
            reopened.key = Arc::clone(key);
        }
        let now = host.clock.now();
        // Later than any lease lasts.
        let claim = Claim::new("`rye cancel`", Moment::from_unix_millis(i64::MAX), now);
        let lease = store.threads.acquire(thread, &claim).map_err(JournalError::from)?;
        store.threads.release(&lease).map_err(JournalError::from)?;
        let is_child = reopened.record.parent.is_some();
        let (journal, reading) = reopened.journal(store, now)?;
        journal.cancel(now)?;
        if is_child {
            // What its program had set aside for requests that were never sent is its parent's again.
            settle_left(thread, &reading, &*store.threads)
                .map_err(|error| ReopenError::Store(error.into()))?;
            // A child that was killed before it had an account has none to close.
            drop(store.threads.close_child(thread));
        }
        Ok(())
    }

    /// Reads and verifies a thread that somebody may still go on with.
    fn reopened(&self, thread: &ThreadId, host: &Host<'_>) -> Result<Reopened, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        refuse_linked_threads(&threads)?;
        let Found { reading, keys } = self.found(&threads, thread)?;
        let record = reading.record;
        if record.state.is_final() {
            return Err(ReopenError::Ended { thread: thread.clone(), state: record.state });
        }
        let key = match reading.vouched_by {
            Voucher::Thread => Arc::new(
                SigningKey::generate().map_err(|error| ReopenError::Store(Box::new(error)))?,
            ),
            Voucher::TrustedKey => operators_key(&record, host)?,
        };
        let is_operators = reading.vouched_by == Voucher::TrustedKey;
        Ok(Reopened { threads, record, token: reading.token, keys, key, is_operators })
    }

    /// What a run that is started now, as the thread was then, would begin with.
    fn prepared(
        &self,
        reopened: &Reopened,
        host: &Host<'_>,
        lineage: Option<Arc<Lineage>>,
    ) -> Result<Prepared, ReopenError> {
        let record = &reopened.record;
        let thread = record.thread.clone();
        let mut request = recorded_request(record)
            .map_err(|problem| ReopenError::Unrepeatable { thread: thread.clone(), problem })?;
        request.lineage = lineage;
        prepare(self, &request, host, &reopened.key)
            .map_err(|source| ReopenError::Prepare { thread, source: Box::new(source) })
    }

    fn unchanged(&self, reopened: &Reopened, prepared: &Prepared) -> Result<(), ReopenError> {
        let (then, now) = (&reopened.record.facts, &prepared.record.facts);
        let mut changes: Vec<String> = ["chain", "knowledge", "tools", "config"]
            .iter()
            .flat_map(|name| changed(then, now, name))
            .collect();
        changes.extend((then.get("inputs") != now.get("inputs")).then(|| "its inputs".to_owned()));
        changes.extend(authority_changes(reopened.token.as_ref(), now));
        if changes.is_empty() {
            return Ok(());
        }
        Err(ReopenError::Changed { thread: reopened.record.thread.clone(), changes })
    }
}

/// A thread that somebody may go on with.
struct Reopened {
    threads: PathBuf,
    record: ThreadRecord,
    /// What the thread began with, verified.
    token: Option<Token>,
    /// Whose checkpoints its transcript may hold.
    keys: Vec<PublicKey>,
    /// What signs from now on.
    key: Arc<SigningKey>,
    is_operators: bool,
}

impl Reopened {
    /// A cloned repository may bring a thread along, and with it what the model is made to believe that it said.
    ///
    /// Where the operator has a key, threads that were run here are signed with it.
    fn refuse_foreign(&self, host: &Host<'_>) -> Result<(), ReopenError> {
        if self.is_operators || host.signing_key.is_none() {
            return Ok(());
        }
        Err(ReopenError::SelfVouched { thread: self.record.thread.clone() })
    }

    /// Takes the right to drive it, with this opening's key on record beside those before it.
    fn journal(mut self, store: &Store, now: Moment) -> Result<(Journal, Reading), ReopenError> {
        if !self.is_operators {
            let mut signed_by = super::facts::signed_by(&self.key, false);
            signed_by["earlier"] = self.keys.iter().map(|key| Value::from(key.to_pem())).collect();
            self.record.facts.insert(SIGNED_BY.to_owned(), signed_by);
        }
        let (registry, threads) = (Arc::clone(&store.registry), Arc::clone(&store.threads));
        let (journal, reading) = Journal::open(
            &self.threads,
            self.record,
            &self.keys,
            self.key,
            registry,
            threads,
            now,
        )?;
        Ok((journal, reading))
    }
}

fn operators_key(record: &ThreadRecord, host: &Host<'_>) -> Result<Arc<SigningKey>, ReopenError> {
    let signed_by =
        record.facts.get(SIGNED_BY).and_then(|it| it.get("key_id")).and_then(Value::as_str);
    let own = host.signing_key.as_ref();
    match own.filter(|key| Some(key.public().key_id().as_str()) == signed_by) {
        Some(key) => Ok(Arc::clone(key)),
        None => Err(ReopenError::OtherKey {
            thread: record.thread.clone(),
            key_id: signed_by.unwrap_or("of another operator").to_owned(),
        }),
    }
}

/// The rows of a fact that are not what they were, by kind and id.
fn changed(then: &Map<String, Value>, now: &Map<String, Value>, name: &str) -> Vec<String> {
    let rows = |facts: &Map<String, Value>| -> Vec<Value> {
        facts.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (then, now) = (rows(then), rows(now));
    if then == now {
        return Vec::new();
    }
    let gone = then.iter().filter(|row| !now.contains(row));
    let new = now.iter().filter(|row| !then.contains(row));
    let mut named: Vec<String> = gone.chain(new).map(row_name).collect();
    named.dedup();
    if named.is_empty() { vec![format!("the order of its {name}")] } else { named }
}

fn row_name(row: &Value) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{} `{}`", text("kind"), text("id"))
}

/// Whether a token that is made now would say what the one says that the thread began with.
fn authority_changes(then: Option<&Token>, now: &Map<String, Value>) -> Option<String> {
    let now = now.get(TOKEN).and_then(|token| Token::parse(&token.to_string()).ok());
    let claims = |token: &Token| {
        let Claims { directive_id, directive_hash, capabilities, .. } = token.claims().clone();
        (directive_id, directive_hash, capabilities)
    };
    (then.map(claims) != now.as_ref().map(claims)).then(|| "its authority".to_owned())
}

fn torn(reading: &Reading) -> Option<String> {
    let torn = reading.torn.as_ref()?;
    Some(format!(
        "the last {} bytes of the transcript were half a record, which a program that was killed leaves; they are cut off",
        torn.len()
    ))
}
