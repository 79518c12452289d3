//! The inputs of the program from its environment, read once.

use std::env;
use std::io::{self, IsTerminal, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rye::files::{Refusal, read_plain, read_plain_or_pipe};
use rye::resolve::{RunDocument, Spaces, project_root};
use rye::sandbox::{ENVIRONMENT, Launcher, ProcessHost, Variables};
use rye::sign::{Policy, PublicKey};
use rye::types::{ItemKind, Moment, Timestamp};
use rye::web::SystemNames;
use rye::{Preview, Rye, Setup, SpacesToCheck, shipped_files, system_roots};

use crate::failure::Failure;
use crate::global::{Color, Global};
use crate::lock_judge::LockOfProject;
use crate::writable::may_be_made;

/// The options, the folders and the output settings of the program.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    global: Global,
    working_directory: Option<PathBuf>,
    project: Option<PathBuf>,
    /// `--project` names the user space, which is no project.
    names_user_space: bool,
    user: Option<PathBuf>,
    /// The system roots, or the reason why they are not known.
    system: Result<Vec<PathBuf>, String>,
    may_color: bool,
    streams: bool,
}

impl Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "the program is what reads the environment for all below"
    )]
    pub(crate) fn read(global: Global, is_stream: bool) -> Self {
        let working_directory = env::current_dir().ok();
        let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let user = global.user_space.clone().or(home);
        // One file has one path, however its space was named. What is not there is told by the name that was given.
        let real = |path: PathBuf| real(&path);
        let user = user.map(real);
        let found = || project_root(working_directory.as_deref()?, user.as_deref());
        let named = global.project.clone().map(real);
        // Who names the home folder means what is in it, as who stands in it does. A user space that is named may not be the project.
        let is_default = global.user_space.is_none();
        let names_user_space = named.as_ref().zip(user.as_ref()).is_some_and(|(named, user)| {
            is_default && is_same(named, user) && user.join(".ai").is_dir()
        });
        let project = if names_user_space { None } else { named.or_else(found) };
        let may_color = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let streams = is_stream && global.json;
        let system = match env::var_os("RYE_SYSTEM").filter(|paths| !paths.is_empty()) {
            _ if !global.system.is_empty() => Ok(global.system.clone()),
            Some(paths) => Ok(env::split_paths(&paths).collect()),
            None => configured_system(user.as_deref()),
        };
        let system = system.map(|roots: Vec<PathBuf>| roots.into_iter().map(real).collect());
        Self {
            global,
            working_directory,
            project,
            names_user_space,
            user,
            system,
            may_color,
            streams,
        }
    }

    /// Returns a variable that configuration names, such as one with a provider's key.
    #[expect(
        clippy::disallowed_methods,
        reason = "the program is what reads the environment for all below"
    )]
    pub(crate) fn variable(name: &str) -> Option<String> {
        env::var(name).ok().filter(|value| !value.is_empty())
    }

    /// Returns `true` if the variable is set to anything but a word for no.
    fn is_on(name: &str) -> bool {
        let is_no =
            |value: String| matches!(&*value.to_ascii_lowercase(), "0" | "false" | "no" | "off");
        Self::variable(name).is_some_and(|value| !is_no(value))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the program is what reads the clock for all below"
    )]
    pub(crate) fn moment() -> Moment {
        SystemTime::now().into()
    }

    pub(crate) fn now() -> Timestamp {
        Self::moment().timestamp()
    }

    /// Returns `true` if unsigned items are accepted.
    pub(crate) fn accepts_unsigned(&self) -> bool {
        self.global.allow_unsigned
    }

    /// Returns the option that changes what is found or trusted here, if one is given. A worker of an engine has options of its own.
    #[cfg(feature = "engine")]
    pub(crate) fn option_of_this_machine(&self) -> Option<&'static str> {
        let Global { system, trust, allow_unsigned, .. } = &self.global;
        let given = [
            ("RYE_DEV_MODE", *allow_unsigned && Self::variable("RYE_DEV_MODE").is_some()),
            ("--allow-unsigned", *allow_unsigned),
            ("--system", !system.is_empty()),
            ("RYE_SYSTEM", Self::variable("RYE_SYSTEM").is_some()),
            ("--trust", !trust.is_empty()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }

    pub(crate) fn json(&self) -> bool {
        self.global.json
    }

    /// Returns `true` if the output is one JSON object per line while the command runs, and not one value at
    /// the end.
    pub(crate) fn streams(&self) -> bool {
        self.streams
    }

    /// Returns `true` if standard error has colors.
    pub(crate) fn colors(&self) -> bool {
        self.colors_for(&io::stderr())
    }

    /// Returns `true` if standard output has colors.
    pub(crate) fn output_colors(&self) -> bool {
        self.colors_for(&io::stdout())
    }

    fn colors_for(&self, output: &impl IsTerminal) -> bool {
        match self.global.color {
            Color::Always => true,
            Color::Auto => self.may_color && output.is_terminal(),
            Color::Never => false,
        }
    }

    /// Returns the project, or a failure with advice.
    pub(crate) fn project(&self) -> Result<&Path, Failure> {
        let project = self.project.as_deref().ok_or_else(|| match self.is_in_user_space() {
            true => Failure::usage(
                "this is the user space, whose items count in every project, and no project; go to a project, or name it with \
                 `--project DIR`",
            ),
            false => Failure::usage("no project here: no folder above has an `.ai` folder; `rye init` begins one, `--project DIR` names one"),
        })?;
        if project.join(".ai").is_dir() {
            return Ok(project);
        }
        let name = project.display();
        Err(Failure::usage(format!(
            "`{name}` is no project: it has no `.ai` folder; `rye init` begins one in it"
        )))
    }

    /// Returns the folder whose items a command works on that names none: the project, or the user space in its own folder.
    pub(crate) fn items_folder(&self) -> Result<&Path, Failure> {
        match (&self.project, &self.user) {
            (None, Some(user)) if self.is_in_user_space() => Ok(user),
            _ => self.project(),
        }
    }

    /// Returns `true` if the working directory is the user space, or a folder of its `.ai`, or if `--project` names it.
    fn is_in_user_space(&self) -> bool {
        if self.names_user_space {
            return true;
        }
        let (Some(user), Some(folder)) = (&self.user, &self.working_directory) else {
            return false;
        };
        let user = self.absolute(user);
        let ai = user.join(".ai");
        ai.is_dir()
            && (is_same(folder, &user) || folder.ancestors().any(|folder| is_same(folder, &ai)))
    }

    /// Returns `true` if the folder of [`Self::items_folder`] is the user space.
    pub(crate) fn items_are_of_user(&self) -> bool {
        let folder = self.items_folder();
        self.user().is_ok_and(|user| {
            folder
                .is_ok_and(|folder| user == folder || self.absolute(user) == self.absolute(folder))
        })
    }

    /// Returns the user space, or a failure with advice.
    pub(crate) fn user(&self) -> Result<&Path, Failure> {
        self.refuse_user_space_of_project()?;
        self.user.as_deref().ok_or_else(|| {
            Failure::usage(
                "no user space: neither `--user-space` nor `USER_SPACE` nor `HOME` is set",
            )
        })
    }

    /// Returns `path` relative to the working directory.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        match &self.working_directory {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }

    pub(crate) fn spaces(&self) -> Spaces {
        self.spaces_with(self.project.as_deref())
    }

    /// Returns the system roots; none if they are not known, which stops what needs the whole setup.
    fn system_roots(&self) -> &[PathBuf] {
        self.system.as_deref().unwrap_or_default()
    }

    fn spaces_with(&self, project: Option<&Path>) -> Spaces {
        let mut spaces = Spaces::new().with_shipped(shipped_files());
        if let Some(project) = project {
            spaces = spaces.with_project(project);
        }
        if let Some(user) = &self.user {
            spaces = spaces.with_user(user);
        }
        self.system_roots().iter().fold(spaces, |spaces, root| spaces.with_system(root))
    }

    /// Opens the library over the spaces, with the operator's options.
    pub(crate) fn rye(&self) -> Result<Rye, Failure> {
        Ok(Rye::open(&self.setup()?)?)
    }

    /// Opens the library like [`rye`](Self::rye). It is strict if the configuration or `is_strict` says so, and begins only
    /// threads that are as the lock has them if the configuration or `is_locked` says so.
    pub(crate) fn rye_as(&self, is_strict: bool, is_locked: bool) -> Result<Rye, Failure> {
        let mut setup = self.setup()?;
        setup.strict = is_strict;
        setup.locked = is_locked;
        Ok(Rye::open(&setup)?)
    }

    /// Opens the spaces for a person to read, who is shown drafts of their own (SPEC D20).
    pub(crate) fn preview(&self, is_strict: bool) -> Result<Preview, Failure> {
        let mut setup = self.setup()?;
        setup.strict = is_strict;
        Ok(Preview::open(&setup)?)
    }

    /// Opens the spaces like [`preview`](Self::preview), over another project.
    pub(crate) fn preview_in(&self, project: &Path) -> Result<Preview, Failure> {
        let mut setup = self.setup()?;
        setup.spaces = self.spaces_with(Some(project));
        Ok(Preview::open(&setup)?)
    }

    /// Opens the spaces only for checks and signatures. An invalid trust policy, or list of system roots, does not prevent that.
    ///
    /// Where programs decide by the exit code, so with `is_locked` and where `CI` is set, a draft of the operator's is an error.
    pub(crate) fn to_check(
        &self,
        is_strict: bool,
        is_locked: bool,
    ) -> Result<SpacesToCheck, Failure> {
        let mut setup = self.setup_of_known()?;
        setup.strict = is_strict;
        setup.refuses_drafts = is_locked || Self::is_on("CI");
        Ok(SpacesToCheck::open(&setup)?)
    }

    /// Opens the library over the spaces, with this policy.
    pub(crate) fn rye_by(&self, policy: Policy) -> Result<Rye, Failure> {
        let mut setup = self.setup()?;
        setup.policy = policy;
        Ok(Rye::open(&setup)?)
    }

    /// Returns the setup of the library, with the operator's options.
    pub(crate) fn setup(&self) -> Result<Setup, Failure> {
        if let Err(reason) = &self.system {
            return Err(Failure::refused(reason.clone()));
        }
        self.setup_of_known()
    }

    /// Returns the setup with the system roots that are known.
    fn setup_of_known(&self) -> Result<Setup, Failure> {
        if self.global.project.is_some() && !self.names_user_space {
            // Otherwise, a misspelled path would be an empty project.
            self.project()?;
        }
        self.refuse_own_system_roots()?;
        self.refuse_own_user_space()?;
        let mut setup = Setup::new(self.spaces(), Self::now());
        setup.lock_judge = Some(Arc::new(LockOfProject));
        if self.global.allow_unsigned {
            setup.policy = setup.policy.dangerous_allow_unsigned();
        }
        setup.own_key = self.own_key();
        let (of_project, of_operator): (Vec<_>, Vec<_>) =
            self.trust_documents()?.into_iter().partition(|document| document.is_in_project);
        let texts =
            |documents: Vec<NamedDocument>| documents.into_iter().map(|it| it.text).collect();
        setup.trust_documents = texts(of_operator);
        setup.project_trust_documents = texts(of_project);
        setup.search_cache = self.search_cache();
        setup.policy_pins = self.policy_pins();
        setup.server_facts = self.server_facts();
        setup.processes = Some(self.processes());
        setup.names = Some(Arc::new(SystemNames));
        setup.variables = Variables::by(Self::variable);
        Ok(setup)
    }

    /// Returns the operator's present public key, if it is there and can be read.
    fn own_key(&self) -> Option<PublicKey> {
        let path = self.user.as_ref()?.join(".ai/config/keys/signing/public_key.pem");
        PublicKey::from_pem(&read_text(&path).ok()?).ok()
    }

    /// Returns the folder for temporary files.
    pub(crate) fn temporary_folder() -> PathBuf {
        env::temp_dir()
    }

    /// Returns the host for programs of tools: this program as the launcher, and variables without keys.
    #[expect(
        clippy::disallowed_methods,
        reason = "the program is what reads the environment for all below"
    )]
    fn processes(&self) -> ProcessHost {
        let mut host = ProcessHost::new(&Self::temporary_folder());
        host.launcher = Launcher::of_this_program().ok();
        let set = |name: &&str| Some(((*name).to_owned(), env::var(name).ok()?));
        host.environment = ENVIRONMENT.iter().filter_map(set).collect();
        host.variables = Variables::by(Self::variable);
        host.home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let users = read_plain(Path::new("/etc/passwd"), MOST).unwrap_or_default();
        host.other_homes = ProcessHost::homes_in(&String::from_utf8_lossy(&users));
        let keys = self.user.iter().chain(self.system_roots());
        host.hidden = keys.map(|space| space.join(".ai/config/keys/signing")).collect();
        if let Some(notes) = self.hidden_folder() {
            host.journal = notes;
        }
        host
    }

    /// Returns the folder in the user space with the notes of the launcher. It is there before a program starts, and every sandbox but
    /// `none` hides it from the programs of tools. If it could not be written, a temporary folder takes its place.
    pub(crate) fn hidden_folder(&self) -> Option<PathBuf> {
        let user = self.user.as_ref().filter(|user| user.is_dir())?;
        let folder = user.join(".ai/cache/programs");
        may_be_made(&folder).then_some(folder)
    }

    /// Returns the folder of the search cache.
    fn search_cache(&self) -> Option<PathBuf> {
        self.cache("search")
    }

    /// Returns the folder of a cache: below `XDG_CACHE_HOME`, else in the user space. It is never in the project, so that a project
    /// cannot change what was kept. There is none where it could not be written.
    fn cache(&self, name: &str) -> Option<PathBuf> {
        let named = Self::variable("XDG_CACHE_HOME").map(PathBuf::from);
        let named = named.filter(|folder| folder.is_absolute() && !self.is_in_project(folder));
        let folder = match named {
            Some(folder) => folder.join("rye"),
            None => self.user.as_ref().filter(|user| user.is_dir())?.join(".ai/cache"),
        };
        may_be_made(&folder).then(|| folder.join(name))
    }

    /// Returns the folder with what was learned of MCP servers, in the user space.
    fn server_facts(&self) -> Option<PathBuf> {
        self.cache("servers")
    }

    /// Returns the folder with the pinned policies of projects, in the user space.
    pub(crate) fn policy_pins(&self) -> Option<PathBuf> {
        let user = self.user.as_ref().filter(|user| user.is_dir())?;
        Some(user.join(".ai/state/policy"))
    }

    /// Refuses system roots that lie in the project, or that hold it: its author would vouch for what they hold (SPEC 2.8).
    fn refuse_own_system_roots(&self) -> Result<(), Failure> {
        let mut roots = self.system_roots().iter();
        let holds_project = |root: &Path| {
            let project = self.project.as_deref().map(|project| self.absolute(project));
            let real = project.and_then(|project| project.canonicalize().ok());
            real.is_some_and(|project| {
                project.ancestors().skip(1).any(|above| is_same(above, root))
            })
        };
        let own = roots.find(|root| {
            let root = self.absolute(root);
            let mut places = self.places(&root).into_iter();
            places.any(|place| self.is_in_project(&place)) || holds_project(&root)
        });
        own.map_or(Ok(()), |root| {
            Err(Failure::refused(format!(
                "the system root `{}` lies in the project or holds it, and a project cannot vouch for itself; put it elsewhere",
                root.display()
            )))
        })
    }

    /// Refuses a user space that an option or a variable puts into the project, where its author could have named it and made it: what it
    /// holds would count as the operator's (SPEC 2.8). A home folder there is the operator's own choice.
    pub(crate) fn refuse_user_space_of_project(&self) -> Result<(), Failure> {
        let Some(named) = &self.global.user_space else { return Ok(()) };
        let space = self.absolute(named);
        // A link in it leads out of the project, or into it.
        let mut places = self.places(&space).into_iter().chain(self.places(&space.join(".ai")));
        if !places.any(|place| self.is_in_project(&place)) {
            return Ok(());
        }
        Err(Failure::refused(format!(
            "the user space `{}` lies in the project, whose files would count as yours; put it elsewhere",
            named.display()
        )))
    }

    /// Refuses a named user space in the project, and one that holds the project or the working directory, because one clone may have
    /// both. A home folder may hold them.
    fn refuse_own_user_space(&self) -> Result<(), Failure> {
        self.refuse_user_space_of_project()?;
        let Some(named) = &self.global.user_space else { return Ok(()) };
        let space = self.absolute(named);
        if !self.is_home(&space) && self.has_work_below(&space) {
            return Err(Failure::refused(format!(
                "the user space `{}` holds the project or the folder that you are in, and came with them as it seems: its files would count as yours; put it elsewhere",
                named.display()
            )));
        }
        Ok(())
    }

    /// Returns `true` if the project or the working directory lies in the folder, or is it.
    fn has_work_below(&self, folder: &Path) -> bool {
        let project = self.project.as_deref().map(|project| self.absolute(project));
        let work = [project, self.working_directory.clone()].into_iter().flatten();
        let mut real = work.filter_map(|place| place.canonicalize().ok());
        real.any(|place| place.ancestors().any(|above| is_same(above, folder)))
    }

    /// Returns `true` for the operator's home folder.
    #[expect(
        clippy::disallowed_methods,
        reason = "the program is what reads the environment for all below"
    )]
    fn is_home(&self, folder: &Path) -> bool {
        env::var_os("HOME").is_some_and(|home| is_same(Path::new(&home), folder))
    }

    /// Returns the places that a path stands for: itself, as a link in the project leads where the project says; the folder that it
    /// lies in; and where it leads to.
    fn places(&self, named: &Path) -> Vec<PathBuf> {
        let folder = named.parent().and_then(|folder| folder.canonicalize().ok());
        folder.into_iter().chain(named.canonicalize().ok()).chain([named.to_owned()]).collect()
    }

    /// Reads the documents that `--trust` names.
    pub(crate) fn trust_documents(&self) -> Result<Vec<NamedDocument>, Failure> {
        self.global.trust.iter().map(|path| self.named_document(path)).collect()
    }

    /// Reads a trust document at the place that its path leads to, so that what is read is what was judged. A pipe has no place.
    fn named_document(&self, path: &Path) -> Result<NamedDocument, Failure> {
        let named = self.absolute(path);
        let is_in_project = self.places(&named).iter().any(|place| self.is_in_project(place));
        let text = read_named(named.canonicalize().ok().as_deref().unwrap_or(path))?;
        Ok(NamedDocument { text, is_in_project })
    }

    /// Returns `true` if a folder above `place`, or `place` itself, is the project's, by identity. A path that leaves the project
    /// again by `..` does not lie in it, unless a link of the project is on the way.
    fn is_in_project(&self, place: &Path) -> bool {
        let Some(project) = self.project.as_deref().map(|project| self.absolute(project)) else {
            return false;
        };
        without_detours(place).ancestors().any(|folder| is_same(folder, &project))
    }
}

