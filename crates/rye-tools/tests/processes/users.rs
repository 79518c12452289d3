//! The escapes, tried as the user who runs the tests and, where that is root, as an ordinary user too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::arena::{Arena, CANARY, launcher};
use crate::escapes;

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// Says that this process is the inner one.
const INNER: &str = "RYE_TEST_KEY";

#[test]
fn no_attempt_gets_out_of_its_sandbox() {
    again(None);
}

#[test]
fn no_attempt_of_an_ordinary_user_gets_out_either() {
    if !rustix::process::geteuid().is_root() {
        println!(
            "NOT TESTED HERE: only root can become another user; the other test was an ordinary one"
        );
        return;
    }
    again(Some(NOBODY));
}

/// Run by the tests above, in a process whose environment holds a key.
#[test]
#[expect(clippy::disallowed_methods, reason = "the environment is what this test is about")]
fn inner_attempts() {
    if std::env::var_os(INNER).is_none() {
        return;
    }
    let arena = Arena::new();
    let _inherited = escapes::leak_a_descriptor(&arena);
    escapes::check_all();
}

/// Starts this test program again, as the user, with a copy of it and the launcher that the user can read.
#[expect(clippy::disallowed_methods, reason = "a test of processes starts one")]
#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
fn again(user: Option<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    open(folder.path());
    let own = folder.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    fs::copy(launcher(), folder.path().join("launcher")).unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    open(&temporary);
    let mut command = Command::new(&own);
    command.args(["users::inner_attempts", "--exact", "--nocapture"]);
    command.env_clear().env(INNER, CANARY).env("TMPDIR", &temporary).env("PATH", "/usr/bin:/bin");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let done = command.current_dir(folder.path()).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    println!("{said}");
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}
