//! A repository that its author means ill by, and what the program does when it is pointed at it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::server::{Answer, Server};
use crate::session::Session;

#[expect(clippy::disallowed_methods, reason = "a test starts the program that it looks at")]
fn rye(session: &Session, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let trust = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/keys/example-trust.toml");
    Command::new(env!("CARGO_BIN_EXE_rye"))
        .args(["--trust", trust])
        .args(arguments)
        .current_dir(session.project())
        .env_clear()
        .env("HOME", session.home())
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file that takes no room on the disk and more than any memory.
fn huge(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
}

/// Each command ends, and says of the file that it is too long.
#[test]
fn a_file_longer_than_memory() {
    let session = Session::new();
    let file = ".ai/directives/huge.md";
    huge(&session.project().join(file));
    for arguments in [
        &["check"][..],
        &["check", file],
        &["verify"],
        &["list"],
        &["search", "notes"],
        &["lock"],
        &["run", "huge", "--provider", "steps"],
        &["render", "huge"],
        &["explain", "huge"],
        &["sign", file, "--key", KEY],
    ] {
        let output = rye(&session, arguments, &[]);
        let text = told(&output) + &String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("longer than"), "{arguments:?}: {text}");
    }
}

const KEY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/keys/example-signing-key.pem");

/// Nothing is waited for and nothing is read without an end, whatever a file of the project turns out to be.
#[cfg(unix)]
#[test]
fn a_device_in_the_place_of_a_file() {
    use std::os::unix::fs::symlink;
    for file in [
        ".ai/directives/x.md",
        ".ai/config/trust.yaml",
        ".ai/config/agent/hooks.yaml",
        ".ai/config/agent/resilience.yaml",
        ".ai/tools/rye/file-system/ls.yaml",
        ".ai/rye.lock",
        ".ai/config/keys/trusted/56dbf7b2d9ce86ed.toml",
    ] {
        let session = Session::new();
        let path = session.project().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink("/dev/zero", &path).unwrap();
        for arguments in [
            &["check", file][..],
            &["verify", file],
            &["check"],
            &["check", "--locked"],
            &["list"],
            &["run", "notes/index", "--provider", "steps"],
            &["sign", file, "--key", KEY],
        ] {
            let output = rye(&session, arguments, &[]);
            assert!(output.status.code().is_some(), "{file} {arguments:?}");
        }
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink(), "{file} was replaced");
    }
}

#[cfg(unix)]
#[test]
fn a_record_that_is_none() {
    use std::os::unix::fs::symlink;
    for name in ["thread.json", "transcript.jsonl"] {
        let session = Session::new();
        session.rye("run notes/index --trust TRUST --provider steps");
        let threads = session.project().join(".ai/threads");
        let folders = fs::read_dir(threads).unwrap().map(|entry| entry.unwrap().path());
        let folder = folders.into_iter().find(|path| path.is_dir()).unwrap();
        let path = folder.join(name);
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        let shown = session.rye("threads show");
        assert!(shown.contains("it is not a plain file"), "{shown}");
        fs::remove_file(&path).unwrap();
        huge(&path);
        let shown = session.rye("threads show");
        assert!(shown.contains("it is longer than"), "{shown}");
    }
}

/// A file's name is its author's choice, and is printed where it is refused.
#[cfg(unix)]
#[test]
fn a_name_that_commands_a_terminal() {
    let session = Session::new();
    session.put(".ai/directives/a\u{1b}[2Jb.md", "x");
    session.put(".ai/directives/c\u{202e}d.md", "x");
    session.put(".ai/directives/e\nerror: forged.md", "x");
    for arguments in [
        &["check"][..],
        &["verify"],
        &["list"],
        &["search", "x"],
        &["lock"],
        &["run", "a\u{1b}[2Jb"],
    ] {
        let said = told(&rye(&session, arguments, &[]));
        let commands = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!said.contains(commands), "{arguments:?}: {said:?}");
    }
}

