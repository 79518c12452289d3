//! Rules of the ignore files in a project.

use std::path::Path;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::protected::Guard;
use super::read::Source;

/// The ignore files of a folder. Later ones take precedence.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The size of the largest ignore file that is used, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The rules of the folders from the root to the position of a walk.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The depth and the rules of each folder that has rules.
    folders: Vec<(usize, Vec<Gitignore>)>,
}

impl Rules {
    /// Adds the rules of the folder at `path`, which lies `depth` folders below the root. Returns the number
    /// of its invalid files and lines.
    pub(super) fn enter(&mut self, folder: &Dir, depth: usize, path: &Path, guard: &Guard) -> u64 {
        let mut rules = Vec::new();
        let mut broken = 0;
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

    /// Removes the rules of the folders at `depth` below the root and deeper.
    pub(super) fn leave(&mut self, depth: usize) {
        self.folders.retain(|(of, _)| *of < depth);
    }

    /// Returns `true` if the nearest rule that matches `path`, relative to the root, ignores it.
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

/// Returns `true` for a line that may make the recursive parser of patterns recurse too deeply.
fn is_excessive(line: &str) -> bool {
    MAX_LINE < line.len() || MAX_BRACES < line.matches('{').count()
}

const MAX_LINE: usize = 4 * 1024;
const MAX_BRACES: usize = 16;

/// Returns the rules of one file and the number of its invalid lines, or `None` if there is no such file.
///
/// As in `git`, a link is not followed, and a file that cannot be read as text has no rules.
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
