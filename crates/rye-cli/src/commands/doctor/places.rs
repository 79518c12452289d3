//! Checks of the folders for records and keys: that they are writable, durable and private.

use std::path::{Path, PathBuf};

use rye::thread::store::shared_file_system;

use super::{Finding, sentence};
use crate::commands::threads::{LeftOpen, left_open};
use crate::environment::Environment;
use crate::key_store::KeyStore;
use crate::output;
use crate::revision::is_committed;
use crate::writable::is_writable;

/// Checks the folder for threads, and reports unfinished threads.
pub(super) fn records(environment: &Environment) -> Vec<Finding> {
    let Ok(project) = environment.project() else { return Vec::new() };
    let ai = project.join(".ai");
    let threads = ai.join("threads");
    let folder = if threads.exists() { &threads } else { &ai };
    if !is_writable(folder) {
        return vec![Finding::wrong(
            "records",
            format!("`{}` cannot be written, so that no run can be recorded", folder.display()),
            "make it a folder that you may write into; until then, items can be looked at and nothing runs",
        )];
    }
    let refusing = report_shared(folder, environment);
    let places = refusing.or_else(|| distant(folder)).into_iter().chain(committed_threads(project));
    places.chain(open_threads(threads, environment)).collect()
}

/// Reports a file system on which every run is refused.
fn report_shared(folder: &Path, environment: &Environment) -> Option<Finding> {
    let is_single_host = || environment.rye().is_ok_and(|rye| rye.is_single_host());
    let kind = shared_file_system(folder)?;
    (!is_single_host()).then(|| refused_file_system(folder, kind))
}

fn refused_file_system(folder: &Path, kind: &str) -> Finding {
    let text = format!(
        "`{}` lies on a file system that other machines may share ({kind}), on which no run begins",
        folder.display()
    );
    let advice = "keep the project on a disk of this machine, or set `single_host: true` in `config/trust.yaml` of your user space \
                  if this machine alone uses it";
    Finding::wrong("records", text, advice)
}

/// Warns about network file systems, because the ledger and the ownership of threads depend on locks and
/// synchronous writes.
fn distant(folder: &Path) -> Option<Finding> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let name = network_file_system(&mounts, &folder.canonicalize().ok()?)?;
    let text = format!(
        "`{}` lies on a network file system (`{name}`), which may not keep locks and writes",
        folder.display()
    );
    let advice = "keep the project on a disk of this machine; two that share it may both append to one thread";
    Some(Finding::note("records", text, advice))
}

/// Returns the file system of a path if it is on another machine, according to the list of mounts on Linux.
fn network_file_system<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let mount = |line: &'a str| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        let point = PathBuf::from(point);
        path.starts_with(&point).then(|| (point.components().count(), after.split(' ').next()))
    };
    // The last of several mounts at one place hides the others.
    let (_, name) = mounts.lines().filter_map(mount).max_by_key(|(depth, _)| *depth)?;
    name.filter(|name| DISTANT.contains(name))
}

const DISTANT: [&str; 16] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
    "virtiofs",
];

/// Warns if threads are committed, because they contain everything that was said in them.
fn committed_threads(project: &Path) -> Option<Finding> {
    is_committed(project, ".ai/threads").then(|| {
        Finding::note(
            "records",
            "threads are committed to git, with all that was said in them".to_owned(),
            "add `/threads/` to `.ai/.gitignore` and run `git rm -r --cached .ai/threads`",
        )
    })
}

/// Warns if the private key is committed, because it is not secret any more.
pub(super) fn committed_keys(environment: &Environment) -> Option<Finding> {
    let user = environment.user().ok()?;
    let private = KeyStore::of(environment).ok()?.private();
    let path = private.strip_prefix(user).ok()?.to_str()?;
    is_committed(user, path).then(|| {
        Finding::wrong(
            "keys",
            format!("the private key is committed to git: `{}`", output::path(&private)),
            "make a new key, and `rye trust revoke` this one: to take the file out does not take it back",
        )
    })
}

