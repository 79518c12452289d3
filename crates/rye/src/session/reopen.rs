//! A thread that is there, opened again: to go on, to decide on a call, to end it (SPEC 10.8, 10.11).

use std::path::PathBuf;
use std::sync::Arc;

use rye_sign::token::{Claims, Token};
use rye_sign::{PublicKey, SigningKey};
use rye_thread::store::{Claim, Store as _};
use rye_thread::transcript::Reading;
use rye_thread::{
    ApprovalRequest, Decision, Journal, JournalError, Moment, ResumeError, Resumed, ThreadId,
    ThreadRecord, ThreadState, pending_approval, resume,
};
use serde_json::{Map, Value};

use super::facts::{SIGNED_BY, TOKEN};
use super::going_on::Latest;
use super::live::Live;
use super::prepare::{Prepared, prepare};
use super::programs::SANDBOX;
use super::recorded::recorded_request;
use super::{Host, LinkedThreads, PrepareError, RunReport, Store, begun, refuse_linked_threads};
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
            Latest::ToBegin(request) => self.begin(&request, host.clone()).await?,
        };
        Ok(self.go_on(report, host).await?)
    }

    async fn resume_one(
        &self,
        thread: &ThreadId,
        host: Host<'_>,
    ) -> Result<RunReport, ReopenError> {
        let reopened = self.reopened(thread, &host)?;
        reopened.refuse_foreign(&host)?;
        let prepared = self.prepared(&reopened, &host)?;
        self.unchanged(&reopened, &prepared)?;
        // The record keeps the token that the thread began with; each later opening has one of its own.
        let token = prepared.record.facts.get(TOKEN).cloned().unwrap_or_default();
        let sandbox = prepared.record.facts.get(SANDBOX).cloned();
        let Prepared { contract, opening, text, means, mut warnings, .. } = prepared;
        let (limits, is_operators) = (reopened.record.limits.clone(), reopened.is_operators);
        let (store, mut journal, reading) = reopened.journal(host.clock.now())?;
        warnings.extend(torn(&reading));
        warnings.extend((!is_operators).then(|| SELF_VOUCHED.to_owned()));
        let folder = journal.folder().to_owned();
        let max_output = means.provider.describe().max_output;
        let text = text.as_deref();
        let run = begun(opening, text, &means.palette, contract, limits, max_output);
        let mut resumed = Resumed::new(&reading);
        resumed.facts = Map::from_iter([(TOKEN.to_owned(), token)]);
        // It may be another machine by now, or another sandbox on the same one.
        resumed.facts.extend(sandbox.map(|sandbox| (SANDBOX.to_owned(), sandbox)));
        let live = Live::new(&folder, host.observer);
        let host = Host { observer: &live, ..host };
        let context = means.context(&*store.threads, &mut journal, &host);
        let outcome = resume(run, resumed, context).await.map_err(|source| {
            ReopenError::Resume { thread: thread.clone(), source: Box::new(source) }
        })?;
        let (thread, continues) = (thread.clone(), Vec::new());
        Ok(RunReport { thread, folder, outcome, warnings, continues })
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
        let (_store, journal, reading) = reopened.journal(now)?;
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
        let reopened = self.reopened(thread, host)?;
        let store =
            Store::open(&reopened.threads).map_err(|error| ReopenError::Store(error.into()))?;
        let now = host.clock.now();
        // Later than any lease lasts.
        let claim = Claim::new("`rye cancel`", Moment::from_unix_millis(i64::MAX), now);
        drop(store.threads.acquire(thread, &claim).map_err(JournalError::from)?);
        drop(store);
        let (_store, journal, _) = reopened.journal(now)?;
        Ok(journal.cancel(now)?)
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
    fn prepared(&self, reopened: &Reopened, host: &Host<'_>) -> Result<Prepared, ReopenError> {
        let record = &reopened.record;
        let thread = record.thread.clone();
        let request = recorded_request(record)
            .map_err(|problem| ReopenError::Unrepeatable { thread: thread.clone(), problem })?;
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
    fn journal(mut self, now: Moment) -> Result<(Store, Journal, Reading), ReopenError> {
        let store = Store::open(&self.threads).map_err(|error| ReopenError::Store(error.into()))?;
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
        Ok((store, journal, reading))
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
