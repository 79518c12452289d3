#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod aliases;
mod authoring;
mod bundle;
mod causes;
mod check;
mod config;
mod directive_form;
mod file_digests;
mod lock;
mod needs;
mod opening_digest;
mod outcome;
mod parallel;
mod place;
mod plan;
mod preview;
pub mod primary;
mod project;
mod project_policy;
mod prompts;
mod provider_facts;
mod render;
mod risks;
mod run_stream;
#[cfg(feature = "mcp")]
mod server_tools;
mod shipped;
mod signing;
mod syntax_json;
mod text_change;
mod verify;

pub use self::aliases::{canonical, chain_grant};
pub use self::authoring::{
    ClassLimits, Complexity, DRAFTED_CONFIGS, DRAFTED_SCRIPTS, Draft, UnknownComplexity, draft,
    draft_config, draft_directive, draft_hook, draft_provider, draft_script, starter,
};
pub use self::bundle::Bundle;
pub use self::causes::with_causes;
pub use self::check::{Checked, Checker, Finding, Severity, SpacesToCheck, check, github, sarif};
pub use self::config::{
    APPROVAL_FILE, ConfigError, DefaultProvider, EngineAddress, HOOKS_FILE, PROVIDERS,
    RESILIENCE_FILE, SCHEMAS, Schema, SystemRootsError, engine_audience, risk_table, schema,
    system_roots,
};
pub use self::directive_form::DirectiveForm;
pub use self::file_digests::{FileChanges, UnreadableFile};
pub use self::lock::{ExecutedPart, Lock, LockError, LockedDirective, LockedItem, LockedTool};
pub use self::needs::{
    CalledDirective, CalledItems, Callee, GivenInputs, LibraryItems, Need, NeedSource, Needs,
    StepCall, Use, block, callee, is_denied, least, needs_of, step_calls, uses_as_written,
};
pub use self::opening_digest::opening_digest;
pub use self::outcome::Class;
pub use self::place::{kind_of, place};
pub use self::plan::{
    Answerer, CALLING_DIRECTIVE, CallError, Chained, ChildBounds, Composed, DEFAULT_PROVIDER,
    Hooking, ItemProvenance, LimitOptions, LimitSource, Model, NotDriven, Offer, Placing, Plan,
    PlanRequest, PlannedRun, PrepareError, ProviderChoice, RecordedSettings, SetLimits, ToolCall,
    TreeAccess, TreeFunction, Widening, Withheld, accepted_digests, added_item,
    directive_additions, limit_of_start, resolve_chain, return_capability, sandbox_warning,
    ways_of_calling,
};
pub use self::preview::Preview;
pub use self::project::{LockJudge, OpenError, Project, Setup};
pub use self::project_policy::{PolicyError, ProjectPolicy};
pub use self::prompts::PromptsError;
pub use self::provider_facts::{NamedProvider, ProviderFacts};
pub use self::render::{RenderRequest, Rendered, Template};
pub use self::risks::Risks;
#[cfg(feature = "mcp")]
pub use self::server_tools::{
    NotWrapped, ServerChange, ServerTools, ServerToolsError, WrapperFile,
};
pub use self::shipped::shipped_files;
pub use self::signing::{
    OtherSignature, SignError, SignFileError, SignOptions, SignatureFault, SignedFile, SignedFiles,
    SigningStatus, bad_grants, grants_text, replace_file, with_signature,
};
pub use self::syntax_json::hook_meaning;
pub use self::text_change::TextChange;
pub use self::verify::{Subject, Verification, VerificationSummary, VerifyError, is_plain_file};
