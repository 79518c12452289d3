//! The list of events: their names, their payloads, and what follows from the kind of one.

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::money::Change;
use crate::payload::{
    Asked, ChildEnd, Decided, Injected, Intent, ModelFallback, Receipt, RequestFailed,
    RequestRetried, Said, SignedHead, StepFinish, StepStart, SystemPrompt, ThreadComplete,
    ThreadContinued, ThreadError, ThreadResumed, ThreadStart, Triggered,
};
use crate::spawn::Spawn;

/// Declares the events. Kind, name, writer, reader and schema of each follow from its line.
macro_rules! events {
    ($($(#[$meta:meta])* $name:literal => $kind:ident($payload:ty),)*) => {
        /// An event, as the transcript records it and an observer of the thread sees it.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Event {
            $($(#[$meta])* $kind($payload),)*
        }

        /// The kind of an event, without its payload.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$meta])* $kind,)*
            /// An event of a newer version. Its name and its payload are kept and verified.
            Unknown,
        }

        impl EventKind {
            /// The kinds that this version knows, sorted by name.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Returns the name in the transcript.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                    Self::Unknown => "unknown",
                }
            }

            /// Returns the kind with a name in the transcript.
            #[must_use]
            pub fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$kind,)*
                    _ => Self::Unknown,
                }
            }

            /// Reads the payload of an event of this kind.
            ///
            /// # Errors
            ///
            /// The reason in words, also for an event of a newer version.
            pub(crate) fn read(self, payload: &RawValue) -> Result<Event, String> {
                let read = match self {
                    $(Self::$kind => serde_json::from_str(payload.get()).map(Event::$kind),)*
                    Self::Unknown => return Err("this version does not know it".to_owned()),
                };
                read.map_err(|error| error.to_string())
            }

            /// Returns the schema of the payload, with the definitions in `generator`.
            #[cfg(feature = "schema")]
            pub fn payload_schema(self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                match self {
                    $(Self::$kind => generator.subschema_for::<$payload>(),)*
                    Self::Unknown => generator.subschema_for::<serde_json::Value>(),
                }
            }
        }

        impl Event {
            /// Returns the kind.
            #[must_use]
            pub const fn kind(&self) -> EventKind {
                match self {
                    $(Self::$kind(_) => EventKind::$kind,)*
                }
            }
        }

        impl Serialize for Payload<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    $(Event::$kind(payload) => payload.serialize(serializer),)*
                }
            }
        }
    };
}

events! {
    /// A call was approved or denied.
    "approval_decided" => ApprovalDecided(Decided),
    /// A call waits for approval.
    "approval_requested" => ApprovalRequested(Asked),
    /// The readable reasoning of a reply.
    "assistant_reasoning" => AssistantReasoning(Said),
    /// The text of a reply.
    "assistant_text" => AssistantText(Said),
    /// The signed head of the chain, as `rye_sign` writes it.
    "checkpoint" => Checkpoint(SignedHead),
    /// A child has ended, and its end is on disk. The rest of its share is free from here on.
    "child_ended" => ChildEnded(ChildEnd),
    /// An item was composed into the opening.
    "context_injected" => ContextInjected(Injected),
    /// A hook matches an event and acts.
    "hook_triggered" => HookTriggered(Triggered),
    /// The fallback is asked from now on (SPEC 11.1).
    "model_fallback" => ModelFallback(ModelFallback),
    /// A request ended without a reply.
    "request_failed" => RequestFailed(RequestFailed),
    /// A request is made again.
    "request_retried" => RequestRetried(RequestRetried),
    /// A child is about to begin. The record is on disk before it does.
    "spawn_child" => SpawnChild(Spawn),
    /// A reply arrived.
    "step_finish" => StepFinish(StepFinish),
    /// A request is about to be sent.
    "step_start" => StepStart(StepStart),
    /// The system message.
    "system_prompt" => SystemPrompt(SystemPrompt),
    /// The thread completed.
    "thread_complete" => ThreadComplete(ThreadComplete),
    /// Another thread continues the conversation.
    "thread_continued" => ThreadContinued(ThreadContinued),
    /// The thread failed or was cancelled.
    "thread_error" => ThreadError(ThreadError),
    /// The thread continues.
    "thread_resumed" => ThreadResumed(ThreadResumed),
    /// The thread begins.
    "thread_start" => ThreadStart(ThreadStart),
    /// The result of a call, of the model or of a hook.
    "tool_call_result" => ToolCallResult(Receipt),
    /// A call, of the model or of a hook. It is on disk before anything runs.
    "tool_call_start" => ToolCallStart(Intent),
    /// A message of the user.
    "user_message" => UserMessage(Said),
}

