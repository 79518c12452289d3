//! Completion in a shell: what follows the words that are typed, and what the scripts of shells do with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::session::Session;

/// The shells, each with the program that reads its scripts and the options with which it only parses them.
const SHELLS: [(&str, &[&str]); 5] = [
    ("bash", &["bash", "-n"]),
    ("elvish", &["elvish", "-compileonly"]),
    ("fish", &["fish", "--no-execute"]),
    ("powershell", &["pwsh", "-NoProfile", "-File"]),
    ("zsh", &["zsh", "-n"]),
];

/// What the program answers the script of a shell; the words after `rye`, of which the last one is completed.
#[expect(clippy::disallowed_methods, reason = "a test starts the program that it looks at")]
fn asked(session: &Session, shell: &str, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    command.current_dir(session.project()).env_clear().env("HOME", session.home());
    command.env("RYE_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.args(["--", "rye"]).args(words).output().unwrap()
}

/// The candidates, by the form that bash is answered in.
#[track_caller]
fn candidates(session: &Session, words: &[&str]) -> Vec<String> {
    let output = asked(session, "bash", words);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*error), (Some(0), ""), "{words:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The candidates that are no options, which may stand in most places too.
#[track_caller]
fn names(session: &Session, words: &[&str]) -> Vec<String> {
    let mut candidates = candidates(session, words);
    candidates.retain(|word| !word.starts_with('-'));
    candidates
}

/// Every file below the folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => files.extend(files_and_folder(&entry)),
            false => _ = files.insert(entry.clone(), fs::read(&entry).unwrap()),
        }
    }
    files
}

fn files_and_folder(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = files(folder);
    files.insert(folder.to_owned(), Vec::new());
    files
}

/// A project with items of every kind, and one of the operator.
fn session() -> Session {
    let session = Session::new();
    session.put(".ai/tools/ops/deploy.yaml", "not read\n");
    session.put(
        ".ai/tools/ops/count.yaml",
        "description: Counts.\nexecutor: command\ncommand: wc\ninput_schema:\n  type: object\n  properties:\n    text: { type: string }\n    $(text): { type: string }\n",
    );
    session.put(".ai/tools/rye/agent/providers/local.yaml", "not read\n");
    session.put("../home/.ai/directives/notes/own.md", "not read\n");
    session.put("plain.txt", "");
    session
}

const DIRECTIVES: &[&str] = &["notes/base", "notes/index", "notes/own"];

