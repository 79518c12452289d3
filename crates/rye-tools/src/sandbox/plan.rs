//! The launcher's orders for one program. They come to the launcher on its standard input, before the program's own, and not on
//! its command line, which has a limit and which every user of the machine can read.

use std::collections::BTreeMap;
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Bounds, Layout, Mode, encoded};

/// How long a program may take to end after it was asked to.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// The longest plan that the launcher reads, in bytes.
#[cfg(target_os = "linux")]
const LONGEST: usize = 64 * 1024 * 1024;

/// How one program is confined and ended. Paths are absolute and free of links.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    pub(crate) mode: Mode,
    /// Whether the program may use the network.
    pub(crate) network: bool,
    /// What the program may change.
    #[serde(with = "encoded::one")]
    pub(crate) project: PathBuf,
    /// Where the program starts, in the project.
    #[serde(with = "encoded::one")]
    pub(crate) cwd: PathBuf,
    /// What the program finds in its environment beside what the launcher does.
    pub(crate) environment: BTreeMap<String, String>,
    /// The folder of this call, outside of the project, which the program may read.
    #[serde(with = "encoded::one")]
    pub(crate) scratch: PathBuf,
    /// The folder for temporary files, in `scratch`, which the program may change.
    #[serde(with = "encoded::one")]
    pub(crate) temporary: PathBuf,
    /// The home folders that are covered, the operator's first.
    pub(crate) homes: Vec<Home>,
    /// What nobody is to read.
    #[serde(with = "encoded::many")]
    pub(crate) hidden: Vec<PathBuf>,
    /// The parts of the project that stay as they are, which the supervisor fills in right before a start.
    #[serde(default)]
    pub(crate) layout: Layout,
    /// The folder of the notes that outlive a supervisor; none for a program that only tries the sandbox out.
    #[serde(with = "encoded::optional")]
    pub(crate) journal: Option<PathBuf>,
    /// The lock that the supervisor shares for as long as anything of the program lives; none for a program of no thread.
    #[serde(default, with = "encoded::optional")]
    pub(crate) tools_lock: Option<PathBuf>,
    /// Whether the caller reads the supervisor's account once the program has ended.
    pub(crate) is_awaited: bool,
    /// Whether the program reads what the caller writes; otherwise its standard input is empty.
    pub(crate) reads_input: bool,
    /// The bubblewrap program, for that mode.
    #[serde(with = "encoded::optional")]
    pub(crate) bubblewrap: Option<PathBuf>,
    /// After how many milliseconds the launcher ends the program by itself, should its caller not.
    pub(crate) deadline_ms: u64,
    /// How many milliseconds lie between asking a program to end and ending it.
    pub(crate) grace_ms: u64,
    /// The most memory and processes of the call.
    pub(crate) bounds: Bounds,
    /// The most bytes of one file that is written.
    pub(crate) file_bytes: u64,
}

impl Plan {
    /// Returns the file that is there for as long as the caller waits for the result.
    pub(crate) fn awaited(&self) -> PathBuf {
        self.scratch.join("awaited")
    }

    /// Returns the file that is there once nothing of the program is left, while the launcher looks at the project.
    pub(crate) fn ended(&self) -> PathBuf {
        self.scratch.join("ended")
    }

    /// The bytes that the launcher reads first: the length of the plan, a line end, and the plan.
    pub(crate) fn frame(&self) -> io::Result<Vec<u8>> {
        let plan = serde_json::to_vec(self)?;
        Ok([format!("{}\n", plan.len()).as_bytes(), &plan].concat())
    }

    /// Reads a frame and not one byte more: what follows is the program's.
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

/// A home folder, of which a program sees only some places, and the project where that is one of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Home {
    #[serde(with = "encoded::one")]
    pub(crate) folder: PathBuf,
    /// The places that are seen, none of them in another.
    #[serde(with = "encoded::many")]
    pub(crate) shown: Vec<PathBuf>,
    /// Links below the folder.
    pub(crate) links: Vec<Link>,
}

/// A link, and the place that it leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    #[serde(with = "encoded::one")]
    pub(crate) path: PathBuf,
    #[serde(with = "encoded::one")]
    pub(crate) place: PathBuf,
}

#[cfg(target_os = "linux")]
impl Plan {
    /// The home folders, but for those that lie where another folder for temporary files is put anyway.
    pub(super) fn homes_to_cover(&self) -> impl Iterator<Item = &Home> {
        self.homes.iter().filter(|home| !home.folder.starts_with(super::mounts::TEMPORARY))
    }

    /// Returns `true` for a place that cannot be seen, because a home folder is covered.
    pub(super) fn is_covered(&self, place: &Path) -> bool {
        let is_covered = self.homes_to_cover().any(|home| home.covers(place));
        is_covered && !place.starts_with(&self.project)
    }
}

#[cfg(target_os = "linux")]
impl Home {
    /// Returns `true` for a place below the folder that is not shown.
    pub(super) fn covers(&self, place: &Path) -> bool {
        place.starts_with(&self.folder) && !self.shown.iter().any(|shown| place.starts_with(shown))
    }
}
