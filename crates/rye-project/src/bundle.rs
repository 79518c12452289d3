//! The files that a thread may use, so that several machines know whether theirs are the same.

use std::collections::BTreeMap;
use std::path::Path;

use rye_sign::Digest;
use serde::{Deserialize, Serialize};

use crate::file_digests::{FileChanges, UnreadableFile, file_digests, file_digests_except};

/// The SHA-256 of each file that a thread may use: directives, tools, knowledge, configuration, trust, the lock, and the signatures of
/// plain files.
///
/// Files that tools read and write are not part of it, and neither is the operator's signing key. What is shipped with
/// Rye is not part of it either, so that a new version can resume a thread of an old one. A bundle vouches for nothing:
/// a machine with the same files verifies their signatures before it uses them.
///
/// On the wire it is an object of digests by path. Each path begins with `project/`, `user/` or `trust/`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bundle {
    files: BTreeMap<String, String>,
}

impl Bundle {
    /// Reads the files of a project.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, more than 10,000 files, or more than 64 MiB.
    pub fn of_project(project: &Path) -> Result<Self, UnreadableFile> {
        let files = file_digests(project, &PLACES)?;
        Ok(Self { files: with_prefix("project", files).collect() })
    }

    /// Adds the files of a user space.
    ///
    /// # Errors
    ///
    /// As [`Bundle::of_project`].
    pub fn with_user_space(mut self, user: &Path) -> Result<Self, UnreadableFile> {
        let files = file_digests_except(user, &PLACES, SIGNING_KEYS)?;
        self.files.extend(with_prefix("user", files));
        Ok(self)
    }

    /// Adds a trust document that counts for the whole program.
    #[must_use]
    pub fn with_trust_document(mut self, text: &str) -> Self {
        let digest = Digest::of(text.as_bytes()).to_string();
        drop(self.files.insert(format!("trust/{digest}"), digest.clone()));
        self
    }

    /// Returns the digest of the whole bundle: that of its object as compact JSON, whose members are sorted.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let rows: BTreeMap<&str, &str> =
            self.files.iter().map(|(path, digest)| (path.as_str(), digest.as_str())).collect();
        Digest::of(serde_json::json!(rows).to_string().as_bytes())
    }

    /// Returns the files of the project alone.
    #[must_use]
    pub fn project(&self) -> Self {
        let files = self.files.iter().filter(|(path, _)| path.starts_with(PROJECT));
        Self { files: files.map(|(path, digest)| (path.clone(), digest.clone())).collect() }
    }

    /// Replaces the files of the project by those of another bundle.
    #[must_use]
    pub fn with_project_of(mut self, other: &Self) -> Self {
        self.files.retain(|path, _| !path.starts_with(PROJECT));
        self.files.extend(other.project().files);
        self
    }

    /// Compares with the bundle with which a thread began, for a machine that is to go on with the thread.
    ///
    /// Items that the project did not have count for nothing, because tools may write there. They are verified before they are used.
    #[must_use]
    pub fn departure_from(&self, began: &Self) -> FileChanges {
        let mut changes = self.changes_since(began);
        changes.added.retain(|path| !may_be_added(path));
        changes
    }

    /// Compares with the bundle of another time or machine.
    #[must_use]
    pub fn changes_since(&self, before: &Self) -> FileChanges {
        FileChanges::between(&before.files, &self.files)
    }
}

/// The places of items, configuration and lock, and of the signatures of plain files, which stand for these: each states the digest of
/// its file. They are below a project and below a user space.
const PLACES: [&str; 6] =
    [".ai/config", ".ai/directives", ".ai/knowledge", ".ai/rye.lock", ".ai/signed", ".ai/tools"];

const PROJECT: &str = "project/";

/// The places of items in a project. Tools may write there, except to configurations of providers.
const WRITABLE: [&str; 3] =
    ["project/.ai/directives/", "project/.ai/knowledge/", "project/.ai/tools/"];
const PROVIDERS: &str = "project/.ai/tools/rye/agent/providers/";

fn may_be_added(path: &str) -> bool {
    WRITABLE.iter().any(|place| path.starts_with(place)) && !path.starts_with(PROVIDERS)
}

