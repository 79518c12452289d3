//! The operator's next `git` runs nothing that a program wrote.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rye_tools::sandbox::Mode;
use rye_tools::{Processes, QUARANTINED, Rules, SELF_STARTING};
use serde_json::{Value, json};

use crate::arena::{Arena, exists, launcher, living, shell};

/// The modes in which the promise holds.
const WHOLE: [Mode; 2] = [Mode::Bubblewrap, Mode::Namespaces];

/// Makes a bare repository of a folder.
const BARE: &str = "bare() { mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/main' > $1/HEAD; printf '[core]\\nfsmonitor = evil\\n' > $1/config; }\n";

/// A project with a repository, a submodule, a worktree, a bare repository, and a repository whose common folder has no `HEAD`.
fn project(arena: &Arena) {
    let root = arena.root.join("project");
    let repository = |path: &str| {
        for folder in ["objects", "refs", "hooks"] {
            fs::create_dir_all(root.join(path).join(folder)).unwrap();
        }
        fs::write(root.join(path).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(path).join("config"), "[core]\n").unwrap();
    };
    repository(".git");
    repository(".git/modules/sub");
    repository("nested/deep/.git");
    repository("mirror.git");
    for (path, text) in [
        ("sub/.git", "gitdir: ../.git/modules/sub\n"),
        ("tree/.git", "gitdir: ../elsewhere\n"),
        ("elsewhere/HEAD", "ref: refs/heads/main\n"),
        ("elsewhere/commondir", "../common\n"),
        ("common/config", "[core]\n"),
    ] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    for folder in ["common/objects", "common/refs", "fifo"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("../mirror.git", root.join("fifo/.git")).unwrap();
}

/// What was there before stays as it is.
const KEPT: &[(&str, &str)] = &[
    ("a hook of the repository", "echo x > .git/hooks/pre-commit"),
    ("a hook of a nested repository", "echo x > nested/deep/.git/hooks/pre-commit"),
    ("a nested repository elsewhere", "mv nested/deep/.git nested/deep/git"),
    ("a submodule's file", "echo 'gitdir: ../evil' > sub/.git"),
    ("a submodule's file replaced", "echo x > sub/new && mv sub/new sub/.git"),
    ("a submodule's file away", "rm sub/.git"),
    ("a submodule's settings", "echo x >> .git/modules/sub/config"),
    ("a bare repository's settings", "echo x >> mirror.git/config"),
    ("a bare repository's head", "mv mirror.git/HEAD mirror.git/HEAD2"),
    ("a worktree's folder", "echo x > elsewhere/commondir"),
    ("a common folder without a head", "echo x >> common/config"),
    ("a common folder's hook", "mkdir common/hooks"),
    ("a common folder elsewhere", "mv common common2"),
];

#[test]
fn no_repository_that_was_there_is_changed() {
    for mode in WHOLE {
        let arena = Arena::new();
        project(&arena);
        let Some(processes) = arena.in_mode(mode) else { continue };
        let mut wrong = Vec::new();
        for (name, attempt) in KEPT {
            let result = shell(&processes, &format!("( {attempt} ) 2>/dev/null && echo OUT; true"));
            if result.content["stdout"] != "" {
                wrong.push(format!("{mode}: {name}: {result:?}"));
            }
            if result.content.get(QUARANTINED).is_some() {
                wrong.push(format!("{mode}: {name}: renamed what was there: {result:?}"));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }
}

/// Name; what is run; what is renamed, and to what.
type Made = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const MADE: &[Made] = &[
    (
        "a repository",
        "mkdir new; bare new/.git",
        &[
            ("new/.git", "new/.git.quarantined"),
            ("new/.git.quarantined/HEAD", "new/.git.quarantined/HEAD.quarantined"),
        ],
    ),
    (
        "a repository without anything",
        "mkdir -p new/.git/hooks",
        &[("new/.git", "new/.git.quarantined")],
    ),
    (
        "a repository's file",
        "bare evil; mkdir new; echo 'gitdir: ../evil' > new/.git",
        &[("evil/HEAD", "evil/HEAD.quarantined"), ("new/.git", "new/.git.quarantined")],
    ),
    (
        "a repository by a link",
        "mkdir new; ln -s ../src new/.git",
        &[("new/.git", "new/.git.quarantined")],
    ),
    ("a bare repository", "bare docs", &[("docs/HEAD", "docs/HEAD.quarantined")]),
    ("a folder that was there", "bare src", &[("src/HEAD", "src/HEAD.quarantined")]),
    ("the project itself", "bare .", &[("HEAD", "HEAD.quarantined")]),
    (
        "a head by a link",
        "mkdir -p d/objects d/refs; ln -s refs/heads/main d/HEAD",
        &[("d/HEAD", "d/HEAD.quarantined")],
    ),
    (
        "a worktree's folder",
        "mkdir d c; echo ref: refs/heads/x > d/HEAD; echo ../c > d/commondir; mkdir c/objects c/refs; echo x > c/config",
        &[("d/HEAD", "d/HEAD.quarantined")],
    ),
    (
        "one within another",
        "bare a; bare a/b",
        &[("a/HEAD", "a/HEAD.quarantined"), ("a/b/HEAD", "a/b/HEAD.quarantined")],
    ),
    (
        "in a folder that nobody may list",
        "mkdir -p a/b; bare a/b/.git; chmod 0 a/b a",
        &[
            ("a/b/.git", "a/b/.git.quarantined"),
            ("a/b/.git.quarantined/HEAD", "a/b/.git.quarantined/HEAD.quarantined"),
        ],
    ),
    (
        "in a folder that nobody may write",
        "mkdir -p a/.git; chmod 555 a",
        &[("a/.git", "a/.git.quarantined")],
    ),
    (
        "where the name is taken",
        "mkdir -p a/.git a/.git.quarantined",
        &[("a/.git", "a/.git.quarantined-2")],
    ),
    (
        "in the place of a nested one",
        "mv nested moved; mkdir -p nested/deep; bare nested/deep/.git",
        &[
            ("nested/deep/.git", "nested/deep/.git.quarantined"),
            ("nested/deep/.git.quarantined/HEAD", "nested/deep/.git.quarantined/HEAD.quarantined"),
        ],
    ),
    (
        "a provider in the place of a folder",
        "mkdir -p .ai/tools/rye/agent/providers; echo x > .ai/tools/rye/agent/providers/p.yaml",
        &[(".ai/tools/rye/agent/providers", ".ai/tools/rye/agent/providers.quarantined")],
    ),
    ("no repository", "mkdir -p a/objects a/refs b/.github; echo x > c; echo x > a/HEADER", &[]),
];

#[test]
fn a_repository_that_a_program_made_is_renamed_and_told() {
    for mode in WHOLE {
        let mut wrong = Vec::new();
        for (name, attempt, expected) in MADE {
            let arena = Arena::new();
            project(&arena);
            fs::create_dir_all(arena.root.join("project/.ai/tools")).unwrap();
            let Some(processes) = arena.in_mode(mode) else { continue };
            let result = shell(&processes, &format!("{BARE}{attempt}"));
            let mut told: Vec<Value> = result
                .content
                .get(QUARANTINED)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            told.sort_by_key(|moved| moved["path"].to_string());
            let mut rows = expected.to_vec();
            rows.sort_by_key(|(from, _)| format!("{from:?}"));
            let rows: Vec<Value> =
                rows.iter().map(|(from, to)| json!({ "path": from, "renamed_to": to })).collect();
            if told != rows || result.content["exit_code"] != 0 {
                wrong.push(format!("{mode}: {name}: {result:?}"));
            }
            for (from, _) in *expected {
                if exists(&arena.root.join("project").join(from)) {
                    wrong.push(format!("{mode}: {name}: `{from}` is there"));
                }
            }
            let again = shell(&processes, "true");
            if again.content.get(QUARANTINED).is_some() {
                wrong.push(format!("{mode}: {name}: renamed twice: {again:?}"));
            }
            let notes = fs::read_dir(arena.root.join("notes"));
            let notes = notes
                .map_or(0, |notes| notes.flatten().filter(|one| one.file_name() != "lock").count());
            if notes > 0 {
                wrong.push(format!("{mode}: {name}: {notes} notes are left"));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }
}

/// Both tables.
pub(crate) fn check_all() {
    no_repository_that_was_there_is_changed();
    a_repository_that_a_program_made_is_renamed_and_told();
}

/// A shell that runs for long, with the launcher above it.
fn supervisors(mark: &str) -> Vec<i32> {
    let listed = fs::read_dir("/proc").unwrap().flatten();
    let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |number: &i32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains("--rye-launch supervise") && line.contains(mark)
    };
    numbers.filter(is_it).collect()
}

#[test]
fn what_a_killed_supervisor_left_is_done_by_the_next_run() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        let mark = format!("3100.{}", std::process::id());
        let command = format!("{BARE}mkdir new; bare new/.git; : > begun; sleep {mark}");
        let result = std::thread::scope(|scope| {
            let running = scope.spawn(|| shell(&processes, &command));
            while !project.join("begun").exists() {
                std::thread::yield_now();
            }
            for supervisor in supervisors(&mark) {
                let pid = rustix::process::Pid::from_raw(supervisor).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
            running.join().unwrap()
        });
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
    let Some(_) = arena.in_mode(Mode::Namespaces) else { return };
    let notes = arena.root.join("open");
    fs::create_dir(&notes).unwrap();
    fs::set_permissions(&notes, fs::Permissions::from_mode(0o777)).unwrap();
    let mut host = arena.host();
    (host.journal, host.modes) = (notes, vec![Mode::Namespaces]);
    let processes = Processes::new(host, Rules::default(), &arena.root.join("project")).unwrap();
    let result = shell(&Arc::new(processes), "touch began");
    let error = result.content["error"].as_str().unwrap_or_default();
    assert!(error.contains("it is not a folder that only this user can write"), "{result:?}");
    assert!(!arena.root.join("project/began").exists());
}

#[test]
fn changed_files_that_start_by_themselves_are_named() {
    for mode in Mode::ALL {
        let arena = Arena::new();
        let root = arena.root.join("project");
        for (path, text) in [
            (".envrc", "a"),
            ("app/.vscode/tasks.json", "a"),
            (".idea/a.xml", "a"),
            (".husky/old", "a"),
            (".husky/same", "a"),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        let Some(processes) = arena.in_mode(mode) else { continue };
        let command = "t=$(stat -c %y .envrc); printf b > .envrc; touch -d \"$t\" .envrc; echo b > app/.vscode/tasks.json; \
            mkdir -p .idea/run src/new; echo b > .idea/run/b.xml; rm .husky/old; cat .husky/same; echo b > src/new/.envrc; echo b > src/other";
        let result = shell(&processes, command);
        let expected =
            [".envrc", ".husky/old", ".idea/run/b.xml", "app/.vscode/tasks.json", "src/new/.envrc"];
        assert_eq!(result.content[SELF_STARTING], json!(expected), "{mode}: {result:?}");
        let quiet = shell(&processes, "cat .envrc");
        assert!(quiet.content.get(SELF_STARTING).is_none(), "{mode}: {quiet:?}");
    }
}

/// A real `git` looks at what a program left, as the operator would.
#[test]
#[expect(clippy::disallowed_methods, reason = "the operator's `git` is what this test is about")]
fn the_next_git_runs_nothing() {
    let git = |folder: &Path, words: &[&str]| {
        std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*"])
            .args(words)
            .current_dir(folder)
            .output()
    };
    for mode in WHOLE {
        let arena = Arena::new();
        let root = arena.root.join("project");
        fs::remove_dir_all(root.join(".git")).unwrap();
        if git(&root, &["init", "-q"]).is_err() {
            println!("NOT TESTED HERE: there is no `git`");
            return;
        }
        let Some(processes) = arena.in_mode(mode) else { continue };
        let evil = arena.root.join("project/ran");
        let command = format!(
            "evil() {{ printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = .\\nfsmonitor = \"touch {0}; false\"\\nhooksPath = /nowhere\\n' > $1/config; }}\n\
             for d in docs new/.git src; do mkdir -p $d/objects $d/refs; echo 'ref: refs/heads/main' > $d/HEAD; evil $d; done\n\
             (evil .git) 2>/dev/null; mkdir -p sub; echo 'gitdir: ../docs' > sub/.git; true",
            evil.display()
        );
        let result = shell(&processes, &command);
        for folder in ["", "docs", "new", "src", "sub"] {
            let _said = git(&root.join(folder), &["status"]);
        }
        assert!(!evil.exists(), "{mode}: {result:?}");
        assert!(launcher().is_file());
    }
}
