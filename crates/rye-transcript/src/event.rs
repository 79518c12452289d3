//! The events of a thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rye_types::{
    Effect, HookEffect, HookEvent, LimitHit, LimitSet, Moment, Nanos, ThreadState, Usage,
};
use serde_json::{Map, Value};
use strum::IntoStaticStr;

use crate::spawn::Spawn;
use crate::{
    AddedItem, ApprovalRequest, ChildEnd, Decision, Failure, ProviderInfo, Refusal, Reply, Retry,
    ThreadId, ToolResult, ToolSpec,
};

/// An event, as the transcript records it and an observer of the thread sees it.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// A call was approved or denied.
    ApprovalDecided {
        /// The call, with the hash of its arguments.
        request: ApprovalRequest,
        /// The decision.
        decision: Decision,
        /// The source of the decision, such as `prompt` or `command`.
        by: String,
    },
    /// A call waits for approval.
    ApprovalRequested(ApprovalRequest),
    /// The readable reasoning of a reply.
    AssistantReasoning {
        /// The text.
        text: String,
    },
    /// The text of a reply.
    AssistantText {
        /// The text.
        text: String,
    },
    /// The signed head of the chain, as `rye_sign` writes it.
    Checkpoint {
        /// The checkpoint.
        checkpoint: Value,
    },
    /// An item was composed into the opening.
    ContextInjected(Injected),
    /// An action of a hook is about to run. This is its intent, in the form of a model's call.
    #[strum(to_string = "tool_call_start")]
    HookCallStart {
        /// The hook.
        hook: String,
        /// The id of the call, such as `hook-2-1`.
        call_id: String,
        /// `true` if its output is added to the conversation.
        injects: bool,
        /// The name that the palette resolves.
        name: String,
        /// The arguments, as the tool gets them if one was found.
        arguments: Value,
        /// The tool of the action, if there is one.
        target: Option<Target>,
    },
    /// The result of a hook's action. This is its receipt.
    #[strum(to_string = "tool_call_result")]
    HookCallResult {
        /// The hook.
        hook: String,
        /// The result.
        result: ToolResult,
        /// The refusal, if the action was refused.
        refusal: Option<Refusal>,
    },
    /// A hook matches an event and acts.
    HookTriggered(Triggered),
    /// The model of the first request is missing or out of capacity, and the fallback is asked from now on (SPEC 11.1).
    ModelFallback {
        /// The fallback.
        provider: ProviderInfo,
        /// The reason of the first model's failure.
        reason: String,
    },
    /// A request ended without a reply.
    RequestFailed {
        /// The number of the request, from 1.
        turn: u64,
        /// The class of the failure, or `cancelled`, `duration_seconds`, `interrupted` or `killed`.
        class: String,
        /// The failure in words.
        message: String,
        /// The cost to settle: the whole reservation if the provider may charge for the request.
        cost: Nanos,
    },
    /// An attempt of a request failed, and another one follows after a wait. Or its reply cannot be used, by the class of the
    /// failure, and the request follows again.
    RequestRetried {
        /// The number of the request, from 1.
        turn: u64,
        /// The failure, the wait and the next attempt.
        retry: Retry,
        /// The cost of the failed attempt.
        cost: Nanos,
        /// The worst-case cost of the next attempt.
        reserved: Nanos,
    },
    /// A child has ended, and its end is on disk. The rest of its share is free from here on.
    ChildEnded(ChildEnd),
    /// A child is about to begin. The record is on disk before it does.
    SpawnChild(Spawn),
    /// A reply arrived. The record holds it as received.
    StepFinish {
        /// The number of the request, from 1.
        turn: u64,
        /// The reply.
        reply: Arc<Reply>,
        /// Its cost.
        cost: Nanos,
    },
    /// A request is about to be sent.
    StepStart {
        /// The number of the request, from 1.
        turn: u64,
        /// The worst-case cost.
        reserved: Nanos,
        /// The maximum number of tokens of the reply.
        max_output_tokens: u64,
    },
    /// The system message.
    SystemPrompt {
        /// The text.
        text: String,
    },
    /// Another thread continues the conversation.
    ThreadContinued {
        /// The successor.
        next: ThreadId,
        /// The rest of the limits for the successor.
        limits: LimitSet,
        /// The last text.
        text: String,
        /// The number of answered requests.
        turns: u64,
        /// The token usage of all replies.
        usage: Usage,
        /// The cost of the thread.
        cost: Nanos,
    },
    /// The thread completed.
    ThreadComplete {
        /// The returned outputs.
        outputs: Option<Map<String, Value>>,
        /// The last text.
        text: String,
        /// The number of answered requests.
        turns: u64,
        /// The token usage of all replies.
        usage: Usage,
        /// The cost of the thread.
        cost: Nanos,
    },
    /// The thread failed or was cancelled.
    ThreadError {
        /// `Error` or `Cancelled`.
        state: ThreadState,
        /// The failure.
        failure: Option<Failure>,
        /// The number of answered requests.
        turns: u64,
        /// The token usage of all replies.
        usage: Usage,
        /// The cost of the thread.
        cost: Nanos,
    },
    /// The thread begins. The record also names the format of the transcript.
    ThreadStart {
        /// The provider.
        provider: ProviderInfo,
        /// The limits.
        limits: LimitSet,
        /// The tools that the model sees.
        tools: Vec<ToolSpec>,
        /// The item id of each palette name (SPEC 5.4).
        palette: BTreeMap<String, String>,
        /// The facts of the thread record.
        facts: Map<String, Value>,
        /// The root of the thread's tree, whose lock owns it.
        root: ThreadId,
        /// The thread that started it.
        parent: Option<ThreadId>,
        /// The thread whose conversation it continues (SPEC 10.10).
        continues: Option<ThreadId>,
        /// The time at which the thread was prepared, from which its token holds.
        created: Moment,
        /// The public key, as PEM, that signs the checkpoints from here on.
        signed_by: String,
    },
    /// The thread continues.
    ///
    /// Its program was stopped or killed, it was suspended, or a limit or a failure of the provider ended it.
    ThreadResumed {
        /// The number of this opening of the thread, from 1.
        opening: u64,
        /// The number of bytes of an incomplete record that were cut off the end of the transcript.
        cut_bytes: u64,
        /// The caller's facts about this opening, such as its token.
        facts: Map<String, Value>,
        /// The cost of the thread so far, with its children. A request in flight when its program ended is not
        /// included.
        cost: Nanos,
        /// The time that the thread has taken so far.
        elapsed: Duration,
        /// The public key, as PEM, that signs the checkpoints from here on.
        signed_by: String,
        /// The limits of the thread from here on, if the operator raised one.
        limits: Option<LimitSet>,
    },
    /// The result of a call. This is its receipt.
    ToolCallResult {
        /// The result for the model.
        result: ToolResult,
        /// The refusal, if the call was refused.
        refusal: Option<Refusal>,
        /// The limit, if the call would start more threads than it allows.
        limit: Option<LimitHit>,
        /// The items that the call added to the conversation.
        added: Vec<AddedItem>,
    },
    /// A call by the model. This is its intent, which is on disk before anything runs.
    ToolCallStart {
        /// The provider's id of the call.
        call_id: String,
        /// The palette name.
        name: String,
        /// The arguments, as the tool gets them if one was found.
        arguments: Value,
        /// The tool of the call, if there is one.
        target: Option<Target>,
    },
    /// A message of the user.
    UserMessage {
        /// The text.
        text: String,
    },
}

