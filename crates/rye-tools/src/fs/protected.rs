//! Areas of a project that are protected from tools, found by name and by identity.

use std::ffi::{OsStr, OsString};
use std::{fmt, io};

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::fs::{Dir, Metadata};

use super::repository;
use rye_sandbox::names::{fold, stands_for};

/// The access that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A protected part of the project, with its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Area {
    /// `.ai/config/keys/signing`: neither read nor written.
    SigningKeys,
    /// `.ai/config/keys`: not written.
    Keys,
    /// `.ai/config`: not written.
    Config,
    /// `.ai/signed`: not written.
    Signed,
    /// `.ai/threads`: not written.
    Threads,
    /// `.ai/rye.lock`: not written.
    Lock,
    /// `.ai/tools/rye/agent/providers`: not written.
    Providers,
    /// `.ai` below another folder than the project's own: not made.
    NestedProject,
    /// `.git`, a folder or a file: not written.
    Git,
    /// A file `HEAD` in any folder: not written.
    Head,
    /// `objects`, `refs` or `commondir` beside a file `HEAD`: not made.
    RepositoryPart,
    /// A folder that `git` takes for a repository: not written.
    Repository,
    /// A project in which a link stands for an area and leads to nothing yet: not written.
    Linked,
}

/// The areas that are found by their names, most specific first.
const NAMED: &[(Area, &[&str])] = &[
    (Area::SigningKeys, &[".ai", "config", "keys", "signing"]),
    (Area::Keys, &[".ai", "config", "keys"]),
    (Area::Config, &[".ai", "config"]),
    (Area::Signed, &[".ai", "signed"]),
    (Area::Threads, &[".ai", "threads"]),
    (Area::Lock, &[".ai", "rye.lock"]),
    (Area::Providers, &[".ai", "tools", "rye", "agent", "providers"]),
    (Area::Git, &[".git"]),
];

impl Area {
    fn is_closed_to(self, access: Access) -> bool {
        access == Access::Write || self == Self::SigningKeys
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SigningKeys => {
                "`.ai/config/keys/signing` holds private keys, which tools neither read nor write"
            }
            Self::Keys => "`.ai/config/keys` decides who is trusted, so tools do not write there",
            Self::Config => {
                "`.ai/config` decides what is trusted and allowed, so tools do not write there"
            }
            Self::Signed => {
                "`.ai/signed` holds the signatures of files that directives take into their context, so tools do not write there"
            }
            Self::Threads => {
                "`.ai/threads` is the record of what was done, so tools do not write there"
            }
            Self::Lock => "`.ai/rye.lock` records what the operator accepted, so tools do not write it",
            Self::Providers => {
                "`.ai/tools/rye/agent/providers` decides to which servers prompts go, so tools do not write there"
            }
            Self::NestedProject => {
                "`.ai` makes a project of the folder that holds it, with rules of its own, so tools make none below the project's"
            }
            // The operator's next `git` runs hooks and settings from there, outside of any sandbox.
            Self::Git => "`.git` holds what `git` runs and remembers, so tools do not write there",
            Self::Head => {
                "with a file `HEAD`, `git` can take the folder for a repository and run what it says, so tools write none"
            }
            Self::RepositoryPart => {
                "the folder has a `HEAD`, so `objects`, `refs` or `commondir` could make it a repository of `git`; tools make none"
            }
            Self::Linked => {
                "a link stands at a protected path of the project and leads to nothing yet, so a new file could become policy; put a folder in the link's place"
            }
            Self::Repository => {
                "the folder is a repository of `git`, which runs what it says, so tools do not write there"
            }
        })
    }
}

/// The areas that are closed to one kind of access. They are found by name, by identity and by the content of
/// a folder.
///
/// The names protect areas that do not exist yet. The identities protect areas that are reached under another
/// name.
#[derive(Debug)]
pub(super) struct Guard {
    access: Access,
    identities: Vec<(Area, Identity)>,
    keys: KeyFiles,
    /// A link leads from a missing area to a place that has no name of its own.
    is_linked: bool,
}

/// The private keys, which are recognised under a second name too.
#[derive(Debug)]
enum KeyFiles {
    Known(Vec<Identity>),
    /// The keys exist and cannot be listed. Every file with a second name may be one.
    Unknown,
}

