//! The sandbox follows from the machine alone: no state of a project, and no race, makes it weaker.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use rye_sandbox::{Processes, Rules};
use rye_thread::ToolStatus;
use rye_tools::CommandTool;
use rye_types::SandboxMode;
use serde_json::json;

use crate::arena::{Arena, call, shell};
use crate::sweep::{is_whole, sweep};

/// A program that is there, and that the sandbox covers or that is none, is no riddle: the sandbox is named, and what it covers.
#[test]
fn a_program_that_does_not_start_is_told_with_the_sandbox() {
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces, SandboxMode::Landlock] {
        let arena = Arena::in_folder("/tmp");
        let Some(processes) = arena.in_mode(mode) else { continue };
        let program = |name: &str| {
            let path = arena.root.join(name);
            fs::write(&path, "#!/bin/sh\necho hi\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path.display().to_string()
        };
        let home = arena.root.join("home").display().to_string();
        let is_whole = mode != SandboxMode::Landlock;
        let rows = [
            (
                program("outside/p"),
                is_whole,
                ", which has a `/tmp` of its own: No such file".to_owned(),
            ),
            (
                program("home/p"),
                is_whole,
                format!(", which covers the home folder `{home}`: No such file"),
            ),
            ("/nowhere/p".to_owned(), true, ": No such file".to_owned()),
            (program("project/p"), false, String::new()),
        ];
        for (program, fails, why) in rows {
            let result = call(&CommandTool::new(&program).tool(&processes), json!({}));
            let told = result.content.to_string();
            let expected = format!("cannot start `{program}` in the sandbox `{mode}`{why}");
            assert_eq!(
                told.contains(&expected) && result.status == ToolStatus::Error,
                fails,
                "{told}"
            );
        }
    }
}

/// How many programs the stress test starts in each sandbox; `RYE_STARTS` in the environment of the build says another number.
const STARTS: Option<&str> = option_env!("RYE_STARTS");

/// A name of a row, what is done to the project, and whether programs start in it.
type Row = (&'static str, fn(&Path), bool);

const STATES: &[Row] = &[
    (
        "a folder of no text",
        |project| {
            fs::create_dir(project.join(".ai").join(OsStr::from_bytes(b"\xff\xfe"))).unwrap();
        },
        true,
    ),
    (
        "long names",
        |project| {
            for number in 0..520 {
                fs::create_dir(project.join(format!(".ai/{number:0>248}"))).unwrap();
            }
        },
        true,
    ),
    (
        "a link in the place of configuration",
        |project| {
            fs::rename(project.join(".ai/config"), project.join("moved")).unwrap();
            symlink("../moved", project.join(".ai/config")).unwrap();
        },
        false,
    ),
    (
        "a pipe in the place of `.git`",
        |project| {
            fs::remove_dir_all(project.join(".git")).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                project.join(".git"),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            )
            .unwrap();
        },
        true,
    ),
    (
        "a repository of no text",
        |project| {
            fs::create_dir_all(project.join(OsStr::from_bytes(b"\xff/.git"))).unwrap();
        },
        true,
    ),
    (
        "no `.git` and no records",
        |project| {
            fs::remove_dir_all(project.join(".git")).unwrap();
            fs::remove_dir_all(project.join(".ai/threads")).unwrap();
        },
        true,
    ),
    (
        "a bare repository as the project",
        |project| {
            for folder in ["objects", "refs"] {
                fs::create_dir(project.join(folder)).unwrap();
            }
            fs::write(project.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        },
        false,
    ),
    (
        "folders without end",
        |project| {
            let mut place = project.to_owned();
            for _ in 0..300 {
                place.push("d");
            }
            fs::create_dir_all(place).unwrap();
        },
        false,
    ),
];

#[test]
fn no_state_of_a_project_makes_the_sandbox_weaker() {
    for (number, mode) in [SandboxMode::Bubblewrap, SandboxMode::Namespaces].into_iter().enumerate()
    {
        for folder in sweep(["/tmp", "/var/tmp", "/dev/shm"], 0, 3) {
            // A project that was not touched says what this machine can do.
            if Arena::in_folder(folder).in_mode(mode).is_none() {
                continue;
            }
            // Unless the sweep is whole, the two share the states.
            for (name, change, starts) in sweep(STATES, number, 2) {
                let arena = Arena::in_folder(folder);
                let project = arena.root.join("project");
                change(&project);
                let processes = arena.processes(mode, Rules::default());
                assert_eq!(processes.sandbox().unwrap().mode(), mode, "{folder} {name}");
                let result = shell(&processes, "(echo x > .git/x) 2>/dev/null; echo began");
                let text = result.content.to_string();
                assert_eq!(
                    result.status == ToolStatus::Ok,
                    *starts,
                    "{mode} {folder} {name}: {text}"
                );
                assert_eq!(text.contains("began"), *starts, "{mode} {folder} {name}: {text}");
                assert!(!project.join(".git/x").exists(), "{mode} {folder} {name}");
            }
        }
    }
}

/// The weakest sandbox is not passed over where the kernel has what it needs.
#[test]
fn landlock_alone_works_where_the_kernel_has_it() {
    use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};

    let wanted = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let made = wanted.handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create);
    if made.is_err() {
        println!("NOT TESTED HERE: this kernel has no Landlock");
        return;
    }
    let arena = Arena::new();
    let processes = arena.processes(SandboxMode::Landlock, Rules::default());
    let report = processes.sandbox().unwrap();
    assert_eq!(report.mode(), SandboxMode::Landlock, "{report}");
}

