//! What programs are started with, and by whose rules.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use super::places::{IN_HOME, NEEDED, ON_MACHINE};
use crate::sandbox::{Bounds, Finding, Mode, Policy, ProbeError, Report};

/// The folder of a project in which Rye locks files.
const LOCKED: &str = ".ai/threads";

/// The variables of the caller's environment that programs get, where they are set. Keys of providers are in none of them.
pub const ENVIRONMENT: [&str; 18] = [
    "CARGO_HOME",
    "GOPATH",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "NVM_DIR",
    "PATH",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TZ",
    "USER",
];

/// The mode that works on this machine, and the stronger ones that do not.
pub(super) type Found = (Mode, Vec<Finding>);

/// What the program around this library lends for starting others.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProcessHost {
    /// A program that calls [`sandbox::launch`](crate::sandbox::launch) first of all; without one there is no sandbox.
    pub launcher: Option<PathBuf>,
    /// The sandboxes that may be used, should the machine be able to; all when not set.
    pub modes: Vec<Mode>,
    /// Where bubblewrap may be, in the order in which it is looked for.
    pub bubblewrap: Vec<PathBuf>,
    /// What programs find in their environment; of it, only what [`ENVIRONMENT`] lists is handed on.
    pub environment: BTreeMap<String, String>,
    /// Finds other variables of the operator's environment, by name, for programs whose configuration asks for them.
    pub variables: Variables,
    /// Where the folder of each call is made, outside of the project.
    pub temporary: PathBuf,
    /// Where the launcher keeps notes for the case that it is killed: outside of projects, in a folder of this user alone.
    pub journal: PathBuf,
    /// The operator's home folder, which is hidden but for toolchains; in the sandbox `none` nothing is.
    pub home: Option<PathBuf>,
    /// The home folders of other users, which are hidden where programs have the powers to read them all: for root, in a project
    /// of another user.
    pub other_homes: Vec<PathBuf>,
    /// Further files and folders that no program reads, such as keys of the user space.
    pub hidden: Vec<PathBuf>,
    /// The mode that works here and the stronger ones that do not, once that is known; all copies of this value share it.
    pub(super) found: Arc<Mutex<Option<Found>>>,
}

impl ProcessHost {
    /// Starts programs from folders below `temporary`, without a sandbox and with an empty environment.
    #[must_use]
    pub fn new(temporary: &Path) -> Self {
        Self {
            launcher: None,
            modes: Mode::ALL.into(),
            bubblewrap: ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"]
                .map(PathBuf::from)
                .into(),
            environment: BTreeMap::new(),
            variables: Variables::none(),
            temporary: temporary.to_owned(),
            journal: temporary
                .join(format!("rye-programs-{}", rustix::process::geteuid().as_raw())),
            home: None,
            other_homes: Vec::new(),
            hidden: Vec::new(),
            found: Arc::default(),
        }
    }
}

impl ProcessHost {
    /// What every program of the project needs that lies in this place, where there is such a thing: hidden, nothing would start.
    #[must_use]
    pub fn needs_in(&self, project: &Path, place: &Path) -> Option<PathBuf> {
        let plain = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let place = plain(place);
        let own = [Some(project), Some(&self.temporary), self.launcher.as_deref()];
        let machine = NEEDED.iter().map(Path::new);
        let mut needed = own.into_iter().flatten().chain(machine).map(plain);
        needed.find(|path| path.starts_with(&place))
    }
}

/// Looks a variable of the operator's environment up, at the moment when it is needed: none is kept.
#[derive(Clone)]
pub struct Variables(Arc<Lookup>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Variables {
    /// Looks them up by this function.
    #[must_use]
    pub fn by(found: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(found))
    }

    /// The variable, where it is set.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    /// There are none.
    #[must_use]
    pub fn none() -> Self {
        Self::by(|_| None)
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variables").finish_non_exhaustive()
    }
}

/// What the operator's configuration says of programs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Rules {
    /// Whether there has to be a sandbox.
    pub sandbox: Policy,
    /// Further files and folders that no program reads.
    pub hidden: Vec<PathBuf>,
    /// Files and folders of the home folder that programs see beside those of toolchains, by their paths below it.
    pub home_visible: Vec<PathBuf>,
    /// The most that the processes of one call take together.
    pub bounds: Bounds,
    /// The words that run a script, by its extension; the script's path follows them.
    pub runtimes: BTreeMap<String, Vec<String>>,
}

/// Starts programs in one project.
#[derive(Debug)]
pub struct Processes {
    pub(super) host: ProcessHost,
    pub(super) rules: Rules,
    pub(super) project: PathBuf,
    pub(super) tools_lock: OnceLock<PathBuf>,
}

impl Processes {
    /// For the project, a folder; nothing is started yet.
    ///
    /// # Errors
    ///
    /// When the folder is not there.
    pub fn new(host: ProcessHost, rules: Rules, project: &Path) -> std::io::Result<Self> {
        let project = project.canonicalize()?;
        Ok(Self { host, rules, project, tools_lock: OnceLock::new() })
    }

    /// Has the supervisor of each program share the lock of this file, so that a process which resumes the thread can wait until the
    /// programs of one that was killed have ended. The first call counts.
    pub fn lock_while_running(&self, path: &Path) {
        let _first = self.tools_lock.set(path.to_owned());
    }

    /// The words that run a script of this extension, or `None` when no configuration has any.
    #[must_use]
    pub fn runtime(&self, extension: &str) -> Option<&[String]> {
        self.rules.runtimes.get(extension).map(Vec::as_slice)
    }

    /// The variable of the operator's environment, where it is set.
    #[cfg(feature = "mcp")]
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.host.variables.find(name)
    }

    /// The sandbox that programs get: tried out at the first call, and known from then on.
    ///
    /// # Errors
    ///
    /// [`ProbeError`] when it could not be tried out, for instance because the disk is full. It is tried again at the next call.
    pub fn sandbox(&self) -> Result<Report, ProbeError> {
        self.find_out()
    }

    /// The most that the processes of one call take together.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.rules.bounds
    }

    /// What is hidden, as far as it is there, free of links.
    pub(super) fn hidden(&self, mode: Mode) -> Vec<PathBuf> {
        // A program that can read a file can lock it. Landlock cannot hide a folder and let its siblings be made.
        let locked = mode.is_whole().then_some(LOCKED);
        let own = [".ai/config/keys/signing"].into_iter().chain(locked);
        let own = own.filter(|path| self.link_in(path).is_none());
        let own: Vec<PathBuf> = own.map(|path| self.project.join(path)).collect();
        let told = self.rules.hidden.iter().cloned();
        outermost(self.of_operator().chain(told).chain(own))
    }

    fn of_operator(&self) -> impl Iterator<Item = PathBuf> {
        let home = self.host.home.iter();
        let in_home = home.flat_map(|home| IN_HOME.iter().map(|name| home.join(name)));
        let on_machine = ON_MACHINE.iter().map(PathBuf::from);
        in_home.chain(on_machine).chain(self.host.hidden.iter().cloned())
    }

    /// The first part of a path below the project that is a link.
    pub(super) fn link_in(&self, path: &str) -> Option<PathBuf> {
        let mut place = self.project.clone();
        path.split('/').find_map(|part| {
            place.push(part);
            place.is_symlink().then(|| place.clone())
        })
    }
}

/// The places that are there, without those that lie in another one.
fn outermost(all: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    // A place in a hidden folder is hidden with it, and cannot be covered once that is.
    let inner = |path: &PathBuf| found.iter().any(|other| other != path && path.starts_with(other));
    found.iter().filter(|path| !inner(path)).cloned().collect()
}
