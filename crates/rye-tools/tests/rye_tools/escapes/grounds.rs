//! The attempts in projects on other file systems, and of other kinds. What a machine cannot do is printed.

use std::fs;
use std::path::Path;
use std::process::Command;

use rye_thread::ToolStatus;
use serde_json::json;

use super::{arguments, refusal, rows, set, trapped};
use crate::project::{Project, call};

/// Makes every attempt of the table, and looks at the end alone: nothing has changed.
#[track_caller]
#[expect(clippy::print_stdout, reason = "what was tried is to be seen")]
fn check(ground: &str, project: &Project) {
    let before = project.everything();
    let mut faults = Vec::new();
    let mut n_attempts = 0;
    for (tool, path, why) in rows() {
        let output = call(&project.root, tool, arguments(tool, path));
        if output != refusal(path, why) {
            faults.push(format!("{tool} {path}: {:?} {}", output.status, output.content));
        }
        n_attempts += 1;
    }
    assert_eq!(faults, Vec::<String>::new(), "{ground}");
    assert_eq!(project.changed_content(&before), Vec::<String>::new(), "{ground}");
    println!("{n_attempts} attempts in {ground} as user {}", project.user());
}

#[track_caller]
fn check_refused(project: &Project, paths: &[&str]) {
    for path in paths {
        let output = call(&project.root, "write", json!({ "path": path, "content": "x" }));
        assert_eq!(output.status, ToolStatus::Refused, "{path}: {}", output.content);
    }
}

#[test]
fn a_project_without_git() {
    let project = trapped();
    fs::remove_dir_all(project.outer().join("project/.git")).unwrap();
    check("a project without `.git`", &project);
}

#[test]
fn a_project_that_is_a_worktree() {
    let project = trapped();
    let git = project.outer().join("project/.git");
    fs::remove_dir_all(&git).unwrap();
    fs::write(git, "gitdir: ../main/.git/worktrees/project\n").unwrap();
    check("a worktree", &project);
}

#[test]
fn a_project_in_memory() {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    if !mounts.lines().any(|line| line.contains(" /dev/shm tmpfs ")) {
        println!("not tried: this machine has no tmpfs at /dev/shm");
        return;
    }
    let folder = tempfile::tempdir_in("/dev/shm");
    let Ok(folder) = folder else {
        println!("not tried: /dev/shm takes no folder of this user");
        return;
    };
    check("a project on tmpfs", &set(Project::over(folder)));
}

#[expect(clippy::disallowed_methods, reason = "the test is about what git makes")]
pub(super) fn git(project: &Project, arguments: &[&str]) -> Option<(bool, String)> {
    let mut command = Command::new("git");
    let identity =
        ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
    command.args(identity).args(arguments).current_dir(project.outer().join("project"));
    command.env("HOME", project.outer()).env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_CEILING_DIRECTORIES", project.outer());
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some((output.status.success(), text + &String::from_utf8_lossy(&output.stderr)))
}

/// A repository that `git` made itself, with a submodule, a worktree in the project and a bare clone.
#[test]
fn a_project_with_submodules_and_worktrees() {
    let project = Project::new();
    project.file("project/a.md", "a\n");
    if git(&project, &["--version"]).is_none() {
        println!("not tried: `git` is not installed");
        return;
    }
    for arguments in [
        &["init", "-q", "."] as &[&str],
        &["add", "a.md"],
        &["commit", "-qm", "a"],
        &["clone", "-q", ".", "../origin"],
        &["submodule", "--quiet", "add", "../origin", "module"],
        &["worktree", "add", "-q", "tree"],
        &["clone", "-q", "--bare", ".", "bare"],
        &["init", "-q", "--separate-git-dir", "apart", "split"],
    ] {
        let (worked, said) = git(&project, arguments).unwrap();
        assert!(worked, "{arguments:?}: {said}");
    }
    let before = project.everything();
    check_refused(
        &project,
        &[
            "module/.git",
            ".git/modules/module/config",
            ".git/modules/module/hooks/post-checkout",
            "tree/.git",
            ".git/worktrees/tree/config.worktree",
            ".git/worktrees/tree/commondir",
            "bare/config",
            "bare/hooks/post-receive",
            "bare/description",
            "split/.git",
            "apart/config",
            "apart/hooks/post-checkout",
        ],
    );
    assert_eq!(project.changes_since(&before), Vec::<String>::new());
    for path in ["a.md", "module/a.md", "tree/a.md", "split/a.md", "module/.gitignore"] {
        let output = call(&project.root, "write", json!({ "path": path, "content": "x" }));
        assert_eq!(output.status, ToolStatus::Ok, "{path}: {}", output.content);
    }
}