/// Launchers that fail for a reason that may be gone at the next start, by their names.
const PASSING: [&str; 6] = [
    "few-open-files",
    "no-room-for-files",
    "killed",
    "ended-by-a-signal",
    "an-end-without-a-word",
    "another-error",
];

/// What fails for want of something, and not by a rule of the machine, starts nothing and leads to no weaker sandbox.
#[test]
fn a_sandbox_that_could_not_be_tried_is_an_error_and_no_weaker_one() {
    let arena = Arena::new();
    let project = arena.root.join("project");
    let usual = Processes::new(arena.host(), Rules::default(), &project).unwrap();
    let usual = usual.sandbox().unwrap();
    for name in PASSING {
        let mut host = arena.host();
        host.launcher = Some(arena.launcher_as(name));
        let processes = Arc::new(Processes::new(host.clone(), Rules::default(), &project).unwrap());
        let error = processes.sandbox().map(|report| report.to_string()).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("the sandbox could not be tried out"), "{name}: {message}");
        let result = shell(&processes, "touch began");
        assert_eq!(result.status, ToolStatus::Error, "{name}: {result:?}");
        let told = result.content["error"].as_str().unwrap_or_default();
        assert!(told.starts_with("the sandbox could not be tried out"), "{name}: {result:?}");
        assert!(!project.join("began").exists(), "{name}");
        host.launcher = arena.host().launcher;
        let processes = Processes::new(host, Rules::default(), &project).unwrap();
        assert_eq!(processes.sandbox().unwrap(), usual, "{name}: nothing of it is kept");
    }
}

#[test]
fn a_folder_for_calls_that_is_not_there_makes_no_sandbox_weaker() {
    let arena = Arena::new();
    let usual = Processes::new(arena.host(), Rules::default(), &arena.root.join("project"));
    let usual = usual.unwrap().sandbox().unwrap();
    let mut host = arena.host();
    host.temporary = arena.root.join("later");
    let processes = Processes::new(host, Rules::default(), &arena.root.join("project")).unwrap();
    let message = processes.sandbox().unwrap_err().to_string();
    assert!(message.contains("cannot make a folder for the call"), "{message}");
    fs::create_dir(arena.root.join("later")).unwrap();
    assert_eq!(processes.sandbox().unwrap(), usual);
}

/// A mount that goes with this value.
pub(crate) struct Mounted(std::path::PathBuf);

impl Mounted {
    #[expect(clippy::disallowed_methods, reason = "a test of mounts makes one")]
    pub(crate) fn new(place: &Path) -> Option<Self> {
        let line = ["-t", "tmpfs", "none"];
        let done = std::process::Command::new("mount").args(line).arg(place).output();
        done.is_ok_and(|done| done.status.success()).then(|| Self(place.to_owned()))
    }
}

