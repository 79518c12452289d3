//! What the launcher is told about one program, as JSON on its command line, which everybody on the machine can read.
//! The variables of the program, which may be secret, stand in the environment, which nobody else can.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Mode;

/// How long a program may take to end after it was asked to.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// The variable in which the launcher finds those of the program, as a JSON object.
pub(crate) const VARIABLES: &str = "RYE_LAUNCH_ENVIRONMENT";

/// How one program is confined and ended. Paths are absolute and free of links.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    pub(crate) mode: Mode,
    /// Whether the program may use the network.
    pub(crate) network: bool,
    /// What the program may change.
    pub(crate) project: PathBuf,
    /// Where the program starts, in the project.
    pub(crate) cwd: PathBuf,
    /// What the program finds in its environment beside what the launcher does.
    #[serde(skip)]
    pub(crate) environment: BTreeMap<String, String>,
    /// The folder of this call, outside of the project, which the program may read.
    pub(crate) scratch: PathBuf,
    /// The folder for temporary files, in `scratch`, which the program may change.
    pub(crate) temporary: PathBuf,
    /// What nobody is to read.
    pub(crate) hidden: Vec<PathBuf>,
    /// Folders of the project that stay as they are.
    pub(crate) guarded: Vec<PathBuf>,
    /// Whether an empty folder stands in the place of a `.git` that is not there.
    pub(crate) stands_in: bool,
    /// Folders of the project that lead to those, the outer one first. What is directly in them stays as it is, be it there or
    /// not: a guard over a file alone would be gone once somebody replaces that.
    pub(crate) pinned: Vec<PathBuf>,
    /// The other folders in those, which the program may change.
    pub(crate) open: Vec<PathBuf>,
    /// The bubblewrap program, for that mode.
    pub(crate) bubblewrap: Option<PathBuf>,
    /// After how many milliseconds the launcher ends the program by itself, should its caller not.
    pub(crate) deadline_ms: u64,
    /// How many milliseconds lie between asking a program to end and ending it.
    pub(crate) grace_ms: u64,
    /// The most processes and threads at once.
    pub(crate) processes: u64,
    /// The most bytes of one file that is written.
    pub(crate) file_bytes: u64,
}