/// Runs the next test in a mount namespace, where it may mount what it likes.
#[test]
fn a_project_with_mounts() {
    let name = "escapes::grounds::inside_of_a_mount_namespace";
    let program = std::env::current_exe().unwrap();
    let is_root = Project::new().user() == 0;
    let output = unshared(&program, is_root, name);
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let said = said.unwrap_or_else(|error| error.to_string());
    if said.contains("is mounted") {
        assert!(said.contains("test result: ok. 1 passed"), "{said}");
        said.lines()
            .filter(|line| line.contains("attempts in"))
            .for_each(|line| println!("{line}"));
    } else {
        println!("not tried: this user cannot mount anything here ({})", said.trim());
    }
}

#[expect(clippy::disallowed_methods, reason = "the test itself is what is started")]
fn unshared(program: &Path, is_root: bool, name: &str) -> std::io::Result<std::process::Output> {
    let mut command = Command::new("unshare");
    if !is_root {
        command.args(["--user", "--map-root-user"]);
    }
    command.arg("--mount").arg(program);
    command.args(["--ignored", "--exact", name, "--nocapture"]).env(INNER, "1").output()
}

/// The variable by which the inner test knows that the mounts which it makes go with its namespace.
const INNER: &str = "RYE_TEST_MOUNTS";

/// The project is a mount of its own; `.git`, `.ai/config` and a folder in it are others.
#[test]
#[ignore = "runs in a mount namespace, which `a_project_with_mounts` makes"]
#[expect(clippy::disallowed_methods, reason = "the environment says which process this is")]
fn inside_of_a_mount_namespace() {
    if std::env::var_os(INNER).is_none() {
        println!("not tried: this is no namespace of `a_project_with_mounts`");
        return;
    }
    let outer = tempfile::tempdir().unwrap();
    mount(&["-t", "tmpfs", "tmpfs"], outer.path());
    println!("{} is mounted", outer.path().display());
    let project = set(Project::over(outer));
    let at = |path: &str| project.outer().join("project").join(path);
    for (path, content) in [("bound/.git/config", "[core]\n"), ("memory/a.md", "a\n")] {
        project.file(&format!("project/{path}"), content);
    }
    let own = |path: &str| at(path).display().to_string();
    mount(&["--bind", &own("sub")], &at("bound"));
    mount(&["--bind", &own(".ai/config")], &at(".ai/config"));
    mount(&["--bind", &own(".git")], &at(".git"));
    mount(&["-t", "tmpfs", "tmpfs"], &at("memory"));
    project.file("project/memory/.git/config", "[core]\n");
    project.file("project/memory/a.md", "a\n");
    check("a project with mounts", &project);
    let refused = [
        "bound/.git/config",
        "bound/.git/hooks/x",
        "memory/.git/config",
        "memory/new/.git",
        "memory/HEAD",
        "memory/.ai/config/trust.yaml",
    ];
    check_refused(&project, &refused);
    let output = call(&project.root, "write", json!({ "path": "memory/a.md", "content": "x" }));
    assert_eq!(output.status, ToolStatus::Ok, "{}", output.content);
    // The folders below go with the namespace.
    std::mem::forget(project);
}

#[expect(clippy::disallowed_methods, reason = "the namespace is the test's own")]
fn mount(arguments: &[&str], place: &Path) {
    let output = Command::new("mount").args(arguments).arg(place).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
