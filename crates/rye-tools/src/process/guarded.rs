//! What of a project no program changes, where the sandbox is whole.

use super::host::Processes;
use super::job::StartError;
use crate::sandbox::POLICY;

impl Processes {
    /// What is guarded is guarded where it is: a link would lead what is written to another place.
    pub(super) fn refuse_links(&self) -> Result<(), StartError> {
        let mut places = POLICY.into_iter().chain([".git", ".ai/config/keys/signing"]);
        let linked = places.find_map(|path| self.link_in(path));
        linked.map_or(Ok(()), |path| {
            let path = path.display().to_string();
            Err(StartError::Folder { path, problem: "it is a link; put a folder in its place" })
        })
    }
}
