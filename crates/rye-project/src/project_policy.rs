//! The policy of a project, pinned where programs could change it (SPEC 4.3, 5.6).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rye_files::read_plain;
use rye_sandbox::{Policy, ProbeError};
use rye_sandbox::{Processes, temporary_file};
use rye_sign::Digest;
use rye_types::SandboxMode;
use serde::{Deserialize, Serialize};

use crate::file_digests::{FileChanges, UnreadableFile, file_digests};
use crate::place::LONGEST_FILE;
use crate::project::Project;

/// The policy of a project, and the folder of the operator that may hold its pin.
///
/// The policy is every file below `.ai/config` and the providers' configurations, and `.ai/rye.lock`. A
/// sandbox that is not whole does not keep programs from changing these. So the first thread that starts
/// programs in such a sandbox pins the policy. Rye refuses every later run in the project while the files
/// differ, until the operator accepts them.
#[derive(Debug, Clone)]
pub struct ProjectPolicy {
    project: PathBuf,
    pins: PathBuf,
}

/// A policy that is refused, or cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The policy is not the one that was pinned.
    #[error(
        "the project's policy is not the one that you accepted, or under which a program ran here without a whole sandbox: {change}; look at these \
         files, then accept them with `rye trust policy --accept`"
    )]
    Changed {
        /// The files that differ.
        change: FileChanges,
    },
    /// There is no folder to pin the policy in.
    #[error(
        "programs would run in the sandbox `{mode}`, which does not keep them from changing the project's policy, and there is \
         no user space to pin that policy in; name one with `--user-space DIR`, or set `sandbox: off` in \
         `config/agent/processes.yaml` to start them all the same"
    )]
    Unpinned {
        /// The sandbox.
        mode: SandboxMode,
    },
    /// The sandbox of programs could not be tried out, so that it is not known whether they can change the policy.
    #[error(transparent)]
    Sandbox(#[from] ProbeError),
    /// A file of the policy cannot be read, so that nothing can be said of it.
    #[error("the policy cannot be compared")]
    Unreadable(#[from] UnreadableFile),
    /// The record of the pinned policy cannot be read or written.
    #[error("the record of the pinned policy, `{}`, cannot be used", path.display())]
    Pin {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The record of a pinned policy.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    version: u64,
    /// The project, for readers of the file.
    project: String,
    /// SHA-256 by path in the project.
    files: BTreeMap<String, String>,
}

const VERSION: u64 = 1;

/// The places of the policy below the project.
const PLACES: [&str; 3] = [".ai/config", ".ai/tools/rye/agent/providers", ".ai/rye.lock"];

impl ProjectPolicy {
    /// The policy of `project`, whose pin is kept in the folder `pins`.
    ///
    /// # Errors
    ///
    /// When the folder of the project cannot be found.
    pub fn new(project: &Path, pins: &Path) -> Result<Self, PolicyError> {
        let path = project.display().to_string();
        let project =
            fs::canonicalize(project).map_err(|source| UnreadableFile { path, source })?;
        Ok(Self { project, pins: pins.to_owned() })
    }

    /// The difference from the pinned policy; `None` where none is pinned.
    ///
    /// # Errors
    ///
    /// When the pin or a file of the policy cannot be read.
    pub fn change(&self) -> Result<Option<FileChanges>, PolicyError> {
        let Some(pin) = self.pin()? else { return Ok(None) };
        Ok(Some(FileChanges::between(&pin.files, &file_digests(&self.project, &PLACES)?)))
    }

    /// Pins the policy as it is now, and returns the difference from the one that was pinned before. What is returned and what is
    /// pinned come of one look at the files. A pin that cannot be read is replaced.
    ///
    /// # Errors
    ///
    /// When a file of the policy cannot be read, or the pin cannot be written.
    pub fn accept(&self) -> Result<Option<FileChanges>, PolicyError> {
        let files = file_digests(&self.project, &PLACES)?;
        let before = self.pin().ok().flatten();
        let change = before.map(|pin| FileChanges::between(&pin.files, &files));
        let project = self.project.to_string_lossy().into_owned();
        let pin = Pin { version: VERSION, project, files };
        self.write(&pin).map_err(|source| PolicyError::Pin { path: self.path(), source })?;
        Ok(change)
    }

    #[expect(clippy::disallowed_methods, reason = "only commands accept a policy")]
    fn write(&self, pin: &Pin) -> io::Result<()> {
        fs::create_dir_all(&self.pins)?;
        // Written beside its place, so that no reader sees a part of it; readable by its owner alone.
        let mut temporary = temporary_file(&self.pins, 0o600)?;
        serde_json::to_writer_pretty(&mut temporary, pin)?;
        temporary.as_file().sync_all()?;
        temporary.persist(self.path()).map(drop).map_err(|error| error.error)
    }

    fn pin(&self) -> Result<Option<Pin>, PolicyError> {
        let path = self.path();
        let bytes = match read_plain(&path, LONGEST_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read,
        };
        let failed = |source| PolicyError::Pin { path: path.clone(), source };
        let pin: Pin = serde_json::from_slice(&bytes.map_err(failed)?)
            .map_err(|error| failed(error.into()))?;
        if pin.version != VERSION {
            return Err(failed(io::Error::other("another version of Rye wrote it")));
        }
        Ok(Some(pin))
    }

    fn path(&self) -> PathBuf {
        let name = Digest::of(self.project.as_os_str().as_encoded_bytes());
        self.pins.join(format!("{name}.json"))
    }
}

impl Project {
    /// Refuses a run whose policy is not the pinned one, and pins it where `processes` would run in a sandbox that does not keep
    /// programs from changing it.
    ///
    /// # Errors
    ///
    /// The method fails if the policy was changed, and if it cannot be read or pinned.
    pub fn hold_policy(&self, processes: Option<&Processes>) -> Result<(), PolicyError> {
        let project = self.library.spaces().project();
        let place = project.zip(self.policy_pins.as_deref());
        let policy = place.map(|(project, pins)| ProjectPolicy::new(project, pins)).transpose()?;
        let change = policy.as_ref().map(ProjectPolicy::change).transpose()?.flatten();
        match (change, processes.map(Processes::sandbox).transpose()?) {
            (Some(change), _) if !change.is_empty() => Err(PolicyError::Changed { change }),
            (Some(_), _) | (None, None) => Ok(()),
            (None, Some(report)) if report.mode().is_whole() || !report.may_start() => Ok(()),
            (None, Some(report)) => match policy {
                Some(policy) => policy.accept().map(drop),
                None if report.policy() == Policy::Off => Ok(()),
                None => Err(PolicyError::Unpinned { mode: report.mode() }),
            },
        }
    }
}

#[cfg(test)]
mod tests;
