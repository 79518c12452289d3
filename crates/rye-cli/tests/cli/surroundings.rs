//! What the program meets around it: readers that go, paths without a text, threads that were moved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::session::Session;

#[expect(clippy::disallowed_methods, reason = "a test starts the program that it looks at")]
fn rye(session: &Session, project: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    command.args(arguments).current_dir(project).env_clear().env("HOME", session.home());
    command
}

fn trust_document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/keys/example-trust.toml")
}

/// The reader reads nothing at all.
#[test]
fn a_reader_that_goes_is_no_failure() {
    let session = Session::new();
    for arguments in [&["schema", "provider"][..], &["completions", "bash"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = rye(&session, &session.project(), arguments);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_listener_that_goes_is_no_failure() {
    let session = Session::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = rye(&session, &session.project(), &["run", "notes/nothing"]);
    let output = command.stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

/// Nothing of what was asked for arrives, which is not fine.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let session = Session::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        rye(&session, &session.project(), &["schema", "provider"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot write the output: "), "{said}");
}

#[test]
fn a_command_line_that_makes_no_sense_is_told_as_data_too() {
    insta::assert_snapshot!(Session::new().rye("run notes/index --json --nonsense"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_without_a_text_is_still_data() {
    use std::os::unix::ffi::OsStrExt as _;
    let session = Session::new();
    let project = session.home().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::rename(session.project(), &project).unwrap();
    for arguments in [
        &["check", "--json"][..],
        &["verify", "--json"],
        &["new", "knowledge", "notes/more", "--json"],
        &["which", "notes/index", "--json"],
        &["run", "notes/index", "--provider", "steps", "--allow-unsigned", "--json"],
    ] {
        let output = rye(&session, &project, arguments).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.starts_with('{'), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// The folders of two finished threads.
fn two_threads(session: &Session) -> [PathBuf; 2] {
    for _ in 0..2 {
        session.rye("run notes/index --trust TRUST --provider steps");
    }
    let entries = fs::read_dir(session.project().join(".ai/threads")).unwrap();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.try_into().unwrap()
}

#[test]
fn a_thread_in_the_place_of_another_is_refused() {
    let session = Session::new();
    let [first, second] = two_threads(&session);
    let aside = first.with_file_name("aside");
    for (from, to) in [(&first, &aside), (&second, &first), (&aside, &second)] {
        fs::rename(from, to).unwrap();
    }
    let shown = session.rye("threads show");
    assert!(shown.contains("holds the record of") && shown.ends_with("--- exit 3\n"), "{shown}");
}

#[test]
fn bytes_after_the_end_of_a_thread_are_refused() {
    let session = Session::new();
    let [_, newest] = two_threads(&session);
    let path = newest.join("transcript.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}half a rec")).unwrap();
    let shown = session.rye("threads show");
    assert!(shown.contains("does not end where") && shown.ends_with("--- exit 3\n"), "{shown}");
}

/// `${steps.…}` is for who wrote the directive, not for who gives its inputs (SPEC 6.2).
#[test]
fn values_make_no_reference_to_a_step() {
    let session = Session::new();
    session.put(
        ".ai/directives/copy.md",
        "# Copy\n\n```xml\n<directive name=\"copy\" version=\"1.0.0\">\n  <metadata><description>Copies.</description>\n    \
         <permissions><execute><tool>rye.file-system.*</tool></execute></permissions></metadata>\n  <inputs>\n    \
         <input name=\"a\" type=\"string\" required=\"true\">a</input>\n    \
         <input name=\"b\" type=\"string\" required=\"true\">b</input>\n  </inputs>\n</directive>\n```\n\n<process>\n\
         <step name=\"read\"><execute item_type=\"tool\" item_id=\"rye/file-system/read\">\n\
         <param name=\"path\">notes/bread.md</param></execute></step>\n\
         <step name=\"write\"><execute item_type=\"tool\" item_id=\"rye/file-system/write\">\n\
         <param name=\"path\">out.md</param><param name=\"content\">${steps.read.bytes} ${input:a}{input:b}</param>\n\
         </execute></step>\n</process>\n",
    );
    let run = |a: &str, b: &str| {
        session.rye(&format!("run copy --allow-unsigned --provider steps -i a={a} -i b={b}"))
    };
    for (a, b) in [("{steps.read.content}", "x"), ("{ste", "ps.read.content}")] {
        let refused = run(a, b);
        assert!(refused.contains("step `write` refers to the result of a step"), "{refused}");
        assert!(refused.ends_with("--- exit 2\n"), "{refused}");
    }
    let fine = run("{step", ".}");
    assert!(fine.ends_with("--- exit 0\n"), "{fine}");
    let written = fs::read_to_string(session.project().join("out.md")).unwrap();
    assert!(written.ends_with(" ${step.}"), "{written}");
}

/// The program is told to end, by the terminal or by the system, while a model takes its time.
#[cfg(unix)]
#[test]
fn a_signal_leaves_a_thread_that_can_go_on() {
    let session = Session::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    session.put(
        ".ai/tools/rye/agent/providers/slow.yaml",
        &format!(
            "protocol: anthropic_messages\nbase_url: http://{address}\ntiers: {{fast: m}}\nmodels:\n  m:\n    context_window: 100000\n    \
             max_output: 100\n    prices: {{input: \"1\", output: \"1\"}}\n"
        ),
    );
    let start = ["run", "notes/index", "--provider", "slow", "--allow-unsigned"];
    let again = ["resume", "--last", "--allow-unsigned"];
    let json = ["--json", "--quiet"];
    for (signal, code, words, form) in [
        ("INT", 130, &start[..], &json[..]),
        ("TERM", 143, &again[..], &json[..]),
        ("HUP", 129, &again[..], &[][..]),
        ("TERM", 143, &start[..], &[][..]),
    ] {
        let arguments = [words, form].concat();
        let mut command = rye(&session, &session.project(), &arguments);
        command.arg("--trust").arg(trust_document());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let Some(connection) = accepted(&listener, &mut child) else {
            panic!("{:?}", child.wait_with_output())
        };
        kill(signal, &child);
        let output = child.wait_with_output().unwrap();
        drop(connection);
        let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let expected = match form {
            [] => ["stopped; go on with `rye resume index-", " stopped (0 turns, "],
            _ => ["\"state\": \"stopped\"", "\"resume\": \"rye resume index-"],
        };
        expected.iter().for_each(|it| assert!(shown.contains(it), "{signal}: {shown}"));
        assert_eq!(output.status.code(), Some(code), "{signal}: {shown}");
        assert!(session.rye("threads show").contains("state      stopped"));
        assert!(session.rye("threads verify").starts_with("$ rye threads verify\nok "));
    }
}

/// `nohup` has the program ignore the end of the terminal, so that it goes on.
#[cfg(target_os = "linux")]
#[test]
fn an_ignored_signal_stops_nothing() {
    let session = Session::new();
    session.asks_before_it_writes();
    let script = "trap '' HUP; kill -HUP $$; exec \"$0\" \"$@\"";
    let ignoring = ["-c", script, env!("CARGO_BIN_EXE_rye"), "run", "notes/index", "--trust"];
    #[expect(clippy::disallowed_methods, reason = "a shell has the program ignore a signal")]
    let mut command = Command::new("sh");
    command.args(ignoring).arg(trust_document()).args(["--provider", "steps"]);
    command.current_dir(session.project()).env_clear().env("HOME", session.home());
    assert_eq!(command.output().unwrap().status.code(), Some(4));
}

#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "the standard library sends no signals, a shell does"
)]
fn kill(signal: &str, child: &std::process::Child) {
    let line = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
}

/// The program's connection, unless it ends without one.
#[cfg(unix)]
fn accepted(
    listener: &std::net::TcpListener,
    child: &mut std::process::Child,
) -> Option<std::net::TcpStream> {
    while child.try_wait().unwrap().is_none() {
        match listener.accept() {
            Ok((connection, _)) => return Some(connection),
            Err(_) => std::thread::yield_now(),
        }
    }
    None
}
