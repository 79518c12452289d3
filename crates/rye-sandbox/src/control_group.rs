//! The control group of a call, if the system allows this user to make one.
//!
//! It limits memory and processes exactly, including memory that no process has mapped, such as files in
//! memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::bounds::{Bound, Bounds};

/// The path of the version 2 hierarchy. Only in this version can a user get a part of it.
const HIERARCHY: &str = "/sys/fs/cgroup";

/// The prefix of the names of these groups. The id of the launcher follows.
const PREFIX: &str = "rye-call-";

/// The number of processes in a group that belong to the sandbox itself.
const OWN: u64 = 8;

/// A group beside the group of the launcher. The launcher enters it, so that it contains all of its children.
#[derive(Debug)]
pub(super) struct ControlGroup {
    folder: PathBuf,
    before: PathBuf,
    is_entered: bool,
}

impl ControlGroup {
    /// Makes a group with these limits. Returns `None` if this user may not make groups, or the system does
    /// not support the limits.
    pub(super) fn make(bounds: Bounds) -> Option<Self> {
        let table = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::beside(&own(Path::new(HIERARCHY), &table)?, bounds)
    }

    fn beside(before: &Path, bounds: Bounds) -> Option<Self> {
        let parent = before.parent()?;
        sweep(parent);
        let folder = parent.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let made = Self { folder, before: before.to_owned(), is_entered: false };
        made.bound(bounds).ok().map(|()| made)
    }

    /// Sets the limits. A missing file means that the system does not support the limit here.
    fn bound(&self, bounds: Bounds) -> io::Result<()> {
        let processes = bounds.processes.saturating_add(OWN);
        self.set("memory.max", bounds.memory())?;
        self.set("pids.max", processes)?;
        // Without swap, this file does not exist.
        match self.set("memory.swap.max", 0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn set(&self, file: &str, value: u64) -> io::Result<()> {
        use std::io::Write as _;

        let mut file = fs::OpenOptions::new().write(true).open(self.folder.join(file))?;
        file.write_all(value.to_string().as_bytes())
    }

    /// Moves this process into the group.
    pub(super) fn enter(mut self) -> io::Result<Self> {
        fs::write(self.folder.join("cgroup.procs"), std::process::id().to_string())?;
        self.is_entered = true;
        Ok(self)
    }

    /// Returns the limit that was exceeded in the group.
    pub(super) fn exceeded_bound(&self) -> Option<Bound> {
        let count = |file: &str, name: &str| {
            let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
            event(&text, name)
        };
        if count("memory.events", "oom_kill") > 0 {
            return Some(Bound::Memory);
        }
        (count("pids.events", "max") > 0).then_some(Bound::Processes)
    }
}

impl Drop for ControlGroup {
    /// Leaves the group and removes it. A group that still has processes is left for the next call.
    fn drop(&mut self) {
        if self.is_entered {
            let _left = fs::write(self.before.join("cgroup.procs"), std::process::id().to_string());
        }
        let _occupied = fs::remove_dir(&self.folder);
    }
}

/// Returns the folder of the group of this process.
fn own(hierarchy: &Path, table: &str) -> Option<PathBuf> {
    let path = table.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let is_whole = hierarchy.join("cgroup.controllers").exists();
    (is_whole && !path.is_empty() && !path.split('/').any(|part| part == ".."))
        .then(|| hierarchy.join(path))
}

/// Removes groups whose launcher is gone. The system refuses to remove a group with processes.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let launcher =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if launcher.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            let _occupied = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the count in a line `NAME COUNT`.
fn event(text: &str, name: &str) -> u64 {
    let count = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { memory_mib: 10, processes: 20 };

    #[test]
    fn the_own_group_is_that_of_version_2() {
        let folder = tempfile::tempdir().unwrap();
        let of = |table: &str| own(folder.path(), table);
        assert_eq!(of("0::/user.slice/a.scope\n"), None, "there is no hierarchy");
        fs::write(folder.path().join("cgroup.controllers"), "memory pids").unwrap();
        let expected = Some(folder.path().join("user.slice/a.scope"));
        assert_eq!(of("4:memory:/x\n0::/user.slice/a.scope\n"), expected);
        assert_eq!(of("0::/\n"), None, "there is nothing beside the root");
        assert_eq!(of("0::/../a\n"), None, "it is not in this namespace");
        assert_eq!(of("4:memory:/x\n"), None);
    }

    #[test]
    fn a_system_that_does_not_bound_makes_no_group() {
        let folder = tempfile::tempdir().unwrap();
        let before = folder.path().join("a.scope");
        fs::create_dir(&before).unwrap();
        // An ordinary folder has none of the files of a group.
        assert!(ControlGroup::beside(&before, BOUNDS).is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "it leaves nothing behind");
    }

    #[test]
    fn bounds_are_set_and_events_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let group = ControlGroup {
            folder: folder.path().join("rye-call-1"),
            before: folder.path().join("none"),
            is_entered: false,
        };
        fs::create_dir(&group.folder).unwrap();
        let put = |file: &str, text: &str| fs::write(group.folder.join(file), text).unwrap();
        put("memory.max", "");
        put("pids.max", "");
        group.bound(BOUNDS).unwrap();
        let read = |file: &str| fs::read_to_string(group.folder.join(file)).unwrap();
        assert_eq!((read("memory.max"), read("pids.max")), ("10485760".into(), "28".into()));
        put("memory.events", "low 0\nmax 7\noom 1\noom_kill 0\n");
        put("pids.events", "max 0\n");
        assert_eq!(group.exceeded_bound(), None);
        put("pids.events", "max 3\n");
        assert_eq!(group.exceeded_bound(), Some(Bound::Processes));
        put("memory.events", "oom 1\noom_kill 1\noom_group_kill 0\n");
        assert_eq!(group.exceeded_bound(), Some(Bound::Memory));
    }

    #[test]
    fn groups_of_launchers_that_are_gone_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let own = format!("{PREFIX}{}", std::process::id());
        let gone = format!("{PREFIX}4194305");
        for name in [own.as_str(), &gone, "rye-call-x", "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        sweep(folder.path());
        let is_there = |name: &str| folder.path().join(name).exists();
        assert!(is_there(&own) && is_there("rye-call-x") && is_there("other"));
        assert!(!is_there(&gone));
    }
}
