//! Which names the ignore files of a project leave out.

use std::path::Path;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::protected::Guard;
use super::read::Source;

/// The ignore files of one folder, the one that counts more last.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The most of an ignore file that is read, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The rules of the folders from the root to where a walk is.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// For each folder that has any: how deep it lies, and its rules.
    folders: Vec<(usize, Vec<Gitignore>)>,
}

impl Rules {
    /// Adds the rules of a folder that lies `depth` folders below the root, at `path`. Says how many of its files and lines
    /// are no rules.
    pub(super) fn enter(&mut self, folder: &Dir, depth: usize, path: &Path, guard: &Guard) -> u64 {
        let (mut rules, mut broken) = (Vec::new(), 0);
        for name in FILES {
            let Some((built, faults)) = read(folder, name, path, guard) else { continue };
            broken += faults;
            rules.push(built);
        }
        if !rules.is_empty() {
            self.folders.push((depth, rules));
        }
        broken
    }

    /// Forgets the rules of the folders that lie `depth` below the root or deeper.
    pub(super) fn leave(&mut self, depth: usize) {
        self.folders.retain(|(of, _)| *of < depth);
    }

    /// Whether the nearest rule that names `path`, which is relative to the root, leaves it out.
    pub(super) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let nearest_first = self.folders.iter().rev().flat_map(|(_, rules)| rules.iter().rev());
        for rules in nearest_first {
            match rules.matched(path, is_folder) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

/// Whether the line is one that nobody writes by hand: patterns are read by recursion, which hostile ones would make too deep.
fn is_excessive(line: &str) -> bool {
    MAX_LINE < line.len() || MAX_BRACES < line.matches('{').count()
}

const MAX_LINE: usize = 4 * 1024;
const MAX_BRACES: usize = 16;

/// The rules of one file, and how many of its lines are none; nothing when there is no such file.
///
/// A link is not followed, and what cannot be read as text has no rules, as `git` has it.
fn read(folder: &Dir, name: &str, path: &Path, guard: &Guard) -> Option<(Gitignore, u64)> {
    folder.symlink_metadata(name).ok()?;
    let source = Source { folder, name: name.as_ref(), guard, path: name };
    let Ok(bytes) = source.bytes(MAX_BYTES + 1) else { return Some((Gitignore::empty(), 1)) };
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Some((Gitignore::empty(), 1));
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(path);
    let mut faults = 0;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let is_fault = is_excessive(line) || builder.add_line(None, line).is_err();
        faults += u64::from(is_fault);
    }
    match builder.build() {
        Ok(rules) => Some((rules, faults)),
        Err(_) => Some((Gitignore::empty(), faults + 1)),
    }
}
