//! What a start executes and trusts, replaced while programs run: the launcher, the script, the folder of calls, the notes, the
//! project.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use rye_sandbox::{Launcher, ProcessHost, Processes, Rules};
use rye_thread::ToolStatus;
use rye_tools::ScriptTool;
use rye_types::SandboxMode;
use serde_json::json;

use crate::arena::{Arena, CANARY, call, launcher, shell};
use crate::sweep::is_whole;

const MODES: [SandboxMode; 3] =
    [SandboxMode::Namespaces, SandboxMode::Bubblewrap, SandboxMode::Landlock];

#[expect(clippy::disallowed_methods, reason = "a test of processes starts one")]
fn copy(from: &Path, to: &Path) {
    assert!(std::process::Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

fn processes(host: ProcessHost, project: &Path) -> Arc<Processes> {
    Arc::new(Processes::new(host, Rules::default(), project).unwrap())
}

/// Programs replace the launcher that lies in their project, and the next call starts the one that was opened.
#[test]
fn a_launcher_in_the_project_is_started_as_it_was_opened() {
    for mode in MODES {
        let arena = Arena::new();
        let project = arena.root.join("project");
        fs::create_dir(project.join("bin")).unwrap();
        copy(&launcher(), &project.join("bin/launcher"));
        let mut host = arena.host();
        host.launcher = Some(Launcher::open(&project.join("bin/launcher")).unwrap());
        host.modes = vec![mode];
        let processes = processes(host, &project);
        let report = processes.sandbox().unwrap();
        if report.mode() != mode {
            println!("NOT TESTED HERE: {report}");
            continue;
        }
        let planted = project.join("bin/launcher");
        let named = format!("`{}` lies in the project", planted.display());
        assert!(report.to_string().contains(&named), "{report}");
        let evil = arena.root.join("outside/evil");
        let outside = evil.display();
        // Each on its own, so that what is refused keeps no other from being tried.
        for way in [
            "cp evil bin/launcher",
            "mv evil bin/launcher",
            "mv bin away; mkdir bin; cp evil bin/launcher",
        ] {
            let command = format!(
                "printf '#!/bin/sh\\ntouch {outside}\\n' > evil; chmod 755 evil; {way}; true"
            );
            let result = shell(&processes, &command);
            assert_eq!(result.status, ToolStatus::Ok, "{mode}: {way}: {result:?}");
            let result = shell(&processes, "echo kept in; touch ../outside/new; true");
            assert_eq!(result.content["stdout"], "kept in\n", "{mode}: {way}: {result:?}");
            assert!(!evil.exists() && !arena.root.join("outside/new").exists(), "{mode}: {way}");
        }
    }
}

/// The folder of calls is refused wherever programs of the project can write it, by whatever name.
#[test]
fn a_folder_of_calls_in_the_project_starts_nothing() {
    let arena = Arena::new();
    let project = arena.root.join("project");
    fs::create_dir_all(project.join("tmp/deep")).unwrap();
    symlink("project/tmp", arena.root.join("link")).unwrap();
    fs::create_dir(arena.root.join("mount")).unwrap();
    let mounted = Bound::new(&project.join("tmp"), &arena.root.join("mount"));
    fs::create_dir(project.join("calls")).unwrap();
    let bound = Bound::new(&arena.root.join("calls"), &project.join("calls"));
    let rows = [
        ("project/tmp", true),
        ("project/tmp/deep", true),
        ("project", true),
        ("link", true),
        ("mount", mounted.is_some()),
        ("mount/deep", mounted.is_some()),
        // Programs write it by the mount in the project.
        ("calls", bound.is_some()),
        ("outside", false),
    ];
    for mode in SandboxMode::ALL {
        for (place, is_refused) in rows {
            let mut host = arena.host();
            (host.modes, host.temporary) = (vec![*mode], arena.root.join(place));
            let processes = processes(host, &project);
            let error = processes.sandbox().err().map(|error| error.to_string());
            let told = error.unwrap_or_default();
            assert_eq!(told.contains("lies in the project"), is_refused, "{mode} {place}: {told}");
            if is_refused {
                assert!(told.contains("set `TMPDIR`"), "{told}");
                let result = shell(&processes, "touch began");
                assert_eq!(result.status, ToolStatus::Error, "{mode} {place}: {result:?}");
                assert!(!project.join("began").exists(), "{mode} {place}");
            }
        }
    }
}

/// A link in the path of the folder of calls that leads elsewhere after the first look has no effect.
#[test]
fn the_folder_of_calls_stays_the_one_that_was_looked_at() {
    for mode in MODES {
        let arena = Arena::new();
        let project = arena.root.join("project");
        symlink(arena.root.join("calls"), project.join("link")).unwrap();
        fs::create_dir(project.join("tmp")).unwrap();
        let mut host = arena.host();
        (host.modes, host.temporary) = (vec![mode], project.join("link"));
        let processes = processes(host, &project);
        if processes.sandbox().unwrap().mode() != mode {
            println!("NOT TESTED HERE: {mode}");
            continue;
        }
        shell(&processes, "rm link; ln -s tmp link");
        let result = shell(&processes, "ls -A tmp; echo $TMPDIR");
        let told = result.content["stdout"].as_str().unwrap_or_default().to_owned();
        let calls = arena.root.join("calls").display().to_string();
        assert!(told.starts_with(&calls), "{mode}: {result:?}");
    }
}

/// A folder that is also at another place while this value lives.
struct Bound(PathBuf);

impl Bound {
    fn new(from: &Path, to: &Path) -> Option<Self> {
        Self::mount(&["--bind".as_ref(), from.as_ref()], to)
    }

    /// A new file system in memory.
    fn tmpfs(to: &Path) -> Option<Self> {
        Self::mount(&["-t".as_ref(), "tmpfs".as_ref(), "none".as_ref()], to)
    }

    #[expect(clippy::disallowed_methods, reason = "a test of mounts makes one")]
    #[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
    fn mount(words: &[&OsStr], to: &Path) -> Option<Self> {
        let done = std::process::Command::new("mount").args(words).arg(to).output();
        let is_done = done.is_ok_and(|done| done.status.success());
        if !is_done {
            println!("NOT TESTED HERE: this user can mount nothing");
        }
        is_done.then(|| Self(to.to_owned()))
    }
}

impl Drop for Bound {
    #[expect(clippy::disallowed_methods, reason = "a test of mounts makes one")]
    fn drop(&mut self) {
        let _gone = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// What is hidden is hidden by its other names, too.
#[test]
fn hidden_folders_are_hidden_behind_a_second_mount() {
    let arena = Arena::new();
    let place = |path: &str| arena.root.join(path);
    for folder in ["whole", "part"] {
        fs::create_dir(place(folder)).unwrap();
    }
    let bound = (
        Bound::new(&place("home"), &place("whole")),
        Bound::new(&place("home/.ssh"), &place("part")),
    );
    if bound.0.is_none() || bound.1.is_none() {
        return;
    }
    for mode in MODES {
        let Some(processes) = arena.in_mode(mode) else { continue };
        let command = "cat ../whole/.ssh/id_rsa ../part/id_rsa ../whole/letters/diary.txt ../home/.ssh/id_rsa 2>/dev/null; echo; cat ../outside/secret.txt";
        let result = shell(&processes, command);
        assert_eq!(result.content["stdout"], "\noutside", "{mode}: {result:?}");
    }
}

/// Where a home folder is a file system of its own, its mount point has another name if the rest is mounted twice.
#[test]
fn a_second_name_of_a_mount_point_leads_to_nothing_that_is_hidden() {
    for mode in MODES {
        let arena = Arena::new();
        let place = |path: &str| arena.root.join(path);
        for folder in ["all/home", "again", "covered/in", "other/in"] {
            fs::create_dir_all(place(folder)).unwrap();
        }
        fs::write(place("other/in/key"), CANARY).unwrap();
        let again = Bound::new(&place("all"), &place("again"));
        // The names of the mount point `all/home` are in another file system than the home folder.
        let home = Bound::tmpfs(&place("all/home"));
        // A mount that is covered by the next one.
        let inner = Bound::tmpfs(&place("covered/in"));
        let covering = Bound::new(&place("other"), &place("covered"));
        if [&again, &home, &inner, &covering].into_iter().any(Option::is_none) {
            return;
        }
        fs::create_dir(place("all/home/letters")).unwrap();
        fs::write(place("all/home/letters/diary.txt"), CANARY).unwrap();
        let mut host = arena.host();
        (host.modes, host.home) = (vec![mode], Some(place("all/home")));
        host.hidden = vec![place("covered/in")];
        let processes = processes(host, &place("project"));
        if processes.sandbox().unwrap().mode() != mode {
            println!("NOT TESTED HERE: {mode}");
            continue;
        }
        for file in ["all/home/letters/diary.txt", "covered/in/key", "other/in/key"] {
            let result = shell(&processes, &format!("cat ../{file}; true"));
            assert!(!result.content.to_string().contains(CANARY), "{mode} {file}: {result:?}");
        }
    }
}

/// What is hidden in the project is not moved to another path, where the next program would see it.
#[test]
fn hidden_places_of_the_project_stay_hidden_from_the_next_program() {
    for mode in MODES {
        let arena = Arena::new();
        let project = arena.root.join("project");
        let mut rules = Rules::default();
        for hidden in ["src/deep/folder", "src/file"] {
            let place = project.join(hidden);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            rules.hidden.push(place);
        }
        fs::create_dir(project.join("src/deep/folder")).unwrap();
        for file in ["src/deep/folder/key", "src/file"] {
            fs::write(project.join(file), CANARY).unwrap();
        }
        if arena.in_mode(mode).is_none() {
            continue;
        }
        let processes = arena.processes(mode, rules);
        for (away, read) in [
            ("mv src/deep src/other", "src/other/folder/key"),
            ("mv src away", "away/deep/folder/key away/file"),
            ("mv src/deep/folder folder", "folder/key"),
            ("mv src/file file", "file"),
            ("ln src/file file", "file"),
        ] {
            shell(&processes, away);
            let result = shell(&processes, &format!("cat {read}; true"));
            assert!(!result.content.to_string().contains(CANARY), "{mode} {away}: {result:?}");
        }
        // The rest of these folders can be changed.
        if mode != SandboxMode::Landlock {
            let result = shell(&processes, "mv src/a.txt src/deep/b && cat src/deep/b");
            assert_eq!(result.content["stdout"], "a\n", "{mode}: {result:?}");
        }
    }
}

/// How often a start is tried beside the swaps, in each mode.
fn starts() -> usize {
    if is_whole() { 340 } else { 25 }
}

/// Nothing but the verified script runs while the launcher, the notes and the project are swapped in a loop.
#[test]
fn what_is_swapped_during_a_start_is_not_used() {
    for mode in MODES {
        let arena = Arena::new();
        let place = |path: &str| arena.root.join(path);
        copy(&launcher(), &place("launcher"));
        let evil = format!("#!/bin/sh\ntouch {}\n", place("outside/evil").display());
        fs::write(place("evil"), &evil).unwrap();
        fs::set_permissions(place("evil"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(place("other/.git")).unwrap();
        let mut script = ScriptTool::new("#!/bin/sh\necho verified; touch src/began; true\n", "sh");
        script.timeout_seconds = Some(60);
        let mut rules = Rules::default();
        drop(rules.runtimes.insert("sh".to_owned(), vec!["sh".to_owned()]));
        let mut host = arena.host();
        host.launcher = Some(Launcher::open(&place("launcher")).unwrap());
        host.modes = vec![mode];
        let processes = Arc::new(Processes::new(host, rules, &place("project")).unwrap());
        if processes.sandbox().unwrap().mode() != mode {
            println!("NOT TESTED HERE: {mode}");
            continue;
        }
        let tool = script.tool(&processes).unwrap();
        let before = arena.outside();
        let (begin, begun) = mpsc::channel();
        let ran = std::thread::scope(|scope| {
            let root = &arena.root;
            scope.spawn(move || {
                for number in begun {
                    // Each swap is at another moment of its start.
                    (0..number % 40 * SPINS).for_each(|_| std::hint::spin_loop());
                    swap(root);
                }
            });
            let begin = begin;
            let ran = (0..starts()).filter(|number| {
                begin.send(*number).unwrap();
                let result = call(&tool, json!({}));
                let told = result.content.to_string();
                let is_ok = result.status == ToolStatus::Ok;
                assert!(!is_ok || told.contains("verified"), "{mode} {number}: {told}");
                is_ok
            });
            ran.count()
        });
        println!("{mode}: {ran} of {} ran", starts());
        assert!(ran > 0, "{mode}");
        assert_eq!(arena.outside(), before, "{mode}");
        assert!(!place("outside/evil").exists() && !place("other/src/began").exists(), "{mode}");
        assert!(!place("outside/src/began").exists(), "{mode}");
    }
}

/// How long the thread of the swaps waits between two of forty moments.
const SPINS: usize = 50_000;

/// Swaps each place once, and puts it back.
fn swap(root: &Path) {
    let place = |path: &str| root.join(path);
    for (name, other) in [("launcher", "evil"), ("project", "other")] {
        let away = place(&format!("{name}.away"));
        fs::rename(place(name), &away).unwrap();
        symlink(other, place(name)).unwrap();
        fs::remove_file(place(name)).unwrap();
        fs::rename(place(other), place(name)).unwrap();
        fs::rename(place(name), place(other)).unwrap();
        fs::rename(&away, place(name)).unwrap();
    }
}
