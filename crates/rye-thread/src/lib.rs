//! Runs one recorded model and tool loop inside its limits.
//!
//! [`Run`] is the loop as a value: it decides, and performs nothing. Its driver performs what [`Run::step`] returns and
//! reports the result. So a run can be tested without a runtime, and led again through what is on record:
//!
//! ```
//! use std::time::Duration;
//!
//! use rye_thread::{End, Limits, Nanos, Opening, OutputContract, Reply, Run, Step, StopReason, Usage};
//!
//! let opening = Opening { system: None, first_user_message: "Say hello.".to_owned() };
//! let mut run = Run::new(opening, Vec::new(), OutputContract::default(), Limits::default(), 1_024);
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

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod account;
mod added;
mod amount;
mod approval;
mod approver;
mod cancel;
mod child_end;
mod children;
mod clock;
mod contract;
mod database;
mod derived_record;
mod drive;
mod durability;
mod failure;
mod handle;
mod handover;
mod history;
mod hook_names;
mod hooks;
mod id;
mod journal;
mod limits;
mod message;
mod moment;
mod outcome;
mod palette;
mod pending_approval;
mod plain;
mod provider;
mod provider_error;
mod provider_error_class;
mod provider_info;
mod record;
mod recorded_end;
mod reference;
mod registry;
mod request;
mod retry;
mod root;
mod run;
mod schema;
mod spawn;
pub mod store;
mod thread_state;
mod threads;
mod tool;
mod tool_spec;
pub mod transcript;
mod transcript_claim;
mod tree_account;
mod usage;

pub use self::account::{Account, AccountError, Accounts, FoundTranscript, ended_children};
pub use self::added::{AddedItem, added_items};
pub use self::amount::{Nanos, NanosError, Prices};
pub use self::approval::{
    ApprovalReason, ApprovalRequest, Decider, Decision, DecisionError, DenialReason,
    DenialReasonError,
};
pub use self::approver::{Approver, Asking};
pub use self::cancel::Cancel;
pub use self::child_end::ChildEnd;
pub use self::children::{
    Children, Ended, Ending, RecordedSpawn, SpawnRequest, Spawned, THREAD_DIRECTIVE,
};
pub use self::clock::Clock;
pub use self::contract::{
    ContractError, DIRECTIVE_RETURN, OutputContract, OutputField, OutputType, OutputTypeError,
};
pub use self::drive::{
    Divergence, DriveContext, Observer, OutputPiece, ReplayContext, Replayed, ResumeError, Resumed,
    drive, first_request, last_result, replay, resume, thread_warnings,
};
pub use self::failure::{Failure, FailureKind, Refusal};
pub use self::handover::{Handover, handed_over};
pub use self::history::History;
pub use self::hook_names::{HookEffect, HookEvent, HookLayer, HookWordError};
pub use self::hooks::{ActionTarget, Hook, HookAction, HookCondition, Hooks};
pub use self::id::{ThreadId, ThreadIdError};
pub use self::journal::{Journal, JournalError};
pub use self::limits::{Limit, LimitHit, Limits, NotRaised, RaisedLimits, SpendLimit};
pub use self::message::{Counted, Message, Opening, Reply, StopReason, ToolCall, ToolResult};
pub use self::moment::{ClockError, Moment, MomentError};
pub use self::outcome::Outcome;
pub use self::palette::{
    Need, Needs, Palette, PaletteEntry, PaletteError, PaletteProblem, palette_name,
};
pub use self::pending_approval::{
    DecidedApproval, PendingApproval, decided_approval, decision_on, pending_approval,
    spawned_children,
};
pub use self::plain::{count_json_values, read_plain};
pub use self::provider::{Delta, DeltaSink, Provider, ProviderTelemetry, ServerAddress};
pub use self::provider_error::ProviderError;
pub use self::provider_error_class::{Charge, ProviderErrorClass};
pub use self::provider_info::ProviderInfo;
pub use self::record::{RecordError, ThreadRecord};
pub use self::recorded_end::{
    RecordedEnd, RecordedLimits, recorded_end, recorded_limits, recorded_root,
};
pub use self::reference::{ThreadReference, ThreadReferenceError};
pub use self::registry::{Registry, RegistryError, Reindexed, ThreadSummary};
pub use self::request::Request;
pub use self::retry::Retry;
pub use self::root::thread_root;
pub use self::run::{End, OutOfTurn, Returned, Run, Step};
pub use self::schema::{ArgumentSchema, SchemaError, SchemaProblem, SchemaProblemKind};
pub use self::spawn::{Spawn, Waiting};
pub use self::thread_state::{ThreadState, ThreadStateError};
pub use self::threads::{Setting, Threads};
pub use self::tool::{AuthorisedCall, OutputSink, OutputStream, Tool, ToolOutput, ToolStatus};
pub use self::tool_spec::{Effect, ToolSpec};
pub use self::transcript_claim::TranscriptClaim;
pub use self::tree_account::TreeAccount;
pub use self::usage::Usage;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