impl EventKind {
    /// Returns `true` if the event counts only under a checkpoint. The writer appends a checkpoint to it in the same write.
    #[must_use]
    pub const fn needs_checkpoint(self) -> bool {
        match self {
            Self::ApprovalDecided
            | Self::ThreadComplete
            | Self::ThreadContinued
            | Self::ThreadError
            | Self::ThreadResumed
            | Self::ThreadStart => true,
            Self::ApprovalRequested
            | Self::AssistantReasoning
            | Self::AssistantText
            | Self::Checkpoint
            | Self::ChildEnded
            | Self::ContextInjected
            | Self::HookTriggered
            | Self::ModelFallback
            | Self::RequestFailed
            | Self::RequestRetried
            | Self::SpawnChild
            | Self::StepFinish
            | Self::StepStart
            | Self::SystemPrompt
            | Self::ToolCallResult
            | Self::ToolCallStart
            | Self::UserMessage
            | Self::Unknown => false,
        }
    }

    /// Returns `true` if a thread may have the event before its first checkpoint.
    #[must_use]
    pub const fn may_open(self) -> bool {
        matches!(
            self,
            Self::ContextInjected
                | Self::SystemPrompt
                | Self::ThreadResumed
                | Self::ThreadStart
                | Self::UserMessage
        )
    }

    /// Returns `true` if the event names the key of the checkpoints after it.
    #[must_use]
    pub const fn names_key(self) -> bool {
        matches!(self, Self::ThreadResumed | Self::ThreadStart)
    }

    /// Returns `true` if the event ends its thread. A thread may still be resumed after it.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::ThreadComplete | Self::ThreadContinued | Self::ThreadError)
    }

    /// Returns `true` if the event holds money, authority, ownership or the state of the thread.
    ///
    /// A record of such an event that cannot be read refuses the whole thread, because to pass over it would widen something.
    #[must_use]
    pub const fn decides(self) -> bool {
        match self {
            Self::ApprovalDecided
            | Self::ApprovalRequested
            | Self::ChildEnded
            | Self::HookTriggered
            | Self::ModelFallback
            | Self::RequestFailed
            | Self::RequestRetried
            | Self::SpawnChild
            | Self::StepFinish
            | Self::StepStart
            | Self::ThreadComplete
            | Self::ThreadContinued
            | Self::ThreadError
            | Self::ThreadResumed
            | Self::ThreadStart
            | Self::ToolCallResult
            | Self::ToolCallStart => true,
            Self::AssistantReasoning
            | Self::AssistantText
            | Self::Checkpoint
            | Self::ContextInjected
            | Self::SystemPrompt
            | Self::UserMessage
            | Self::Unknown => false,
        }
    }
}

impl Event {
    /// Returns the name in the transcript.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Returns the change that the record of the event makes to the account of its thread; `None` without money.
    ///
    /// This is the only rule about money (SPEC 10.6). The writer applies it to an event, and the reader to the event of a record.
    pub(crate) fn money(&self) -> Option<Change> {
        Some(match self {
            Self::ThreadStart(start) => Change::Begin { cap: start.limits.spend },
            Self::StepStart(start) => Change::Reserve { amount: start.reserved },
            Self::StepFinish(finish) => finish.change(),
            Self::RequestFailed(failed) => Change::Settle { cost: failed.cost },
            Self::RequestRetried(again) => {
                Change::Retry { cost: again.cost, amount: again.reserved }
            }
            Self::SpawnChild(spawn) => {
                Change::Spawn { child: spawn.child.clone(), share: spawn.limits.spend }
            }
            Self::ChildEnded(end) => Change::EndChild {
                child: end.child.clone(),
                cost: end.cost,
                is_overrun: end.is_overrun,
            },
            Self::ThreadContinued(continued) => {
                Change::Continue { next: continued.next.clone(), share: continued.limits.spend }
            }
            Self::ThreadResumed(resumed) => Change::Raise { cap: resumed.limits.as_ref()?.spend },
            Self::ApprovalDecided(_)
            | Self::ApprovalRequested(_)
            | Self::AssistantReasoning(_)
            | Self::AssistantText(_)
            | Self::Checkpoint(_)
            | Self::ContextInjected(_)
            | Self::HookTriggered(_)
            | Self::ModelFallback(_)
            | Self::SystemPrompt(_)
            | Self::ThreadComplete(_)
            | Self::ThreadError(_)
            | Self::ToolCallResult(_)
            | Self::ToolCallStart(_)
            | Self::UserMessage(_) => return None,
        })
    }

    /// Returns the payload as the record of the event holds it, for comparison with a record.
    #[must_use]
    pub fn payload(&self) -> Box<RawValue> {
        to_raw_value(&Payload(self)).expect("because every part of it is plain JSON")
    }
}

/// The payload of an event, written by the struct that describes it.
pub(crate) struct Payload<'a>(pub(crate) &'a Event);
