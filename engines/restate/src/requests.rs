//! The signed requests of an operator about a thread on the engine: a tool may reach the engine, too.

use std::collections::BTreeMap;

use anyhow::Context as _;
use rye::resolve::ItemId;
use rye::sign::{PublicKey, SigningKey, sign_json, verify_json};
use rye::thread::{Decision, DenialReason, ThreadId};
use rye::{Bundle, ProviderChoice, RunRequest, SystemClock, WorkerLabel};
use serde::Deserialize;
use serde_json::{Value, json};

/// The operator whose requests count, and the engine for which they have to be signed.
#[derive(Debug, Clone)]
pub struct Authority {
    pub operator: PublicKey,
    /// The address of the engine's ingress, or a name for it.
    pub audience: String,
    /// The label of the threads that this worker runs; without it, those without a label.
    pub label: Option<WorkerLabel>,
}

impl Authority {
    /// Checks that workers with this label, or without one, run a thread.
    fn check_label(&self, wanted: Option<&str>) -> anyhow::Result<()> {
        let own = self.label.as_ref().map(WorkerLabel::as_str);
        if wanted == own {
            return Ok(());
        }
        let name = |label: Option<&str>| {
            label.map_or("no label".to_owned(), |label| format!("label `{label}`"))
        };
        anyhow::bail!(
            "the thread is for workers with {}, and this one has {}",
            name(wanted),
            name(own)
        )
    }

    /// Checks that a request that was just made is for this engine.
    ///
    /// # Errors
    ///
    /// When it is for another engine, or was made too long ago.
    pub fn check_new(&self, request: &Value) -> anyhow::Result<()> {
        let audience = request["audience"].as_str().unwrap_or("none");
        if audience != self.audience {
            let here = &self.audience;
            anyhow::bail!(
                "the request is for the engine `{audience}`, and this worker is one of `{here}`; `rye-worker --audience` names another one"
            );
        }
        let expires = request["expires"].as_i64().unwrap_or_default();
        if expires < SystemClock::new().timestamp().as_unix() {
            anyhow::bail!("the request has expired, because no worker accepted it in time");
        }
        Ok(())
    }
}

/// A request to start a thread.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StartDisk {
    purpose: String,
    thread: String,
    directive: String,
    /// The engine for which it is signed, and the time in seconds after which no worker accepts it.
    #[serde(rename = "audience")]
    _audience: String,
    #[serde(rename = "expires")]
    _expires: i64,
    /// The project's files that the operator has.
    project: Bundle,
    /// The label of the workers that run it.
    label: Option<String>,
    #[serde(default)]
    inputs: BTreeMap<String, Value>,
    provider: Option<String>,
    model: Option<String>,
    #[serde(default)]
    limits: LimitsDisk,
    #[serde(rename = "_signature")]
    _signature: String,
}

/// Limits instead of the directive's.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsDisk {
    turns: Option<u64>,
    tokens: Option<u64>,
    /// US dollars as a decimal text, or `unlimited`.
    spend: Option<String>,
    duration_seconds: Option<u64>,
    spawns: Option<u64>,
    depth: Option<u64>,
}

/// A thread that is to start.
#[derive(Debug)]
pub struct Start {
    /// The request, as `rye run` makes it.
    pub request: RunRequest,
    /// The project's files that the operator has.
    pub project: Bundle,
}

/// Reads a signed request to start the thread `key`.
///
/// # Errors
///
/// When the operator's key did not sign it, it names another thread or workers with another label, or it is malformed.
pub fn read_start(value: &Value, key: &str, authority: &Authority) -> anyhow::Result<Start> {
    verify_json(value, std::slice::from_ref(&authority.operator))
        .context("the request to start the thread is not signed by this worker's operator")?;
    let start: StartDisk = serde_json::from_value(value.clone())?;
    check_purpose("rye-engine-start", &start.purpose, &start.thread, key)?;
    authority.check_label(start.label.as_deref())?;
    let directive: ItemId = start.directive.parse()?;
    let mut request = RunRequest::new(directive, start.thread.parse::<ThreadId>()?);
    request.inputs = start.inputs;
    request.provider =
        start.provider.map_or(ProviderChoice::Directive, |name| ProviderChoice::from_name(&name));
    request.model = start.model;
    let LimitsDisk { turns, tokens, spend, duration_seconds, spawns, depth } = start.limits;
    let spend = spend.map(|spend| spend.parse()).transpose()?;
    (request.limits.turns, request.limits.tokens) = (turns, tokens);
    (request.limits.spend, request.limits.duration_seconds) = (spend, duration_seconds);
    (request.limits.spawns, request.limits.depth) = (spawns, depth);
    Ok(Start { request, project: start.project })
}

const BUNDLE: &str = "rye-engine-bundle";

/// The files with which a thread began, as the engine keeps them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BundleDisk {
    purpose: String,
    thread: String,
    files: Bundle,
    #[serde(rename = "_signature")]
    _signature: String,
}

/// Signs the files with which the thread `key` begins.
///
/// # Errors
///
/// None that happens: the value is an object.
pub fn sign_bundle(bundle: &Bundle, key: &str, signer: &SigningKey) -> anyhow::Result<Value> {
    let value = json!({"purpose": BUNDLE, "thread": key, "files": bundle});
    Ok(sign_json(&value, signer, SystemClock::new().timestamp())?)
}

