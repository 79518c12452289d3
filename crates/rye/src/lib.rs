#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod aliases;
mod authoring;
mod check;
mod config;
mod difference;
mod explain;
mod first_request;
mod host;
mod lock;
#[cfg(feature = "mcp")]
mod mcp_server;
mod one_line;
mod opening_digest;
mod outcome;
mod parallel;
mod place;
pub mod primary;
mod privileges;
mod project_policy;
mod prompts;
mod provider_facts;
mod render;
mod risks;
mod run_stream;
mod rye;
#[cfg(feature = "mcp")]
mod server_tools;
mod session;
mod shipped;
mod signing;
mod syntax_json;
mod thread_folder;
mod thread_reading;
mod verify;

// A breaking release of one of these is a breaking release of this crate.
#[doc(inline)]
pub use rye_caps as caps;
#[doc(inline)]
pub use rye_parse as parse;
#[doc(inline)]
pub use rye_prompt as prompt;
#[doc(inline)]
pub use rye_providers as providers;
#[doc(inline)]
pub use rye_resolve as resolve;
#[doc(inline)]
pub use rye_sandbox as sandbox;
#[doc(inline)]
pub use rye_sign as sign;
#[doc(inline)]
pub use rye_thread as thread;
#[doc(inline)]
pub use rye_tools as tools;
#[doc(inline)]
pub use rye_web as web;

pub use self::authoring::{
    ClassLimits, Complexity, DRAFTED_CONFIGS, DRAFTED_SCRIPTS, Draft, UnknownComplexity, draft,
    draft_config, draft_directive, draft_hook, draft_provider, draft_script, starter,
};
pub use self::check::{Checked, Checker, Finding, Severity, SpacesToCheck, check, github, sarif};
pub use self::config::{ConfigError, SCHEMAS, Schema, schema};
pub use self::difference::{Change, Difference, PatternChange, Section, TextChange};
pub use self::explain::{
    ContextFacts, Explained, HookFacts, ItemFacts, LayerFacts, LimitFacts, LostFacts, ModelFacts,
    PortFacts, Signer, SkippedFacts, StartFacts, ToolFacts,
};
pub use self::first_request::FirstRequest;
pub use self::host::SystemClock;
pub use self::lock::{Lock, LockError, LockFinding, LockReport};
#[cfg(feature = "mcp")]
pub use self::mcp_server::{Approvals, McpServer, ServerHost, reading};
pub use self::outcome::Class;
pub use self::place::{kind_of, place};
pub use self::privileges::{
    LayerPrivileges, Need, NeedSource, NothingToJudge, PatternPrivileges, Privileges,
    PrivilegesError, Tightened, Use,
};
pub use self::project_policy::{PolicyChange, PolicyError, ProjectPolicy};
pub use self::prompts::PromptsError;
pub use self::provider_facts::{NamedProvider, ProviderFacts};
pub use self::render::{RenderRequest, Rendered, Template};
pub use self::risks::Risks;
pub use self::rye::{OpenError, Rye, Setup};
#[cfg(feature = "mcp")]
pub use self::server_tools::{
    NotWrapped, ServerChange, ServerTools, ServerToolsError, WrapperFile,
};
pub use self::session::{
    CallError, Cancelled, Continuation, ContinueError, Host, LimitOptions, LimitSource,
    LinkedThreads, Placing, PlanRequest, PrepareError, ProviderChoice, ReopenError, RunError,
    RunReport, RunRequest, Secrets, UnfinishedAnswer, Widening, directive_additions,
    divergence_diff, record_failure, refuse_linked_threads,
};
pub use self::shipped::shipped;
pub use self::signing::{
    SignError, SignFileError, SignedFile, SigningStatus, bad_grants, replace_file, signed,
};
pub use self::thread_reading::{ThreadReadError, ThreadReading, Voucher, covers};
pub use self::verify::{Subject, Verification, VerificationSummary, VerifyError};
#[cfg(feature = "mcp")]
pub use rye_mcp::{HttpOptions, ServeError};
pub use rye_parse::hidden_characters;
