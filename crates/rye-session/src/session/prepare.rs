//! From a plan to a run that can begin: the provider with its key, the record and the token.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rye_caps::{Authority, Layer};
use rye_project::{
    ChildBounds, ItemProvenance, Plan, PlanRequest, PlannedRun, PrepareError, SetLimits,
    sandbox_warning,
};
use rye_providers::StepsProvider;
use rye_resolve::{ExtendsChain, Item};
use rye_sandbox::Processes;
use rye_sandbox::Report;
use rye_sign::SigningKey;
use rye_sign::token::{Claims, Token};
use rye_thread::transcript::payload::Injected;
use rye_thread::{
    DriveContext, Hooks, Journal, Opening, OutputContract, Palette, Provider, ThreadRecord,
};
use rye_types::{LimitSet, Moment, Timestamp};
use serde_json::Value;

use super::authority::under;
use super::continuing::{Begins, begins};
use super::facts::{SANDBOX, TOKENS_ABOVE, facts, row, sandbox_fact};
use super::recorded;
use super::request::{Host, RunRequest};
use super::tree::{Handle, InheritedSettings};
use crate::rye::Rye;
use crate::thread_reading::covers;

/// A run that can begin.
pub(crate) struct Prepared {
    pub(crate) threads: PathBuf,
    pub(crate) record: ThreadRecord,
    pub(crate) contract: OutputContract,
    pub(crate) opening: Opening,
    /// The second message of a thread that goes on with another one's conversation.
    pub(crate) text: Option<String>,
    pub(crate) means: Means,
    /// The authority, tokens and settings that its children inherit.
    pub(crate) inherited: InheritedSettings,
    pub(crate) warnings: Vec<String>,
    /// The limits, with the source of each.
    pub(crate) limits: SetLimits,
    /// The token of a thread that is resumed and to whose conversation calls added items, which bound it.
    pub(crate) token_by_now: Option<Value>,
}

/// The parts that a loop works with, both in a new and in a resumed thread.
pub(crate) struct Means {
    pub(crate) provider: Box<dyn Provider>,
    pub(crate) palette: Palette,
    authority: Authority,
    injected: Vec<Injected>,
    hooks: Hooks,
    /// Its place among the threads of a tree.
    pub(crate) children: Arc<Handle>,
    /// The number of threads of its tree that may wait for a provider at once.
    pub(crate) requests: usize,
    /// `true` if programs that its tools start may be able to write to the folder of the threads.
    pub(crate) is_exposed: bool,
}

impl Means {
    /// Puts something around the provider.
    pub(crate) fn bound(&mut self, bound: impl FnOnce(Box<dyn Provider>) -> Box<dyn Provider>) {
        let nobody: Box<dyn Provider> = Box::new(StepsProvider::new(Vec::new(), Vec::new()));
        self.provider = bound(std::mem::replace(&mut self.provider, nobody));
    }

    pub(crate) fn context<'a>(
        &'a self,
        journal: &'a mut Journal,
        host: &Host<'a>,
    ) -> DriveContext<'a> {
        DriveContext {
            provider: self.provider.as_ref(),
            palette: &self.palette,
            authority: &self.authority,
            journal,
            clock: host.clock,
            observer: host.observer,
            approver: host.approver,
            cancel: host.cancel,
            injected: &self.injected,
            hooks: &self.hooks,
        }
    }
}

