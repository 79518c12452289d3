//! The environment and the rules for programs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use rye_types::SandboxMode;

use super::known_paths::{IN_HOME, NEEDED, ON_MACHINE};
use crate::call_folder::{FolderOfCalls, KnownFolder};
use crate::other_names::MountTable;
use crate::{
    Bounds, Enforcement, Finding, Launcher, NEWEST_LANDLOCK, Planted, Policy, ProbeError, Report,
    Role,
};

/// The folder of the project with the files that Rye locks.
const LOCKED: &str = ".ai/threads";

/// The variables of the caller's environment that programs get, if they are set. None of them holds a key of
/// a provider.
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

/// The facts of the enforcement on this machine, with the stronger modes that do not work.
pub(super) type Found = (Enforcement, Vec<Finding>);

/// The parts of the calling program that starting programs needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProcessHost {
    /// A program that calls [`launch`](crate::launch) first. Without it, there is no
    /// sandbox.
    pub launcher: Option<Launcher>,
    /// The sandbox modes that may be used. By default all.
    pub modes: Vec<SandboxMode>,
    /// The newest version of Landlock that may be used, so that a sandbox can be tried as older kernels have it. 0
    /// for none. By default [`NEWEST_LANDLOCK`].
    pub landlock: u8,
    /// Possible paths of bubblewrap, in the order of the search.
    pub bubblewrap: Vec<PathBuf>,
    /// The environment of the caller. Programs get the variables in [`ENVIRONMENT`] only.
    pub environment: BTreeMap<String, String>,
    /// A lookup for other variables of the operator's environment, for programs whose configuration names
    /// them.
    pub variables: Variables,
    /// The folder for the temporary folders of calls, outside of the project.
    pub temporary: PathBuf,
    /// The folder for the launcher's notes, in case it is killed. It is outside of projects and only this
    /// user can enter it.
    pub journal: PathBuf,
    /// The operator's home folder. It is hidden except for toolchains, in every sandbox but `none`.
    pub home: Option<PathBuf>,
    /// The home folders of other users. They are hidden if programs could read them: for root, in a project
    /// of another user.
    pub other_homes: Vec<PathBuf>,
    /// Additional files and folders that programs cannot read, such as the keys of the user space.
    pub hidden: Vec<PathBuf>,
    /// Files and folders that no program may change, wherever they lie: the user space and the system roots. In a
    /// project they would be the program's otherwise.
    pub kept: Vec<PathBuf>,
    /// The mode that works here, once it is known. All clones share it.
    pub(super) found: Arc<Mutex<Option<Found>>>,
}

impl ProcessHost {
    /// Creates a host without a sandbox and with an empty environment. `temporary` holds the folders of
    /// calls.
    #[must_use]
    pub fn new(temporary: &Path) -> Self {
        Self {
            launcher: None,
            modes: SandboxMode::ALL.into(),
            landlock: NEWEST_LANDLOCK,
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
            kept: Vec::new(),
            found: Arc::default(),
        }
    }
}

impl ProcessHost {
    /// Returns a path in `place` that every program of the project needs, if there is one. If `place` were
    /// hidden, no program would start.
    #[must_use]
    pub fn needs_in(&self, project: &Path, place: &Path) -> Option<PathBuf> {
        let plain = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let place = plain(place);
        let machine = NEEDED.iter().map(Path::new);
        let mut needed = [project, &self.temporary].into_iter().chain(machine).map(plain);
        needed.find(|path| path.starts_with(&place))
    }
}

/// A lookup of variables in the operator's environment. Values are not kept.
#[derive(Clone)]
pub struct Variables(Arc<Lookup>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Variables {
    /// Creates a lookup from a function.
    #[must_use]
    pub fn by(found: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(found))
    }

    /// Returns the value of the variable if it is set.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    /// Creates a lookup without variables.
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

/// The operator's rules for programs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Rules {
    /// The policy for the sandbox.
    pub sandbox: Policy,
    /// Additional files and folders that programs cannot read.
    pub hidden: Vec<PathBuf>,
    /// Additional visible files and folders of the home folder, as paths below it. Toolchains are always
    /// visible.
    pub home_visible: Vec<PathBuf>,
    /// The limits for all processes of a call together.
    pub bounds: Bounds,
    /// The commands that run scripts, by file extension. The path of the script follows them.
    pub runtimes: BTreeMap<String, Vec<String>>,
}

