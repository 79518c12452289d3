//! A project that can be looked at and not written: all that only reads works, and leaves it as it is.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::session::Session;

/// Each command, and how it ends.
const COMMANDS: [(&str, i32); 24] = [
    ("threads list", 0),
    ("threads list --json", 0),
    ("threads show", 0),
    ("threads tail", 0),
    ("threads tree", 0),
    ("threads tree --json", 0),
    ("threads verify", 0),
    ("list", 0),
    ("search notes", 0),
    ("load notes/index", 0),
    ("which notes/index", 0),
    ("check", 0),
    ("check --json", 0),
    ("render notes/index", 0),
    ("explain notes/index", 0),
    ("caps explain notes/index", 0),
    ("diff notes/index notes/base", 0),
    ("verify", 0),
    ("trust list", 0),
    ("keys show", 0),
    ("schema provider", 0),
    ("replay THREAD", 0),
    ("sign .ai/directives/notes/index.md", 0),
    ("which notes/nothing", 1),
];

#[test]
fn a_project_that_cannot_be_written_can_be_looked_at() {
    let session = Session::new();
    session.rye("keys generate");
    session.rye("sign ITEMS");
    session.asks_before_it_writes();
    session.rye("sign ITEMS");
    session.rye("run notes/index --provider steps");
    session.rye("cancel THREAD");
    let before: Vec<String> = COMMANDS.iter().map(|(command, _)| session.rye(command)).collect();
    let reader = Reader::of(&session);
    for ((command, code), before) in COMMANDS.iter().zip(before) {
        assert_eq!(without_cache_warning(&reader.rye(&session, command)), before);
        assert!(before.ends_with(&format!("--- exit {code}\n")), "{before}");
    }
    for writing in WRITING {
        let written = reader.rye(&session, &format!("run {writing} --provider steps"));
        assert!(written.ends_with("--- exit 1\n"), "{written}");
        assert!(!written.contains("panicked"), "{written}");
    }
}

/// Leaves out that a search could not keep what it found. It only tries once the files are old enough, which depends on how fast
/// the machine is.
fn without_cache_warning(shown: &str) -> String {
    let is_kept = |line: &&str| !line.starts_with("warning: cannot write the search cache ");
    shown.split_inclusive('\n').filter(is_kept).collect()
}

/// Directives that write, those that come with the program among them.
const WRITING: [&str; 7] = [
    "notes/index",
    "rye/core/create_directive --input name=a --input category=b --input description=c",
    "rye/core/create_threaded_directive --input name=a --input category=b --input description=c --input complexity=simple --input permissions_needed=",
    "rye/core/create_knowledge --input name=a --input category=b --input title=c --input content=d",
    "rye/core/create_tool --input name=a --input category=b --input description=c --input command=d",
    "rye/core/init --input about=a",
    "rye/core/spawn_thread --input directive=notes/index",
];

/// Somebody who may read a session's folders and not write them: whoever runs the tests, or nobody where that is root.
struct Reader {
    program: PathBuf,
    paths: Vec<(PathBuf, u32)>,
    is_root: bool,
}

impl Reader {
    fn of(session: &Session) -> Self {
        let root = session.project().parent().unwrap().to_owned();
        let is_root = fs::metadata(&root).unwrap().uid() == 0;
        let program = root.join("rye");
        let built = env!("CARGO_BIN_EXE_rye");
        // Nobody may be kept from where it was built.
        fs::hard_link(built, &program).or_else(|_| fs::copy(built, &program).map(drop)).unwrap();
        let mut paths = Vec::new();
        shut(&root, &mut paths);
        Self { program, paths, is_root }
    }

    #[expect(clippy::disallowed_methods, reason = "only a program can be another user's")]
    fn rye(&self, session: &Session, arguments: &str) -> String {
        let mut command = Command::new(&self.program);
        let thread = session.thread();
        let words = arguments.split(' ').map(|it| if it == "THREAD" { &thread } else { it });
        command.args(words).current_dir(session.project()).env_clear().env("HOME", session.home());
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let code = output.status.code().unwrap();
        session.steady(&format!("$ rye {arguments}\n{out}--- standard error\n{err}--- exit {code}"))
    }
}

/// What was shut would be in the way of whoever removes it.
impl Drop for Reader {
    fn drop(&mut self) {
        for (path, mode) in self.paths.iter().rev() {
            drop(fs::set_permissions(path, Permissions::from_mode(*mode)));
        }
    }
}

fn shut(path: &Path, paths: &mut Vec<(PathBuf, u32)>) {
    let found = fs::symlink_metadata(path).unwrap();
    // The program itself is a name of the one that was built.
    if found.is_file() && path.ends_with("rye") {
        return;
    }
    paths.push((path.to_owned(), found.mode()));
    if found.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| shut(&entry.unwrap().path(), paths));
    }
    let mode = if found.is_dir() { 0o555 } else { 0o444 };
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The user who owns nothing.
const NOBODY: u32 = 65_534;
