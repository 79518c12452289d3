//! The payloads of events. Each struct is the one description of its payload: written, read and published in this order.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use rye_sign::Digest;
use rye_types::{
    Effect, HookEffect, HookEvent, LimitHit, LimitSet, Moment, Nanos, Prices, ThreadState, Usage,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::format::{Format, Version};
use crate::json::{is_false, millis, optional_millis};
use crate::{
    AddedItem, ApprovalReason, ApprovalRequest, Decision, Failure, ProviderErrorClass,
    ProviderInfo, Refusal, Reply, Retry, ThreadId, ToolResult, ToolSpec,
};

#[cfg(feature = "schema")]
use crate::schema::{MillisOrNull, Sha256};

/// Declares payloads. They are open to every caller, because a record without one of their members must not compile.
///
/// A payload with a type parameter has one member that may be long and decides nothing. `Record::decide` reads the others alone.
macro_rules! payloads {
    ($($(#[$meta:meta])* pub struct $name:ident $(<$long:ident = $whole:ty>)? { $($body:tt)* })*) => {$(
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[expect(clippy::exhaustive_structs, reason = "a record without one of these must not compile")]
        $(#[$meta])*
        pub struct $name $(<$long = $whole>)? { $($body)* }
    )*};
}

payloads! {
    /// A text: the reasoning or the text of a reply, or a message of the user.
    #[derive(PartialEq, Eq)]
    pub struct Said {
        /// The text.
        pub text: String,
    }

    /// The system message.
    #[derive(PartialEq, Eq)]
    pub struct SystemPrompt {
        /// The text.
        pub text: String,
        /// The SHA-256 of the text, in hex.
        #[cfg_attr(feature = "schema", schemars(with = "Sha256"))]
        pub sha256: String,
    }

    /// The question about a call that waits for approval.
    #[derive(PartialEq)]
    pub struct Asked {
        /// The provider's id of the call.
        pub call_id: String,
        /// The item id of the tool.
        pub item_id: String,
        /// The arguments of the call.
        pub arguments: Value,
        /// The SHA-256 of the arguments as compact JSON, in hex.
        #[cfg_attr(feature = "schema", schemars(with = "Sha256"))]
        pub arguments_sha256: String,
        /// The reason why the call waits.
        pub reason: ApprovalReason,
        /// The capabilities that may be approved for the rest of the thread.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub covers: Vec<String>,
    }

    /// The decision about the call that waited. The question is another record.
    #[derive(PartialEq, Eq)]
    #[serde(try_from = "DecidedForm", into = "DecidedForm")]
    pub struct Decided {
        /// The provider's id of the call.
        pub call_id: String,
        /// The SHA-256 of the arguments as compact JSON, in hex.
        pub arguments_sha256: String,
        /// The decision.
        pub decision: Decision,
        /// The source of the decision, such as `prompt` or `command`.
        pub by: String,
    }

    /// A hook that acts, and its event.
    #[derive(PartialEq)]
    pub struct Triggered<D = Value> {
        /// The number of the event among those at which a hook acted, from 1.
        pub evaluation: u64,
        /// The event.
        #[serde(rename = "hook_event")]
        pub event: HookEvent,
        /// The hook.
        pub hook: String,
        /// The place that declares it.
        pub declared_by: String,
        /// Its layer.
        pub layer: u8,
        /// Its decision. `None` if an earlier hook has decided, or if the decision is not possible.
        pub effect: Option<HookEffect>,
        /// The failure that is about to end the thread, or the failure that a refused call would cause.
        pub failure: Option<Failure>,
        /// `true` if the thread ends here unless a hook decides otherwise.
        #[serde(rename = "final")]
        pub is_final: bool,
        /// The data of the event.
        pub data: D,
    }

    /// The model of the first request is missing or out of capacity, and the fallback is asked from now on (SPEC 11.1).
    #[derive(PartialEq, Eq)]
    pub struct ModelFallback {
        /// The name of the fallback's provider.
        pub provider: String,
        /// The fallback's model.
        pub model: String,
        /// The prices of its tokens, if they are known.
        #[serde(rename = "nanos_per_million_tokens")]
        pub prices: Option<Prices>,
        /// The reason of the first model's failure.
        pub reason: String,
    }

    /// A request ended without a reply.
    #[derive(PartialEq, Eq)]
    pub struct RequestFailed {
        /// The number of the request, from 1.
        pub turn: u64,
        /// The class of the failure, or `cancelled`, `duration_seconds`, `interrupted` or `killed`.
        pub class: String,
        /// The failure in words.
        pub message: String,
        /// The cost to settle: the whole reservation if the provider may charge for the request.
        #[serde(rename = "cost_nanos")]
        pub cost: Nanos,
    }

    /// An attempt of a request failed, and another one follows after a wait. Or its reply cannot be used, by the class of the
    /// failure, and the request follows again.
    #[derive(PartialEq, Eq)]
    pub struct RequestRetried {
        /// The number of the request, from 1.
        pub turn: u64,
        /// The number of the next attempt, from 2.
        pub attempt: u32,
        /// The most attempts that the request may have.
        pub attempts: u32,
        /// The class of the failure of the attempt before.
        pub class: ProviderErrorClass,
        /// The failure of the attempt before, in words that hold no key.
        pub message: String,
        /// The wait that the server asked for, in milliseconds.
        #[serde(rename = "hint_millis", with = "optional_millis", default)]
        #[cfg_attr(feature = "schema", schemars(with = "MillisOrNull"))]
        pub hint: Option<Duration>,
        /// The wait until the next attempt, in milliseconds.
        #[serde(rename = "wait_millis", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        pub wait: Duration,
        /// The cost of the failed attempt.
        #[serde(rename = "cost_nanos")]
        pub cost: Nanos,
        /// The worst-case cost of the next attempt.
        #[serde(rename = "reserved_nanos")]
        pub reserved: Nanos,
        /// The tokens of an answer that is not used. Missing if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub usage: Option<Usage>,
    }

    /// A request is about to be sent.
    #[derive(PartialEq, Eq)]
    pub struct StepStart {
        /// The number of the request, from 1.
        pub turn: u64,
        /// The worst-case cost.
        #[serde(rename = "reserved_nanos")]
        pub reserved: Nanos,
        /// The maximum number of tokens of the reply.
        pub max_output_tokens: u64,
    }

    /// A reply arrived. The record holds it as received.
    pub struct StepFinish<R = SharedReply> {
        /// The number of the request, from 1.
        pub turn: u64,
        /// The reply.
        pub reply: R,
        /// Its cost.
        #[serde(rename = "cost_nanos")]
        pub cost: Nanos,
    }

    /// The thread completed.
    #[derive(PartialEq)]
    pub struct ThreadComplete {
        /// The number of answered requests.
        pub turns: u64,
        /// The token usage of all replies.
        pub usage: Usage,
        /// The cost of the thread.
        #[serde(rename = "cost_nanos")]
        pub cost: Nanos,
        /// The returned outputs.
        pub outputs: Option<Map<String, Value>>,
        /// The last text.
        pub text: String,
    }

    /// Another thread continues the conversation.
    #[derive(PartialEq, Eq)]
    pub struct ThreadContinued {
        /// The number of answered requests.
        pub turns: u64,
        /// The token usage of all replies.
        pub usage: Usage,
        /// The cost of the thread.
        #[serde(rename = "cost_nanos")]
        pub cost: Nanos,
        /// The successor.
        pub next: ThreadId,
        /// The rest of the limits for the successor.
        pub limits: LimitSet,
        /// The last text.
        pub text: String,
    }

    /// The thread failed or was cancelled.
    #[derive(PartialEq, Eq)]
    pub struct ThreadError {
        /// The number of answered requests.
        pub turns: u64,
        /// The token usage of all replies.
        pub usage: Usage,
        /// The cost of the thread.
        #[serde(rename = "cost_nanos")]
        pub cost: Nanos,
        /// `Error` or `Cancelled`.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["cancelled", "error"])))]
        pub state: ThreadState,
        /// The failure.
        pub failure: Option<Failure>,
    }

    /// The thread continues.
    ///
    /// Its program was stopped or killed, it was suspended, or a limit or a failure of the provider ended it.
    #[derive(PartialEq)]
    pub struct ThreadResumed {
        /// The number of this opening of the thread, from 1.
        pub opening: u64,
        /// The number of bytes of an incomplete record that were cut off the end of the transcript.
        pub cut_bytes: u64,
        /// The caller's facts about this opening, such as its token.
        pub facts: Map<String, Value>,
        /// The cost of the thread so far, with its children. A request in flight when its program ended is not included.
        #[serde(rename = "cost_nanos")]
        pub cost: Nanos,
        /// The time that the thread has taken so far, in milliseconds.
        #[serde(rename = "elapsed_millis", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        pub elapsed: Duration,
        /// The public key, as PEM, that signs the checkpoints from here on.
        pub signed_by: String,
        /// The limits of the thread from here on. Missing if the operator raised none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limits: Option<LimitSet>,
    }

    /// The thread begins. The payload also names the format of the transcript.
    #[derive(PartialEq)]
    pub struct ThreadStart {
        /// The format of the transcript, `rye-transcript`.
        pub format: Format,
        /// The version of the format, 2.
        pub version: Version,
        /// The name of the provider's configuration. Empty if the thread ended before it was known.
        pub provider: String,
        /// The model.
        pub model: String,
        /// The prices of its tokens, if they are known.
        #[serde(rename = "nanos_per_million_tokens")]
        pub prices: Option<Prices>,
        /// The limits.
        pub limits: LimitSet,
        /// The tools that the model sees.
        pub tools: Vec<ToolSpec>,
        /// The item id of each palette name (SPEC 5.4).
        pub palette: BTreeMap<String, String>,
        /// The facts of the thread record.
        pub facts: Map<String, Value>,
        /// The root of the thread's tree, whose lock owns it.
        pub root: ThreadId,
        /// The time at which the thread was prepared, from which its token holds.
        pub created: Moment,
        /// The public key, as PEM, that signs the checkpoints from here on.
        pub signed_by: String,
        /// The thread that started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub parent: Option<ThreadId>,
        /// The thread whose conversation it continues (SPEC 10.10).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub continues: Option<ThreadId>,
    }

    /// A call by the model or by a hook. This is its intent, which is on disk before anything runs.
    #[derive(PartialEq)]
    pub struct Intent<A = Value> {
        /// The provider's id of the call, or for a hook one such as `hook-2-1`.
        pub call_id: String,
        /// The palette name.
        pub name: String,
        /// The arguments, as the tool gets them if one was found.
        pub arguments: A,
        /// The tool of the call, if there is one.
        pub target: Option<Target>,
        /// The hook whose action this is. Missing for a call by the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub hook: Option<String>,
        /// `true` if the output of a hook's action is added to the conversation. Missing for a call by the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub injects: Option<bool>,
    }

    /// The tool of a call.
    #[derive(PartialEq, Eq)]
    pub struct Target {
        /// The item id.
        pub item_id: String,
        /// The capability that the authority checked.
        pub capability: String,
        /// The effect of a second call.
        pub effect: Effect,
    }

    /// The result of a call by the model or by a hook. This is its receipt.
    #[derive(PartialEq)]
    pub struct Receipt<C = Value> {
        /// The provider's id of the call.
        pub call_id: String,
        /// The palette name of the tool.
        pub name: String,
        /// The result for the model.
        pub content: C,
        /// `true` if the call failed or was refused.
        pub is_error: bool,
        /// The refusal, if the call was refused.
        pub refusal: Option<Refusal>,
        /// The limit, if the call would start more threads than it allows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<LimitHit>,
        /// The items that the call added to the conversation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub added: Vec<AddedItem>,
        /// The hook whose action this was. Missing for a call by the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub hook: Option<String>,
        /// The standard error of a program that succeeded, for the operator.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub standard_error: Option<String>,
    }

    /// An item that was composed into the opening, for the record.
    #[derive(PartialEq, Eq)]
    pub struct Injected {
        /// The item's id. `None` for inline text of a directive.
        pub item_id: Option<String>,
        /// Its position: `system`, `before` or `after`. `turn` if a hook adds it to the conversation later.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["system", "before", "after", "turn"])))]
        pub position: String,
        /// The SHA-256 of its text, in hex.
        #[cfg_attr(feature = "schema", schemars(with = "Sha256"))]
        pub sha256: String,
        /// The hook that added it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub hook: Option<String>,
    }

    /// The end of a child. The parent records it after the end is on disk.
    #[derive(PartialEq, Eq)]
    pub struct ChildEnd {
        /// The child. For a conversation, its first thread.
        #[serde(rename = "thread")]
        pub child: ThreadId,
        /// The final state of the child.
        pub state: ThreadState,
        /// The cost of the child and all its descendants.
        #[serde(rename = "cost_nanos")]
        pub cost: Nanos,
        /// `true` if a request of the child or of a descendant cost more than its reservation.
        #[serde(default, rename = "overrun", skip_serializing_if = "is_false")]
        pub is_overrun: bool,
        /// The number of records in its transcript. For a conversation, in the transcript of its last thread.
        pub records: u64,
        /// The hash of the last of these records.
        #[cfg_attr(feature = "schema", schemars(with = "Sha256"))]
        pub head: String,
    }
}

/// The signed head of the chain, as `rye_sign` writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[expect(clippy::exhaustive_structs, reason = "its form is that of `rye_sign`")]
pub struct SignedHead(pub Value);

/// A reply that a record and the conversation share.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "it is the reply and nothing else")]
pub struct SharedReply(pub Arc<Reply>);

impl Said {
    /// Creates the payload of a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

impl SystemPrompt {
    /// Creates the payload of a system message, with its digest.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), sha256: Digest::of(text.as_bytes()).to_string() }
    }
}

impl Asked {
    /// Returns the question as its record holds it, without the thread, which the record names itself.
    #[must_use]
    pub fn of(request: &ApprovalRequest) -> Self {
        Self {
            call_id: request.call_id.clone(),
            item_id: request.item_id.clone(),
            arguments: request.arguments.clone(),
            arguments_sha256: request.sha256.clone(),
            reason: request.reason,
            covers: request.covers.clone(),
        }
    }

    /// Returns the question of this thread.
    #[must_use]
    pub fn of_thread(self, thread: &ThreadId) -> ApprovalRequest {
        let Self { call_id, item_id, arguments, arguments_sha256: sha256, reason, covers } = self;
        let thread = thread.clone();
        ApprovalRequest { thread, call_id, item_id, arguments, sha256, reason, covers }
    }
}

impl Decided {
    /// Creates the decision about a call.
    #[must_use]
    pub fn new(request: &ApprovalRequest, decision: Decision, by: &str) -> Self {
        Self {
            call_id: request.call_id.clone(),
            arguments_sha256: request.sha256.clone(),
            decision,
            by: by.to_owned(),
        }
    }
}

/// The form of [`Decided`], in which the decision takes two members.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Decided"))]
struct DecidedForm {
    /// The provider's id of the call.
    call_id: String,
    /// The SHA-256 of the arguments as compact JSON, in hex.
    #[cfg_attr(feature = "schema", schemars(with = "Sha256"))]
    arguments_sha256: String,
    /// `approved`, `approved_in_thread` or `denied`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["approved", "approved_in_thread", "denied"])))]
    decision: String,
    /// The source of the decision, such as `prompt` or `command`.
    by: String,
    /// The operator's reason for a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The signature of another decider, which this version cannot verify (SPEC 14.1).
    #[serde(default, skip_serializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    signed: Option<IgnoredAny>,
}

impl From<Decided> for DecidedForm {
    fn from(decided: Decided) -> Self {
        let Decided { call_id, arguments_sha256, decision, by } = decided;
        let reason = decision.reason().map(|reason| reason.as_str().to_owned());
        let decision = decision.as_str().to_owned();
        Self { call_id, arguments_sha256, decision, by, reason, signed: None }
    }
}

impl TryFrom<DecidedForm> for Decided {
    type Error = String;

    fn try_from(form: DecidedForm) -> Result<Self, String> {
        let DecidedForm { call_id, arguments_sha256, decision, by, reason, signed } = form;
        if signed.is_some() {
            return Err("this version cannot verify the signature of its decider".to_owned());
        }
        let decision = Decision::read(&decision, reason.as_deref())?;
        Ok(Self { call_id, arguments_sha256, decision, by })
    }
}

impl ModelFallback {
    /// Creates the payload of a fallback.
    #[must_use]
    pub fn new(info: &ProviderInfo, reason: &str) -> Self {
        Self {
            provider: info.provider.clone(),
            model: info.model.clone(),
            prices: info.prices,
            reason: reason.to_owned(),
        }
    }

    /// Returns the model that answers. The record does not say how much it reads and writes.
    #[must_use]
    pub fn info(&self) -> ProviderInfo {
        recorded_info(&self.provider, &self.model, self.prices)
    }
}

impl ThreadStart {
    /// Creates the payload of the beginning of a root, without tools and facts.
    #[must_use]
    pub fn new(
        info: &ProviderInfo,
        limits: LimitSet,
        root: ThreadId,
        created: Moment,
        signed_by: String,
    ) -> Self {
        Self {
            format: Format,
            version: Version,
            provider: info.provider.clone(),
            model: info.model.clone(),
            prices: info.prices,
            limits,
            tools: Vec::new(),
            palette: BTreeMap::new(),
            facts: Map::new(),
            root,
            created,
            signed_by,
            parent: None,
            continues: None,
        }
    }

    /// Returns the model that the thread began with. The record does not say how much it reads and writes.
    #[must_use]
    pub fn info(&self) -> ProviderInfo {
        recorded_info(&self.provider, &self.model, self.prices)
    }
}

fn recorded_info(provider: &str, model: &str, prices: Option<Prices>) -> ProviderInfo {
    ProviderInfo { prices, ..ProviderInfo::new(provider, model, 0, 0) }
}

impl RequestRetried {
    /// Creates the payload of a further attempt.
    #[must_use]
    pub fn new(turn: u64, retry: &Retry, cost: Nanos, reserved: Nanos) -> Self {
        Self {
            turn,
            attempt: retry.attempt,
            attempts: retry.attempts,
            class: retry.class,
            message: retry.message.clone(),
            hint: retry.hint,
            wait: retry.wait,
            cost,
            reserved,
            usage: retry.class.is_of_reply().then_some(retry.usage),
        }
    }

    /// Returns the announcement that was recorded.
    #[must_use]
    pub fn retry(&self) -> Retry {
        let mut retry = Retry::new(self.attempt, self.attempts, self.class, &self.message);
        (retry.hint, retry.wait) = (self.hint, self.wait);
        retry.usage = self.usage.unwrap_or_default();
        retry
    }
}

impl Receipt {
    /// Creates the receipt of a call by the model that brought this result.
    #[must_use]
    pub fn new(result: ToolResult) -> Self {
        let ToolResult { call_id, name, content, is_error, standard_error } = result;
        Self {
            call_id,
            name,
            content,
            is_error,
            refusal: None,
            limit: None,
            added: Vec::new(),
            hook: None,
            standard_error,
        }
    }

    /// Returns the result for the model.
    #[must_use]
    pub fn into_result(self) -> ToolResult {
        let Self { call_id, name, content, is_error, standard_error, .. } = self;
        ToolResult { call_id, name, content, is_error, standard_error }
    }
}

impl SharedReply {
    /// Shares a reply.
    #[must_use]
    pub fn new(reply: Reply) -> Self {
        Self(Arc::new(reply))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SignedHead {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Checkpoint".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let head = generator.subschema_for::<Sha256>();
        schemars::json_schema!({
            "type": "object",
            "required": ["format", "thread", "seq", "head", "key_id", "signature"],
            "properties": {
                "format": { "type": "string" },
                "thread": { "type": "string" },
                "seq": { "type": "integer", "minimum": 0 },
                "head": head,
                "key_id": { "type": "string" },
                "signature": { "type": "string" },
            },
        })
    }
}

impl Deref for SharedReply {
    type Target = Reply;

    fn deref(&self) -> &Reply {
        &self.0
    }
}

impl Serialize for SharedReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedReply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Reply::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SharedReply {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Reply::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Reply::json_schema(generator)
    }
}

impl Target {
    /// Creates the tool of a call.
    #[must_use]
    pub fn new(item_id: &str, capability: &str, effect: Effect) -> Self {
        Self { item_id: item_id.to_owned(), capability: capability.to_owned(), effect }
    }
}

impl Injected {
    /// Creates the record of an item at a position.
    #[must_use]
    pub fn new(item_id: Option<&str>, position: &str, sha256: &str) -> Self {
        Self {
            item_id: item_id.map(str::to_owned),
            position: position.to_owned(),
            sha256: sha256.to_owned(),
            hook: None,
        }
    }

    /// Sets the hook that added the item.
    #[must_use]
    pub fn by_hook(mut self, hook: &str) -> Self {
        self.hook = Some(hook.to_owned());
        self
    }
}
