//! Everything that can keep a run from starting.

use rye_caps::risk::{AcknowledgementError, Finding};
use rye_caps::{Denied, PatternError};
use rye_prompt::{BindError, ComposeError, RenderError, TemplateError};
use rye_providers::{ChoiceError, ConnectError};
use rye_resolve::{ItemId, ResolveError, Space};
use rye_thread::{ContractError, PaletteError};
use rye_types::ItemKind;

use super::widening::Widening;
use crate::config::ConfigError;
use crate::outcome::Class;

/// Why a directive cannot be prepared for a run; nothing was sent to a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// Acknowledgements of risk name no risk or give no reason.
    #[error("directive `{id}` acknowledges nothing: {}", all(problems))]
    Acknowledgement {
        /// The directive that declares them.
        id: ItemId,
        /// The problem of each acknowledgement.
        problems: Vec<AcknowledgementError>,
    },
    /// A trust document lists an invalid capability pattern, so that the authority of its key is
    /// unknown.
    #[error("the trust document of key `{key_id}` has a bad entry under `grants`")]
    Ceiling {
        /// The key.
        key_id: String,
        /// The error in the pattern.
        source: PatternError,
    },
    /// A file has the name of a configuration in another case, so that nothing reads it.
    #[error("no configuration is read from `{}`; name it `config/{meant}`", .path.display())]
    ConfigInOtherCase {
        /// The file.
        path: std::path::PathBuf,
        /// The configuration whose name it nearly has.
        meant: &'static str,
    },
    /// A configuration file says something that it may not say.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The model cannot be reached with this configuration and this environment.
    #[error("provider `{provider}` cannot be used")]
    Connect {
        /// The provider's name.
        provider: String,
        /// The cause of the failure.
        source: Box<ConnectError>,
    },
    /// The context of the chain cannot be composed.
    #[error("the context of directive `{id}` cannot be composed")]
    Context {
        /// The directive.
        id: ItemId,
        /// The cause of the failure.
        source: ComposeError,
    },
    /// The thread may not be narrowed from the one that starts it.
    #[error("the capability token of the parent thread does not carry a child")]
    Token(#[source] rye_sign::token::TokenError),
    /// The spend limit is in a currency that no price is in.
    #[error(
        "directive `{id}` limits its spend in `{currency}`; prices are in `USD`, so write it in that"
    )]
    Currency {
        /// The directive.
        id: ItemId,
        /// The currency as written.
        currency: String,
    },
    /// Steps need tools that are granted and cannot be offered, or that a layer of the authority denies.
    #[error("directive `{id}` cannot do what its steps say: {}", lacking.join("; "))]
    Needs {
        /// The directive.
        id: ItemId,
        /// Each need with its source and the reason.
        lacking: Vec<String>,
    },
    /// Two outputs share a name.
    #[error("the outputs of directive `{id}` cannot be promised")]
    Contract {
        /// The directive.
        id: ItemId,
        /// The error in the declared outputs.
        source: ContractError,
    },
    /// The first request cannot be written in the provider's format.
    #[error("the first request of directive `{id}` cannot be written")]
    Encode {
        /// The directive.
        id: ItemId,
        /// The cause of the failure.
        source: Box<rye_providers::EncodeError>,
    },
    /// The thread would end before its first request.
    #[error("a thread of directive `{id}` ends before its first request: {}", failure.message)]
    Ended {
        /// The directive.
        id: ItemId,
        /// The failure with which the thread ends.
        failure: Box<rye_thread::Failure>,
    },
    /// A directive outside of the project takes a file of the project into its context.
    #[error(
        "directive `{id}` of the {space} space takes the file `{path}` into its context, which only directives of the project do; \
         copy it with `rye load {id} --to project`, or write the text as knowledge"
    )]
    FileOfProject {
        /// The directive.
        id: ItemId,
        /// The path of the file.
        path: String,
        /// The space of the directive.
        space: Space,
    },
    /// Items that hooks name cannot be had.
    #[error("an item that a hook names cannot be had: {}", hooks.join(", "))]
    HookItems {
        /// Each hook with what declares it.
        hooks: Vec<String>,
        /// The error in the items.
        source: Box<Self>,
    },
    /// Hooks do what hooks cannot do, which is not passed over in silence.
    #[error("hooks cannot do what they say: {}", problems.join("; "))]
    Hooks {
        /// Each hook, with what declares it and what is wrong.
        problems: Vec<String>,
    },
    /// A given value would be read as a reference to a step's result.
    #[error(
        "directive `{id}` cannot run by its steps alone: {} holds `${{steps.`, which would be read as the result of a step; \
         use another value or a model",
        quote(names)
    )]
    InputReference {
        /// The directive.
        id: ItemId,
        /// The inputs that hold such a value.
        names: Vec<String>,
    },
    /// Given values and the text around them would be read as a reference to a step's result.
    #[error(
        "directive `{id}` cannot run by its steps alone: with the given inputs, step `{step}` refers to the result of a step \
         where its text does not; use other values or a model"
    )]
    MadeReference {
        /// The directive.
        id: ItemId,
        /// The step whose parameters hold them.
        step: String,
    },
    /// The given inputs do not fit the declared ones.
    #[error("the inputs do not fit directive `{id}`")]
    Inputs {
        /// The directive.
        id: ItemId,
        /// Every problem.
        source: BindError,
    },
    /// The directive asks for a model that the provider does not have.
    #[error("provider `{provider}` has no model for directive `{id}`")]
    Model {
        /// The directive.
        id: ItemId,
        /// The provider's name.
        provider: String,
        /// The requested model and the available ones.
        source: Box<ChoiceError>,
    },
    /// The folder of the project cannot be found again.
    #[error("the project's folder cannot be found")]
    Folder(#[source] std::io::Error),
    /// The run needs a project, for its files and its record.
    #[error("a run needs a project: a folder with an `.ai` folder")]
    NoProject,
    /// The steps of a directive send nothing, so that there is no request to show.
    #[error(
        "directive `{id}` sends nothing when its own steps are followed; name another provider to see its request"
    )]
    NothingSent {
        /// The directive.
        id: ItemId,
    },
    /// The tools cannot be offered together.
    #[error("the tools of the thread cannot be offered")]
    Palette(#[from] PaletteError),
    /// The project's folder cannot be opened for the file tools.
    #[error("the project's folder cannot be opened")]
    Project(#[source] rye_tools::fs::Error),
    /// The project's policy is not the pinned one, or cannot be pinned.
    #[error(transparent)]
    Policy(#[from] crate::PolicyError),
    /// The prompt cannot be rendered.
    #[error("the prompt of directive `{id}` cannot be rendered")]
    Prompt {
        /// The directive.
        id: ItemId,
        /// Every problem.
        source: RenderError,
    },
    /// The provider's configuration cannot be used.
    #[error("`{location}` is not a valid provider configuration")]
    Provider {
        /// The file.
        location: String,
        /// Every problem.
        source: rye_providers::ConfigError,
    },
    /// The directive has no step with a call, and a model was not asked for (SPEC 10.13).
    #[error(
        "directive `{id}` has no structured steps, so that only a model can follow it; run it with a provider, or write its calls as `<execute>` in `<step>` elements"
    )]
    NoSteps {
        /// The directive.
        id: ItemId,
    },
    /// Calls of steps that cannot be read, so that no run without a model carries them out.
    #[error("steps of directive `{id}` cannot be carried out without a model: {}; `rye check` shows each", calls.join("; "))]
    UnreadableSteps {
        /// The directive.
        id: ItemId,
        /// The line of each call, with the reason.
        calls: Vec<String>,
    },
    /// A step names a tool that no space has.
    #[error("step `{step}` of directive `{id}` names no tool")]
    UnknownTool {
        /// The directive.
        id: ItemId,
        /// The step.
        step: String,
        /// The tool, and the one that was probably meant.
        source: Box<ResolveError>,
    },
    /// No configuration has the provider's name.
    #[error(
        "there is no provider `{provider}`; {}there are `{}`{}",
        near(suggestion.as_deref()), known.join("`, `"),
        if *is_default { "" } else { ", and `steps`, which needs no model" }
    )]
    UnknownProvider {
        /// The name that was asked for.
        provider: String,
        /// The name probably meant.
        suggestion: Option<String>,
        /// The names that configurations have.
        known: Vec<String>,
        /// `true` for the default of runs that name none, which is a model's.
        is_default: bool,
    },
    /// The provider that a file makes the default cannot be had.
    #[error("the default provider of `{location}` cannot be used")]
    NoDefaultProvider {
        /// The file.
        location: String,
        /// The reason.
        source: Box<PrepareError>,
    },
    /// A project's provider configuration names a variable that the operator does not allow (SPEC 11.1).
    #[error(
        "`{location}` names the variable `{variable}`, which providers of a project may not have; add it to `variables` of \
         `config/providers.yaml` in the user space"
    )]
    ProviderVariable {
        /// The file.
        location: String,
        /// The name of the variable.
        variable: String,
    },
    /// The directive is not as `.ai/rye.lock` has it, which is demanded.
    #[error(
        "directive `{id}` is not as `.ai/rye.lock` has it, and only locked ones run here: {}; `rye check --locked` shows it, and \
         `rye lock {id}` accepts it after a review",
        problems.join("; ")
    )]
    NotAsLocked {
        /// The directive.
        id: ItemId,
        /// Each difference.
        problems: Vec<String>,
    },
    /// Knowledge that a call returns into a thread is not as `.ai/rye.lock` has it, which is demanded.
    #[error(
        "knowledge `{id}` is not as `.ai/rye.lock` has it, and only what is locked is executed here: {}; name it in a step or the \
         context of a directive, and `rye lock` accepts it after a review",
        problems.join("; ")
    )]
    KnowledgeNotAsLocked {
        /// The knowledge.
        id: ItemId,
        /// Each difference.
        problems: Vec<String>,
    },
    /// A project makes a provider of its own the default (SPEC 4.3).
    #[error(
        "`{location}` makes `{name}` the default, which is the project's own; to accept it, copy it with \
         `rye load rye/agent/providers/{name} --to user`, or name it with `--provider {name}`"
    )]
    DefaultProvider {
        /// The name of the provider.
        name: String,
        /// The file that says so.
        location: String,
    },
    /// The key that signed the provider's configuration may not grant the use of it (SPEC 2.7).
    #[error("provider `{provider}` is refused because of who signed its configuration")]
    ProviderSigner {
        /// The provider's name.
        provider: String,
        /// The capability that the key may not grant.
        source: Box<Denied>,
    },
    /// The sandbox of programs could not be tried out.
    #[error(transparent)]
    Sandbox(#[from] rye_sandbox::ProbeError),
    /// An item cannot be found, verified or parsed.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Items that are only shown are drafts, which no thread rests on (SPEC D20).
    #[error("{}; a run refuses it until `rye sign` signs it again", drafts.join("; "))]
    Drafts {
        /// A sentence for each.
        drafts: Vec<String>,
    },
    /// The grant is too dangerous for what the directive acknowledges (SPEC 9.6).
    #[error("the permissions of directive `{id}` are too dangerous: {}", join_findings(findings))]
    Risk {
        /// The directive that declares them.
        id: ItemId,
        /// Every finding that blocks.
        findings: Vec<Finding>,
    },
    /// The chain grants more toward its leaf, and the operator allows no such widening (SPEC D6).
    #[error(
        "the permissions of directive `{id}` are wider than what it extends: {}; grant less, or set `strict_extends: false` in `config/trust.yaml` of the user space and leave out `--strict`",
        list_widenings(widenings)
    )]
    Widening {
        /// The leaf of the chain.
        id: ItemId,
        /// Every widening along the chain.
        widenings: Vec<Widening>,
    },
    /// The provider's system template cannot be filled.
    #[error("the system template of provider `{provider}` cannot be filled")]
    Template {
        /// The provider's name.
        provider: String,
        /// The error in the template.
        source: Box<TemplateError>,
    },
    /// A request declares a tool for a directive that is not the shipped one, which calls tools for the operator.
    #[error(
        "directive `{id}` declares its tools itself; only the shipped directive for the operator's calls takes another one"
    )]
    Tool {
        /// The directive.
        id: ItemId,
    },
}

