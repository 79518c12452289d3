#![doc = include_str!("../README.md")]

// A breaking release of one of these is a breaking release of this crate.
#[doc(inline)]
pub use rye_caps as caps;
#[doc(inline)]
pub use rye_files as files;
#[doc(inline)]
pub use rye_parse as parse;
#[doc(inline)]
pub use rye_port as port;
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
pub use rye_types as types;
#[doc(inline)]
pub use rye_web as web;

#[doc(inline)]
pub use rye_project::primary;

pub use rye_parse::hidden_characters;
pub use rye_project::{
    APPROVAL_FILE, Answerer, Bundle, CallError, Chained, Checked, Checker, ChildBounds, Class,
    ClassLimits, Complexity, Composed, ConfigError, DEFAULT_PROVIDER, DRAFTED_CONFIGS,
    DRAFTED_SCRIPTS, DefaultProvider, DirectiveForm, Draft, EngineAddress, ExecutedPart,
    FileChanges, Finding, Hooking, ItemProvenance, LimitOptions, LimitSource, Lock, LockError,
    LockJudge, LockedDirective, LockedItem, LockedTool, Model, NamedProvider, Need, NeedSource,
    NotDriven, Offer, OpenError, OtherSignature, Placing, Plan, PlanRequest, PlannedRun,
    PolicyError, PrepareError, Preview, Project, ProjectPolicy, PromptsError, ProviderChoice,
    ProviderFacts, RecordedSettings, RenderRequest, Rendered, Risks, SCHEMAS, Schema, SetLimits,
    Setup, Severity, SignError, SignFileError, SignOptions, SignatureFault, SignedFile,
    SignedFiles, SigningStatus, SpacesToCheck, Subject, SystemRootsError, Template, TextChange,
    TreeAccess, TreeFunction, UnknownComplexity, UnreadableFile, Use, Verification,
    VerificationSummary, VerifyError, Widening, bad_grants, check, directive_additions, draft,
    draft_config, draft_directive, draft_hook, draft_provider, draft_script, engine_audience,
    github, grants_text, is_plain_file, kind_of, place, replace_file, sarif, schema, shipped_files,
    starter, system_roots, with_signature,
};
#[cfg(feature = "mcp")]
pub use rye_project::{NotWrapped, ServerChange, ServerTools, ServerToolsError, WrapperFile};
pub use rye_review::{
    Change, ContextFacts, Difference, Explained, HookFacts, ItemFacts, LayerFacts, LayerPrivileges,
    LimitFacts, LockFinding, LockReport, LostFacts, ModelFacts, ModelSource, NothingToJudge,
    PatternChange, PatternPrivileges, PortFacts, Privileges, PrivilegesError, Section, Signer,
    SkippedFacts, StartFacts, Tightened, ToolFacts, Waits,
};
#[cfg(feature = "mcp")]
pub use rye_session::{Approvals, HttpOptions, McpServer, ServeError, ServerHost, reading};
pub use rye_session::{
    Cancelled, Continuation, ContinueError, FirstRequest, Host, LinkedThreads, RecordSigner,
    ReopenError, RunError, RunReport, RunRequest, Rye, Secrets, StepChain, SystemClock,
    ThreadReadError, ThreadReading, UnfinishedAnswer, WorkerLabel, WorkerLabelError, covers,
    decision_commands, divergence_diff, record_failure, refuse_linked_threads, resume_command,
    step_digest,
};
