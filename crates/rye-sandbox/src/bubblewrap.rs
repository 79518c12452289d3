//! The command line of bubblewrap, which makes the namespaces. The launcher does the rest inside of them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Plan;
use super::call_folder::SHARED;
use super::fault::Fault;
use super::plan::TEMPORARY;

/// Returns the bubblewrap program and its options, each word ended by a NUL.
///
/// bubblewrap reads the options from a descriptor, because a command line has a length limit and is visible
/// to every user of the machine.
pub(super) fn words(plan: &Plan) -> Result<(OsString, Vec<u8>), Fault> {
    let Some(program) = &plan.bubblewrap else {
        return Err(Fault::new("find bubblewrap", "its path is not configured"));
    };
    let mut words = Words(Vec::new());
    // In a session of its own, no program opens the terminal of the operator.
    words.flags(&["--unshare-all", "--die-with-parent", "--new-session"]);
    if plan.network {
        words.flags(&["--share-net"]);
    }
    words.flags(&["--cap-drop", "ALL"]);
    words.bind("--ro-bind", Path::new("/"), Path::new("/"));
    words.flags(&["--dev", "/dev", "--proc", "/proc"]);
    // An own folder, because the size of files in shared memory would be unlimited.
    words.bind("--bind", &plan.scratch.path().join(SHARED), Path::new("/dev/shm"));
    words.bind("--bind", &plan.temporary(), Path::new(TEMPORARY));
    for home in plan.homes_to_cover() {
        words.one("--tmpfs", &home.folder);
        home.shown.iter().for_each(|path| words.same("--ro-bind-try", path));
        home.links.iter().for_each(|link| words.bind("--symlink", &link.place, &link.path));
    }
    words.same("--bind", plan.project());
    words.same("--ro-bind", plan.scratch.path());
    words.same("--bind", &plan.temporary());
    let layout = &plan.layout;
    layout.pinned.iter().for_each(|folder| words.same("--ro-bind", folder));
    layout.open.iter().for_each(|folder| words.same("--bind", folder));
    layout.guarded.iter().for_each(|guard| words.same("--ro-bind", &guard.path));
    for path in
        plan.hidden.iter().filter(|path| path.symlink_metadata().is_ok() && !plan.is_covered(path))
    {
        match path.is_dir() {
            true => words.one("--tmpfs", path),
            false => words.bind("--ro-bind", Path::new("/dev/null"), path),
        }
        if path.is_dir() {
            words.one("--remount-ro", path);
        }
    }
    plan.homes_to_cover().for_each(|home| words.one("--remount-ro", &home.folder));
    words.flags(&["--remount-ro", "/dev", "--remount-ro", "/proc", "--chdir", "/"]);
    Ok((program.into(), words.0))
}

struct Words(Vec<u8>);

impl Words {
    fn word(&mut self, word: &OsStr) {
        self.0.extend_from_slice(word.as_bytes());
        self.0.push(0);
    }

    fn flags(&mut self, flags: &[&str]) {
        flags.iter().for_each(|flag| self.word(flag.as_ref()));
    }

    fn one(&mut self, flag: &str, path: &Path) {
        self.word(flag.as_ref());
        self.word(path.as_os_str());
    }

    fn bind(&mut self, flag: &str, from: &Path, to: &Path) {
        self.one(flag, from);
        self.word(to.as_os_str());
    }

    fn same(&mut self, flag: &str, path: &Path) {
        self.bind(flag, path, path);
    }
}