impl Guard {
    pub(super) fn new(root: &Dir, access: Access) -> Self {
        let mut guard = Self {
            access,
            identities: Vec::new(),
            keys: KeyFiles::Known(Vec::new()),
            is_linked: false,
        };
        for (area, parts) in closed_to(access) {
            let path = parts.join("/");
            let Ok(metadata) = root.metadata(&path) else {
                guard.is_linked |= access == Access::Write && has_link(root, parts);
                // A missing area, or one outside of the root, holds nothing that a path can reach.
                continue;
            };
            guard.identities.push((area, Identity::of(&metadata)));
            if area == Area::SigningKeys {
                guard.keys = match root.open_dir(&path).and_then(|folder| identities(&folder, 0)) {
                    Ok(keys) => KeyFiles::Known(keys),
                    Err(_) => KeyFiles::Unknown,
                };
            }
        }
        guard
    }

    /// Returns the area that the path with the parts `names`, from the root down, belongs to by its spelling.
    pub(super) fn by_name<'a>(&self, names: impl Iterator<Item = &'a OsStr>) -> Option<Area> {
        if self.is_linked {
            return Some(Area::Linked);
        }
        let folded: Vec<String> = names.map(fold).collect();
        let is_in = |parts: &[&str]| {
            folded
                .windows(parts.len())
                .any(|window| window.iter().zip(parts).all(|(name, part)| stands_for(name, part)))
        };
        closed_to(self.access).find(|(_, parts)| is_in(parts)).map(|(area, _)| area)
    }

    /// Returns `true` if a path that ends in `name` may be a closed area and needs [`Guard::by_name`].
    pub(super) fn is_last_of_area(&self, name: &OsStr) -> bool {
        let folded = fold(name);
        closed_to(self.access)
            .any(|(_, parts)| parts.last().is_some_and(|last| stands_for(&folded, last)))
    }

    /// Returns the area of an open folder: a named one under another name, or a repository.
    pub(super) fn by_folder(&self, folder: &Dir) -> io::Result<Option<Area>> {
        let named = self.by_identity(&folder.dir_metadata()?);
        if named.is_some() || self.access == Access::Read {
            return Ok(named);
        }
        Ok(repository::is_repository(folder)?.then_some(Area::Repository))
    }

    /// Returns the area that is this file or folder.
    pub(super) fn by_identity(&self, metadata: &Metadata) -> Option<Area> {
        let identity = Identity::of(metadata);
        self.identities.iter().find(|(_, closed)| *closed == identity).map(|(area, _)| *area)
    }

    /// Returns the area of a file with this name in any folder.
    pub(super) fn by_file_name(&self, name: &OsStr) -> Option<Area> {
        (self.access == Access::Write && repository::is_head(name)).then_some(Area::Head)
    }

    /// Returns the area of new nested folders. None of the names is directly in the root.
    pub(super) fn by_new_names<'a>(
        &self,
        mut names: impl Iterator<Item = &'a OsStr>,
    ) -> Option<Area> {
        let is_closed =
            self.access == Access::Write && names.any(|name| stands_for(&fold(name), ".ai"));
        is_closed.then_some(Area::NestedProject)
    }

    /// Returns the area of a new name in an open folder.
    pub(super) fn by_new_name(&self, folder: &Dir, name: &OsStr) -> io::Result<Option<Area>> {
        let is_closed = self.access == Access::Write && repository::would_complete(folder, name)?;
        Ok(is_closed.then_some(Area::RepositoryPart))
    }

    /// Returns the area of an open file that is a second name of a private key.
    pub(super) fn by_file(&self, metadata: &Metadata) -> Option<Area> {
        let may_be_key = match &self.keys {
            KeyFiles::Known(keys) => keys.contains(&Identity::of(metadata)),
            KeyFiles::Unknown => true,
        };
        (metadata.nlink() > 1 && may_be_key).then_some(Area::SigningKeys)
    }
}

fn closed_to(access: Access) -> impl Iterator<Item = (Area, &'static [&'static str])> {
    NAMED.iter().copied().filter(move |(area, _)| area.is_closed_to(access))
}