/// Returns the path without `..`, as far as no link comes before it: behind a link, `..` is another folder.
fn without_detours(path: &Path) -> PathBuf {
    let mut walked = PathBuf::new();
    for component in path.components() {
        let may_leave = component == Component::ParentDir && !walked.is_symlink();
        if !(may_leave && walked.pop()) {
            walked.push(component);
        }
    }
    walked
}

/// Returns the system roots of the user's configuration, or the reason why they are not known.
fn configured_system(user: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    let Some(user) = user else { return Ok(Vec::new()) };
    let folder = user.join(".ai/config");
    let files = ItemKind::Config.extensions().iter();
    if !files.map(|it| folder.join(format!("spaces.{it}"))).any(|file| file.exists()) {
        return Ok(Vec::new());
    }
    system_roots(user, Environment::now()).map_err(|error| with_causes(&error))
}

/// Returns the error with everything that caused it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A trust document that `--trust` names.
pub(crate) struct NamedDocument {
    text: String,
    /// `true` if it lies in the project, whose author may have named it, too (SPEC 2.8).
    is_in_project: bool,
}

impl NamedDocument {
    pub(crate) fn for_run(&self) -> RunDocument<'_> {
        match self.is_in_project {
            true => RunDocument::in_project(&self.text),
            false => RunDocument::new(&self.text),
        }
    }
}

