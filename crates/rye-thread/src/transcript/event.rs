//! The things that happen in a thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::account::ChildEnd;
use crate::children::Spawn;
use crate::{
    AddedItem, ApprovalRequest, Decision, Effect, Failure, HookEffect, HookEvent, LimitHit, Limits,
    Nanos, ProviderInfo, Refusal, Reply, Retry, ThreadId, ThreadState, ToolResult, ToolSpec, Usage,
};

/// One thing that happened, as the transcript records it and an [`Observer`](crate::Observer) sees it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// Somebody decided on a call, or nobody could.
    ApprovalDecided {
        /// The call, with the hash of its arguments.
        request: ApprovalRequest,
        /// What they said.
        decision: Decision,
        /// How they were asked, such as `terminal` or `command`.
        by: String,
    },
    /// A call waits for somebody.
    ApprovalRequested(ApprovalRequest),
    /// The readable reasoning of an answer.
    AssistantReasoning {
        /// The text.
        text: String,
    },
    /// The text of an answer.
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
    /// An action of a hook is about to run: the intent, named as that of a model's call.
    HookCallStart {
        /// The hook.
        hook: String,
        /// An id of its own, such as `hook-2-1`.
        call_id: String,
        /// Whether what it gives back is put before the model.
        injects: bool,
        /// The name that the palette resolves.
        name: String,
        /// The arguments, as the tool gets them where one was found.
        arguments: Value,
        /// The tool that the action means, where there is one.
        target: Option<Target>,
    },
    /// What an action of a hook came to: the receipt.
    HookCallResult {
        /// The hook.
        hook: String,
        /// What it came to.
        result: ToolResult,
        /// Set when the action was refused.
        refusal: Option<Refusal>,
    },
    /// A hook matches an event, and acts.
    HookTriggered(Triggered),
    /// The model refused the first request for existence or capacity, and another is asked from now on (SPEC 11.1).
    ModelFallback {
        /// Who answers now.
        provider: ProviderInfo,
        /// Why the first one did not.
        reason: String,
    },
    /// A request ended without an answer.
    RequestFailed {
        /// Which request, from 1.
        turn: u64,
        /// The class of the failure, or `cancelled`, `duration_seconds`, `interrupted` or `killed`.
        class: String,
        /// The failure in words.
        message: String,
        /// What it counts as: the whole reservation, where the provider may charge for it.
        cost: Nanos,
    },
    /// An attempt of a request failed, and another one follows after a wait.
    RequestRetried {
        /// Which request, from 1.
        turn: u64,
        /// The failure, the wait and the next attempt.
        retry: Retry,
        /// What the failed attempt counts as.
        cost: Nanos,
        /// The most that the next attempt may cost.
        reserved: Nanos,
    },
    /// A child has ended, and its end is on disk. What it did not spend of its share is free from here on.
    ChildEnded(ChildEnd),
    /// A child is about to begin; the record is on disk before it does.
    SpawnChild(Spawn),
    /// A request was answered. The record holds the answer as received.
    StepFinish {
        /// Which request, from 1.
        turn: u64,
        /// The answer.
        reply: Arc<Reply>,
        /// What it cost.
        cost: Nanos,
    },
    /// A request is about to be sent.
    StepStart {
        /// Which request, from 1.
        turn: u64,
        /// The most that it may cost.
        reserved: Nanos,
        /// The most tokens that the answer may have.
        max_output_tokens: u64,
    },
    /// The system message.
    SystemPrompt {
        /// The text.
        text: String,
    },
    /// Another thread goes on with the conversation.
    ThreadContinued {
        /// That thread.
        next: ThreadId,
        /// What is left for it of the limits.
        limits: Limits,
        /// The last text.
        text: String,
        /// Requests that were answered.
        turns: u64,
        /// Tokens of all answers.
        usage: Usage,
        /// What it cost.
        cost: Nanos,
    },
    /// The thread is done.
    ThreadComplete {
        /// What was returned.
        outputs: Option<Map<String, Value>>,
        /// The last text.
        text: String,
        /// Requests that were answered.
        turns: u64,
        /// Tokens of all answers.
        usage: Usage,
        /// What it cost.
        cost: Nanos,
    },
    /// The thread failed or was cancelled.
    ThreadError {
        /// `Error` or `Cancelled`.
        state: ThreadState,
        /// Why it failed.
        failure: Option<Failure>,
        /// Requests that were answered.
        turns: u64,
        /// Tokens of all answers.
        usage: Usage,
        /// What it cost.
        cost: Nanos,
    },
    /// The thread begins. The record also names the format of the transcript.
    ThreadStart {
        /// Who answers.
        provider: ProviderInfo,
        /// The limits.
        limits: Limits,
        /// The tools as the model is shown them.
        tools: Vec<ToolSpec>,
        /// Palette name to item id (SPEC 5.4).
        palette: BTreeMap<String, String>,
        /// The facts of the thread record.
        facts: Map<String, Value>,
        /// The root of the thread's tree, whose lock owns it.
        root: ThreadId,
        /// The public key, as PEM, that signs the checkpoints from here on.
        signed_by: String,
    },
    /// The thread goes on after its program was stopped or killed, after it was suspended, or after a limit or a failure of the
    /// provider ended it.
    ThreadResumed {
        /// Which opening of the thread this is, from 1.
        opening: u64,
        /// How many bytes of half a record were cut off the end of the transcript.
        cut_bytes: u64,
        /// What the caller knows of this opening, such as its token.
        facts: Map<String, Value>,
        /// The cost of the thread until then, with its children and without a request that was under way when its program ended.
        cost: Nanos,
        /// The time that the thread had taken until then.
        elapsed: Duration,
        /// The public key, as PEM, that signs the checkpoints from here on.
        signed_by: String,
        /// The limits of the thread from then on, where the operator raised one.
        limits: Option<Limits>,
    },
    /// What a call came to: the receipt.
    ToolCallResult {
        /// What the model is told.
        result: ToolResult,
        /// Set when the call was refused.
        refusal: Option<Refusal>,
        /// Set when the call wanted a thread more than a limit allows.
        limit: Option<LimitHit>,
        /// The items that the call added to the conversation.
        added: Vec<AddedItem>,
    },
    /// A call that the model made: the intent, on disk before anything runs.
    ToolCallStart {
        /// The provider's id of the call.
        call_id: String,
        /// The palette name.
        name: String,
        /// The arguments, as the tool gets them where one was found.
        arguments: Value,
        /// The tool that the call means, where there is one.
        target: Option<Target>,
    },
    /// A text of the user's side.
    UserMessage {
        /// The text.
        text: String,
    },
}