/// Returns `true` if a link stands on the way to an area.
fn has_link(root: &Dir, parts: &[&str]) -> bool {
    let mut ways = (1..=parts.len()).filter_map(|length| Some(parts.get(..length)?.join("/")));
    ways.any(|way| root.symlink_metadata(way).is_ok_and(|metadata| metadata.is_symlink()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Returns the identities of all files below `folder`. Only folders are opened, so that unreadable keys are
/// found too.
fn identities(folder: &Dir, depth: usize) -> io::Result<Vec<Identity>> {
    if depth == super::path_limits::MAX_DEPTH {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut files = Vec::new();
    for entry in folder.entries()? {
        let name: OsString = entry?.file_name();
        match folder.symlink_metadata(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(metadata) if metadata.is_dir() => {
                files.extend(identities(&folder.open_dir_nofollow(&name)?, depth + 1)?);
            }
            Ok(metadata) => files.push(Identity::of(&metadata)),
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(access: Access, path: &str, expected: Option<Area>) {
        let identities = Vec::new();
        let keys = KeyFiles::Known(Vec::new());
        let guard = Guard { access, identities, keys, is_linked: false };
        assert_eq!(guard.by_name(path.split('/').map(OsStr::new)), expected, "{path}");
    }

    #[test]
    fn writing_is_closed_where_policy_records_and_repositories_are() {
        check(Access::Write, ".ai/signed/AGENTS.md.sig", Some(Area::Signed));
        check(Access::Write, "nested/.AI/Signed/new", Some(Area::Signed));
        check(Access::Write, ".ai/signed.md", None);
        check(Access::Write, ".ai/threads", Some(Area::Threads));
        check(Access::Write, ".ai/threads/a/b", Some(Area::Threads));
        check(Access::Write, ".ai/config/keys/trusted/x.toml", Some(Area::Keys));
        check(Access::Write, ".ai/config/keys/signing/private_key.pem", Some(Area::SigningKeys));
        check(Access::Write, "nested/.ai/threads/x", Some(Area::Threads));
        check(Access::Write, ".ai/config/keyboard.yaml", Some(Area::Config));
        check(Access::Write, ".ai/config", Some(Area::Config));
        check(Access::Write, ".ai/configuration.md", None);
        check(Access::Write, ".ai/rye.lock", Some(Area::Lock));
        check(Access::Write, ".ai/tools/rye/agent/providers/a.yaml", Some(Area::Providers));
        check(Access::Write, ".ai/tools/rye/agent/threads/a.yaml", None);
        check(Access::Write, ".ai/tools/my/tool.yaml", None);
        check(Access::Write, ".ai/directives/threads/x.md", None);
        check(Access::Write, "threads/x", None);
        check(Access::Write, ".git/hooks/pre-commit", Some(Area::Git));
        check(Access::Write, "vendored/.git", Some(Area::Git));
        check(Access::Write, ".GIT./config", Some(Area::Git));
        check(Access::Write, ".gitignore", None);
        check(Access::Write, ".github/workflows/ci.yml", None);
    }

    #[test]
    fn reading_is_closed_for_private_keys_alone() {
        check(Access::Read, ".ai/threads/a/transcript.jsonl", None);
        check(Access::Read, ".ai/config/keys/trusted/x.toml", None);
        check(Access::Read, ".git/config", None);
        check(Access::Read, ".ai/config/trust.yaml", None);
        check(Access::Read, ".ai/rye.lock", None);
        check(Access::Read, ".ai/signed/AGENTS.md.sig", None);
        check(Access::Read, ".ai/config/keys/signing", Some(Area::SigningKeys));
    }

    #[test]
    fn spelling_does_not_open_an_area() {
        for path in [
            ".AI/Threads/x",
            ".ai/THREADS/x",
            ".ai./threads/x",
            ".ai/threads ./x",
            ".ai/threads::$INDEX_ALLOCATION/x",
            ".a\u{200d}i/threads/x",
            ".ai/\u{feff}threads/x",
            ".ai/thread\u{17f}/x",
        ] {
            check(Access::Write, path, Some(Area::Threads));
        }
        check(Access::Write, ".ai/config/\u{212a}eys/x", Some(Area::Keys));
        for path in ["git~1/config", "GIT~3/config", ".g\u{200c}it/x", ".git::$INDEX_ALLOCATION/x"]
        {
            check(Access::Write, path, Some(Area::Git));
        }
        check(Access::Write, "AI~1/rye~1.loc", Some(Area::Lock));
        check(Access::Write, ".ai/tools/rye/agent/PROVID~1/x", Some(Area::Providers));
        check(Access::Write, "git~/config", None);
        check(Access::Write, "git~one/config", None);
        check(Access::Write, "gitter~1/config", None);
    }
}