/// Returns the path without links and `..`, or the path as it is where nothing is there.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns `true` if both paths lead to one file or folder.
#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |path: &Path| path.metadata().ok().map(|it| (it.dev(), it.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

#[cfg(not(unix))]
fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().ok() == Some(one))
}

/// Reads a plain file, for example of a project.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    text(read_plain(path, MOST), path)
}

/// Reads a file or pipe that the operator named.
pub(crate) fn read_named(path: &Path) -> Result<String, Failure> {
    text(read_plain_or_pipe(path, MOST, WRITER_WITHIN), path)
}

/// The time limit for a program to open a pipe for writing.
const WRITER_WITHIN: Duration = Duration::from_secs(1);

/// Reads standard input to its end.
pub(crate) fn read_standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    let read = read.and_then(|length| match u64::try_from(length) {
        Ok(length) if length <= MOST => Ok(bytes),
        _ => Err(Refusal::TooLong { most: MOST }.into()),
    });
    text(read, Path::new("standard input"))
}

fn text(read: io::Result<Vec<u8>>, path: &Path) -> Result<String, Failure> {
    let text = read.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text in UTF-8"))
    });
    text.map_err(|source| Failure::io("read", path, &source))
}

/// The largest number of bytes that are read of a file: four times the longest item, so that the parser
/// reports an item that is too long.
pub(crate) const MOST: u64 = 16 * 1024 * 1024;
