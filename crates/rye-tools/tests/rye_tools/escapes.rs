//! Attempts to get out of the project, or at what is kept inside of it. Each must leave everything as it was.

mod grounds;
mod repositories;
mod table;
#[cfg(target_os = "linux")]
mod watch;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rye_thread::{ToolOutput, ToolStatus};
use rye_tools::fs::{LsQuery, ls, write};
use serde_json::{Value, json};

use crate::project::{Project, call};
use crate::sweep::{is_whole, sweep};

use self::table::{ROWS, SEARCHES};

/// A project full of traps, beside a folder with something that must not be seen.
fn trapped() -> Project {
    set(Project::new())
}

/// Sets the traps in an empty project.
fn set(project: Project) -> Project {
    project.file("outside/secret.txt", "CANARY outside\n");
    project.file("project/notes/a.md", "# A\n");
    project.file("project/notes/inner/b.md", "# B\n");
    project.file("project/.ai/config/keys/signing/private_key.pem", "CANARY private\n");
    project.file("project/.ai/config/keys/trusted/k.toml", "owner");
    project.file("project/.ai/threads/t/transcript.jsonl", "{}\n");
    project.file("project/.git/config", "[core]\n");
    for (path, content) in KEPT {
        project.file(&format!("project/{path}"), content);
    }
    let at = |path: &str| project.outer().join("project").join(path);
    for folder in FOLDERS {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for (link, target) in LINKS {
        symlink(target, at(link)).unwrap();
    }
    // A path of two parts that leads through 120 folders.
    let half = "s/".repeat(60);
    fs::create_dir_all(at(&format!("{half}{half}"))).unwrap();
    symlink(format!("{half}more"), at("spiral")).unwrap();
    symlink(&half, at(&format!("{half}more"))).unwrap();
    symlink(at("notes"), at("absolute-inside")).unwrap();
    fs::hard_link(at(".ai/config/keys/signing/private_key.pem"), at("copy.pem")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
    drop(UnixListener::bind(at("socket")).unwrap());
    project
}

/// Files that decide what later runs do, and what makes a folder a repository, by their paths in the project.
const KEPT: &[(&str, &str)] = &[
    (".ai/config/trust.yaml", "{}\n"),
    (".ai/config/agent/capability_risk.yaml", "{}\n"),
    (".ai/tools/rye/agent/providers/local.yaml", "{}\n"),
    ("sub/.ai/threads/t/transcript.jsonl", "{}\n"),
    ("locks/accepted", "version = 1\n"),
    // A repository in the project, a submodule, a worktree, and the folder that belongs to one.
    ("sub/.git/HEAD", "ref: refs/heads/main\n"),
    ("sub/.git/config", "[core]\n"),
    ("module/.git", "gitdir: ../.git/modules/module\n"),
    ("tree/.git", "gitdir: ../.git/worktrees/tree\n"),
    ("apart/HEAD", "ref: refs/heads/main\n"),
    ("apart/commondir", "../bare\n"),
    ("apart/gitdir", "../tree/.git\n"),
    // Bare repositories: whole ones, one without its last two folders, and one without `HEAD`.
    ("bare/HEAD", "ref: refs/heads/main\n"),
    ("bare/config", "[core]\n\tbare = true\n"),
    ("linked/config", "[core]\n"),
    ("dangling/config", "[core]\n"),
    ("half/HEAD", "ref: refs/heads/main\n"),
    ("half/config", "[core]\n"),
    ("nearly/config", "[core]\n\tfsmonitor = touch fired\n"),
];

const FOLDERS: &[&str] = &[
    "sub/.git/objects",
    "sub/.git/refs",
    "sub/.git/hooks",
    "bare/objects",
    "bare/refs",
    "bare/hooks",
    "linked/objects",
    "linked/refs",
    "dangling/objects",
    "dangling/refs",
    "nearly/objects",
    "nearly/refs",
];

const LINKS: &[(&str, &str)] = &[
    ("settings", ".ai/config"),
    ("providers", ".ai/tools/rye/agent/providers"),
    (".ai/rye.lock", "../locks/accepted"),
    ("sub-store", "sub/.git"),
    ("sub-hooks", "notes/../sub/.git/hooks"),
    ("store", "bare"),
    ("store-hooks", "bare/hooks"),
    ("store-config", "bare/config"),
    ("linked/HEAD", "../notes/a.md"),
    ("dangling/HEAD", "refs/heads/main"),
    ("to-nearly", "nearly"),
    ("out-folder", "../outside"),
    ("out-file", "../outside/secret.txt"),
    ("out-new", "../outside/new.txt"),
    ("up", ".."),
    ("round-trip", "../project/notes"),
    ("hop", "out-folder/secret.txt"),
    ("notes/inner/climb", "../../../outside/secret.txt"),
    ("notes/zigzag", "inner/../../../outside/secret.txt"),
    ("loop", "loop"),
    ("ping", "pong"),
    ("pong", "ping"),
    ("etc", "/etc"),
    ("device", "/dev/null"),
    ("process", "/proc/self"),
    ("keys", ".ai/config/keys"),
    ("key", ".ai/config/keys/signing/private_key.pem"),
    ("threads", ".ai/threads"),
    ("ai", ".ai"),
    ("new-thread", ".ai/threads/new.md"),
    ("notes/sneak", "../.ai/threads/t"),
    ("repository", ".git"),
];

/// Why a path is refused.
#[derive(Clone, Copy, Debug)]
enum Why {
    Parent,
    Absolute,
    Link(&'static str),
    Special,
    Keys,
    Signing,
    Threads,
    Config,
    Providers,
    Nested,
    Git,
    Head,
    Completes,
    Bare,
    Because(&'static str),
}

impl Why {
    fn text(self) -> String {
        match self {
            Self::Parent => "it has a `..` part; give it from the project folder downward",
            Self::Absolute => "it is absolute; give it relative to the project folder",
            Self::Link(link) => return format!("the link `{link}` leads out of the project"),
            Self::Special => "it is neither a regular file nor a folder",
            Self::Keys => "`.ai/config/keys` decides who is trusted, so tools do not write there",
            Self::Signing => {
                "`.ai/config/keys/signing` holds private keys, which tools neither read nor write"
            }
            Self::Threads => {
                "`.ai/threads` is the record of what was done, so tools do not write there"
            }
            Self::Git => "`.git` holds what `git` runs and remembers, so tools do not write there",
            Self::Config => {
                "`.ai/config` decides what is trusted and allowed, so tools do not write there"
            }
            Self::Nested => {
                "`.ai` makes a project of the folder that holds it, with rules of its own, so tools make none below the project's"
            }
            Self::Providers => {
                "`.ai/tools/rye/agent/providers` decides to which servers prompts go, so tools do not write there"
            }
            Self::Head => {
                "with a file `HEAD`, `git` can take the folder for a repository and run what it says, so tools write none"
            }
            Self::Completes => {
                "the folder has a `HEAD`, so `objects`, `refs` or `commondir` could make it a repository of `git`; tools make none"
            }
            Self::Bare => {
                "the folder is a repository of `git`, which runs what it says, so tools do not write there"
            }
            Self::Because(text) => text,
        }
        .to_owned()
    }
}

/// Arguments with which each tool tries its worst at a path.
fn arguments(tool: &str, path: &str) -> Value {
    match tool {
        "write" => json!({ "path": path, "content": "OVERWRITTEN" }),
        "edit" => json!({ "path": path, "edits": [{ "old": "CANARY", "new": "x", "all": true }] }),
        "ls" => json!({ "path": path, "first_lines": true, "hidden": true, "ignored": true }),
        "glob" => json!({ "path": path, "pattern": "**", "hidden": true, "ignored": true }),
        "grep" => json!({ "path": path, "pattern": ".", "hidden": true, "ignored": true }),
        _ => json!({ "path": path }),
    }
}

/// A path as messages show it.
fn shown(path: &str) -> String {
    let mut shown: String = path.chars().take(120).flat_map(escaped).collect();
    if path.chars().count() > 120 {
        shown.push('…');
    }
    shown
}

fn escaped(c: char) -> Vec<char> {
    if c.is_control() || c == '\u{2028}' { c.escape_default().collect() } else { vec![c] }
}

/// Every tool with every path that it is tried at, and the reason of the refusal.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, Why)> {
    ROWS.iter().flat_map(|(tools, path, why)| tools.iter().map(move |tool| (*tool, *path, *why)))
}

fn refusal(path: &str, why: Why) -> ToolOutput {
    let error = format!("the path `{}` is refused: {}", shown(path), why.text());
    ToolOutput::refusal(json!({ "error": error }))
}

/// The table is long, and nothing stands in it twice.
#[test]
fn there_are_many_attempts() {
    let rows = rows().map(|(tool, path, _)| format!("{tool} {path}"));
    let searches = SEARCHES.iter().map(|(tool, arguments, _)| format!("{tool} {arguments}"));
    let all: Vec<String> = rows.chain(searches).collect();
    let attempts: BTreeSet<&String> = all.iter().collect();
    assert_eq!(attempts.len(), all.len());
    assert!(500 <= all.len(), "{} different attempts are too few", all.len());
}

/// Makes every attempt of a sweep, one after the other, over one project. Nothing of it changes, and nothing that is kept is opened.
#[test]
fn every_attempt_is_refused_and_seen_nowhere() {
    let project = trapped();
    let before = project.everything();
    #[cfg(target_os = "linux")]
    let watch = watch::Watch::new(&project);
    let mut faults = Vec::new();
    let mut judge = |what: String, output: &ToolOutput, is_right: bool| {
        // Before the look at what changed, which opens folders too.
        #[cfg(target_os = "linux")]
        let mut opened = watch.events();
        #[cfg(not(target_os = "linux"))]
        let mut opened = Vec::<String>::new();
        opened.extend(project.changes_since_unread(&before));
        #[cfg(target_os = "linux")]
        drop(watch.events());
        if !is_right || output.content.to_string().contains("CANARY") || !opened.is_empty() {
            faults.push(format!("{what}: {:?} {} {opened:?}", output.status, output.content));
        }
    };
    // An ordinary user begins with another attempt.
    let first = usize::from(project.user() == NOBODY);
    let attempts = sweep(rows(), first, 3);
    let n_attempts = attempts.len() + SEARCHES.len();
    for (tool, path, why) in attempts {
        let output = call(&project.root, tool, arguments(tool, path));
        judge(format!("{tool} {}", shown(path)), &output, output == refusal(path, why));
    }
    for (tool, arguments, expected) in SEARCHES {
        let output = call(&project.root, tool, serde_json::from_str(arguments).unwrap());
        let is_right = match expected {
            Ok(count) => output.status == ToolStatus::Ok && output.content["count"] == *count,
            Err(error) => output.content == json!({ "error": error }),
        };
        judge(format!("{tool} {arguments}"), &output, is_right);
    }
    assert_eq!(faults, Vec::<String>::new());
    // What would be seen if one had succeeded.
    drop(fs::read(project.outer().join("outside/secret.txt")).unwrap());
    #[cfg(target_os = "linux")]
    assert!(!watch.events().is_empty());
    println!("{n_attempts} attempts as user {}", project.user());
}

/// The same, and everything else in this file, as somebody who may not do everything: the tests run again under another
/// user, from a copy that this user can reach.
#[test]
fn an_ordinary_user_gets_out_no_better() {
    let folder = tempfile::tempdir().unwrap();
    if fs::metadata(folder.path()).unwrap().uid() != 0 {
        println!(
            "the tests run as an ordinary user already; what the superuser could do is not tried"
        );
        return;
    }
    let program = folder.path().join("tests");
    copy_program(&std::env::current_exe().unwrap(), &program);
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = as_nobody(&program, folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(&format!("attempts as user {NOBODY}")), "{said}");
}

/// The user who owns nothing.
const NOBODY: u32 = 65_534;

/// Copies a program by another one: a file that this process has open for writing is open in what other tests start at that moment, too,
/// and such a file cannot be started.
#[expect(clippy::disallowed_methods, reason = "the files of this process are inherited")]
fn copy_program(from: &std::path::Path, to: &std::path::Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

#[expect(clippy::disallowed_methods, reason = "the test is what is started")]
fn as_nobody(program: &std::path::Path, folder: &std::path::Path) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    command.args(["escapes::", "--skip", "an_ordinary_user", "--nocapture"]);
    command.env("TMPDIR", folder).current_dir(folder).uid(NOBODY).gid(NOBODY);
    command
}

/// The folder is elsewhere in the project and `.ai/threads` is a link to it: its real name is closed too.
#[test]
fn threads_that_were_moved_are_closed_by_identity() {
    let project = Project::new();
    project.file("project/state/threads-of-rye/t/transcript.jsonl", "{}\n");
    project.file("project/.ai/directives/d.md", "");
    symlink("../state/threads-of-rye", project.outer().join("project/.ai/threads")).unwrap();
    let before = project.everything();
    let path = "state/threads-of-rye/t/transcript.jsonl";
    let refused = format!("the path `{path}` is refused: {}", Why::Threads.text());
    assert_eq!(write(&project.root, path, "x").unwrap_err().to_string(), refused);
    assert_eq!(project.changes_since(&before), Vec::<String>::new());
}

/// A walk meets the private keys under another name, and passes by.
#[test]
fn keys_that_were_moved_are_passed_by() {
    let project = Project::new();
    project.file("project/vault/private_key.pem", "CANARY\n");
    project.file("project/.ai/config/keys/trusted/k.toml", "");
    symlink("../../../vault", project.outer().join("project/.ai/config/keys/signing")).unwrap();
    let found = call(&project.root, "grep", json!({ "pattern": "CANARY" }));
    let expected = json!({ "files": [], "count": 0, "searched": 0, "skipped": { "hidden": 1, "protected": 1 } });
    assert_eq!(found.content, expected);
}

/// A listing with first lines names what is there and shows nothing of what may not be read.
#[test]
fn a_listing_shows_no_secret_and_waits_for_nobody() {
    let project = trapped();
    let listing = ls(&project.root, &LsQuery::new(".").first_lines()).unwrap().listing();
    assert!(listing.lines().any(|line| line == "- copy.pem"), "{listing}");
    assert!(listing.lines().any(|line| line == "- out-file"), "{listing}");
    assert!(listing.lines().any(|line| line == "- pipe"), "{listing}");
    let keys = ls(&project.root, &LsQuery::new(".ai/config/keys").first_lines()).unwrap().listing();
    assert_eq!(keys, "- signing\n- trusted");
}

/// Each case makes a project, and looks at all of it again and again. In a whole sweep there are as many as of other properties.
///
/// The macro `proptest!` would take `PROPTEST_CASES` in the place of any other number.
fn fewer_cases() -> ProptestConfig {
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::default() };
    let part = if is_whole() { 1 } else { 8 };
    ProptestConfig { cases: config.cases.div_ceil(part), ..config }
}

/// Whatever is asked, nothing outside and nothing kept changes, and no secret is read.
#[test]
fn no_path_gets_out() {
    let paths = (prop::collection::vec(part(), 1..6), "[/]{1,2}");
    let tried = TestRunner::new(fewer_cases()).run(&paths, |(parts, separator)| {
        let project = trapped();
        let before = project.everything();
        let path = parts.join(&separator);
        let globs = call(&project.root, "glob", json!({ "pattern": path, "hidden": true }));
        prop_assert!(!globs.content["paths"].to_string().contains("secret.txt"), "{}", path);
        for tool in ["read", "write", "edit", "ls", "glob", "grep"] {
            let output = call(&project.root, tool, arguments(tool, &path));
            prop_assert!(!output.content.to_string().contains("CANARY"), "{} {}", tool, path);
        }
        let changes = project.changed_content(&before);
        let allowed = |path: &String| {
            let kept =
                [".ai/threads", ".ai/config/keys", ".git"].iter().any(|kept| path.contains(kept));
            path.starts_with("project/") && !kept
        };
        prop_assert!(changes.iter().all(allowed), "{} changed {:?}", path, changes);
        Ok(())
    });
    assert!(tried.is_ok(), "{}", tried.unwrap_err());
}

fn part() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "..",
        ".",
        "",
        "notes",
        "inner",
        "climb",
        "zigzag",
        "sneak",
        "a.md",
        "new",
        "out-folder",
        "out-file",
        "out-new",
        "up",
        "round-trip",
        "hop",
        "etc",
        "process",
        "keys",
        "key",
        "threads",
        "ai",
        ".ai",
        "config",
        "signing",
        "trusted",
        "t",
        "private_key.pem",
        "k.toml",
        "transcript.jsonl",
        "secret.txt",
        "outside",
        "project",
        "copy.pem",
        "new-thread",
        "absolute-inside",
        "loop",
        ".AI",
        "Threads",
        ".git",
        "hooks",
        "repository",
        "**",
        "*",
        "pipe",
        "KEYS",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}
