//! A thread that can be resumed, read and verified.

use std::path::PathBuf;
use std::sync::Arc;

use rye_project::{ChildBounds, ItemProvenance, PrepareError, RecordedSettings, added_item};
use rye_resolve::{ItemId, Location, ResolveError};
use rye_sign::token::Token;
use rye_sign::{PublicKey, SigningKey};
use rye_thread::transcript::Reading;
use rye_thread::{
    AddedItem, DecidedApproval, Journal, OutputContract, PendingApproval, ProviderInfo, ThreadId,
    ThreadRecord, added_items, decided_approval, pending_approval, recorded_provider,
};
use rye_types::RaisedLimits;
use serde_json::Value;

use super::ReopenError;
use super::changes::{changes, is_same, row_name};
use super::raising::is_stopped;
use crate::rye::Rye;
use crate::session::calling::refused_again;
use crate::session::conversation::UNREADABLE_ITEM;
use crate::session::facts::{self, SIGNED_BY};
use crate::session::prepare::{Prepared, prepare};
use crate::session::recorded::recorded_request;
use crate::session::{Host, Store, refuse_linked_threads};
use crate::thread_reading::{Found, RecordSigner};

/// A thread that can be resumed.
pub(super) struct Reopened {
    pub(super) threads: PathBuf,
    pub(super) record: ThreadRecord,
    /// The provider and the model that the thread began with.
    began_with: Option<ProviderInfo>,
    /// The verified token of the thread's beginning.
    token: Option<Token>,
    /// The keys whose checkpoints its transcript may hold.
    keys: Vec<PublicKey>,
    /// The items that calls added to its conversation, in its own transcript.
    pub(super) added: Vec<AddedItem>,
    /// The call that it waits with.
    pub(super) asked: Option<PendingApproval>,
    /// The recorded decision about the waiting call.
    pub(super) decided: Option<DecidedApproval>,
    /// The key that signs from now on.
    pub(super) key: Arc<SigningKey>,
    pub(super) is_operators: bool,
}

impl Reopened {
    /// A cloned repository may bring a thread along, and with it what the model is made to believe that it said.
    ///
    /// Where the operator has a key, threads that were run here are signed with it.
    pub(super) fn refuse_foreign(&self, host: &Host<'_>) -> Result<(), ReopenError> {
        if self.is_operators || host.signing_key.is_none() {
            return Ok(());
        }
        Err(ReopenError::SelfVouched { thread: self.record.thread.clone() })
    }

    /// Takes the right to append to it, with this opening's key on record beside those before it. The caller has owned its tree
    /// since before the thread was read.
    pub(super) fn journal(mut self, store: &Store) -> Result<(Journal, Reading), ReopenError> {
        self.signs();
        let registry = Arc::clone(&store.registry);
        let threads = Arc::clone(&store.threads);
        let Self { threads: folder, record, keys, key, .. } = self;
        Ok(Journal::open(&folder, record, &keys, key, registry, threads)?)
    }

    /// The provider, the model and the limits of its record, which it keeps (SPEC D19).
    fn settings(&self) -> Option<RecordedSettings> {
        let ProviderInfo { provider, model, .. } = self.began_with.clone()?;
        let limits = self.record.limits.clone();
        let by_now = self.record.model.clone();
        let fallback = by_now.filter(|by_now| *by_now != model);
        Some(RecordedSettings { provider, model, fallback, limits })
    }

    fn signs(&mut self) {
        if !self.is_operators {
            let mut signed_by = facts::signed_by(&self.key, false);
            signed_by["earlier"] = self.keys.iter().map(|key| Value::from(key.to_pem())).collect();
            self.record.facts.insert(SIGNED_BY.to_owned(), signed_by);
        }
    }
}

impl Rye {
    /// Reads and verifies a thread that can be resumed.
    pub(super) fn reopen(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
    ) -> Result<Reopened, ReopenError> {
        self.reopened_if(thread, host, |record| !record.state.is_final())
    }

    /// The same for a thread that the operator has go on, which may have been stopped by a limit or its provider.
    pub(super) fn reopen_stopped(
        &self,
        thread: &ThreadId,
        raised: &RaisedLimits,
        host: &Host<'_>,
    ) -> Result<Reopened, ReopenError> {
        let may_go_on = |record: &ThreadRecord| !record.state.is_final() || is_stopped(record);
        let reopened = self.reopened_if(thread, host, may_go_on)?;
        match &reopened.record.parent {
            Some(parent) if !raised.is_empty() => Err(ReopenError::RaisedBelow {
                thread: thread.clone(),
                parent: parent.clone(),
                first: self.first_above(&reopened.record),
            }),
            _ => Ok(reopened),
        }
    }

