//! The project: one value with the spaces of items, the trusted keys and the policy, all read once.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(feature = "mcp")]
use std::sync::{Mutex, Weak};

use rye_resolve::{
    Config, ItemId, Library, ResolveError, RunDocument, Spaces, TrustNote, trust_store,
};
use rye_sandbox::{ProcessHost, Variables};
use rye_sign::{Policy, PublicKey, TrustStore};
use rye_types::{ClockError, ItemKind, Moment, Timestamp};
use rye_web::Names;

use crate::config::{ConfigError, requires_lock, single_host, strict_extends, trust_policy};
use crate::lock::ExecutedPart;

/// The settings of [`Project`], which looks nothing up by itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// The spaces of items.
    pub spaces: Spaces,
    /// Texts of trust documents that count for this value only (SPEC 2.8).
    pub trust_documents: Vec<String>,
    /// Texts of such documents that lie in the project. Each counts only if a key of the user space or of a system root signed
    /// it, because a project cannot vouch for itself.
    pub project_trust_documents: Vec<String>,
    /// The operator's switches for what verifies.
    pub policy: Policy,
    /// `true` for strict verification, whatever configuration says. Signatures then have to bind kind and id
    /// over the whole text. Directives may grant no more than the directives that they extend (SPEC 2.4, D6).
    pub strict: bool,
    /// `true` to begin only threads whose directives are as `.ai/rye.lock` has them, whatever configuration says.
    pub locked: bool,
    /// The comparison with the lock. Where it is demanded and there is none, no thread begins.
    pub lock_judge: Option<Arc<dyn LockJudge>>,
    /// The time by which keys expire.
    pub now: Timestamp,
    /// The operator's present key, by which drafts of the operator are known (SPEC D20). Without it, none is.
    pub own_key: Option<PublicKey>,
    /// `true` if a check calls a draft an error, as `strict` also makes it do.
    pub refuses_drafts: bool,
    /// A folder of the operator's own where searches may keep hints for the next one; see
    /// [`Library::with_search_cache`].
    pub search_cache: Option<PathBuf>,
    /// A folder of the operator's own where the policy of projects is pinned, in which programs run without a whole sandbox; see
    /// [`ProjectPolicy`](crate::ProjectPolicy). Without it, no program is started there
    /// unless `sandbox: off` says so.
    pub policy_pins: Option<PathBuf>,
    /// A folder of the operator's own for facts about MCP servers that spare time at their next start. Without it, they are kept for as
    /// long as the connections are open.
    pub server_facts: Option<PathBuf>,
    /// The host that starts the programs of tools. Without it, no tool is offered that is a program.
    ///
    /// Programs run in a sandbox if this program is its own launcher:
    ///
    /// ```no_run
    /// use std::process::ExitCode;
    ///
    /// use rye_sandbox::{Launcher, ProcessHost, launch};
    ///
    /// fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    ///     let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    ///     if let Some(code) = launch(&words) {
    ///         return Ok(code);
    ///     }
    ///     let mut programs = ProcessHost::new(&std::env::temp_dir());
    ///     programs.launcher = Some(Launcher::of_this_program()?);
    ///     let setup = |mut setup: rye_project::Setup| {
    ///         setup.processes = Some(programs);
    ///         setup
    ///     };
    ///     # let _ = setup;
    ///     Ok(ExitCode::SUCCESS)
    /// }
    /// ```
    pub processes: Option<ProcessHost>,
    /// The resolver of host names for tools that reach other machines. Without it, they are not offered.
    pub names: Option<Arc<dyn Names>>,
    /// Finds the secrets that tools of one request name, in the variables that `config/agent/web.yaml` says; by default, none
    /// is found.
    pub variables: Variables,
}

impl Setup {
    /// These spaces, the strict default policy and no further trust document.
    #[must_use]
    pub fn new(spaces: Spaces, now: Timestamp) -> Self {
        Self {
            spaces,
            trust_documents: Vec::new(),
            project_trust_documents: Vec::new(),
            policy: Policy::default(),
            strict: false,
            locked: false,
            lock_judge: None,
            now,
            own_key: None,
            refuses_drafts: false,
            search_cache: None,
            policy_pins: None,
            server_facts: None,
            processes: None,
            names: None,
            variables: Variables::none(),
        }
    }
}