/// Starts programs in one project.
#[derive(Debug)]
pub struct Processes {
    pub(super) host: ProcessHost,
    pub(super) rules: Rules,
    /// The project, which stays the same folder whatever is put at its path.
    pub(super) project: KnownFolder,
    pub(super) tools_lock: OnceLock<PathBuf>,
    /// The folder in which the folders of calls are made, once it was looked at.
    calls: OnceLock<FolderOfCalls>,
}

impl Processes {
    /// Creates the starter of programs for a project folder.
    ///
    /// # Errors
    ///
    /// If the folder does not exist.
    pub fn new(host: ProcessHost, rules: Rules, project: &Path) -> std::io::Result<Self> {
        let project = KnownFolder::of(project)?;
        let (tools_lock, calls) = (OnceLock::new(), OnceLock::new());
        Ok(Self { host, rules, project, tools_lock, calls })
    }

    /// Returns the path of the project, without links.
    pub(super) fn project(&self) -> &Path {
        self.project.path()
    }

    /// Returns the folder for the folders of calls. It is looked at once, before any program can change its path.
    pub(super) fn calls(&self) -> std::io::Result<&FolderOfCalls> {
        if let Some(calls) = self.calls.get() {
            return Ok(calls);
        }
        let opened = FolderOfCalls::open(&self.host.temporary, self.project())?;
        Ok(self.calls.get_or_init(|| opened))
    }

    /// Makes the supervisor of each program share the lock of this file. A process that resumes a thread
    /// waits for it, so that programs of a killed process have ended. Only the first call has an effect.
    pub fn lock_while_running(&self, path: &Path) {
        let _first = self.tools_lock.set(path.to_owned());
    }

    /// Returns the command for scripts with this extension, or `None` if none is configured.
    #[must_use]
    pub fn runtime(&self, extension: &str) -> Option<&[String]> {
        self.rules.runtimes.get(extension).map(Vec::as_slice)
    }