    fn reopened_if(
        &self,
        thread: &ThreadId,
        host: &Host<'_>,
        may_go_on: impl Fn(&ThreadRecord) -> bool,
    ) -> Result<Reopened, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        refuse_linked_threads(&threads)?;
        let found = self.found(&threads, thread)?;
        let record = &found.reading.record;
        if !may_go_on(record) {
            return Err(ReopenError::Ended { thread: thread.clone(), state: record.state });
        }
        let key = match found.reading.vouched_by {
            RecordSigner::Thread => Arc::new(
                SigningKey::generate().map_err(|error| ReopenError::Store(Box::new(error)))?,
            ),
            RecordSigner::TrustedKey => operators_key(&found, host)?,
        };
        let Found { reading, keys, .. } = found;
        let is_operators = reading.vouched_by == RecordSigner::TrustedKey;
        let unreadable = || {
            let problem = UNREADABLE_ITEM.to_owned();
            ReopenError::Unrepeatable { thread: thread.clone(), problem }
        };
        let added = added_items(&reading.transcript).ok_or_else(unreadable)?;
        let asked = pending_approval(&reading.transcript);
        let decided = decided_approval(&reading.transcript);
        let began_with = recorded_provider(&reading.transcript);
        let record = reading.record;
        let token = reading.token;
        Ok(Reopened {
            threads,
            record,
            began_with,
            token,
            keys,
            added,
            asked,
            decided,
            key,
            is_operators,
        })
    }

    /// Prepares a new run with the thread's recorded request.
    pub(super) fn prepare_again(
        &self,
        reopened: &Reopened,
        host: &Host<'_>,
        child_bounds: Option<Arc<ChildBounds>>,
    ) -> Result<Prepared, ReopenError> {
        let record = &reopened.record;
        let thread = record.thread.clone();
        let mut request = recorded_request(record)
            .map_err(|problem| ReopenError::Unrepeatable { thread: thread.clone(), problem })?;
        if let Some(problem) = refused_again(&request, reopened.is_operators) {
            return Err(ReopenError::Unvouched { thread, problem });
        }
        request.child_bounds = child_bounds;
        request.added.clone_from(&reopened.added);
        request.recorded = reopened.settings();
        prepare(self, &request, host, &reopened.key).map_err(|source| match edited_file(&source) {
            Some(location) => ReopenError::Edited { thread, location: location.to_string() },
            None => ReopenError::Prepare { thread, source: Box::new(source) },
        })
    }

    pub(super) fn check_unchanged(
        &self,
        reopened: &Reopened,
        prepared: &Prepared,
    ) -> Result<(), ReopenError> {
        let then = &reopened.record.facts;
        let now = &prepared.record.facts;
        let mut changes = changes(then, now, reopened.token.as_ref());
        let before = recorded_request(&reopened.record).ok().and_then(|request| request.continues);
        let before = before.map(|continuation| continuation.added).unwrap_or_default();
        let added = before.iter().chain(&reopened.added);
        changes.extend(added.filter_map(|item| self.addition_change(item, &prepared.contract)));
        changes.dedup();
        if changes.is_empty() {
            return Ok(());
        }
        Err(ReopenError::Changed { thread: reopened.record.thread.clone(), changes })
    }
}

/// Returns the file that was edited since it was signed, if that is why nothing can be prepared.
fn edited_file(error: &PrepareError) -> Option<&Location> {
    let PrepareError::Resolve(error) = error else { return None };
    let mut error = error;
    loop {
        error = match error {
            ResolveError::Unverified { location, source } => {
                let is_edited = matches!(**source, rye_sign::Error::Tampered { .. });
                return is_edited.then_some(location);
            }
            ResolveError::Extends { source, .. } | ResolveError::HookExtends { source, .. } => {
                source
            }
            _ => return None,
        };
    }
}

impl Rye {
    /// The name of an item that a call added to a conversation, unless it is now what it was then.
    fn addition_change(&self, then: &AddedItem, contract: &OutputContract) -> Option<String> {
        let id = || ItemId::of_context(then.facts.get("id")?.as_str()?).ok();
        let name = || row_name(&Value::Object(then.facts.clone()));
        let now = match then.facts.get("kind").and_then(Value::as_str) {
            Some("directive") => {
                self.library().directive(&id()?).map(|item| ItemProvenance::of(&item))
            }
            Some("knowledge") => {
                self.library().knowledge(&id()?).map(|item| ItemProvenance::of(&item))
            }
            // A hooks file is among the configuration that the thread began with, which is compared as a whole.
            _ => return None,
        };
        let Ok(ItemProvenance { row, provenance, .. }) = now else { return Some(name()) };
        let now = added_item(&row, &provenance, contract);
        let is_one = is_same(&Value::Object(then.facts.clone()), &row)
            && now.is_ok_and(|now| now.grants == then.grants);
        (!is_one).then(name)
    }
}

/// The operator's key, if it signed all of the thread.
fn operators_key(found: &Found, host: &Host<'_>) -> Result<Arc<SigningKey>, ReopenError> {
    match (found.foreign_signer(host), &host.signing_key) {
        (None, Some(key)) => Ok(Arc::clone(key)),
        (signer, _) => Err(ReopenError::OtherKey {
            thread: found.reading.record.thread.clone(),
            key_id: signer.map_or_else(|| "of another operator".to_owned(), ToString::to_string),
        }),
    }
}