/// Reports that commits are not looked at, if a repository contains the project or the user space and the
/// program was built without git.
pub(super) fn unread_repository(environment: &Environment) -> Option<Finding> {
    if cfg!(feature = "git") {
        return None;
    }
    let mut folders = environment.project().into_iter().chain(environment.user());
    folders.find(|folder| folder.ancestors().any(|parent| parent.join(".git").exists())).map(|_| {
        Finding::note(
            "git",
            "this program was built without the feature `git`, so it finds no committed threads and keys".to_owned(),
            "`cargo install --path crates/rye-cli` in its repository installs one with it; `git ls-files` lists what is committed",
        )
    })
}

/// Reports suspended and stopped threads, and those that cannot be read.
fn open_threads(threads: PathBuf, environment: &Environment) -> Vec<Finding> {
    let LeftOpen { suspended, stopped, unreadable, damage } = match left_open(threads, environment)
    {
        Ok(open) => open,
        // The problem with the trusted keys has a finding of its own.
        Err(_) if environment.rye().is_err() => return Vec::new(),
        Err(failure) => {
            let advice =
                "move `.ai/threads` away, and back when it is mended; no run begins before";
            return vec![Finding::wrong("threads", sentence(&failure), advice)];
        }
    };
    let waiting = (0 < suspended + stopped).then(|| {
        let suspended = output::counted(suspended, "thread");
        Finding::note(
            "threads",
            format!("{suspended} suspended, {stopped} stopped"),
            "`rye threads list` names them; `rye approve` or `rye deny` decides what a suspended one waits for, \
             `rye resume` goes on, `rye cancel` ends",
        )
    });
    let damaged = (0 < unreadable).then(|| {
        let text = format!("{} that cannot be read", output::counted(unreadable, "thread"));
        Finding::note("threads", text, "`rye threads verify` says why")
    });
    let unlisted = damage.map(|damage| {
        let advice = "`rye threads reindex` writes the list anew; so does the next run";
        Finding::note("threads", format!("the list cannot be read: {damage}"), advice)
    });
    waiting.into_iter().chain(damaged).chain(unlisted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Standing;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
30 22 0:26 / /home/ada/shared\\040files rw shared:2 - nfs4 server:/ada rw\n\
31 30 254:1 / /home/ada/shared\\040files/here rw - xfs /dev/vdb rw\n\
32 22 0:27 / /mnt/c rw - 9p C:\\134 rw\n\
33 22 0:28 / /mnt/over rw - ext4 /dev/vdc rw\n\
34 22 0:29 / /mnt/over rw - fuse.sshfs server: rw\n";

    /// Where every run is refused, nothing is green.
    #[test]
    fn a_file_system_that_every_run_refuses_is_wrong() {
        let finding = refused_file_system(Path::new("/mnt/c/notes/.ai"), "FUSE");
        assert_eq!(finding.standing, Standing::Wrong);
        assert!(finding.text.contains("`/mnt/c/notes/.ai`") && finding.text.contains("FUSE"));
        assert!(finding.advice.is_some_and(|advice| advice.contains("single_host: true")));
    }

    #[test]
    fn file_systems_of_other_machines_are_known() {
        for (path, expected) in [
            ("/home/ada/notes", None),
            ("/home/ada/shared files", Some("nfs4")),
            ("/home/ada/shared files/notes/.ai", Some("nfs4")),
            ("/home/ada/shared files/here/notes", None),
            ("/home/ada/shared filesystem", None),
            ("/mnt/c/notes", Some("9p")),
            ("/mnt/over/notes", Some("fuse.sshfs")),
        ] {
            assert_eq!(network_file_system(MOUNTS, Path::new(path)), expected, "{path}");
        }
        assert_eq!(network_file_system("no mounts\n", Path::new("/")), None);
    }
}