pub(crate) fn prepare(
    rye: &Rye,
    request: &RunRequest,
    host: &Host<'_>,
    key: &Arc<SigningKey>,
) -> Result<Prepared, PrepareError> {
    let threads = rye.threads().ok_or(PrepareError::NoProject)?;
    let (wish, children) = plan_request(request);
    let PlannedRun { mut plan, answerer, opening, .. } = rye.plan_run(&wish)?;
    // Planning only reads, so that the policy is held, and pinned, for a run that could begin.
    rye.hold_policy(plan.processes.as_deref())?;
    let destination = answerer.destination();
    let default_provider = answerer.default_name().map(str::to_owned);
    let begins = begins(rye, &mut plan, opening, request.continues.as_ref())?;
    let Begins { opening, text, directive, injected } = begins;
    let mut vouched = plan.provenances(Some(&answerer));
    vouched.extend(directive.as_ref().map(ItemProvenance::of));
    let provider = answerer.connect(|name| host.secrets.api_key(name), host.random.clone())?;
    let bounds = request.child_bounds.as_deref();
    let mut record = new_record(request, &plan, &threads, host.clock.now());
    let (token, token_by_now) = tokens_of(request, &plan, &record, key)?;
    let mut notices: Vec<String> = plan.warnings().into_iter().chain(destination).collect();
    notices.extend(plan.composed.item_warnings(&vouched, rye));
    let sandbox = plan.processes.as_deref().map(Processes::sandbox).transpose()?;
    notices.extend(sandbox.as_ref().and_then(sandbox_warning));
    record.facts =
        facts(rye, &plan.composed, &vouched, &token, key, host.signing_key.is_some(), &notices);
    let is_exposed = sandbox.as_ref().is_some_and(is_exposed);
    record.facts.extend(sandbox.map(|report| (SANDBOX.to_owned(), sandbox_fact(&report))));
    record_request(&mut record, request, default_provider.as_deref());
    record_instruction(&mut record, directive.as_ref());
    let mut tokens = bounds.map(|bounds| bounds.tokens.clone()).unwrap_or_default();
    let above = (!tokens.is_empty()).then(|| tokens.iter().map(json).collect::<Value>());
    record.facts.extend(above.map(|above| (TOKENS_ABOVE.to_owned(), above)));
    tokens.push(token);
    let inherited = InheritedSettings {
        authority: plan.authority.clone(),
        root: record.root.clone(),
        tokens,
        provider: request.provider.clone(),
        model: request.model.clone(),
        returns: request.returns,
    };
    let palette = plan.offer.palette;
    let (authority, requests, hooks) = (plan.authority, plan.requests, plan.hooks);
    let means =
        Means { provider, palette, authority, injected, hooks, children, requests, is_exposed };
    Ok(Prepared {
        threads,
        record,
        contract: plan.contract,
        opening,
        text,
        means,
        inherited,
        warnings: notices,
        token_by_now,
        limits: plan.limits,
    })
}

/// The request for the plan, with the handle by which its tools reach the tree.
fn plan_request(request: &RunRequest) -> (PlanRequest, Arc<Handle>) {
    let handle = Arc::new(Handle::default());
    let mut wish = PlanRequest::from(request);
    wish.tree = Arc::clone(&handle) as _;
    (wish, handle)
}

/// The record of a thread that begins. Programs that its tools start hold the lock of its tree's tools.
fn new_record(request: &RunRequest, plan: &Plan, threads: &Path, now: Moment) -> ThreadRecord {
    let limits = &plan.limits.limits;
    let mut record = ThreadRecord::new(&request.thread, request.directive.as_str(), limits, now);
    record.root = request.root().clone();
    record.parent = request.child_bounds.as_deref().map(|bounds| bounds.parent.clone());
    if let Some(processes) = plan.processes.as_deref() {
        processes.lock_while_running(&threads.join(record.root.as_str()).join("tools.lock"));
    }
    record
}

/// Returns `true` if programs may be able to write to the folder of the threads.
fn is_exposed(sandbox: &Report) -> bool {
    sandbox.may_start() && !sandbox.mode().is_whole()
}

/// Records what was asked for, and the thread that this one continues.
fn record_request(record: &mut ThreadRecord, request: &RunRequest, default_provider: Option<&str>) {
    record.facts.insert(recorded::REQUEST.to_owned(), recorded::choices(request, default_provider));
    if let Some(continuation) = &request.continues {
        record.continues = Some(continuation.thread.clone());
        let fact = recorded::continuation_fact(continuation);
        record.facts.insert(recorded::CONTINUATION.to_owned(), fact);
    }
}

