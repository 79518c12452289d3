//! The hub: one value that knows where items are and whom to trust.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use rye_resolve::{Config, Library, ResolveError, Spaces, TrustNote, trust_store};
use rye_sign::{Policy, Timestamp, TrustStore};
use rye_thread::{ClockError, Moment};
use rye_tools::{Names, ProcessHost, Variables};

use crate::config::{ConfigError, single_host, strict_extends, trust_policy};
use crate::session::Store;

/// What [`Rye`] must be told, because it looks nothing up by itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// Where items are found.
    pub spaces: Spaces,
    /// Texts of trust documents that count for this value only (SPEC 2.8).
    pub trust_documents: Vec<String>,
    /// The operator's switches for what verifies.
    pub policy: Policy,
    /// Whether signatures have to bind kind and id over the whole text, and directives may grant no more than what they
    /// extend (SPEC 2.4, D6), whatever configuration says.
    pub strict: bool,
    /// The time by which keys expire.
    pub now: Timestamp,
    /// A folder of the operator's own where searches may keep hints for the next one; see
    /// [`Library::with_search_cache`].
    pub search_cache: Option<PathBuf>,
    /// A folder of the operator's own where the policy of projects is pinned, in which programs run without a whole sandbox; see
    /// [`ProjectPolicy`](crate::ProjectPolicy). Without it, no program is started there
    /// unless `sandbox: off` says so.
    pub policy_pins: Option<PathBuf>,
    /// What tools start programs with; without it, tools that are programs are not offered.
    ///
    /// Programs run in a sandbox if this program is its own launcher:
    ///
    /// ```no_run
    /// use std::process::ExitCode;
    ///
    /// use rye::tools::{ProcessHost, sandbox};
    ///
    /// fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    ///     let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    ///     if let Some(code) = sandbox::launch(&words) {
    ///         return Ok(code);
    ///     }
    ///     let mut programs = ProcessHost::new(&std::env::temp_dir());
    ///     programs.launcher = Some(std::env::current_exe()?);
    ///     let setup = |mut setup: rye::Setup| {
    ///         setup.processes = Some(programs);
    ///         setup
    ///     };
    ///     # let _ = setup;
    ///     Ok(ExitCode::SUCCESS)
    /// }
    /// ```
    pub processes: Option<ProcessHost>,
    /// What tools that reach other machines look up names of hosts with; without it, they are not offered.
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
            policy: Policy::default(),
            strict: false,
            now,
            search_cache: None,
            policy_pins: None,
            processes: None,
            names: None,
            variables: Variables::none(),
        }
    }
}

/// The hub of the library: resolves, checks, renders and runs directives.
#[derive(Debug)]
pub struct Rye {
    pub(crate) library: Library,
    pub(crate) policy: Policy,
    /// Whether a directive that grants more than what it extends is refused.
    pub(crate) strict_extends: bool,
    /// Whether this machine alone uses its network file systems.
    pub(crate) single_host: bool,
    pub(crate) now: Timestamp,
    /// The layers of `config/trust.yaml`, for the record of what a run rests on.
    pub(crate) trust_config: Option<Config>,
    pub(crate) policy_pins: Option<PathBuf>,
    pub(crate) processes: Option<ProcessHost>,
    pub(crate) names: Option<Arc<dyn Names>>,
    pub(crate) variables: Variables,
    notes: Vec<TrustNote>,
    /// What the threads that are driven now keep their records in.
    pub(crate) store: Mutex<Weak<Store>>,
    /// The MCP servers that the threads which are driven now have been connected to.
    #[cfg(feature = "mcp")]
    pub(crate) connections: Mutex<Weak<rye_tools::mcp::Connections>>,
}

impl Rye {
    /// Reads the trust documents and the trust policy of the spaces, and opens the library over them.
    ///
    /// # Errors
    ///
    /// When a trust document cannot be read, one that was handed over cannot be trusted, or `config/trust.yaml` is
    /// refused or broken.
    pub fn open(setup: &Setup) -> Result<Self, OpenError> {
        Self::open_with(setup, |library| library.config("trust"))
    }

    /// The same as if no space had a `config/trust.yaml`, for what runs nothing.
    pub(crate) fn open_without_trust_config(setup: &Setup) -> Result<Self, OpenError> {
        Self::open_with(setup, |_| Ok(None))
    }

    fn open_with(
        setup: &Setup,
        trust_config: impl FnOnce(Library) -> Result<Option<Config>, ResolveError>,
    ) -> Result<Self, OpenError> {
        Moment::from_unix_millis(setup.now.as_unix().saturating_mul(1_000)).checked()?;
        let documents: Vec<&str> = setup.trust_documents.iter().map(String::as_str).collect();
        let (trust, notes) = trust_store(&setup.spaces, &documents, setup.now)?;
        let library = |policy| Library::new(setup.spaces.clone(), trust.clone(), policy, setup.now);
        // How the policy itself is signed is judged by what the caller gave, which is stricter.
        let trust_config = trust_config(library(setup.policy.clone()))?;
        let policy = trust_policy(&setup.policy, trust_config.as_ref())?;
        let policy = if setup.strict { policy.strict() } else { policy };
        let strict_extends = setup.strict || strict_extends(trust_config.as_ref())?;
        let single_host = single_host(trust_config.as_ref())?;
        let mut library = library(policy.clone());
        if let Some(folder) = &setup.search_cache {
            library = library.with_search_cache(folder);
        }
        let (processes, names) = (setup.processes.clone(), setup.names.clone());
        Ok(Self {
            library,
            policy,
            strict_extends,
            single_host,
            now: setup.now,
            trust_config,
            policy_pins: setup.policy_pins.clone(),
            processes,
            names,
            variables: setup.variables.clone(),
            notes,
            store: Mutex::default(),
            #[cfg(feature = "mcp")]
            connections: Mutex::default(),
        })
    }

    /// The same spaces with the same trust, for somebody who drives no threads.
    pub(crate) fn beside(&self) -> Self {
        Self {
            library: self.library.clone(),
            policy: self.policy.clone(),
            strict_extends: self.strict_extends,
            single_host: self.single_host,
            now: self.now,
            trust_config: self.trust_config.clone(),
            policy_pins: self.policy_pins.clone(),
            processes: self.processes.clone(),
            names: self.names.clone(),
            variables: self.variables.clone(),
            notes: Vec::new(),
            store: Mutex::default(),
            #[cfg(feature = "mcp")]
            connections: Mutex::default(),
        }
    }

    /// Where items are found and verified.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The keys that are trusted.
    #[must_use]
    pub fn trust(&self) -> &TrustStore {
        self.library.trust()
    }

    /// What the operator should know of the trust documents that were read.
    #[must_use]
    pub fn trust_notes(&self) -> &[TrustNote] {
        &self.notes
    }
}

/// Why the spaces cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The time that was given is before 1970.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The trust policy says something that it may not say.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A trust document or the trust policy cannot be had.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}
