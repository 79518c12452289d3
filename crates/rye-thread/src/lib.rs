//! Runs one recorded model and tool loop inside its limits.
//!
//! [`Run`] is the loop as a value: it decides, and performs nothing. Its driver performs what [`Run::step`] returns and
//! reports the result. So a run can be tested without a runtime, and led again through what is on record:
//!
//! ```
//! use std::time::Duration;
//!
//! use rye_thread::{End, Opening, OutputContract, Reply, Run, Step, StopReason};
//! use rye_types::{LimitSet, Nanos, Usage};
//!
//! let opening = Opening { system: None, first_user_message: "Say hello.".to_owned() };
//! let mut run = Run::new(opening, Vec::new(), OutputContract::default(), LimitSet::default(), 1_024);
//!
//! let Step::CallModel(request) = run.step(Duration::ZERO) else { panic!("a run begins with a request") };
//! assert_eq!(request.messages.len(), 1);
//!
//! let mut reply = Reply::new(serde_json::from_str(r#"[{"type": "text", "text": "Hello."}]"#)?, StopReason::EndTurn);
//! reply.text = "Hello.".to_owned();
//! reply.usage = Usage::new(12, 3);
//! run.model_replied(reply, Nanos::new(420))?;
//!
//! let Step::Done(End::Completed { text, .. }) = run.step(Duration::from_secs(1)) else { panic!("it is done") };
//! assert_eq!(text, "Hello.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`drive`] is the driver. It asks a [`Provider`], calls [`Tool`]s and writes a [`Journal`], in an order that survives
//! a crash. For a request: reserve, request, record the reply with its cost. For a call: authorise, validate, intent,
//! effect, receipt. The money is an [`Account`], computed from these records alone.
//!
//! # Scope
//!
//! The crate renders no prompt, finds no item, knows no vendor and reads no clock or environment. The caller supplies
//! all of these. No tool is called without a [`Permit`](rye_caps::Permit). No request is sent if its worst case does
//! not fit the money that is left.
//!
//! The records of a thread, and everything that is computed from them alone, are in [`rye_transcript`]. This crate
//! exports them again.

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod approver;
mod cancel;
mod children;
mod clock;
mod contract;
mod database;
mod drive;
mod durability;
mod handle;
mod history;
mod hooks;
mod journal;
mod outcome;
mod palette;
mod provider;
mod provider_error;
mod redaction;
mod registry;
mod request;
mod run;
mod schema;
pub mod store;
mod threads;
mod tool;
pub mod transcript;
mod tree_account;

pub use self::approver::{Approver, Asking};
pub use self::cancel::Cancel;
pub use self::children::{Children, Ended, Ending, RecordedSpawn, SpawnRequest, Spawned};
pub use self::clock::Clock;
pub use self::contract::{ContractError, OutputContract, OutputField};
pub use self::drive::{
    Divergence, DriveContext, Observer, OutputPiece, ReplayContext, Replayed, ResumeError, Resumed,
    drive, first_request, last_result, replay, resume, thread_warnings,
};
pub use self::history::History;
pub use self::hooks::{ActionTarget, Hook, HookAction, HookCondition, Hooks};
pub use self::journal::{Journal, JournalError};
pub use self::outcome::Outcome;
pub use self::palette::{
    Need, Needs, Palette, PaletteEntry, PaletteError, PaletteProblem, WithheldTool,
    execution_problems, palette_name, palette_names,
};
pub use self::provider::{Delta, DeltaSink, Provider, ProviderTelemetry, ServerAddress};
pub use self::provider_error::ProviderError;
pub use self::redaction::Redactor;
pub use self::registry::{Registry, RegistryError, Reindexed, ThreadSummary};
pub use self::request::Request;
pub use self::run::{End, OutOfTurn, Returned, Run, Step};
pub use self::schema::{ArgumentSchema, SchemaError, SchemaProblem, SchemaProblemKind};
pub use self::threads::{Setting, Threads};
pub use self::tool::{AuthorisedCall, OutputSink, OutputStream, Tool, ToolOutput, ToolStatus};
pub use self::tree_account::TreeAccount;
pub use rye_transcript::payload::ChildEnd;
pub use rye_transcript::{
    Account, AccountError, AddedItem, ApprovalReason, ApprovalRequest, Charge, Counted,
    DIRECTIVE_RETURN, DecidedApproval, Decider, Decision, DecisionError, DenialReason,
    DenialReasonError, Failure, FailureKind, FoundTranscript, Handover, Message, Opening,
    PendingApproval, ProviderErrorClass, ProviderInfo, RecordError, RecordedEnd, RecordedLimits,
    Refusal, Reply, Retry, Spawn, StopReason, THREAD_DIRECTIVE, ThreadId, ThreadIdError,
    ThreadRecord, ThreadReference, ThreadReferenceError, ToolCall, ToolResult, ToolSpec,
    TranscriptClaim, Waiting, added_items, called_item, count_json_values, count_values,
    decided_approval, decision_on, ended_children, handed_over, mend_halves, pending_approval,
    recorded_end, recorded_limits, recorded_provider, recorded_root, recorded_tools,
    spawned_children, thread_root, wait_in_words,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
