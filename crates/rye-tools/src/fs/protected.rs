//! The areas of a project that tools do not touch, by name and by identity.

use std::ffi::{OsStr, OsString};
use std::{fmt, io};

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::fs::{Dir, Metadata};

/// What a caller wants to do at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A part of the project that tools may not touch, and the rule for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Area {
    /// `.ai/config/keys/signing`: neither read nor written.
    SigningKeys,
    /// `.ai/config/keys`: not written.
    Keys,
    /// `.ai/threads`: not written.
    Threads,
    /// `.ai/rye.lock`: not written.
    Lock,
    /// `.git`, a folder or a file: not written.
    Git,
}

impl Area {
    fn parts(self) -> &'static [&'static str] {
        match self {
            Self::SigningKeys => &[".ai", "config", "keys", "signing"],
            Self::Keys => &[".ai", "config", "keys"],
            Self::Threads => &[".ai", "threads"],
            Self::Lock => &[".ai", "rye.lock"],
            Self::Git => &[".git"],
        }
    }

    fn closed_to(access: Access) -> &'static [Self] {
        match access {
            Access::Read => &[Self::SigningKeys],
            Access::Write => &[Self::SigningKeys, Self::Keys, Self::Threads, Self::Lock, Self::Git],
        }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SigningKeys => {
                "`.ai/config/keys/signing` holds private keys, which tools neither read nor write"
            }
            Self::Keys => "`.ai/config/keys` decides who is trusted, so tools do not write there",
            Self::Threads => {
                "`.ai/threads` is the record of what was done, so tools do not write there"
            }
            Self::Lock => "`.ai/rye.lock` says what somebody accepted, so tools do not write it",
            // Hooks and settings there are run by the next `git` of whoever works in the project, outside of any sandbox.
            Self::Git => "`.git` holds what `git` runs and remembers, so tools do not write there",
        })
    }
}

/// The areas closed to one access, by name and by identity.
///
/// Names catch what does not exist yet; identities catch what is reached under another name.
#[derive(Debug)]
pub(super) struct Guard {
    access: Access,
    folders: Vec<(Area, Identity)>,
    keys: KeyFiles,
}

/// The private keys, to know them under a second name.
#[derive(Debug)]
enum KeyFiles {
    Known(Vec<Identity>),
    /// They are there and cannot be listed, so that every file with a second name may be one.
    Unknown,
}

impl Guard {
    pub(super) fn new(root: &Dir, access: Access) -> Self {
        let mut guard = Self { access, folders: Vec::new(), keys: KeyFiles::Known(Vec::new()) };
        for &area in Area::closed_to(access) {
            // An area that is missing, or lies outside of the root, has nothing in it that a path could reach.
            let Ok(folder) = root.open_dir(area.parts().join("/")) else { continue };
            let Ok(metadata) = folder.dir_metadata() else { continue };
            guard.folders.push((area, Identity::of(&metadata)));
            if area == Area::SigningKeys {
                guard.keys = match identities(&folder, 0) {
                    Ok(keys) => KeyFiles::Known(keys),
                    Err(_) => KeyFiles::Unknown,
                };
            }
        }
        guard
    }

    /// The area that the place `names`, given from the root downward, belongs to by its spelling.
    pub(super) fn by_name<'a>(&self, names: impl Iterator<Item = &'a OsStr>) -> Option<Area> {
        let folded: Vec<String> = names.map(|name| fold(&name.to_string_lossy())).collect();
        Area::closed_to(self.access)
            .iter()
            .copied()
            .find(|area| folded.windows(area.parts().len()).any(|window| window == area.parts()))
    }

    /// Whether a path that ends in `name` may be a closed area, so that [`Guard::by_name`] has to be asked.
    pub(super) fn is_last_of_area(&self, name: &OsStr) -> bool {
        let folded = fold(&name.to_string_lossy());
        Area::closed_to(self.access)
            .iter()
            .any(|area| area.parts().last().is_some_and(|last| *last == folded))
    }

    /// The area whose folder this is.
    pub(super) fn by_folder(&self, folder: &Dir) -> io::Result<Option<Area>> {
        let identity = Identity::of(&folder.dir_metadata()?);
        Ok(self.folders.iter().find(|(_, closed)| *closed == identity).map(|(area, _)| *area))
    }

    /// The area of an open file that is a second name of a private key.
    pub(super) fn by_file(&self, metadata: &Metadata) -> Option<Area> {
        let may_be_key = match &self.keys {
            KeyFiles::Known(keys) => keys.contains(&Identity::of(metadata)),
            KeyFiles::Unknown => true,
        };
        (metadata.nlink() > 1 && may_be_key).then_some(Area::SigningKeys)
    }
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

/// Every file below `folder`. Nothing is opened but folders, so that a key that is not ours to read is known too.
fn identities(folder: &Dir, depth: usize) -> io::Result<Vec<Identity>> {
    if depth == super::walk::MAX_DEPTH {
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

/// A name as the most forgiving file system compares it: no case, no ignorable characters, no trailing dots or spaces, no
/// stream after a colon.
fn fold(name: &str) -> String {
    let name = name.split(':').next().unwrap_or_default();
    let visible = name.chars().filter(|c| !is_ignorable(*c));
    let folded: String =
        visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.trim_end_matches(['.', ' ']).trim_start_matches(' ').to_owned()
}

fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(access: Access, path: &str, expected: Option<Area>) {
        let guard = Guard { access, folders: Vec::new(), keys: KeyFiles::Known(Vec::new()) };
        assert_eq!(guard.by_name(path.split('/').map(OsStr::new)), expected, "{path}");
    }

    #[test]
    fn writing_is_closed_in_four_areas() {
        check(Access::Write, ".ai/threads", Some(Area::Threads));
        check(Access::Write, ".ai/threads/a/b", Some(Area::Threads));
        check(Access::Write, ".ai/config/keys/trusted/x.toml", Some(Area::Keys));
        check(Access::Write, ".ai/config/keys/signing/private_key.pem", Some(Area::SigningKeys));
        check(Access::Write, "nested/.ai/threads/x", Some(Area::Threads));
        check(Access::Write, ".ai/config/keyboard.yaml", None);
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
    }
}
