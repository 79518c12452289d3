//! The operator's next `git` runs nothing that a program wrote.

mod notes;

use std::fs;
use std::path::Path;

use rye_tools::{QUARANTINED, SELF_STARTING, UNCHECKED};
use rye_types::SandboxMode;
use serde_json::{Value, json};

use crate::arena::{Arena, exists, launcher, shell};
use crate::sweep::sweep;

/// The modes in which the promise holds.
const WHOLE: [SandboxMode; 2] = [SandboxMode::Bubblewrap, SandboxMode::Namespaces];

/// Makes a bare repository of a folder.
const BARE: &str = "bare() { mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/main' > $1/HEAD; printf '[core]\\nfsmonitor = evil\\n' > $1/config; }\n";

/// A project with a repository, a submodule, a worktree, a bare repository, and a repository whose common folder has no `HEAD`.
pub(crate) fn project(arena: &Arena) {
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
    for folder in ["config", "directives"] {
        fs::create_dir_all(root.join("nested/.ai").join(folder)).unwrap();
    }
    fs::write(root.join("nested/.ai/config/trust.yaml"), "{}\n").unwrap();
}

/// The row of a table with which a sweep begins: root and an ordinary user begin with different ones.
fn first() -> usize {
    usize::from(rustix::process::geteuid().is_root())
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
    ("the policy of a nested project", "echo x >> nested/.ai/config/trust.yaml"),
    ("an item of a nested project", "echo x > nested/.ai/directives/x.md"),
    ("a new folder of a nested project", "mkdir nested/.ai/threads"),
    ("a nested project elsewhere", "mv nested/.ai nested/ai"),
    ("a nested project away", "rm -r nested/.ai"),
];

#[test]
fn no_repository_that_was_there_is_changed() {
    for mode in WHOLE {
        let arena = Arena::new();
        project(&arena);
        let Some(processes) = arena.in_mode(mode) else { continue };
        let mut wrong = Vec::new();
        for (name, attempt) in sweep(KEPT, first(), 2) {
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
        "in a folder that nobody may search",
        "mkdir -p a/b; bare a/b/.git; chmod 600 a/b a",
        &[
            ("a/b/.git", "a/b/.git.quarantined"),
            ("a/b/.git.quarantined/HEAD", "a/b/.git.quarantined/HEAD.quarantined"),
        ],
    ),
    (
        "in a project that nobody may enter",
        "mkdir -p a/.git; chmod 0 .",
        &[("a/.git", "a/.git.quarantined")],
    ),
    (
        "a project in the project",
        "mkdir -p src/.ai/config; echo x > src/.ai/config/trust.yaml",
        &[("src/.ai", "src/.ai.quarantined")],
    ),
    (
        "a project in the project by a link",
        "ln -s ../nested/.ai src/.ai",
        &[("src/.ai", "src/.ai.quarantined")],
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
    (
        "after the report of the sandbox was taken back",
        "for f in /proc/1/fd/*; do [ ${f##*/} -gt 2 ] && timeout 1 head -c 11 $f; done >/dev/null 2>&1; mkdir new; bare new/.git",
        &[
            ("new/.git", "new/.git.quarantined"),
            ("new/.git.quarantined/HEAD", "new/.git.quarantined/HEAD.quarantined"),
        ],
    ),
    ("no repository", "mkdir -p a/objects a/refs b/.github; echo x > c; echo x > a/HEADER", &[]),
];

#[test]
fn a_repository_that_a_program_made_is_renamed_and_told() {
    for mode in WHOLE {
        let mut wrong = Vec::new();
        for (name, attempt, expected) in sweep(MADE, first(), 2) {
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
            let notes = notes.map_or(0, |notes| notes.flatten().filter(is_note).count());
            if notes > 0 {
                wrong.push(format!("{mode}: {name}: {notes} notes are left"));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }
}

/// Returns `true` for a note. The folder has a file to lock for each project, too.
fn is_note(entry: &fs::DirEntry) -> bool {
    !entry.file_name().to_string_lossy().starts_with("lock-")
}

/// A program that reports another state of its sandbox could be started again, or pass for one that never ran.
#[test]
fn a_program_reports_nothing_of_its_sandbox() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let command = "echo run >> ran; for f in /proc/1/fd/*; do [ ${f##*/} -gt 2 ] && { timeout 1 head -c 11 $f; echo '\"Raced\"' > $f; }; done >/dev/null 2>&1; echo done";
        let result = shell(&processes, command);
        assert_eq!(result.content["stdout"], "done\n", "{mode}: {result:?}");
        let runs = fs::read_to_string(arena.root.join("project/ran")).unwrap();
        assert_eq!(runs, "run\n", "{mode}");
        // The first process of bubblewrap is its own, and keeps a counter open.
        let also = match mode {
            SandboxMode::Namespaces => {
                "for f in /proc/1/fd/*; do [ ${f##*/} -gt 2 ] && echo OUT; done;"
            }
            _ => "",
        };
        let command =
            &format!("cat /proc/1/environ /proc/1/maps >/dev/null && echo OUT; {also} true");
        let result = shell(&processes, command);
        assert_eq!(result.content["stdout"], "", "{mode}: {result:?}");
    }
}

/// A program has every name but random ones taken.
#[test]
fn names_that_are_taken_beforehand_keep_nothing_in_its_place() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let command = "mkdir -p a/.git a/.git.quarantined; for i in $(seq 1100); do mkdir a/.git.quarantined-$i; done";
        let result = shell(&processes, command);
        let moved = &result.content[QUARANTINED][0];
        let now = moved["renamed_to"].as_str().unwrap_or_default();
        assert!(now.starts_with("a/.git.quarantined-"), "{mode}: {result:?}");
        assert!(result.content.get(UNCHECKED).is_none(), "{mode}: {result:?}");
        assert!(!arena.root.join("project/a/.git").exists(), "{mode}");
    }
}

