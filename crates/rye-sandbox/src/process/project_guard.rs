//! The parts of a project that no program changes in a whole sandbox.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use rye_types::SandboxMode;

use super::host::Processes;
use super::job::{StartError, io_error};
use crate::{PINNED, POLICY};

impl Processes {
    /// Refuses links at protected paths, and makes the project's `.ai` before a program can.
    pub(super) fn prepare_project(&self, mode: SandboxMode) -> Result<(), StartError> {
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
        let refused = |path: PathBuf, problem| {
            Err(StartError::Folder { path: path.display().to_string(), problem })
        };
        if let Some(path) = places.find_map(|path| self.link_in(path)) {
            return refused(path, "it is a link; put a folder in its place");
        }
        // No mount keeps a link. A program that replaces it chooses the user space of the next command.
        let mut links = self.host.kept.iter().flat_map(|path| links_on_the_way(path));
        links.find(|link| link.starts_with(self.project())).map_or(Ok(()), |path| {
            refused(
                path,
                "it is a link in the project that leads to the user space or a system root, and a program could replace it; name that place by a path without the link",
            )
        })
    }
}

/// The number of links that the kernel follows in one path.
const LINKS: usize = 40;

/// Returns the links that are followed on the way to a path, each by its path without other links.
fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    let mut place = PathBuf::new();
    let mut rest = parts(path);
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            place.pop();
            continue;
        }
        let next = place.join(&part);
        let Ok(target) = fs::read_link(&next) else {
            place = next;
            continue;
        };
        links.push(next);
        if links.len() > LINKS {
            break;
        }
        for part in parts(&target).into_iter().rev() {
            rest.push_front(part);
        }
    }
    links
}

/// Returns the names in a path. The root is one of them, and `join` begins anew with it.
fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_link_on_the_way_is_found() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project/user")).unwrap();
        fs::create_dir_all(root.join("home/deep")).unwrap();
        for (target, link) in
            [("../home", "project/link"), ("project/link/deep", "outside"), ("loop", "loop")]
        {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("project"), root.join("home/back")).unwrap();
        for (path, expected) in [
            ("project/user/.ai", &[][..]),
            ("nowhere/.ai", &[]),
            ("project/link", &["project/link"]),
            ("project/link/.ai", &["project/link"]),
            ("outside/.ai", &["outside", "project/link"]),
            ("home/back/link/.ai", &["home/back", "project/link"]),
            ("project/../home/back/./user", &["home/back"]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(|link| root.join(link)).collect();
            assert_eq!(links_on_the_way(&root.join(path)), expected, "{path}");
        }
        assert!(links_on_the_way(&root.join("loop")).len() > LINKS);
    }
}