/// The words that are typed, and the candidates for the last one.
#[test]
fn what_is_typed_and_what_can_follow() {
    let session = session();
    session.rye("trust add TRUST --yes");
    let rows: [(&[&str], &[&str]); 47] = [
        (&["resu"], &["resume"]),
        (&["keys", "g"], &["generate"]),
        (&["threads", "ta"], &["tail"]),
        (&["threads", "prune", "--resu"], &["--resumable"]),
        (&["run", "--prov"], &["--provider"]),
        (&["--color", "a"], &["always", "auto"]),
        (&["run", "no"], DIRECTIVES),
        (&["run", "--provider", "steps", "no"], DIRECTIVES),
        (&["run", "notes/o"], &["notes/own"]),
        (&["run", ".ai/directives/notes/i"], &[".ai/directives/notes/index.md"]),
        (&["render", "notes/i"], &["notes/index"]),
        (&["explain", "notes/i"], &["notes/index"]),
        (&["diff", "notes/i"], &["notes/index"]),
        (&["diff", "notes/index", "notes/o"], &["notes/own"]),
        (&["lock", "notes/index", "notes/o"], &["notes/own"]),
        (&["caps", "tighten", "no"], DIRECTIVES),
        (&["caps", "check", "notes/o"], &["notes/own"]),
        (&["threads", "list", "--directive", "notes/o"], &["notes/own"]),
        (&["call", "ops/d"], &["ops/deploy"]),
        (&["call", "rye/bash"], &["rye/bash/bash"]),
        // A provider's configuration is no tool that anything calls.
        (&["call", "rye/agent/providers"], &[]),
        (&["load", "notes/index"], &["notes/index", "notes/index-style"]),
        (&["which", "ops/d"], &["ops/deploy"]),
        (&["run", "x", "--provider", "lo"], &["local"]),
        (&["run", "x", "--provider=lo"], &["--provider=local"]),
        (&["run", "x", "--provider", "st"], &["steps"]),
        (&["run", "notes/index", "--input", ""], &["folder=", "index="]),
        (&["run", "notes/index", "--provider", "steps", "-i", "fo"], &["folder="]),
        (&["run", "notes/none", "--input", ""], &[]),
        (&["call", "ops/count", "te"], &["text="]),
        (&["call", "--project", ".", "ops/count", "-i", "te"], &["text="]),
        (&["call", "rye/file-system/ls", "pa"], &["path="]),
        (&["call", "ops/none", "te"], &[]),
        (&["call", "ops/count", "$"], &[]),
        (&["threads", "list", "--state", "s"], &["suspended", "stopped"]),
        (&["threads", "list", "--state=co"], &["--state=completed", "--state=continued"]),
        (&["sign", "notes/i"], &["notes/index", "notes/index-style"]),
        (&["sign", "rye/file"], &[]),
        (&["check", "notes/o"], &["notes/own"]),
        (&["verify", "ops/d"], &["ops/deploy"]),
        (&["trust", "show", "56"], &["56dbf7b2d9ce86ed"]),
        (&["trust", "export", "5"], &["56dbf7b2d9ce86ed"]),
        (&["check", "pl"], &["plain.txt"]),
        (&["sign", ".ai/tools/op"], &[".ai/tools/ops/"]),
        (&["verify", ".ai/tools/ops/d"], &[".ai/tools/ops/deploy.yaml"]),
        (&["run", "nothing/has/this"], &[]),
        (&["new", "directive", "no"], &[]),
    ];
    let before = files(session.project().parent().unwrap());
    for (words, expected) in rows {
        assert_eq!(candidates(&session, words), expected, "{words:?}");
    }
    assert!(files(session.project().parent().unwrap()) == before, "something was written");
}

/// Without a letter, the folder of the items and their ids are offered where files of items are taken.
#[test]
fn items_to_sign_are_offered_without_a_letter() {
    let session = session();
    let offered = names(&session, &["sign", ""]);
    for expected in [".ai/", "plain.txt", "notes/index", "ops/deploy"] {
        assert!(offered.iter().any(|word| word == expected), "{expected}: {offered:?}");
    }
    assert!(offered.iter().all(|word| !word.starts_with("rye/core")), "{offered:?}");
}

/// Threads are offered with the newest first wherever one is taken.
#[test]
fn threads_are_offered_where_one_is_taken() {
    let session = Session::new();
    for word in ["", "index"] {
        assert_eq!(names(&session, &["resume", word]), [""; 0]);
    }
    session.rye("run notes/index --trust TRUST --provider steps");
    let first = session.thread();
    let newest = "other-ffffffff-ffff-7fff-bfff-ffffffffffff";
    fs::create_dir(session.project().join(".ai/threads").join(newest)).unwrap();
    fs::create_dir(session.project().join(".ai/threads/no thread")).unwrap();
    let commands: [&[&str]; 13] = [
        &["resume"],
        &["resume", "--trust", "x"],
        &["cancel"],
        &["approve"],
        &["deny"],
        &["replay"],
        &["threads", "show"],
        &["threads", "tail"],
        &["threads", "tree"],
        &["threads", "verify"],
        &["caps", "explain", "notes/index", "--transcript"],
        &["caps", "tighten", "notes/index", "--transcript"],
        &["resume", "--project", "."],
    ];
    let before = files(&session.project());
    for command in commands {
        let offered = names(&session, &[command, &[""]].concat());
        assert_eq!(offered, [newest, first.as_str()], "{command:?}");
        assert_eq!(names(&session, &[command, &["ind"]].concat()), [first.as_str()]);
    }
    assert!(files(&session.project()) == before, "something was written");
}