/// What cannot be looked at is told, and everything else is looked at.
#[test]
fn a_part_that_cannot_be_looked_at_hides_nothing_else() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let command = "mkdir -p a/.git z/.git m/$(printf 'd/%.0s' $(seq 300))";
        let result = shell(&processes, command);
        assert_eq!(
            result.content[QUARANTINED].as_array().map(Vec::len),
            Some(2),
            "{mode}: {result:?}"
        );
        let told = result.content[UNCHECKED].as_str().unwrap_or_default().to_owned();
        assert!(told.contains("it lies more than 256 folders deep"), "{mode}: {result:?}");
        let next = shell(&processes, "echo began");
        let told = next.content["error"].as_str().unwrap_or_default().to_owned();
        assert!(told.contains("look at what an earlier program left"), "{mode}: {next:?}");
        fs::remove_dir_all(arena.root.join("project/m")).unwrap();
        assert_eq!(shell(&processes, "echo began").content["stdout"], "began\n", "{mode}");
    }
}

/// The operator closed a folder, so that no walk sees what is in it.
#[test]
fn nothing_is_made_in_a_folder_that_was_closed_before() {
    use std::os::unix::fs::PermissionsExt;

    for (mode, closed) in WHOLE.into_iter().flat_map(|mode| [0o311, 0o600, 0].map(|it| (mode, it)))
    {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let folder = arena.root.join("project/closed");
        fs::create_dir_all(folder.join("sub")).unwrap();
        let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        set(closed);
        let command = "chmod 700 closed; mkdir -p closed/sub/.git/hooks closed/.git; chmod 311 closed; mv closed other; mkdir -p other/sub/.git; true";
        let result = shell(&processes, command);
        for folder in ["closed", "other"].map(|name| arena.root.join("project").join(name)) {
            if exists(&folder) {
                fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
            }
            for place in [".git", "sub/.git"] {
                assert!(!exists(&folder.join(place)), "{mode} {closed:o} {place}: {result:?}");
            }
        }
    }
}

/// Without `.ai`, a program could make one, and the next `rye` would take orders from it.
#[test]
fn no_program_makes_the_project_s_own_ai() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        fs::remove_dir_all(arena.root.join("project/.ai")).unwrap();
        let command =
            "(mkdir -p .ai/config; mv .ai ai; echo x > .ai/rye.lock) 2>/dev/null; ls -A .ai";
        let result = shell(&processes, command);
        assert_eq!(result.content["stdout"], "", "{mode}: {result:?}");
        let listed = fs::read_dir(arena.root.join("project/.ai")).unwrap();
        assert_eq!(listed.count(), 0, "{mode}: {result:?}");
    }
}

/// The tables, and what an ordinary user can close.
pub(crate) fn check_all() {
    no_repository_that_was_there_is_changed();
    a_repository_that_a_program_made_is_renamed_and_told();
    nothing_is_made_in_a_folder_that_was_closed_before();
    crate::ending::closed_temporary_folders_are_removed();
}

/// Waits for what another program does at once.
#[track_caller]
fn soon(what: &str, is_so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{what}");
        std::thread::yield_now();
    }
}

