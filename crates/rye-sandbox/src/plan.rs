//! The launcher's plan for a program. It is sent on standard input, before the program's own input. A command
//! line has a length limit and is visible to every user of the machine.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rye_types::SandboxMode;
use serde::{Deserialize, Serialize};

use super::call_folder::{KnownFolder, OWN};
use super::{Bounds, Enforcement, Layout, Promise, path_encoding};

/// The time between a request to end and the forced end.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// The folder where programs expect to write temporary files.
pub(super) const TEMPORARY: &str = "/tmp";

/// The size of the largest plan that the launcher reads, in bytes.
#[cfg(target_os = "linux")]
const LONGEST: usize = 64 * 1024 * 1024;

/// The confinement and the limits of a program. Paths are absolute and without links.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    pub(crate) mode: SandboxMode,
    /// `true` if the program may use the network.
    pub(crate) network: bool,
    /// The version of Landlock whose rights are given up, all of them or the start fails. `None` for a test of the
    /// sandbox, which takes the newest one up to `newest_landlock`.
    pub(crate) landlock: Option<u8>,
    pub(crate) newest_landlock: u8,
    /// The project, which the program may change.
    pub(crate) project: KnownFolder,
    /// The working directory, in the project.
    #[serde(with = "path_encoding::one")]
    pub(crate) cwd: PathBuf,
    /// Environment variables beside those of the launcher.
    pub(crate) environment: BTreeMap<String, String>,
    /// The folder of the call, outside of everything that programs may change. The program may read it.
    pub(crate) scratch: KnownFolder,
    /// The home folders to cover, the operator's first.
    pub(crate) homes: Vec<Home>,
    /// Files and folders that the program may not read.
    #[serde(with = "path_encoding::many")]
    pub(crate) hidden: Vec<PathBuf>,
    /// Files and folders of the project that belong to the operator. The program may read them.
    #[serde(with = "path_encoding::many")]
    pub(crate) kept: Vec<PathBuf>,
    /// The read-only parts of the project. The supervisor adds them right before a start.
    #[serde(default)]
    pub(crate) layout: Layout,
    /// The folder of the notes that survive a supervisor. `None` for a test of the sandbox.
    #[serde(with = "path_encoding::optional")]
    pub(crate) journal: Option<PathBuf>,
    /// The lock that the supervisor shares while processes of the program live. `None` for a program outside
    /// of a thread.
    #[serde(default, with = "path_encoding::optional")]
    pub(crate) tools_lock: Option<PathBuf>,
    /// The attempts of a test of the sandbox. `None` for a program.
    pub(crate) attempts: Option<Attempts>,
    /// `true` if the caller reads the supervisor's account after the end of the program.
    pub(crate) is_awaited: bool,
    /// `true` if the program reads the caller's input. Otherwise its standard input is empty.
    pub(crate) reads_input: bool,
    /// The bubblewrap program, for that mode.
    #[serde(with = "path_encoding::optional")]
    pub(crate) bubblewrap: Option<PathBuf>,
    /// The milliseconds after which the launcher ends the program, if the caller does not.
    pub(crate) deadline_ms: u64,
    /// The milliseconds between a request to end and the forced end.
    pub(crate) grace_ms: u64,
    /// The limits of memory and processes.
    pub(crate) bounds: Bounds,
    /// The size of the largest file that may be written, in bytes.
    pub(crate) file_bytes: u64,
}

impl Plan {
    /// Returns the path of the project.
    pub(super) fn project(&self) -> &Path {
        self.project.path()
    }

    /// Returns the folder for temporary files, in the folder of the call. The program may change it.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.scratch.path().join(OWN)
    }

    /// Returns the home folders, except for those in the temporary folder, which is covered anyway.
    #[cfg(target_os = "linux")]
    pub(super) fn homes_to_cover(&self) -> impl Iterator<Item = &Home> {
        self.homes.iter().filter(|home| !home.folder.starts_with(TEMPORARY))
    }

    /// Returns the frame that the launcher reads first: the length of the plan, a line end, and the plan.
    pub(crate) fn frame(&self) -> io::Result<Vec<u8>> {
        let plan = serde_json::to_vec(self)?;
        Ok([format!("{}\n", plan.len()).as_bytes(), &plan].concat())
    }

    /// Reads a frame, and not one byte more, because the rest belongs to the program.
    #[cfg(target_os = "linux")]
    pub(crate) fn read(mut from: impl io::Read) -> io::Result<Self> {
        let mut length = 0_usize;
        loop {
            let mut byte = [0];
            from.read_exact(&mut byte)?;
            match byte {
                [b'\n'] => break,
                [digit @ b'0'..=b'9'] if length <= LONGEST => {
                    length = length * 10 + usize::from(digit - b'0');
                }
                _ => return Err(io::Error::other("the plan has no length")),
            }
        }
        if length > LONGEST {
            return Err(io::Error::other("the plan is too long"));
        }
        let mut plan = vec![0; length];
        from.read_exact(&mut plan)?;
        Ok(serde_json::from_slice(&plan)?)
    }
}

/// The places that a test of the sandbox attempts to reach.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attempts {
    /// A file that cannot be read.
    #[serde(with = "path_encoding::one")]
    pub(crate) secret: PathBuf,
    /// A file that cannot be shortened.
    #[serde(with = "path_encoding::one")]
    pub(crate) closed: PathBuf,
    /// A named pipe that cannot be written.
    #[serde(with = "path_encoding::one")]
    pub(crate) pipe: PathBuf,
    /// A repository that cannot be written in a sandbox with mounts.
    #[serde(with = "path_encoding::one")]
    pub(crate) repository: PathBuf,
}

/// The result of the attempts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Attempted {
    /// The facts of the enforcement, as far as this process knows them.
    pub(crate) enforcement: Enforcement,
    /// `true` if the folder for temporary files can be written, as it should.
    pub(crate) can_work: bool,
    /// The promises that an attempt broke.
    pub(crate) broken: Vec<Promise>,
}

/// A covered home folder, in which a program sees only some paths, and the project if it is there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Home {
    #[serde(with = "path_encoding::one")]
    pub(crate) folder: PathBuf,
    /// The visible paths. None is inside of another.
    #[serde(with = "path_encoding::many")]
    pub(crate) shown: Vec<PathBuf>,
    /// Links below the folder.
    pub(crate) links: Vec<Link>,
}

/// A link with its target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    #[serde(with = "path_encoding::one")]
    pub(crate) path: PathBuf,
    #[serde(with = "path_encoding::one")]
    pub(crate) place: PathBuf,
}

#[cfg(target_os = "linux")]
impl Plan {
    /// Returns what is enforced with this version of Landlock.
    pub(super) fn enforcement(&self, landlock: u8) -> Enforcement {
        Enforcement::new(self.mode, landlock, false)
    }

    /// Returns `true` for a path that is invisible because a home folder is covered.
    pub(super) fn is_covered(&self, place: &Path) -> bool {
        let is_covered = self.homes_to_cover().any(|home| home.covers(place));
        is_covered && !place.starts_with(self.project())
    }
}

impl Home {
    /// Returns `true` for an invisible path below the folder.
    pub(super) fn covers(&self, place: &Path) -> bool {
        place.starts_with(&self.folder) && !self.shown.iter().any(|shown| place.starts_with(shown))
    }
}