/// The spaces of items, the trusted keys and the policy of one project: resolves, checks, plans, renders and signs directives.
#[derive(Debug)]
pub struct Project {
    pub(crate) library: Library,
    pub(crate) policy: Policy,
    /// `true` if a directive is refused that grants more than the one that it extends.
    pub(crate) strict_extends: bool,
    /// `true` if this machine alone uses its network file systems.
    pub(crate) single_host: bool,
    /// `true` if threads begin only as the lock has their directives.
    pub(crate) requires_lock: bool,
    pub(crate) lock_judge: Option<Arc<dyn LockJudge>>,
    pub(crate) now: Timestamp,
    /// The operator's present key.
    pub(crate) own_key: Option<PublicKey>,
    /// `true` if a check calls a draft an error.
    pub(crate) refuses_drafts: bool,
    /// The layers of `config/trust.yaml`, for the record of what a run rests on.
    pub(crate) trust_config: Option<Config>,
    pub(crate) policy_pins: Option<PathBuf>,
    #[cfg(feature = "mcp")]
    pub(crate) server_facts: Option<PathBuf>,
    pub(crate) processes: Option<ProcessHost>,
    pub(crate) names: Option<Arc<dyn Names>>,
    pub(crate) variables: Variables,
    notes: Arc<[TrustNote]>,
    /// The MCP servers that the threads which are driven now have been connected to.
    #[cfg(feature = "mcp")]
    pub(crate) connections: Arc<Mutex<Weak<rye_tools::mcp::Connections>>>,
}

/// The texts that files are about to have.
pub(crate) type Texts = Arc<HashMap<PathBuf, String>>;

/// A comparison of directives with the lock of their project.
pub trait LockJudge: fmt::Debug + Send + Sync {
    /// Compares a directive as it is now with its record in `.ai/rye.lock`.
    ///
    /// # Errors
    ///
    /// Each thing that is not as it was locked, or the reason why that cannot be said.
    fn judge(&self, project: &Project, directive: &ItemId) -> Result<(), Vec<String>>;

    /// Compares a directive or knowledge that a call returns into a thread of the directive `thread` with the lock, as
    /// [`Lock::compare_executed`](crate::Lock::compare_executed) does (SPEC D16).
    ///
    /// # Errors
    ///
    /// Each part that is not as it was locked, or the reason why that cannot be said.
    fn judge_executed(
        &self,
        project: &Project,
        thread: &ItemId,
        executed: (ItemKind, &ItemId),
        parts: &[ExecutedPart],
    ) -> Result<(), Vec<String>>;
}

impl Project {
    /// Reads the trust documents and the trust policy of the spaces, and opens the library over them.
    ///
    /// # Errors
    ///
    /// The method fails if a trust document cannot be read, or if a given one cannot be trusted. It fails too
    /// if `config/trust.yaml` is refused or broken.
    pub fn open(setup: &Setup) -> Result<Self, OpenError> {
        Self::open_over(setup, &Arc::default())
    }

    /// The same with texts that files are about to have in the place of these files, for what runs nothing.
    pub(crate) fn open_over(setup: &Setup, texts: &Texts) -> Result<Self, OpenError> {
        Self::open_with(setup, texts, |library| library.config("trust"))
    }

    /// The same with drafts shown, but for a project that is strict.
    pub(crate) fn open_showing(setup: &Setup) -> Result<Self, OpenError> {
        let mut project = Self::open(setup)?;
        if let Some(own) = setup.own_key.clone().filter(|_| !setup.strict) {
            project.library = project.library.showing_drafts(own);
        }
        Ok(project)
    }

    /// The same as if no space had a `config/trust.yaml`, for what runs nothing.
    pub(crate) fn open_without_trust_config(
        setup: &Setup,
        texts: &Texts,
    ) -> Result<Self, OpenError> {
        Self::open_with(setup, texts, |_| Ok(None))
    }

