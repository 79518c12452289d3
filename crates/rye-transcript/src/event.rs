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

/// Declares the events. Kind, name, marks, writer, reader and schema of each follow from its line.
macro_rules! events {
    ($($(#[$meta:meta])* $name:literal => $kind:ident($payload:ty) is $($mark:ident)+,)*) => {
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

            /// The marks of its line.
            pub(crate) const fn marks(self) -> &'static [Mark] {
                match self {
                    $(Self::$kind => &[$(Mark::$mark),+],)*
                    Self::Unknown => &[],
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
    "approval_decided" => ApprovalDecided(Decided) is Decides Sealed,
    /// A call waits for approval.
    "approval_requested" => ApprovalRequested(Asked) is Decides,
    /// The readable reasoning of a reply.
    "assistant_reasoning" => AssistantReasoning(Said) is Tells,
    /// The text of a reply.
    "assistant_text" => AssistantText(Said) is Tells,
    /// The signed head of the chain, as `rye_sign` writes it.
    "checkpoint" => Checkpoint(SignedHead) is Tells,
    /// A child has ended, and its end is on disk. The rest of its share is free from here on.
    "child_ended" => ChildEnded(ChildEnd) is Decides,
    /// An item was composed into the opening.
    "context_injected" => ContextInjected(Injected) is Tells Opens,
    /// A hook matches an event and acts.
    "hook_triggered" => HookTriggered(Triggered) is Decides,
    /// The fallback is asked from now on (SPEC 11.1).
    "model_fallback" => ModelFallback(ModelFallback) is Decides,
    /// A request ended without a reply.
    "request_failed" => RequestFailed(RequestFailed) is Decides,
    /// A request is made again.
    "request_retried" => RequestRetried(RequestRetried) is Decides,
    /// A child is about to begin. The record is on disk before it does.
    "spawn_child" => SpawnChild(Spawn) is Decides,
    /// A reply arrived.
    "step_finish" => StepFinish(StepFinish) is Decides,
    /// A request is about to be sent.
    "step_start" => StepStart(StepStart) is Decides,
    /// The system message.
    "system_prompt" => SystemPrompt(SystemPrompt) is Tells Opens,
    /// The thread completed.
    "thread_complete" => ThreadComplete(ThreadComplete) is Decides Sealed Ends,
    /// Another thread continues the conversation.
    "thread_continued" => ThreadContinued(ThreadContinued) is Decides Sealed Ends,
    /// The thread failed or was cancelled.
    "thread_error" => ThreadError(ThreadError) is Decides Sealed Ends,
    /// The thread continues.
    "thread_resumed" => ThreadResumed(ThreadResumed) is Decides Sealed Opens NamesKey,
    /// The thread begins.
    "thread_start" => ThreadStart(ThreadStart) is Decides Sealed Opens NamesKey,
    /// The result of a call, of the model or of a hook.
    "tool_call_result" => ToolCallResult(Receipt) is Decides,
    /// A call, of the model or of a hook. It is on disk before anything runs.
    "tool_call_start" => ToolCallStart(Intent) is Decides,
    /// A message of the user.
    "user_message" => UserMessage(Said) is Tells Opens,
}

/// A mark of an event. Each event decides or tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It holds money, authority, ownership or the state of the thread.
    Decides,
    /// It holds none of these.
    Tells,
    /// It counts only under a checkpoint.
    Sealed,
    /// It may come before the first checkpoint.
    Opens,
    /// It names the key of the checkpoints after it.
    NamesKey,
    /// It ends the thread.
    Ends,
}

impl EventKind {
    /// Returns `true` if the event counts only under a checkpoint. The writer appends a checkpoint to it in the same write.
    #[must_use]
    pub fn needs_checkpoint(self) -> bool {
        self.marks().contains(&Mark::Sealed)
    }

    /// Returns `true` if a thread may have the event before its first checkpoint.
    #[must_use]
    pub fn may_open(self) -> bool {
        self.marks().contains(&Mark::Opens)
    }

    /// Returns `true` if the event names the key of the checkpoints after it.
    #[must_use]
    pub fn names_key(self) -> bool {
        self.marks().contains(&Mark::NamesKey)
    }

    /// Returns `true` if the event ends its thread. A thread may still be resumed after it.
    #[must_use]
    pub fn is_end(self) -> bool {
        self.marks().contains(&Mark::Ends)
    }

    /// Returns `true` if the event holds money, authority, ownership or the state of the thread.
    ///
    /// A record of such an event that cannot be read refuses the whole thread, because to pass over it would widen something.
    #[must_use]
    pub fn decides(self) -> bool {
        self.marks().contains(&Mark::Decides)
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
