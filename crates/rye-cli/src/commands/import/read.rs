//! The file or folder that is imported, read whole.

use std::fs;
use std::path::{Component, Path};

use rye::files::{Refusal, read_unlinked};
use rye::port::{LeftOut, Source, SourceFile};
use rye::types::ItemKind;

use crate::failure::Failure;

/// The bytes of one file, and of all of them.
const LONGEST: u64 = 4 << 20;
const MOST_BYTES: u64 = 256 << 20;
const MOST_FILES: usize = 10_000;
const DEEPEST: usize = 32;

/// Folders that hold what was fetched or built, and records and keys of Rye.
const PASSED_OVER: [&str; 9] =
    [".git", "node_modules", "target", ".venv", "venv", "__pycache__", "dist", "threads", "keys"];

/// Reads a file or a folder, and says what of it was passed over. Links are not followed, and a file that cannot be read is a failure, so
/// that nothing is half imported.
pub(super) fn source(path: &Path) -> Result<(Source, Vec<LeftOut>), Failure> {
    let path = skill_folder(path).unwrap_or(path);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let found = fs::metadata(path).map_err(|source| Failure::io("read", path, &source))?;
    let mut reading = Reading { files: Vec::new(), bytes: 0, passed_over: Vec::new() };
    if found.is_dir() {
        reading.folder(path, &around(path), 0)?;
    } else {
        let above = path.parent().map(around).unwrap_or_default();
        reading.file(path, &join(&above, &name))?;
    }
    Ok((Source::new(name, reading.files), reading.passed_over))
}

/// The folder of a `SKILL.md`, which is a skill with all that is in it; `None` for any other file, and for a folder of items.
fn skill_folder(path: &Path) -> Option<&Path> {
    let folder = path.parent().filter(|_| path.ends_with("SKILL.md") && path.is_file())?;
    let name = folder.file_name()?;
    ItemKind::ALL.iter().all(|kind| name != kind.folder()).then_some(folder)
}

struct Reading {
    files: Vec<SourceFile>,
    bytes: u64,
    passed_over: Vec<LeftOut>,
}

impl Reading {
    fn folder(&mut self, folder: &Path, below: &str, depth: usize) -> Result<(), Failure> {
        if depth > DEEPEST {
            let folder = folder.display();
            return Err(Failure::failed(format!(
                "`{folder}` is {DEEPEST} folders deep; import a folder inside of it"
            )));
        }
        let failed = |source: std::io::Error| Failure::io("read", folder, &source);
        let mut entries: Vec<fs::DirEntry> =
            fs::read_dir(folder).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(failed)?;
            let inside = join(below, &name);
            if kind.is_dir() && PASSED_OVER.contains(&name.as_str()) {
                let reason = "a folder of this name holds what was fetched, built or recorded";
                self.passed_over.push(LeftOut::new(&inside, "", reason));
            } else if kind.is_dir() {
                self.folder(&entry.path(), &inside, depth + 1)?;
            } else if kind.is_file() {
                self.file(&entry.path(), &inside)?;
            } else {
                let reason = "it is a link or no plain file; import what it leads to";
                self.passed_over.push(LeftOut::new(&inside, "", reason));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &str) -> Result<(), Failure> {
        let bytes = match read_unlinked(path, LONGEST) {
            Ok(bytes) => bytes,
            Err(error) if matches!(Refusal::of(&error), Some(Refusal::TooLong { .. })) => {
                let reason = format!(
                    "it has more than {} MiB, as no file of a known form has",
                    LONGEST >> 20
                );
                self.passed_over.push(LeftOut::new(name, "", &reason));
                return Ok(());
            }
            Err(error) => return Err(Failure::io("read", path, &error)),
        };
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.files.push(SourceFile::new(name, bytes));
        if self.files.len() > MOST_FILES || self.bytes > MOST_BYTES {
            return Err(Failure::failed(format!(
                "the folder has more than {MOST_FILES} files or {} MiB; import a folder inside of it",
                MOST_BYTES >> 20
            )));
        }
        Ok(())
    }
}

/// The folders at the end of a path that tell the form of the files in it, such as `.claude/agents`.
fn around(folder: &Path) -> String {
    let names: Vec<String> = folder
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    let is_telling = |name: &String| {
        let hidden = [
            ".claude",
            ".cursor",
            ".gemini",
            ".github",
            ".vscode",
            ".windsurf",
            ".roo",
            ".kiro",
            ".clinerules",
            ".ai",
        ];
        hidden.contains(&name.as_str()) || matches!(name.as_str(), "agents" | "commands")
    };
    let last = names.len().saturating_sub(4);
    let first = names.iter().skip(last).position(is_telling).map(|at| at + last);
    first.map(|first| names.get(first..).unwrap_or_default().join("/")).unwrap_or_default()
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_tell_a_form_are_kept() {
        for (folder, expected) in [
            ("/home/ada/project", ""),
            ("/home/ada/project/.claude/agents", ".claude/agents"),
            ("/home/ada/.claude/commands/git", ".claude/commands/git"),
            ("/home/ada/project/.github", ".github"),
            ("/x/commands/a/b/c/d", ""),
        ] {
            assert_eq!(around(Path::new(folder)), expected, "{folder}");
        }
    }
}
