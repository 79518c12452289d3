//! Reads and verifies what threads recorded.
//!
//! A transcript is a chain of JSON lines, each with the hash of the lines before it, and signed checkpoints between them.
//! [`read()`] verifies the chain and returns a [`Reading`]. Everything else is computed from a reading:
//!
//! ```
//! # use rye_sign::SigningKey;
//! # use rye_sign::chain::{Head, sign_checkpoint};
//! # use rye_transcript::payload::{SignedHead, ThreadStart};
//! # use rye_transcript::{Event, NewRecord, ProviderInfo, ThreadId};
//! # use rye_types::{LimitSet, Moment};
//! use rye_transcript::{Account, FoundTranscript, ThreadRecord, read};
//! use rye_types::ThreadState;
//!
//! # let key = SigningKey::generate()?;
//! # let thread: ThreadId = "hello-019a0000-0000-7000-8000-000000000000".parse()?;
//! # let model = ProviderInfo::new("p", "m", 1_000, 100);
//! # let created = Moment::from_unix_millis(0);
//! # let pem = key.public().to_pem();
//! # let start = ThreadStart::new(&model, LimitSet::default(), thread.clone(), created, pem);
//! # let start = Event::ThreadStart(start);
//! # let at = Moment::from_unix_millis(0);
//! # let mut bytes = Vec::new();
//! # let mut head = Head::genesis();
//! # let mut append = |seq, head: &mut Head, event: &Event| {
//! #     let first = bytes.len();
//! #     let directive = "hello";
//! #     NewRecord { seq, prev: *head, at, approval_wait_millis: 0, thread: &thread, directive, event }.write(&mut bytes);
//! #     *head = head.link(&bytes[first..]);
//! #     bytes.push(b'\n');
//! # };
//! # append(0, &mut head, &start);
//! # let checkpoint = sign_checkpoint(&head, 1, thread.as_str(), &key)?.to_json();
//! # append(1, &mut head, &Event::Checkpoint(SignedHead(checkpoint)));
//! // A thread that has begun, under a checkpoint.
//! let reading = read(&bytes, &thread, &[key.public()])?;
//! assert_eq!((reading.records.len(), reading.signed), (2, 1));
//!
//! let record = ThreadRecord::from_transcript(&reading).expect("it has begun");
//! assert_eq!(record.state, ThreadState::Running);
//!
//! let account = Account::from_transcripts(&reading, &|_| FoundTranscript::Absent)?;
//! assert_eq!(account.free().map(|free| free.to_string()).as_deref(), Some("0.50 USD"));
//!
//! // A changed byte is found by the record after it.
//! let place = bytes.len() / 4;
//! bytes[place] ^= 1;
//! assert!(read(&bytes, &thread, &[key.public()]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Scope
//!
//! The crate has no runtime, no database and no lock. It reads transcripts, and reads and writes `thread.json`, which it
//! signs with the key of the caller. It signs no checkpoint. `rye-thread` drives threads, owns them and appends to their
//! transcripts.

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

pub mod payload;

mod account;
mod added;
mod added_items;
mod approval;
mod approval_question;
mod called_item;
mod child_end;
mod derived_record;
mod event;
mod failure;
mod file;
mod format;
mod handover;
mod id;
mod internal_tools;
mod json;
mod json_halves;
mod json_values;
mod markdown;
mod message;
mod money;
mod new_record;
mod pending_approval;
mod provider_error_class;
mod provider_info;
mod read;
mod record;
mod recorded_end;
mod reference;
mod retry;
mod root;
#[cfg(feature = "schema")]
mod schema;
mod spawn;
mod thread_record;
mod tool_spec;
mod transcript_claim;
mod unverified_record;
mod wire;

pub use self::account::{Account, AccountError, Accounts, FoundTranscript, ended_children};
pub use self::added::AddedItem;
pub use self::added_items::added_items;
pub use self::approval::{
    ApprovalReason, ApprovalRequest, Decider, Decision, DecisionError, DenialReason,
    DenialReasonError,
};
pub use self::called_item::called_item;
pub use self::event::{Event, EventKind};
pub use self::failure::{Failure, FailureKind, Refusal};
pub use self::file::{FileError, MAX_BYTES, named_keys, named_keys_in, read_file};
pub use self::format::{Format, Version};
pub use self::handover::{Handover, handed_over};
pub use self::id::{ThreadId, ThreadIdError};
pub use self::internal_tools::{DIRECTIVE_RETURN, THREAD_DIRECTIVE};
pub use self::json_halves::mend_halves;
pub use self::json_values::count_json_values;
pub use self::markdown::Markdown;
pub use self::message::{
    Counted, Message, Opening, Reply, StopReason, ToolCall, ToolResult, count_values, nests_deeper,
};
pub use self::new_record::NewRecord;
pub use self::pending_approval::{
    DecidedApproval, PendingApproval, decided_approval, decision_on, pending_approval,
    spawned_children,
};
pub use self::provider_error_class::{Charge, ProviderErrorClass};
pub use self::provider_info::ProviderInfo;
pub use self::read::{Damage, DamageKind, Reading, read};
pub use self::record::Record;
pub use self::recorded_end::{
    RecordedEnd, RecordedLimits, recorded_end, recorded_limits, recorded_provider, recorded_root,
    recorded_tools,
};
pub use self::reference::{ThreadReference, ThreadReferenceError};
pub use self::retry::{Retry, wait_in_words};
pub use self::root::{MAX_LINE_BYTES, first_line, thread_root};
pub use self::spawn::{Spawn, Waiting};
pub use self::thread_record::{RecordError, ThreadRecord};
pub use self::tool_spec::ToolSpec;
pub use self::transcript_claim::TranscriptClaim;
pub use self::unverified_record::{ListedStart, UnverifiedRecord};

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