/// Reads the files with which the thread `key` began.
///
/// # Errors
///
/// As [`read_start`].
pub fn read_bundle(value: &Value, key: &str, authority: &Authority) -> anyhow::Result<Bundle> {
    verify_json(value, std::slice::from_ref(&authority.operator))
        .context("the thread's bundle is not signed by this worker's operator")?;
    let bundle: BundleDisk = serde_json::from_value(value.clone())?;
    check_purpose(BUNDLE, &bundle.purpose, &bundle.thread, key)?;
    Ok(bundle.files)
}

const CANCEL: &str = "rye-engine-cancel";

/// Returns `true` if the order, which is verified elsewhere, is to cancel.
pub fn is_cancel(order: &Value) -> bool {
    order["purpose"] == CANCEL
}

/// A change that the operator asks for.
#[derive(Debug)]
pub enum Order {
    /// The tree ends.
    Cancel,
    /// A call that waits is decided.
    Decide { call: NamedCall, decision: Decision },
}

/// The call that the operator was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCall {
    /// The thread that asks, and the sequence number of its record.
    pub thread: ThreadId,
    pub seq: u64,
    /// The item that is called.
    pub item: String,
    /// The SHA-256 of the arguments as compact JSON, in hex.
    pub sha256: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderDisk {
    purpose: String,
    /// As those of a start.
    #[serde(rename = "audience")]
    _audience: String,
    #[serde(rename = "expires")]
    _expires: i64,
    /// The root of the tree.
    tree: String,
    /// The thread that asks, and the record with which it does.
    thread: Option<String>,
    seq: Option<u64>,
    item: Option<String>,
    sha256: Option<String>,
    /// The reason of a denial.
    reason: Option<String>,
    #[serde(rename = "_signature")]
    _signature: String,
}

/// Reads a signed order about the tree `key`.
///
/// # Errors
///
/// As [`read_start`].
pub fn read_order(value: &Value, key: &str, authority: &Authority) -> anyhow::Result<Order> {
    verify_json(value, std::slice::from_ref(&authority.operator))
        .context("the order is not signed by this worker's operator")?;
    let order: OrderDisk = serde_json::from_value(value.clone())?;
    let call = || {
        let thread = order.thread.as_deref().context("the order names no thread")?;
        let seq = order.seq.context("the order names no record")?;
        let item = order.item.clone().context("the order names no item")?;
        let sha256 = order.sha256.clone().context("the order has no hash of the arguments")?;
        Ok::<_, anyhow::Error>(NamedCall { thread: thread.parse()?, seq, item, sha256 })
    };
    let decide = |decision| Ok::<_, anyhow::Error>(Order::Decide { call: call()?, decision });
    let read = match order.purpose.as_str() {
        CANCEL => Order::Cancel,
        "rye-engine-approve" => decide(Decision::Approved)?,
        "rye-engine-deny" => {
            let reason: Option<DenialReason> =
                order.reason.as_ref().map(|reason| reason.parse()).transpose()?;
            decide(Decision::Denied(reason))?
        }
        other => anyhow::bail!("`{other}` is no order about a thread"),
    };
    check_purpose(&order.purpose, &order.purpose, &order.tree, key)?;
    Ok(read)
}

fn check_purpose(wanted: &str, purpose: &str, thread: &str, key: &str) -> anyhow::Result<()> {
    if purpose != wanted || thread != key {
        anyhow::bail!("the request is `{purpose}` for `{thread}`, and not `{wanted}` for `{key}`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_of_another_thread_or_signer_is_refused() {
        let key = SigningKey::generate().unwrap();
        let other = SigningKey::generate().unwrap();
        let authority = |key: &SigningKey| Authority {
            operator: key.public(),
            audience: "farm".to_owned(),
            label: None,
        };
        let bundle = Bundle::default().with_trust_document("text");
        let value = sign_bundle(&bundle, "a", &key).unwrap();
        assert_eq!(read_bundle(&value, "a", &authority(&key)).unwrap(), bundle);
        let error = read_bundle(&value, "b", &authority(&key)).unwrap_err();
        assert!(error.to_string().contains("and not `rye-engine-bundle` for `b`"), "{error}");
        let error = read_bundle(&value, "a", &authority(&other)).unwrap_err();
        assert!(error.to_string().contains("not signed by this worker's operator"), "{error}");
        let mut edited = value;
        edited["files"] = json!({});
        read_bundle(&edited, "a", &authority(&key)).unwrap_err();
    }

    /// A request that a tool or the server has seen is worth nothing on another engine, or later.
    #[test]
    fn a_request_counts_on_its_engine_and_for_its_time() {
        let key = SigningKey::generate().unwrap();
        let authority =
            Authority { operator: key.public(), audience: "farm".to_owned(), label: None };
        let now = SystemClock::new().timestamp().as_unix();
        let check = |audience: &str, expires: i64| {
            authority.check_new(&json!({"audience": audience, "expires": expires}))
        };
        check("farm", now + 60).unwrap();
        let error = check("barn", now + 60).unwrap_err().to_string();
        assert!(error.contains("for the engine `barn`") && error.contains("`farm`"), "{error}");
        let error = check("farm", now - 1).unwrap_err().to_string();
        assert!(error.contains("has expired"), "{error}");
        authority.check_new(&json!({})).unwrap_err();
    }
}