/// A hook that acts, and its event.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a record without one of these must not compile")]
pub struct Triggered {
    /// The number of the event among those at which a hook acted, from 1.
    pub evaluation: u64,
    /// The event.
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
    pub is_final: bool,
    /// The data of the event.
    pub data: Value,
}

/// The tool of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// The item id.
    pub item_id: String,
    /// The capability that the authority checked.
    pub capability: String,
    /// The effect of a second call.
    pub effect: Effect,
}

impl Target {
    /// Creates the tool of a call.
    #[must_use]
    pub fn new(item_id: &str, capability: &str, effect: Effect) -> Self {
        Self { item_id: item_id.to_owned(), capability: capability.to_owned(), effect }
    }
}

/// An item that was composed into the opening, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Injected {
    /// The item's id. `None` for inline text of a directive.
    pub item_id: Option<String>,
    /// Its position: `system`, `before` or `after`. `turn` if a hook adds it to the conversation later.
    pub position: String,
    /// The SHA-256 of its text, in hex.
    pub sha256: String,
    /// The hook that added it.
    pub hook: Option<String>,
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

impl Event {
    /// The names of all events, sorted.
    pub const NAMES: [&'static str; 23] = [
        "approval_decided",
        "approval_requested",
        "assistant_reasoning",
        "assistant_text",
        "checkpoint",
        "child_ended",
        "context_injected",
        "hook_triggered",
        "model_fallback",
        "request_failed",
        "request_retried",
        "spawn_child",
        "step_finish",
        "step_start",
        "system_prompt",
        "thread_complete",
        "thread_continued",
        "thread_error",
        "thread_resumed",
        "thread_start",
        "tool_call_result",
        "tool_call_start",
        "user_message",
    ];

    /// Returns the name in the transcript.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}