/// The words before say where to look, as they do for the command itself.
#[test]
fn another_project_is_looked_at_where_the_words_name_it() {
    let session = session();
    session.put("../other/.ai/directives/far/away.md", "not read\n");
    session.put("../own/.ai/directives/mine/own.md", "not read\n");
    session.put("../shared/.ai/directives/shared/one.md", "not read\n");
    let rows: [(&[&str], &[&str]); 6] = [
        (&["run", "--project", "../other", "fa"], &["far/away"]),
        (&["--project=../other", "run", "fa"], &["far/away"]),
        (&["--project=../other", "run", "notes/i"], &[]),
        (&["--user-space", "../own", "run", "mi"], &["mine/own"]),
        (&["run", "--system", "../shared", "--system=../other", "sh"], &["shared/one"]),
        (&["run", "--project", "../nowhere", "fa"], &[]),
    ];
    for (words, expected) in rows {
        assert_eq!(candidates(&session, words), expected, "{words:?}");
    }
}

/// What cannot be read has no candidates, and no name of a file can do anything to a shell or a terminal.
#[cfg(unix)]
#[test]
fn a_broken_project_and_hostile_names_are_passed_over() {
    let session = session();
    let hostile =
        ["a\u{1b}[2J", "a\nb", "a\u{b}rye", "a b", "a;b", "a$(b)", "a`b`", "a'b", "a\u{202e}b"];
    for name in hostile {
        session.put(&format!(".ai/directives/notes/{name}.md"), "");
        session.put(&format!("{name}.txt"), "");
        fs::create_dir_all(session.project().join(format!(".ai/threads/{name}"))).unwrap();
    }
    session.put("a.txt", "");
    session.put(".ai/config/trust.yaml", "not: [yaml\n");
    session.put(".ai/rye.lock", "\0");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        for (words, expected) in [
            (["run", "notes/"], "notes/base notes/index notes/own"),
            (["check", "a"], "a.txt"),
            (["resume", "a"], ""),
        ] {
            let output = asked(&session, shell, &words);
            let shown = String::from_utf8(output.stdout).unwrap();
            let words: Vec<&str> = shown.split_whitespace().collect();
            assert_eq!(words.join(" "), expected, "{shell}: {shown:?}");
        }
    }
    fs::remove_dir_all(session.project().join(".ai")).unwrap();
    session.put(".ai", "a file\n");
    assert_eq!(candidates(&session, &["run", "notes/"]), ["notes/own"]);
    assert_eq!(candidates(&session, &["resume", "a"]), [""; 0]);
}

#[test]
fn another_shell_is_refused() {
    let output = asked(&Session::new(), "csh", &["run", ""]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("unknown shell `csh`"), "{error}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    // An empty variable asks for nothing.
    assert!(Session::new().rye_with("--version", &[("RYE_COMPLETE", "")]).contains("rye "));
}

/// The script of every shell asks the program; the shells that are here read theirs.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test starts the shells that are there")]
fn the_scripts_of_shells_ask_the_program() {
    let session = Session::new();
    for (shell, check) in SHELLS {
        let output = session.raw(&format!("completions {shell}"));
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("RYE_COMPLETE") && script.contains(shell), "{shell}: {script}");
        assert!(!script.contains(env!("CARGO_BIN_EXE_rye")), "{shell}: {script}");
        let path = session.project().join("script");
        fs::write(&path, script).unwrap();
        // A shell that is not installed cannot say anything about its script.
        if let Ok(read) = Command::new(check[0]).args(&check[1..]).arg(&path).output() {
            assert!(read.status.success(), "{shell}: {read:?}");
        }
    }
}

/// What bash makes of its script: the words that it would put on the command line.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a test starts the shell that it looks at")]
fn bash_completes_by_its_script() {
    let session = session();
    session.rye("run notes/index --trust TRUST --provider steps");
    let thread = session.thread();
    let program = Path::new(env!("CARGO_BIN_EXE_rye")).parent().unwrap();
    let complete = |words: &str| {
        let script = format!(
            "source <(rye completions bash)\nCOMP_WORDS=({words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _clap_complete_rye rye \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "--noprofile", "-c", &script]).current_dir(session.project());
        let path = format!("{}:/usr/bin:/bin", program.display());
        bash.env_clear().env("PATH", path).env("HOME", session.home());
        let output = bash.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    for (words, expected) in [
        ("rye run notes/i", "notes/index"),
        ("rye call ops/d", "ops/deploy"),
        ("rye threads show ind", thread.as_str()),
        ("rye check pl", "plain.txt"),
        ("rye run nothing", ""),
    ] {
        assert_eq!(complete(words), expected, "{words}");
    }
}