impl Drop for Mounted {
    #[expect(clippy::disallowed_methods, reason = "a test of mounts makes one")]
    fn drop(&mut self) {
        let _gone = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_project_on_a_mount_of_its_own_keeps_its_sandbox() {
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces] {
        for (folder, mount, project) in
            [("/tmp", "m", "m"), ("/tmp", "m", "m/project"), ("/var/tmp", "m", "m/project")]
        {
            let arena = Arena::in_folder(folder);
            if arena.in_mode(mode).is_none() {
                continue;
            }
            let place = arena.root.join(mount);
            fs::create_dir(&place).unwrap();
            let Some(_mounted) = Mounted::new(&place) else {
                println!("NOT TESTED HERE: this user can mount nothing");
                return;
            };
            let project = arena.root.join(project);
            fs::create_dir_all(project.join(".git/hooks")).unwrap();
            let mut host = arena.host();
            host.modes = vec![mode];
            let processes = Processes::new(host, Rules::default(), &project).unwrap();
            assert_eq!(processes.sandbox().unwrap().mode(), mode, "{}", project.display());
            let result =
                shell(&Arc::new(processes), "echo x > new; (echo x > .git/x) 2>/dev/null; cat new");
            assert_eq!(result.content["stdout"], "x\n", "{mode} {}: {result:?}", project.display());
            assert!(!project.join(".git/x").exists(), "{mode}");
        }
    }
}

/// A repository is found among 4,000 files; in a whole sweep among 20,000, and with `RYE_STARTS` among 200,000.
/// Read-only mounts keep no program from the contents of a disk whose node lies somewhere else than in `/dev`, as it does for
/// a second system in a folder.
#[test]
fn no_device_outside_of_dev_is_opened_in_a_whole_sandbox() {
    use rustix::fs::{CWD, FileType, Mode as Permissions, makedev, mknodat};

    for mode in [SandboxMode::Namespaces, SandboxMode::Bubblewrap] {
        let arena = Arena::new();
        let node = arena.root.join("outside/zero");
        let made = mknodat(CWD, &node, FileType::CharacterDevice, Permissions::RWXU, makedev(1, 5));
        if made.is_err() || fs::File::open(&node).is_err() {
            println!("NOT TESTED HERE: this user can make no device");
            return;
        }
        for landlock in [0, 6] {
            let mut host = arena.host();
            (host.modes, host.landlock) = (vec![mode], landlock);
            let project = arena.root.join("project");
            let processes = Arc::new(Processes::new(host, Rules::default(), &project).unwrap());
            if processes.sandbox().unwrap().mode() != mode {
                println!("NOT TESTED HERE: {mode}");
                continue;
            }
            let result =
                shell(&processes, "head -c 3 ../outside/zero | wc -c; head -c 3 /dev/zero | wc -c");
            assert_eq!(result.content["stdout"], "0\n3\n", "{mode} {landlock}: {result:?}");
        }
    }
}

/// bubblewrap makes a `/dev/tty`, which is the terminal of the caller for all programs of its session.
#[test]
fn a_program_in_bubblewrap_has_a_session_of_its_own() {
    let arena = Arena::new();
    let Some(processes) = arena.in_mode(SandboxMode::Bubblewrap) else { return };
    // The number is 0 for a session that began outside of the namespace.
    let result = shell(&processes, "cut -d' ' -f6 /proc/self/stat");
    assert_ne!(result.content["stdout"], "0\n", "{result:?}");
    assert_eq!(result.status, ToolStatus::Ok, "{result:?}");
}

#[test]
fn a_large_project_is_looked_at_as_a_whole() {
    let arena = Arena::bare();
    let Some(processes) = arena.in_mode(SandboxMode::Namespaces) else { return };
    let count = match (STARTS.is_some(), is_whole()) {
        (true, _) => 1_000,
        (false, true) => 100,
        (false, false) => 20,
    };
    for folder in 0..count {
        let place = arena.root.join(format!("project/src/{folder}"));
        fs::create_dir(&place).unwrap();
        for file in 0..199 {
            fs::write(place.join(file.to_string()), "").unwrap();
        }
    }
    let result = shell(&processes, "mkdir -p src/7/deep/.git");
    let renamed = "src/7/deep/.git.quarantined";
    assert_eq!(result.content["quarantined"][0]["renamed_to"], renamed, "{result:?}");
}

/// Programs that come and go at once, in a project without `.git`, make repositories and are probed for a weaker sandbox.
#[test]
fn parallel_starts_are_never_weaker() {
    let count: usize = STARTS.and_then(|text| text.parse().ok()).unwrap_or(48);
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces] {
        let arena = Arena::bare();
        let Some(_) = arena.in_mode(mode) else { continue };
        let wrong: Vec<String> = std::thread::scope(|scope| {
            let arena = &arena;
            let work = |worker: usize| move || attempts(arena, mode, worker, count / 8);
            let workers: Vec<_> = (0..8).map(|worker| scope.spawn(work(worker))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        assert_eq!(wrong, Vec::<String>::new(), "{mode}");
        assert!(!arena.root.join("project/.git").exists(), "{mode}");
    }
}

/// Each start has a value of its own, as a program of its own would.
fn attempts(arena: &Arena, mode: SandboxMode, worker: usize, count: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    for number in 0..count {
        let processes = arena.processes(mode, Rules::default());
        let command = format!(
            "mkdir -p .git w{worker}/.git; (echo x > .ai/rye.lock) 2>/dev/null && echo OUT; \
             (echo x > ../outside/new) 2>/dev/null && echo OUT; rm -rf w{worker}; echo done"
        );
        let result = shell(&processes, &command);
        let found = processes.sandbox().unwrap().mode();
        if found != mode || result.content["stdout"] != "done\n" {
            wrong.push(format!("{worker}.{number}: {found}: {result:?}"));
        }
    }
    wrong
}
