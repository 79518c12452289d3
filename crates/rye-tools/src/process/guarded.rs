//! What of a project no program changes, where the sandbox is whole.

use std::fs;
use std::io::ErrorKind;

use super::host::Processes;
use super::job::StartError;
use super::run::io;
use crate::sandbox::{Mode, PINNED, POLICY};

impl Processes {
    /// Refuses links where something is guarded, and makes the project's `.ai` before a program could.
    pub(super) fn prepare_project(&self, mode: Mode) -> Result<(), StartError> {
        self.refuse_links()?;
        if !mode.is_whole() {
            return Ok(());
        }
        match fs::create_dir(self.project.join(PINNED)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            // Where this user makes none, no program does.
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => Ok(()),
            made => made.map_err(io("make the folder `.ai` of the project")),
        }
    }

    /// What is guarded is guarded where it is: a link would lead what is written to another place.
    fn refuse_links(&self) -> Result<(), StartError> {
        let mut places = POLICY.into_iter().chain([".git", ".ai/config/keys/signing"]);
        let linked = places.find_map(|path| self.link_in(path));
        linked.map_or(Ok(()), |path| {
            let path = path.display().to_string();
            Err(StartError::Folder { path, problem: "it is a link; put a folder in its place" })
        })
    }
}