/// A second program takes nothing for granted that the first one made, and renames it as well.
#[test]
fn what_a_program_under_way_made_is_new_to_every_other() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        let (second, first) = std::thread::scope(|scope| {
            let command = "mkdir -p a/.git src/.ai; : > made; until [ -e go ]; do sleep 0.01; done";
            let running = scope.spawn(|| shell(&processes, command));
            soon("the first makes it", || project.join("made").exists());
            let second = shell(&processes, "true");
            fs::write(project.join("go"), "").unwrap();
            (second, running.join().unwrap())
        });
        let mut told: Vec<String> = second.content[QUARANTINED]
            .as_array()
            .into_iter()
            .flatten()
            .map(|moved| moved["path"].as_str().unwrap_or_default().to_owned())
            .collect();
        told.sort();
        assert_eq!(told, ["a/.git", "src/.ai"], "{mode}: {second:?}");
        assert_eq!(first.content["exit_code"], 0, "{mode}: {first:?}");
    }
}

/// One makes a repository, and the other moves it to and fro while the first is looked after.
#[test]
fn programs_at_once_hide_no_repository_from_each_other() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let project = arena.root.join("project");
        for folder in 0..400 {
            fs::create_dir_all(project.join(format!("many/{folder}"))).unwrap();
        }
        for round in 0..8 {
            let at = |name: &str| project.join(format!("{name}{round}"));
            std::thread::scope(|scope| {
                let make = format!(
                    "mkdir -p a z a/x{round}/.git/hooks; : > made{round}; until [ -e go{round} ]; do sleep 0.01; done"
                );
                let hide = format!(
                    ": > began{round}; perl -e 'until (-e \"stop{round}\") {{ rename \"a/x{round}\", \"z/x{round}\"; rename \"z/x{round}\", \"a/x{round}\" }}'"
                );
                let processes = &processes;
                let first = scope.spawn(move || shell(processes, &make));
                soon("the first makes it", || at("made").exists());
                let second = scope.spawn(move || shell(processes, &hide));
                soon("the second begins", || at("began").exists());
                fs::write(at("go"), "").unwrap();
                let first = first.join().unwrap();
                fs::write(at("stop"), "").unwrap();
                let second = second.join().unwrap();
                for place in [format!("a/x{round}/.git"), format!("z/x{round}/.git")] {
                    assert!(!exists(&project.join(&place)), "{mode}: {first:?} {second:?}");
                }
            });
        }
    }
}

#[test]
fn changed_files_that_start_by_themselves_are_named() {
    for &mode in SandboxMode::ALL {
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

/// The files that run by themselves may lie elsewhere, where a link leads.
#[test]
fn changed_files_behind_links_are_named_by_the_links() {
    for &mode in SandboxMode::ALL {
        let arena = Arena::new();
        let root = arena.root.join("project");
        for folder in ["settings", "hooks/sub", "env"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("env/dev"), "a").unwrap();
        for (link, target) in
            [(".vscode", "settings"), (".husky", "hooks"), (".envrc", "env/dev"), ("app", "src")]
        {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let Some(processes) = arena.in_mode(mode) else { continue };
        let command = "echo b > settings/tasks.json; echo b > settings/other.json; echo b > hooks/sub/run; echo b > env/dev; ln -s ../settings src/.vscode";
        let result = shell(&processes, command);
        let expected = [
            ".envrc",
            ".husky/sub/run",
            ".vscode/tasks.json",
            "src/.vscode",
            "src/.vscode/tasks.json",
        ];
        assert_eq!(result.content[SELF_STARTING], json!(expected), "{mode}: {result:?}");
    }
}

/// However much a program makes, what is told of it is short.
#[test]
fn long_lists_end_with_how_many_more_there_are() {
    for mode in WHOLE {
        let arena = Arena::new();
        let Some(processes) = arena.in_mode(mode) else { continue };
        let long = "l".repeat(200);
        let command = format!(
            "for i in $(seq 300); do mkdir -p {long}$i/.git; : > {long}$i/.envrc; done; for i in $(seq 30); do mkdir -p s$i/.git; done"
        );
        let result = shell(&processes, &command);
        let length = result.content.to_string().len();
        assert!(length < 20 * 1024, "{mode}: {length}");
        let listed = |name: &str| result.content[name].as_array().cloned().unwrap_or_default();
        let (changed, moved) = (listed(SELF_STARTING), listed(QUARANTINED));
        let more = format!("… and {} more", 300 - (changed.len() - 1));
        assert_eq!(changed.last(), Some(&json!(more)), "{mode}");
        let more = 330 - (moved.len() - 1);
        assert_eq!(moved.last(), Some(&json!({ "more": more })), "{mode}");
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