const SIGNING_KEYS: &str = ".ai/config/keys/signing";

fn with_prefix(
    prefix: &str,
    files: BTreeMap<String, String>,
) -> impl Iterator<Item = (String, String)> {
    files.into_iter().map(move |(path, digest)| (format!("{prefix}/{path}"), digest))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    const FILES: [&str; 7] = [
        ".ai/config/agent/limits.yaml",
        ".ai/directives/notes/index.md",
        ".ai/knowledge/style.md",
        ".ai/rye.lock",
        ".ai/signed/AGENTS.md.sig",
        ".ai/tools/count.py",
        ".ai/config/keys/trusted/0123456789abcdef.toml",
    ];

    fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let others = [".ai/config/keys/signing/private_key.pem", ".ai/threads/x", "notes.txt"];
        for path in FILES.iter().chain(&others) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "one").unwrap();
        }
        folder
    }

    fn bundle(project: &TempDir, user: &TempDir) -> Bundle {
        Bundle::of_project(project.path()).unwrap().with_user_space(user.path()).unwrap()
    }

    #[test]
    fn each_file_that_a_thread_may_use_counts() {
        let (project, user) = (folder(), folder());
        let before = bundle(&project, &user);
        for (space, folder) in [("project", &project), ("user", &user)] {
            for path in FILES {
                fs::write(folder.path().join(path), "two").unwrap();
                let now = bundle(&project, &user);
                let told = now.changes_since(&before).to_string();
                assert_eq!(told, format!("changed `{space}/{path}`"));
                assert_ne!(now.digest(), before.digest());
                assert_eq!(now.project() == before.project(), space == "user");
                fs::write(folder.path().join(path), "one").unwrap();
            }
        }
        assert_eq!(bundle(&project, &user).digest(), before.digest());
        let trusting = before.clone().with_trust_document("text");
        assert_eq!(trusting.changes_since(&before).added.len(), 1);
    }

    /// A tool may write an item. That must stop neither its thread nor another one of the same copy.
    #[test]
    fn items_that_are_added_do_not_count_for_a_thread_that_began() {
        let (project, user) = (folder(), folder());
        let began = bundle(&project, &user);
        let add = |folder: &TempDir, path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "new").unwrap();
        };
        for path in
            [".ai/knowledge/notes.md", ".ai/directives/a/b.md", ".ai/tools/__pycache__/x.pyc"]
        {
            add(&project, path);
        }
        let now = bundle(&project, &user);
        assert!(now.departure_from(&began).is_empty());
        assert_eq!(now.changes_since(&began).added.len(), 3);
        assert_eq!(now.with_project_of(&began), began);
        for path in [".ai/config/risk.yaml", ".ai/tools/rye/agent/providers/x.yaml"] {
            add(&project, path);
            let told = bundle(&project, &user).departure_from(&began).to_string();
            assert_eq!(told, format!("added `project/{path}`"));
            fs::remove_file(project.path().join(path)).unwrap();
        }
        add(&user, ".ai/knowledge/notes.md");
        assert_eq!(bundle(&project, &user).departure_from(&began).added.len(), 1);
        fs::remove_file(user.path().join(".ai/knowledge/notes.md")).unwrap();
        add(&project, ".ai/tools/count.py");
        fs::remove_file(project.path().join(".ai/directives/notes/index.md")).unwrap();
        let changes = bundle(&project, &user).departure_from(&began);
        assert_eq!((changes.changed.len(), changes.removed.len()), (1, 1));
    }

    #[test]
    fn what_tools_write_and_the_signing_key_of_a_user_space_do_not_count() {
        let (project, user) = (folder(), folder());
        let before = bundle(&project, &user);
        for path in [".ai/threads/x", "notes.txt"] {
            fs::write(project.path().join(path), "two").unwrap();
        }
        fs::write(user.path().join(".ai/config/keys/signing/private_key.pem"), "two").unwrap();
        assert_eq!(bundle(&project, &user), before);
    }

    #[test]
    fn a_bundle_survives_its_wire_form() {
        let bundle = bundle(&folder(), &folder());
        let text = serde_json::to_string(&bundle).unwrap();
        assert_eq!(serde_json::from_str::<Bundle>(&text).unwrap(), bundle);
    }
}
