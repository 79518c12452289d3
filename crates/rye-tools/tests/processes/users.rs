//! The escapes, tried as the user who runs the tests and, where that is root, as an ordinary user too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rye_types::SandboxMode;

use crate::arena::{Arena, CANARY, launcher};
use crate::starts::Mounted;
use crate::sweep::is_whole;
use crate::{escapes, matrix, repositories};

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// Says that this process is the inner one.
const INNER: &str = "RYE_TEST_KEY";

/// Which sandbox it tries.
const MODE: &str = "RYE_TEST_MODE";

/// A folder on a file system in memory.
const MEMORY: &str = "RYE_TEST_MEMORY";

#[test]
fn nothing_gets_out_of_bubblewrap() {
    again(SandboxMode::Bubblewrap, None);
}

#[test]
fn nothing_gets_out_of_namespaces() {
    again(SandboxMode::Namespaces, None);
}

#[test]
fn landlock_keeps_in_all_but_its_gaps() {
    again(SandboxMode::Landlock, None);
}

#[test]
fn without_a_sandbox_the_means_work() {
    again(SandboxMode::None, None);
}

#[test]
fn nothing_of_an_ordinary_user_gets_out_of_bubblewrap() {
    ordinary(SandboxMode::Bubblewrap);
}

#[test]
fn nothing_of_an_ordinary_user_gets_out_of_namespaces() {
    ordinary(SandboxMode::Namespaces);
}

#[test]
fn landlock_keeps_in_an_ordinary_user_but_for_its_gaps() {
    ordinary(SandboxMode::Landlock);
}

#[test]
fn without_a_sandbox_the_means_of_an_ordinary_user_work() {
    ordinary(SandboxMode::None);
}

#[test]
fn each_promise_is_kept_or_named_in_bubblewrap() {
    promises(SandboxMode::Bubblewrap);
}

#[test]
fn each_promise_is_kept_or_named_in_namespaces() {
    promises(SandboxMode::Namespaces);
}

#[test]
fn each_promise_is_kept_or_named_in_landlock() {
    promises(SandboxMode::Landlock);
}

#[test]
fn each_promise_is_kept_or_named_without_a_sandbox() {
    promises(SandboxMode::None);
}

/// As this user and, where that is root, as an ordinary one.
fn promises(mode: SandboxMode) {
    start("inner_promises", mode, None);
    if rustix::process::geteuid().is_root() {
        start("inner_promises", mode, Some(NOBODY));
    }
}

#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
fn ordinary(mode: SandboxMode) {
    if rustix::process::geteuid().is_root() {
        return again(mode, Some(NOBODY));
    }
    println!(
        "NOT TESTED HERE: only root can become another user; the other test was an ordinary one"
    );
}

#[test]
fn nothing_gets_out_of_bubblewrap_in_other_projects() {
    in_other_projects(SandboxMode::Bubblewrap);
}

#[test]
fn nothing_gets_out_of_namespaces_in_other_projects() {
    in_other_projects(SandboxMode::Namespaces);
}

/// As this user and, where that is root, as an ordinary one.
fn in_other_projects(mode: SandboxMode) {
    start("inner_projects", mode, None);
    if rustix::process::geteuid().is_root() {
        start("inner_projects", mode, Some(NOBODY));
    }
}

#[test]
fn the_next_git_of_an_ordinary_user_runs_nothing_either() {
    if rustix::process::geteuid().is_root() {
        start("inner_repositories", SandboxMode::None, Some(NOBODY));
    }
}

/// Root could read what each user closed to all others, as long as it works on a project of one of them.
#[test]
fn root_in_the_project_of_another_user_reads_no_home_folder() {
    if !rustix::process::geteuid().is_root() {
        println!("NOT TESTED HERE: only root can read the files of others");
        return;
    }
    // In bubblewrap, root has no such powers.
    for mode in [SandboxMode::Namespaces, SandboxMode::Landlock] {
        let arena = Arena::new();
        for (path, user) in [("others/one", 1), ("others/two", 2), ("project", NOBODY)] {
            let folder = arena.root.join(path);
            fs::create_dir_all(folder.join("bin")).unwrap();
            fs::write(folder.join("secret"), CANARY).unwrap();
            for place in [&folder, &folder.join("secret")] {
                std::os::unix::fs::chown(place, Some(user), Some(user)).unwrap();
                fs::set_permissions(place, fs::Permissions::from_mode(0o700)).unwrap();
            }
        }
        let mut host = arena.host();
        let place = |path: &str| arena.root.join(path);
        // The project lies in the last one, which is covered around it.
        host.other_homes = ["others/one", "others/two", "nowhere", ""].map(place).into();
        host.modes = vec![mode];
        let (rules, project) = (rye_sandbox::Rules::default(), place("project"));
        let processes = rye_sandbox::Processes::new(host, rules, &project).unwrap();
        let report = processes.sandbox().unwrap();
        if report.mode() != mode {
            println!("NOT TESTED HERE: {report}");
            continue;
        }
        let command = "cat ../others/*/secret ../outside/secret.txt; cat secret; pwd";
        let result = crate::arena::shell(&Arc::new(processes), command);
        if mode == SandboxMode::Landlock {
            // No mounts keep root's powers to the project there, so that it gives them up.
            let told = result.content.to_string();
            let why = "in which root has no power over the files of another user";
            assert!(told.contains(why) && !told.contains(CANARY), "{told}");
            continue;
        }
        let expected = format!("{CANARY}{}\n", project.display());
        assert_eq!(result.content["stdout"], expected, "{mode}: {}", result.content);
    }
}