    fn open_with(
        setup: &Setup,
        texts: &Texts,
        trust_config: impl FnOnce(Library) -> Result<Option<Config>, ResolveError>,
    ) -> Result<Self, OpenError> {
        refuse_linked(&setup.spaces)?;
        Moment::from_unix_millis(setup.now.as_unix().saturating_mul(1_000)).validate()?;
        let documents = setup.trust_documents.iter().map(|text| RunDocument::new(text));
        let of_project = setup.project_trust_documents.iter();
        let documents: Vec<RunDocument<'_>> =
            documents.chain(of_project.map(|text| RunDocument::in_project(text))).collect();
        let (trust, notes) = trust_store(&setup.spaces, &documents, setup.now)?;
        let library = |policy| {
            let library = Library::new(setup.spaces.clone(), trust.clone(), policy, setup.now);
            library.with_texts(Arc::clone(texts))
        };
        // The caller's policy, which is stricter, judges the signature of the policy file itself.
        let trust_config = trust_config(library(setup.policy.clone()))?;
        let policy = trust_policy(&setup.policy, trust_config.as_ref())?;
        let policy = if setup.strict { policy.strict() } else { policy };
        let strict_extends = setup.strict || strict_extends(trust_config.as_ref())?;
        let single_host = single_host(trust_config.as_ref())?;
        let requires_lock = setup.locked || requires_lock(trust_config.as_ref())?;
        let mut library = library(policy.clone());
        if let Some(folder) = &setup.search_cache {
            library = library.with_search_cache(folder);
        }
        let processes = setup.processes.clone();
        let names = setup.names.clone();
        Ok(Self {
            library,
            policy,
            strict_extends,
            single_host,
            requires_lock,
            lock_judge: setup.lock_judge.clone(),
            now: setup.now,
            own_key: setup.own_key.clone(),
            refuses_drafts: setup.refuses_drafts || setup.strict,
            trust_config,
            policy_pins: setup.policy_pins.clone(),
            #[cfg(feature = "mcp")]
            server_facts: setup.server_facts.clone(),
            processes,
            names,
            variables: setup.variables.clone(),
            notes: notes.into(),
            #[cfg(feature = "mcp")]
            connections: Arc::default(),
        })
    }

    /// A copy for the calls of a thread, to which no draft is shown. It shares the connections to MCP servers.
    ///
    /// There is no other copy: whoever has a [`Preview`](crate::Preview) never gets a project out of it to run.
    pub(crate) fn without_drafts(&self) -> Self {
        Self {
            library: self.library.without_drafts().into_owned(),
            policy: self.policy.clone(),
            strict_extends: self.strict_extends,
            single_host: self.single_host,
            now: self.now,
            own_key: self.own_key.clone(),
            refuses_drafts: self.refuses_drafts,
            lock_judge: self.lock_judge.clone(),
            requires_lock: self.requires_lock,
            trust_config: self.trust_config.clone(),
            policy_pins: self.policy_pins.clone(),
            #[cfg(feature = "mcp")]
            server_facts: self.server_facts.clone(),
            processes: self.processes.clone(),
            names: self.names.clone(),
            variables: self.variables.clone(),
            notes: self.notes.clone(),
            #[cfg(feature = "mcp")]
            connections: self.connections.clone(),
        }
    }

    /// Returns the library, which finds and verifies items.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The keys that are trusted.
    #[must_use]
    pub fn trust(&self) -> &TrustStore {
        self.library.trust()
    }

    /// Returns `true` if `config/trust.yaml` declares that this machine alone uses its network file systems.
    #[must_use]
    pub fn is_single_host(&self) -> bool {
        self.single_host
    }

    /// Returns notes for the operator on the trust documents.
    #[must_use]
    pub fn trust_notes(&self) -> &[TrustNote] {
        &self.notes
    }
}

/// Refuses a project whose `.ai` is a link. Files of tools and programs are kept from it by its place in the project, and another
/// place of it would be open to them.
fn refuse_linked(spaces: &Spaces) -> Result<(), OpenError> {
    let Some(path) = spaces.project().map(|root| root.join(".ai")) else { return Ok(()) };
    match std::fs::read_link(&path) {
        Ok(target) => Err(OpenError::LinkedProject { path, target }),
        Err(_) => Ok(()),
    }
}

/// The reason why the spaces cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The time that was given is before 1970.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The `.ai` folder of the project is a link.
    #[error(
        "`{}` is a link, to `{}`, and the `.ai` of a project is a folder of its own, from which the programs of tools are kept; move the folder into the place of the link",
        .path.display(),
        .target.display()
    )]
    LinkedProject {
        /// The link.
        path: PathBuf,
        /// The target of the link, as it is written there.
        target: PathBuf,
    },
    /// The trust policy says something that it may not say.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A trust document or the trust policy cannot be had.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}