    /// Returns the variable of the operator's environment if it is set.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        self.host.variables.find(name)
    }

    /// Returns the sandbox for programs. The first call tests the modes, and the result is kept.
    ///
    /// # Errors
    ///
    /// [`ProbeError`] if the test was not possible, for instance because the disk is full. The next call
    /// tests again.
    pub fn sandbox(&self) -> Result<Report, ProbeError> {
        self.find_out()
    }

    /// Returns the limits for all processes of a call together.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.rules.bounds
    }

    /// Returns the existing hidden paths, without links, with their other names by the mounts of the machine.
    pub(super) fn hidden_paths(&self, mode: SandboxMode, mounts: &MountTable) -> Vec<PathBuf> {
        // A program that can read a file can lock it. Landlock cannot hide a folder and allow new entries
        // beside it.
        let locked = mode.is_whole().then_some(LOCKED);
        let own = [".ai/config/keys/signing"].into_iter().chain(locked);
        let own = own.filter(|path| self.link_in(path).is_none());
        let own: Vec<PathBuf> = own.map(|path| self.project().join(path)).collect();
        let told = self.rules.hidden.iter().cloned();
        let hidden = outermost(self.of_operator().chain(told).chain(own));
        let others = self.other_names_of(&hidden, mounts);
        outermost(hidden.into_iter().chain(others))
    }

    /// Returns the other names of hidden places, and of covered home folders. A place that a program needs stays
    /// visible, and so does what is visible in a home folder anyway.
    fn other_names_of(&self, hidden: &[PathBuf], mounts: &MountTable) -> Vec<PathBuf> {
        let homes = self.homes();
        let shown = homes.iter().flat_map(|home| &home.shown);
        let shown: Vec<PathBuf> =
            shown.flat_map(|path| mounts.names_of(path).all().chain([path.clone()])).collect();
        let covered = homes.iter().map(|home| &home.folder).chain(hidden);
        let names = covered.flat_map(|path| mounts.names_of(path).all());
        let is_below =
            |name: &Path, places: &[PathBuf]| places.iter().any(|it| name.starts_with(it));
        let is_needed = |name: &PathBuf| {
            self.host.needs_in(self.project(), name).is_some()
                || (is_below(name, &shown) && !is_below(name, hidden))
        };
        names.filter(|name| !is_needed(name)).collect()
    }

    /// Returns the names in the project of what no program may change. Mounts keep the launcher, too. By Landlock, no new
    /// file could be made in any folder above it.
    pub(super) fn kept_paths(&self, mode: SandboxMode, mounts: &MountTable) -> Vec<PathBuf> {
        let kept = self.host.kept.iter().chain([&self.host.journal]);
        let launcher = self.planted_launcher().filter(|_| mode.is_whole());
        let kept = kept.map(|path| canonical_part(path)).chain(launcher);
        let kept = kept.flat_map(|path| mounts.names_of(&path).all().chain([path]));
        let mut kept: Vec<PathBuf> = kept.filter(|path| path.starts_with(self.project())).collect();
        kept.sort();
        kept.dedup();
        kept
    }

    /// Returns the path of the launcher if it lies in the project.
    fn planted_launcher(&self) -> Option<PathBuf> {
        let path = self.host.launcher.as_ref()?.path();
        path.starts_with(self.project()).then(|| path.to_owned())
    }

    /// Returns what later starts use of the project: the launcher, folders of `PATH`, and interpreters of scripts.
    pub(super) fn find_planted(&self) -> Vec<Planted> {
        // An empty name in it is the working directory. Without the variable, programs are searched in usual folders.
        let variable = self.host.environment.get("PATH").into_iter();
        let folders = variable.flat_map(std::env::split_paths);
        let folders: Vec<PathBuf> = folders.map(|folder| self.project().join(folder)).collect();
        let is_in_project = |folder: &Path| canonical_part(folder).starts_with(self.project());
        let launcher = self.planted_launcher().map(|path| Planted { path, role: Role::Launcher });
        let search = folders.iter().filter(|folder| is_in_project(folder)).cloned();
        let search = search.map(|path| Planted { path, role: Role::Search });
        let interpreters = self.rules.runtimes.iter().filter_map(|(extension, words)| {
            let path = self.project().join(words.first().filter(|word| word.contains('/'))?);
            let role = Role::Interpreter(extension.clone());
            // A link in the project can be replaced, wherever it leads.
            is_in_project(path.parent()?).then_some(Planted { path, role })
        });
        launcher.into_iter().chain(search).chain(interpreters).collect()
    }

    fn of_operator(&self) -> impl Iterator<Item = PathBuf> {
        let home = self.host.home.iter();
        let in_home = home.flat_map(|home| IN_HOME.iter().map(|name| home.join(name)));
        let on_machine = ON_MACHINE.iter().map(PathBuf::from);
        in_home.chain(on_machine).chain(self.host.hidden.iter().cloned())
    }

    /// Returns the first part of a path below the project that is a link.
    pub(super) fn link_in(&self, path: &str) -> Option<PathBuf> {
        let mut place = self.project().to_owned();
        path.split('/').find_map(|part| {
            place.push(part);
            place.is_symlink().then(|| place.clone())
        })
    }
}

/// Returns a path without links, as far as it exists.
fn canonical_part(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, plain)) = existing else { return path.to_owned() };
    match path.strip_prefix(part) {
        Ok(rest) if !rest.as_os_str().is_empty() => plain.join(rest),
        _ => plain,
    }
}

/// Returns the existing paths, without those inside of another one.
fn outermost(all: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    // A path in a hidden folder is hidden with it, and cannot be covered any more.
    let inner = |path: &PathBuf| found.iter().any(|other| other != path && path.starts_with(other));
    found.iter().filter(|path| !inner(path)).cloned().collect()
}