/// Containers, `sudo` and test runners name another folder as the home.
#[test]
fn the_own_home_folder_is_covered_where_the_environment_names_another_one() {
    for mode in [SandboxMode::Namespaces, SandboxMode::Bubblewrap, SandboxMode::Landlock] {
        let arena = Arena::new();
        let own = arena.root.join("own");
        fs::create_dir_all(own.join(".ssh")).unwrap();
        fs::write(own.join(".ssh/id_ed25519"), CANARY).unwrap();
        let mut host = arena.host();
        (host.other_homes, host.modes) = (vec![own], vec![mode]);
        let (rules, project) = (rye_sandbox::Rules::default(), arena.root.join("project"));
        let processes = rye_sandbox::Processes::new(host, rules, &project).unwrap();
        let report = processes.sandbox().unwrap();
        if report.mode() != mode {
            println!("NOT TESTED HERE: {report}");
            continue;
        }
        let result = crate::arena::shell(&Arc::new(processes), "cat ../own/.ssh/id_ed25519; echo");
        assert_eq!(result.content["stdout"], "\n", "{mode}: {}", result.content);
    }
}

/// Run by the tests above, in a process whose environment holds a key.
#[test]
fn inner_attempts() {
    let Some(mode) = inner_mode() else { return };
    let arena = Arena::new();
    let _inherited = escapes::leak_a_descriptor(&arena);
    escapes::check(mode);
}

/// The sandbox that this process tries, if it is an inner one.
#[expect(clippy::disallowed_methods, reason = "the environment says which process this is")]
fn inner_mode() -> Option<SandboxMode> {
    let _key = std::env::var_os(INNER)?;
    let wanted = std::env::var(MODE).ok()?;
    SandboxMode::ALL.iter().copied().find(|mode| mode.as_str() == wanted)
}

/// Each promise, for the tests above.
#[test]
fn inner_promises() {
    if let Some(mode) = inner_mode() {
        matrix::check(mode);
    }
}

/// The same in projects of other kinds, and on other file systems.
#[test]
#[expect(clippy::disallowed_methods, reason = "the environment says where there is memory")]
fn inner_projects() {
    let Some(mode) = inner_mode() else { return };
    escapes::grounds::check_all(mode, std::env::var(MEMORY).ok().as_deref());
}

/// The same for what programs leave to `git`.
#[test]
#[expect(clippy::disallowed_methods, reason = "the environment says which process this is")]
fn inner_repositories() {
    if std::env::var_os(INNER).is_some() {
        repositories::check_all();
    }
}

fn again(mode: SandboxMode, user: Option<u32>) {
    start("inner_attempts", mode, user);
}

/// Starts this test program again, as the user, with links to it and to the launcher, or copies, that the user can read.
#[expect(clippy::disallowed_methods, reason = "a test of processes starts one")]
#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
fn start(test: &str, mode: SandboxMode, user: Option<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    open(folder.path());
    let own = folder.path().join("tests");
    for (from, to) in
        [(std::env::current_exe().unwrap(), &own), (launcher(), &folder.path().join("launcher"))]
    {
        // On another file system by another program: a file that this process has open for writing is open in what other tests start at
        // that moment, too, and such a file cannot be started.
        let is_linked = fs::hard_link(&from, to).is_ok();
        assert!(is_linked || Command::new("cp").arg(from).arg(to).status().unwrap().success());
    }
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    open(&temporary);
    // Not where programs get a folder of their own.
    let memory = tempfile::tempdir_in("/var/tmp").unwrap();
    let mounted = Mounted::new(memory.path());
    open(memory.path());
    let mut command = Command::new(&own);
    command.args([&format!("users::{test}"), "--exact", "--nocapture"]);
    command
        .env_clear()
        .env(INNER, CANARY)
        .env(MODE, mode.as_str())
        .env("TMPDIR", &temporary)
        .env("PATH", "/usr/bin:/bin")
        .envs(mounted.as_ref().map(|_| (MEMORY, memory.path())))
        .envs(is_whole().then_some(("RYE_SWEEP", "all")));
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let done = command.current_dir(folder.path()).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    println!("{said}");
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}
