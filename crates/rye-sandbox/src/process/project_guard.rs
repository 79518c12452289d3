//! The parts of a project that no program changes in a whole sandbox.

use std::fs;
use std::io::ErrorKind;

use super::host::Processes;
use super::job::{StartError, io_error};
use crate::{Mode, PINNED, POLICY};

impl Processes {
    /// Refuses links at protected paths, and makes the project's `.ai` before a program can.
    pub(super) fn prepare_project(&self, mode: Mode) -> Result<(), StartError> {
        self.refuse_links()?;
        if !mode.is_whole() {
            return Ok(());
        }
        match fs::create_dir(self.project().join(PINNED)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            // If this user cannot make the folder, no program can.
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => Ok(()),
            made => made.map_err(io_error("make the folder `.ai` of the project")),
        }
    }

    /// Refuses a project with a link at a protected path, because a write through the link would go to
    /// another place.
    fn refuse_links(&self) -> Result<(), StartError> {
        let mut places = POLICY.into_iter().chain([".git", ".ai/config/keys/signing"]);
        let linked = places.find_map(|path| self.link_in(path));
        linked.map_or(Ok(()), |path| {
            let path = path.display().to_string();
            Err(StartError::Folder { path, problem: "it is a link; put a folder in its place" })
        })
    }
}