impl PrepareError {
    /// Returns the class of the error, which decides the exit code.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::HookItems { source, .. } => source.class(),
            Self::NoDefaultProvider { source, .. } => source.class(),
            Self::Resolve(error) if error.is_unverified() => Class::Refused,
            Self::Policy(crate::PolicyError::Sandbox(error)) | Self::Sandbox(error)
                if !error.is_refusal() =>
            {
                Class::Failed
            }
            Self::DefaultProvider { .. }
            | Self::Needs { .. }
            | Self::Drafts { .. }
            | Self::NotAsLocked { .. }
            | Self::KnowledgeNotAsLocked { .. }
            | Self::Policy(_)
            | Self::ProviderSigner { .. }
            | Self::ProviderVariable { .. }
            | Self::Risk { .. }
            | Self::Sandbox(_)
            | Self::Token(_)
            | Self::Tool { .. }
            | Self::Widening { .. } => Class::Refused,
            Self::Ended { failure, .. }
                if matches!(failure.kind, rye_thread::FailureKind::Limit(_)) =>
            {
                Class::Limit
            }
            Self::InputReference { .. }
            | Self::Inputs { .. }
            | Self::MadeReference { .. }
            | Self::NoProject
            | Self::NoSteps { .. }
            | Self::NothingSent { .. } => Class::Usage,
            _ => Class::Failed,
        }
    }

    /// Returns `true` if the error comes from this machine: a key of a provider, a sandbox, a pinned policy, or a folder that cannot be
    /// opened. Another machine with the same files may prepare the directive.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        match self {
            Self::HookItems { source, .. } => source.is_of_machine(),
            Self::Connect { .. }
            | Self::Folder(_)
            | Self::Policy(_)
            | Self::Project(_)
            | Self::Sandbox(_) => true,
            _ => false,
        }
    }

    /// Returns `true` if the error says that no space has this directive.
    #[must_use]
    pub fn lacks(&self, directive: &ItemId) -> bool {
        let Self::Resolve(ResolveError::NotFound { kind, id, .. }) = self else { return false };
        *kind == ItemKind::Directive && id == directive
    }

    /// One error out of many; `None` when there is none.
    pub(crate) fn gather(mut problems: Vec<ResolveError>) -> Option<Self> {
        match problems.len() {
            0 => None,
            1 => problems.pop().map(Self::Resolve),
            _ => Some(Self::Resolve(ResolveError::Several { problems })),
        }
    }
}

fn near(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

fn quote(names: &[String]) -> String {
    format!("input `{}`", names.join("`, `"))
}

fn all(problems: &[AcknowledgementError]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn list_widenings(widenings: &[Widening]) -> String {
    widenings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn join_findings(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
