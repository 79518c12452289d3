//! The command line of bubblewrap, which makes the namespaces; what it cannot do is done inside by the launcher.

use std::ffi::OsString;
use std::path::Path;

use super::Plan;
use super::fault::Fault;
use super::mounts::TEMPORARY;

/// Everything before the command that runs inside.
pub(super) fn words(plan: &Plan, launcher: &Path) -> Result<Vec<OsString>, Fault> {
    let Some(program) = &plan.bubblewrap else {
        return Err(Fault::new("find bubblewrap", "nobody said where it is"));
    };
    let mut words = Words(vec![program.into()]);
    words.flags(&["--unshare-all", "--die-with-parent"]);
    if plan.network {
        words.flags(&["--share-net"]);
    }
    words.flags(&["--cap-drop", "ALL"]);
    words.bind("--ro-bind", Path::new("/"), Path::new("/"));
    words.flags(&["--dev", "/dev", "--proc", "/proc"]);
    words.bind("--bind", &plan.temporary, Path::new(TEMPORARY));
    if launcher.starts_with(TEMPORARY) {
        words.same("--ro-bind", launcher);
    }
    words.same("--bind", &plan.project);
    words.same("--ro-bind", &plan.scratch);
    words.same("--bind", &plan.temporary);
    plan.pinned.iter().for_each(|folder| words.same("--ro-bind", folder));
    plan.open.iter().for_each(|folder| words.same("--bind", folder));
    plan.guarded.iter().for_each(|folder| words.same("--ro-bind", folder));
    for path in &plan.hidden {
        match path.is_dir() {
            true => words.one("--tmpfs", path),
            false => words.bind("--ro-bind", Path::new("/dev/null"), path),
        }
        if path.is_dir() {
            words.one("--remount-ro", path);
        }
    }
    words.flags(&["--remount-ro", "/proc", "--chdir", "/", "--"]);
    Ok(words.0)
}

struct Words(Vec<OsString>);

impl Words {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    fn one(&mut self, flag: &str, path: &Path) {
        self.0.extend([flag.into(), path.into()]);
    }

    fn bind(&mut self, flag: &str, from: &Path, to: &Path) {
        self.0.extend([flag.into(), from.into(), to.into()]);
    }

    fn same(&mut self, flag: &str, path: &Path) {
        self.bind(flag, path, path);
    }
}
