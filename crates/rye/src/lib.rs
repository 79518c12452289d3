#![doc = include_str!("../README.md")]

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

#[doc(inline)]
pub use rye_session::primary;

pub use rye_parse::hidden_characters;
pub use rye_review::{
    Change, ContextFacts, Difference, Explained, HookFacts, ItemFacts, LayerFacts, LayerPrivileges,
    LimitFacts, LockFinding, LockReport, LostFacts, ModelFacts, NothingToJudge, PatternChange,
    PatternPrivileges, PortFacts, Privileges, PrivilegesError, Section, Signer, SkippedFacts,
    StartFacts, Tightened, ToolFacts,
};
#[cfg(feature = "mcp")]
pub use rye_session::{
    Approvals, HttpOptions, McpServer, NotWrapped, ServeError, ServerChange, ServerHost,
    ServerTools, ServerToolsError, WrapperFile, reading,
};
pub use rye_session::{
    Bundle, CallError, Cancelled, Checked, Checker, Class, ClassLimits, Complexity, ConfigError,
    Continuation, ContinueError, DRAFTED_CONFIGS, DRAFTED_SCRIPTS, Draft, EngineAddress,
    FileChanges, Finding, FirstRequest, Host, LimitOptions, LimitSource, LinkedThreads, Lock,
    LockError, LockedDirective, LockedItem, LockedTool, NamedProvider, Need, NeedSource, OpenError,
    Placing, PlanRequest, PolicyError, PrepareError, Project, ProjectPolicy, PromptsError,
    ProviderChoice, ProviderFacts, RecordSigner, RenderRequest, Rendered, ReopenError, Risks,
    RunError, RunReport, RunRequest, Rye, SCHEMAS, Schema, Secrets, Setup, Severity, SignError,
    SignFileError, SignedFile, SigningStatus, SpacesToCheck, StepChain, Subject, SystemClock,
    Template, TextChange, ThreadReadError, ThreadReading, UnfinishedAnswer, UnknownComplexity,
    UnreadableFile, Use, Verification, VerificationSummary, VerifyError, Widening, WorkerLabel,
    WorkerLabelError, bad_grants, check, covers, directive_additions, divergence_diff, draft,
    draft_config, draft_directive, draft_hook, draft_provider, draft_script, engine_audience,
    github, kind_of, place, record_failure, refuse_linked_threads, replace_file, resume_command,
    sarif, schema, shipped_files, starter, step_digest, with_signature,
};
