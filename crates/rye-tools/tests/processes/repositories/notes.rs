//! Notes of supervisors that were killed: what they left is done by the next start in the project.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rye_sandbox::{Processes, Rules};
use rye_thread::ToolOutput;
use rye_tools::QUARANTINED;
use rye_types::SandboxMode;
use serde_json::{Value, json};

use super::{BARE, WHOLE, is_note, soon};
use crate::arena::{Arena, living, shell};

/// A shell that runs for long, with the launcher above it.
fn supervisors(mark: &str) -> Vec<i32> {
    let listed = fs::read_dir("/proc").unwrap().flatten();
    let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let own = format!("\nPPid:\t{}\n", std::process::id());
    let is_it = |number: &i32| {
        // The process that makes the sandbox has the same command line, and the supervisor above it.
        let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains("--rye-launch supervise") && line.contains(mark) && status.contains(&own)
    };
    numbers.filter(is_it).collect()
}

/// Changes the numbers in every note.
fn renumber(notes: &Path, change: impl Fn(&mut Value)) {
    for note in fs::read_dir(notes).unwrap().flatten().filter(is_note) {
        let mut content: Value = serde_json::from_slice(&fs::read(note.path()).unwrap()).unwrap();
        content["known"].as_array_mut().unwrap().iter_mut().for_each(&change);
        fs::write(note.path(), format!("{content}\n")).unwrap();
    }
}

/// Starts a program that makes a repository, and kills its supervisor with it.
fn kill_supervisor(arena: &Arena, processes: &Arc<Processes>, mark: &str) -> ToolOutput {
    let project = arena.root.join("project");
    let command = format!("{BARE}mkdir new; bare new/.git; : > begun; sleep {mark}");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| shell(processes, &command));
        soon("it begins", || project.join("begun").exists());
        let supervisors = supervisors(mark);
        assert!(!supervisors.is_empty(), "{mark}");
        for supervisor in supervisors {
            let pid = rustix::process::Pid::from_raw(supervisor).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        running.join().unwrap()
    })
}

/// A start that fails tells what it renamed, and so does the next one, because it is not known who reads which result.
#[test]
fn a_start_that_fails_tells_what_an_earlier_program_left() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        let _killed = kill_supervisor(&arena, &processes, &format!("3103.{}", std::process::id()));
        let deep = project.join("m").join("d/".repeat(300));
        fs::create_dir_all(deep).unwrap();
        let moved = json!({ "path": "new/.git", "renamed_to": "new/.git.quarantined" });
        for _ in 0..2 {
            let failed = shell(&processes, "touch began");
            let error = failed.content["error"].as_str().unwrap_or_default();
            assert!(error.contains("it lies more than 256 folders deep"), "{mode}: {failed:?}");
            assert_eq!(failed.content[QUARANTINED][0], moved, "{mode}: {failed:?}");
        }
        fs::remove_dir_all(project.join("m")).unwrap();
        let next = shell(&processes, "true");
        assert_eq!(next.content[QUARANTINED][0], moved, "{mode}: {next:?}");
        assert!(shell(&processes, "true").content.get(QUARANTINED).is_none(), "{mode}");
        assert!(!project.join("began").exists(), "{mode}");
    }
}

/// After a restart of the machine, a device may have another number. What is on it is the same.
#[test]
fn a_new_number_of_the_device_makes_no_repository_new() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        let _killed = kill_supervisor(&arena, &processes, &format!("3101.{}", std::process::id()));
        renumber(&arena.root.join("notes"), |known| known["device"] = json!(7));
        let next = shell(&processes, "true");
        let moved = json!({ "path": "new/.git", "renamed_to": "new/.git.quarantined" });
        assert_eq!(next.content[QUARANTINED][0], moved, "{mode}: {next:?}");
        assert!(project.join(".git/config").exists(), "{mode}");
    }
}

/// Where no file has the number that it had, nothing is renamed, and the error names the note.
#[test]
fn a_note_that_fits_nothing_renames_nothing() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        let _killed = kill_supervisor(&arena, &processes, &format!("3102.{}", std::process::id()));
        renumber(&arena.root.join("notes"), |known| known["inode"] = json!(7));
        let next = shell(&processes, "touch began");
        let error = next.content["error"].as_str().unwrap_or_default();
        let is_named = error.contains("remove the note") && error.contains("/notes/");
        assert!(is_named && !project.join("began").exists(), "{mode}: {next:?}");
        assert!(project.join(".git/config").exists(), "{mode}");
        assert!(project.join("new/.git/HEAD").exists(), "{mode}");
    }
}

#[test]
fn what_a_killed_supervisor_left_is_done_by_the_next_run() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        let mark = format!("3100.{}", std::process::id());
        let result = kill_supervisor(&arena, &processes, &mark);
        assert!(living(&mark).is_empty(), "{mode}: {result:?}");
        assert_eq!(
            result.content["unchecked"], "the launcher was killed before it had looked at it",
            "{mode}: {result:?}"
        );
        assert!(project.join("new/.git/HEAD").exists(), "{mode}");
        let next = shell(&processes, "[ -e new/.git ] && echo OUT; true");
        assert_eq!(next.content["stdout"], "", "{mode}: {next:?}");
        assert_eq!(
            next.content[QUARANTINED][0],
            json!({ "path": "new/.git", "renamed_to": "new/.git.quarantined" }),
            "{mode}: {next:?}"
        );
        assert!(!project.join("new/.git").exists(), "{mode}");
    }
}

#[test]
fn a_folder_of_notes_that_another_can_write_starts_nothing() {
    use std::os::unix::fs::PermissionsExt;

    let arena = Arena::new();
    let Some(_) = arena.in_mode(SandboxMode::Namespaces) else { return };
    let notes = arena.root.join("open");
    fs::create_dir(&notes).unwrap();
    fs::set_permissions(&notes, fs::Permissions::from_mode(0o777)).unwrap();
    let mut host = arena.host();
    (host.journal, host.modes) = (notes, vec![SandboxMode::Namespaces]);
    let processes = Processes::new(host, Rules::default(), &arena.root.join("project")).unwrap();
    let result = shell(&Arc::new(processes), "touch began");
    let error = result.content["error"].as_str().unwrap_or_default();
    assert!(error.contains("it is not a folder that only this user can write"), "{result:?}");
    assert!(!arena.root.join("project/began").exists());
}