/// Returns the token of the thread, and the one that the items added by now bound, where there are any.
fn tokens_of(
    request: &RunRequest,
    plan: &Plan,
    record: &ThreadRecord,
    key: &Arc<SigningKey>,
) -> Result<(Token, Option<Value>), PrepareError> {
    let child_bounds = request.child_bounds.as_deref();
    let of =
        |authority: &Authority| token(&plan.composed.chain, authority, record, key, child_bounds);
    let by_now = match request.added.as_slice() {
        [] => None,
        added => Some(json(&of(&under(&plan.authority, added))?)),
    };
    Ok((of(&plan.authority)?, by_now))
}

/// Records the directive that a thread goes on by among the knowledge that the model reads.
fn record_instruction<T>(record: &mut ThreadRecord, directive: Option<&Item<T>>) {
    let Some(Value::Array(rows)) = record.facts.get_mut("knowledge") else { return };
    rows.extend(directive.map(row));
}

fn json(token: &Token) -> Value {
    serde_json::from_str(&token.to_json()).unwrap_or(Value::Null)
}

/// The capability token of the thread, which holds for as long as the thread may last (SPEC 9.5); a child's is narrowed
/// from its parent's, and ends with it.
pub(super) fn token(
    chain: &ExtendsChain,
    authority: &Authority,
    record: &ThreadRecord,
    key: &SigningKey,
    child_bounds: Option<&ChildBounds>,
) -> Result<Token, PrepareError> {
    let leaf = chain.leaf();
    let issued = record.created.timestamp();
    let seconds = i64::try_from(record.limits.duration_seconds).unwrap_or(i64::MAX).max(1);
    let above = child_bounds.and_then(|bounds| bounds.tokens.last());
    let expires = Timestamp::from_unix(issued.as_unix().saturating_add(seconds));
    let claims = Claims {
        token_id: format!("{}-token", record.thread),
        thread_id: record.thread.to_string(),
        directive_id: leaf.id.to_string(),
        directive_hash: rye_sign::Digest::of(leaf.source.as_bytes()),
        capabilities: layers(authority),
        issued,
        expires: above.map_or(expires, |above| above.claims().expires.min(expires)),
    };
    match above {
        None => Ok(Token::mint(claims, key)
            .expect("because ids are one line of text and a thread lasts at least a second")),
        Some(above) => above.child(claims, key, covers).map_err(PrepareError::Token),
    }
}

/// Mints the tokens of the ancestors anew, as for a thread that is resumed. A thread outlasts its
/// token after an approval wait or a raised limit. A new token lasts as long as the old one, or as
/// long as the time limit if that is longer. It never outlasts its parent token.
pub(super) fn renew(
    tokens: &[Token],
    limits: &LimitSet,
    now: Timestamp,
    key: &SigningKey,
) -> Result<Vec<Token>, PrepareError> {
    let least = i64::try_from(limits.duration_seconds).unwrap_or(i64::MAX).max(1);
    let mut renewed: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let (old, above) = (token.claims(), renewed.last());
        let lasted = old.expires.as_unix().saturating_sub(old.issued.as_unix());
        let expires = Timestamp::from_unix(now.as_unix().saturating_add(lasted.max(least)));
        let expires = above.map_or(expires, |above| above.claims().expires.min(expires));
        let claims = Claims { issued: now, expires, ..old.clone() };
        let token = match above {
            None => Token::mint(claims, key).expect("because a token with these claims was minted"),
            Some(above) => above.child(claims, key, covers).map_err(PrepareError::Token)?,
        };
        renewed.push(token);
    }
    Ok(renewed)
}

/// The patterns of each layer, so that the token allows what the authority does, be it of the operator's making, of the
/// signers' or of the directive's (SPEC 9.4).
fn layers(authority: &Authority) -> Vec<Vec<String>> {
    let patterns =
        |layer: &Layer| layer.grant().patterns().iter().map(ToString::to_string).collect();
    authority.layers().iter().map(patterns).collect()
}