/// A hook that acts, and at what.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Triggered {
    /// The number of the event among those of the thread that a hook acted at, from 1.
    pub evaluation: u64,
    /// The event.
    pub event: HookEvent,
    /// The hook.
    pub hook: String,
    /// What declares it.
    pub declared_by: String,
    /// Its layer.
    pub layer: u8,
    /// What it decides, unless an earlier one has, or it cannot be had.
    pub effect: Option<HookEffect>,
    /// What the thread is about to fail with, or what a refused call would be blamed for.
    pub failure: Option<Failure>,
    /// Whether that is the end of the thread, unless a hook decides otherwise.
    pub is_final: bool,
    /// What the hook's condition and arguments saw.
    pub data: Value,
}

/// The tool that a call means.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// The item id.
    pub item_id: String,
    /// What the authority was asked for.
    pub capability: String,
    /// What a second call would do.
    pub effect: Effect,
}

impl Target {
    pub(crate) fn new(item_id: &str, capability: &str, effect: Effect) -> Self {
        Self { item_id: item_id.to_owned(), capability: capability.to_owned(), effect }
    }
}

/// An item that was composed into the opening, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Injected {
    /// The item's id; `None` for text that a directive holds inline.
    pub item_id: Option<String>,
    /// Where it went: `system`, `before` or `after`, or `turn` for what a hook adds to the conversation later.
    pub position: String,
    /// The SHA-256 of its text, in hex.
    pub sha256: String,
    /// The hook that put it there.
    pub hook: Option<String>,
}

impl Injected {
    /// An item at a position.
    #[must_use]
    pub fn new(item_id: Option<&str>, position: &str, sha256: &str) -> Self {
        Self {
            item_id: item_id.map(str::to_owned),
            position: position.to_owned(),
            sha256: sha256.to_owned(),
            hook: None,
        }
    }

    /// The same, put there by a hook.
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

    /// The name in the transcript.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ApprovalDecided { .. } => "approval_decided",
            Self::ApprovalRequested(_) => "approval_requested",
            Self::AssistantReasoning { .. } => "assistant_reasoning",
            Self::AssistantText { .. } => "assistant_text",
            Self::Checkpoint { .. } => "checkpoint",
            Self::ChildEnded(_) => "child_ended",
            Self::ContextInjected(_) => "context_injected",
            Self::HookTriggered(_) => "hook_triggered",
            Self::ModelFallback { .. } => "model_fallback",
            Self::RequestFailed { .. } => "request_failed",
            Self::RequestRetried { .. } => "request_retried",
            Self::SpawnChild(_) => "spawn_child",
            Self::StepFinish { .. } => "step_finish",
            Self::StepStart { .. } => "step_start",
            Self::SystemPrompt { .. } => "system_prompt",
            Self::ThreadComplete { .. } => "thread_complete",
            Self::ThreadContinued { .. } => "thread_continued",
            Self::ThreadError { .. } => "thread_error",
            Self::ThreadResumed { .. } => "thread_resumed",
            Self::ThreadStart { .. } => "thread_start",
            Self::HookCallResult { .. } | Self::ToolCallResult { .. } => "tool_call_result",
            Self::HookCallStart { .. } | Self::ToolCallStart { .. } => "tool_call_start",
            Self::UserMessage { .. } => "user_message",
        }
    }
}