/// A key of the environment goes to the provider that needs it, and no other variable anywhere.
#[test]
fn a_variable_of_the_environment_is_told_to_nobody() {
    let session = Session::new();
    // An error that repeats all headers of the request.
    let server = Server::new(|request| {
        let told =
            json!({ "type": "invalid_request_error", "message": format!("{:?}", request.headers) });
        Answer::json(400, json!({ "error": told }))
    });
    session.provider(
        "echo",
        &format!(
            "protocol: anthropic_messages\nbase_url: {}\nauth: {{env: ANTHROPIC_API_KEY, header: x-api-key}}\ntiers: {{fast: m}}\n\
             models:\n  m:\n    context_window: 100000\n    max_output: 100\n    prices: {{input: \"1\", output: \"1\"}}\n",
            server.url()
        ),
    );
    session.change(
        ".ai/knowledge/notes/index-style.md",
        "one Markdown file",
        "${CANARY} $CANARY {env:CANARY} ${env.CANARY} {{CANARY}}",
    );
    let line =
        fs::read_to_string(session.project().join(".ai/knowledge/notes/index-style.md")).unwrap();
    let (_, unsigned) = line.split_once('\n').unwrap();
    session.put(".ai/knowledge/notes/index-style.md", unsigned);
    let variables = [("CANARY", "canary-9f31c0de"), ("ANTHROPIC_API_KEY", "sk-echo-7d41")];
    let arguments = ["run", "notes/index", "--provider", "echo", "--allow-unsigned", "--json"];
    let output = rye(&session, &arguments, &variables);
    let request = server.received().remove(0);
    assert_eq!(request.header("x-api-key"), Some("sk-echo-7d41"));
    assert!(request.text().contains("${CANARY} $CANARY"), "{}", request.text());
    let shown = told(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("answered 400"), "{shown}");
    for text in [&request.line, &format!("{:?}", request.headers), request.text(), &shown] {
        assert!(!text.contains("canary-9f31c0de"), "{text}");
    }
    let threads = session.project().join(".ai/threads");
    let folders = fs::read_dir(threads).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).unwrap());
    let records = files.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    for text in records.chain([shown]) {
        assert!(!text.contains("canary-9f31c0de") && !text.contains("sk-echo-7d41"), "{text}");
    }
}

/// Whatever takes an id takes none that climbs.
#[test]
fn dots_in_an_id_of_the_command_line() {
    let session = Session::new();
    session.put(".ai/secret.md", "The secret.\n");
    for id in ["../secret", "notes/../../secret", ".."] {
        for arguments in [
            &["run", id][..],
            &["render", id],
            &["explain", id],
            &["which", id],
            &["lock", id],
            &["diff", id, "notes/index"],
            &["new", "directive", id],
            &["threads", "show", id],
            &["run", "notes/index", "--provider", id],
        ] {
            let output = rye(&session, arguments, &[]);
            assert_ne!(output.status.code(), Some(0), "{arguments:?}");
            let shown = told(&output) + &String::from_utf8_lossy(&output.stdout);
            assert!(!shown.contains("The secret"), "{arguments:?}: {shown}");
        }
    }
    assert!(!session.project().join("secret.md").exists());
}

/// What lies among items under a name that no id has is used by nothing, and verified by nothing.
#[test]
fn a_name_that_makes_no_id() {
    let session = Session::new();
    let text = fs::read_to_string(session.project().join(".ai/directives/notes/index.md")).unwrap();
    for file in [".ai/directives/notes/in dex.md", ".ai/directives/.hidden/index.md"] {
        session.put(file, &text);
        let output = rye(&session, &["verify", file], &[]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("has a name that no item id can have"), "{file}: {said}");
        assert_eq!(output.status.code(), Some(3), "{file}");
    }
}

/// Only a program that writes into a pipe ends the wait for it.
#[cfg(unix)]
#[test]
fn a_pipe_without_a_writer() {
    let session = Session::new();
    let pipe = session.project().join("../trust.toml");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let told = session.rye("list --trust ../trust.toml");
    let expected =
        "it is a pipe that no program opened for writing within 1 s; start that program first";
    assert!(told.contains(expected), "{told}");
    let writer = {
        let (pipe, text) = (pipe, fs::read(session.trust()).unwrap());
        std::thread::spawn(move || fs::write(pipe, text))
    };
    assert!(session.rye("list --trust ../trust.toml").ends_with("--- exit 0\n"));
    writer.join().unwrap().unwrap();
}

/// The registry is read for every list of threads.
#[test]
fn a_registry_longer_than_memory() {
    let session = Session::new();
    let path = session.project().join(".ai/threads/registry.db");
    huge(&path);
    for arguments in [&["threads", "list"][..], &["doctor"]] {
        let output = rye(&session, arguments, &[]);
        let text = told(&output) + &String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("longer than"), "{arguments:?}: {text}");
    }
}

/// A file that is longer than what is read of one is told, and not cut.
#[test]
fn inputs_that_are_too_long() {
    let session = Session::new();
    let text = format!("{{\"x\": \"{}\"}}", "x".repeat(16 << 20));
    session.put("inputs.json", &text);
    let told = session.rye("run notes/index --input folder=@inputs.json --provider steps");
    assert!(told.contains("it is longer than 16777216 bytes"), "{told}");
}
