//! Tools that are programs, from their files to the record of what they did.

use std::fs;

use serde_json::Value;

use crate::session::Session;
use crate::streaming::lines;

const SHOUT: &str = "\
#!/bin/sh
# /// rye
# description: Says it louder.
# input_schema:
#   type: object
#   properties:
#     text: {type: string}
#   required: [text]
# ///
tr a-z A-Z
";

const COUNT: &str = "\
description: Counts the words of a file.
executor: command
command: wc
args: [\"-w\", \"--\", \"{input:path}\"]
input_schema:
  type: object
  properties:
    path: {type: string}
  required: [path]
  additionalProperties: false
";

/// A directive whose steps call the tools of `calls`, one after the other.
fn directive(grants: &str, calls: &str) -> String {
    format!(
        "# Work\n\n```xml\n<directive name=\"work\" version=\"1.0.0\">\n  <metadata><description>Works.</description>\n    \
         <permissions><execute>{grants}</execute><acknowledge risk=\"elevated\">A test.</acknowledge>\
         <acknowledge risk=\"unrestricted\">A test.</acknowledge></permissions></metadata>\n</directive>\n```\n\n<process>\n\
         {calls}</process>\n"
    )
}

fn step(tool: &str, name: &str, value: &str) -> String {
    format!(
        "<step name=\"{name}\"><execute item_type=\"tool\" item_id=\"{tool}\"><param name=\"{name}\">{value}</param></execute></step>\n"
    )
}

fn session() -> Session {
    let session = Session::new();
    session.put(".ai/tools/team/shout.sh", SHOUT);
    session.put(".ai/tools/team/count.yaml", COUNT);
    session
}

fn run(session: &Session) -> String {
    session.rye("run work --allow-unsigned --provider steps")
}

/// The contents of all receipts, in order.
fn receipts(session: &Session) -> Vec<Value> {
    records(session, "tool_call_result").iter().map(|it| it["payload"]["content"].clone()).collect()
}

fn records(session: &Session, event: &str) -> Vec<Value> {
    let path =
        session.project().join(".ai/threads").join(session.thread()).join("transcript.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|record| record["event"] == event).collect()
}

/// The file that leads a browser to `rye view` lies where no sandbox shows it, also to a program with the network, and wherever the user
/// space is.
#[test]
fn the_folder_of_a_viewer_is_hidden_from_a_program_with_the_network() {
    const READ: &str = "\
description: Reads files.
executor: command
command: cat
args: [\"--\", \"{input:path}\"]
network: true
input_schema: { type: object, properties: { path: { type: string } }, required: [path] }
";
    let session = Session::new();
    let own = session.project().join("own");
    let hidden = own.join(".ai/cache/programs/.rye-abc123.tmp/view.html");
    let seen = own.join("seen");
    for path in [&hidden, &seen] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "http://127.0.0.1:1/").unwrap();
    }
    session.put(".ai/tools/team/read.yaml", READ);
    let calls = [&seen, &hidden].map(|it| step("team/read", "path", &it.display().to_string()));
    session.put(".ai/directives/work.md", &directive("<tool>team.*</tool>", &calls.concat()));
    let home = own.display().to_string();
    let told = session.rye_with("run work --allow-unsigned --provider steps", &[("HOME", &home)]);
    assert!(!told.ends_with("--- exit 0\n"), "{told}");
    let results = records(&session, "tool_call_result");
    assert_eq!(results[0]["payload"]["content"], "http://127.0.0.1:1/", "{told}");
    assert!(!results[1].to_string().contains("http://127.0.0.1:1/"), "{results:?}");
}

#[test]
fn a_script_a_command_and_a_shell_are_run() {
    let session = session();
    let calls = [
        step("team/shout", "text", "quiet"),
        step("team/count", "path", "notes/bread.md"),
        step("rye/bash/bash", "command", "echo $((6 * 7)); pwd; env | grep -c HOME="),
    ];
    let grants = "<tool>team.*</tool><tool>rye.bash.*</tool>";
    session.put(".ai/directives/work.md", &directive(grants, &calls.concat()));
    let shown = run(&session);
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    let receipts = receipts(&session);
    assert_eq!(receipts[0], serde_json::json!({ "TEXT": "QUIET" }), "{receipts:?}");
    assert!(receipts[1].as_str().unwrap().ends_with(" notes/bread.md\n"), "{receipts:?}");
    let project = session.project().canonicalize().unwrap();
    let expected = format!("42\n{}\n1\n", project.display());
    assert_eq!(receipts[2], serde_json::json!({ "exit_code": 0, "stdout": expected }));
}

/// What a program writes is told while it runs, to who asks for the pieces.
#[test]
fn what_a_program_writes_is_told_in_pieces() {
    let session = session();
    let call = step("rye/bash/bash", "command", "echo one; echo two 1>&amp;2");
    session.put(".ai/directives/work.md", &directive("<tool>rye.bash.*</tool>", &call));
    let told = lines(&session, "run work --allow-unsigned --provider steps --json --deltas");
    let piece = |stream: &str, text: &str| {
        told.iter().any(|line| {
            line["event"] == "output" && line["stream"] == stream && line["text"] == text
        })
    };
    assert!(piece("stdout", "one\n") && piece("stderr", "two\n"), "{told:?}");
    let without = lines(&session, "run work --allow-unsigned --provider steps --json");
    assert!(without.iter().all(|line| line["event"] != "output"), "{without:?}");
}

#[test]
fn the_record_says_what_programs_were_kept_in() {
    let session = session();
    session.put(
        ".ai/directives/work.md",
        &directive("<tool>team.*</tool>", &step("team/shout", "text", "a")),
    );
    let shown = run(&session);
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    let start = &records(&session, "thread_start")[0]["payload"]["facts"]["sandbox"];
    let mode = start["mode"].as_str().unwrap();
    assert!(["bubblewrap", "namespaces", "landlock", "none"].contains(&mode), "{start}");
    assert_eq!(start["policy"], "preferred");
    assert_eq!(
        start["gaps"].as_array().unwrap().is_empty(),
        ["bubblewrap", "namespaces"].contains(&mode)
    );
}

#[test]
fn a_run_without_programs_tries_no_sandbox() {
    let session = session();
    session.put(
        ".ai/directives/work.md",
        &directive("<tool>rye.file-system.*</tool>", &step("rye/file-system/ls", "path", ".")),
    );
    assert!(run(&session).ends_with("--- exit 0\n"));
    assert_eq!(records(&session, "thread_start")[0]["payload"]["facts"]["sandbox"], Value::Null);
}

/// What the operator's file says, and what a project's may say of it.
#[track_caller]
fn check_rules(user: &str, project: &str, expected: &str) {
    let session = session();
    let file = "config/agent/processes.yaml";
    let home = session.home().join(".ai").join(file);
    fs::create_dir_all(home.parent().unwrap()).unwrap();
    fs::write(home, user).unwrap();
    session.put(&format!(".ai/{file}"), project);
    session.put(
        ".ai/directives/work.md",
        &directive("<tool>team.*</tool>", &step("team/shout", "text", "a")),
    );
    let shown = run(&session);
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn so_much_is_not_hidden_that_nothing_would_start() {
    for place in [
        "/",
        "/usr",
        "/usr/bin",
        "/lib",
        "/dev",
        "/proc",
        "/usr/share/..",
        "/tmp",
        "/usr/lib/../..",
    ] {
        let expected = format!("`hidden` has `{place}`, which would hide `");
        check_rules(&format!("hidden: [{place}]\n"), "{}\n", &expected);
        check_rules("{}\n", &format!("hidden: [{place}]\n"), &expected);
    }
    check_rules("hidden: [/etc/hosts, /media, /nowhere, /usr/share/doc]\n", "{}\n", "--- exit 0\n");
}

#[test]
fn all_problems_of_a_file_are_told_at_once() {
    check_rules(
        "memory_mib: 100\n",
        "memory_mib: 101\nhidden: [/usr]\n",
        "a project may not raise `memory_mib` from 100 to 101; `hidden` has `/usr`, which would hide",
    );
}

#[test]
fn a_project_asks_for_more_and_never_for_less() {
    check_rules("sandbox: off\n", "hidden: [/etc/hosts]\n", "--- exit 0\n");
    check_rules("sandbox: off\n", "sandbox: preferred\n", "--- exit 0\n");
    check_rules(
        "sandbox: required\n",
        "sandbox: preferred\n",
        "a project may not lower `sandbox` from `required` to `preferred`",
    );
    check_rules(
        "{}\n",
        "sandbox: off\n",
        "a project may not lower `sandbox` from `preferred` to `off`",
    );
    check_rules(
        "{}\n",
        "runtimes: {sh: [env]}\n",
        "a project may not say what runs scripts; `runtimes` is for the user space",
    );
    check_rules("home_visible: [tools, .config/git/config]\n", "{}\n", "--- exit 0\n");
    check_rules(
        "{}\n",
        "home_visible: [tools]\n",
        "a project may not show more of the home folder; `home_visible` is for the user space",
    );
    for (place, problem) in [
        (".ssh", "`~/.ssh` holds keys or passwords"),
        (".ssh/config", "`~/.ssh` holds keys or passwords"),
        (".ai/config/keys/signing/private_key.pem", "holds keys or passwords"),
        ("..", "write the path of a file or folder below the home folder"),
        ("a/../.ssh", "write the path of a file or folder below the home folder"),
        (".", "write the path of a file or folder below the home folder"),
        ("/home/me/tools", "does not match"),
        ("''", "does not match"),
    ] {
        check_rules(&format!("home_visible: [{place}]\n"), "{}\n", problem);
    }
    check_rules(
        "memory_mib: 8192\nprocesses: 2000\n",
        "memory_mib: 100\nprocesses: 2000\n",
        "--- exit 0\n",
    );
    check_rules(
        "memory_mib: 100\n",
        "memory_mib: 101\n",
        "a project may not raise `memory_mib` from 100 to 101",
    );
    check_rules(
        "{}\n",
        "processes: 1025\n",
        "a project may not raise `processes` from 1024 to 1025",
    );
    check_rules("memory_mib: 1\n", "{}\n", "1 is less than the minimum of 64");
    check_rules("processes: 0\n", "{}\n", "0 is less than the minimum of 16");
    check_rules("sandbox: sometimes\n", "{}\n", "\"sometimes\" is not one of");
    check_rules("hidden: [keys]\n", "{}\n", "does not match \"^/\"");
    check_rules("runtimes: {exe: [env]}\n", "{}\n", "exe");
    check_rules("runtimes: {sh: [sh, -c, 'echo {}']}\n", "{}\n", "--- exit 0\n");
}

#[test]
fn a_command_line_that_cannot_be_made_is_not_offered() {
    let session = session();
    for (name, line, reason) in [
        (
            "a",
            "args: ['{input:paht}']",
            "it has a place for `paht`, which is no property of its input schema",
        ),
        ("b", "args: ['${steps.a.b}']", "it names a step, which tools do not have"),
        (
            "c",
            "cwd: '{input:path}'",
            "`{input:path}` has a placeholder, which `command` and `cwd` may not have",
        ),
    ] {
        let manifest = COUNT.replace("args: [\"-w\", \"--\", \"{input:path}\"]", line);
        session.put(&format!(".ai/tools/bad/{name}.yaml"), &manifest);
        session.put(
            ".ai/directives/work.md",
            &directive("<tool>bad.*</tool><tool>team.*</tool>", &step("team/shout", "text", "a")),
        );
        let shown = run(&session);
        assert!(
            shown.contains(&format!("tool `bad/{name}` is granted but not offered: {reason}")),
            "{shown}"
        );
    }
}

/// A signature holds for both line ends, and a shell reads a CR as a letter: a script runs as it was signed.
#[test]
fn a_script_runs_with_the_line_ends_that_its_digest_covers() {
    let session = Session::new();
    let path = ".ai/tools/team/say.sh";
    let script = "#!/bin/sh\n# /// rye\n# description: Says.\n# input_schema: {type: object}\n# ///\n\
                  word=signed\nprintf '[%s]' \"$word\"\n";
    session.put(path, script);
    session.rye("keys generate");
    let signed = session.rye(&format!("sign {path}"));
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    for line in ["word=signed\n", "\n"] {
        let file = session.project().join(path);
        let text = fs::read_to_string(&file).unwrap().replace("\r\n", "\n");
        fs::write(&file, text.replace(line, &line.replace('\n', "\r\n"))).unwrap();
        let called = session.rye("call team/say");
        assert!(called.contains("[signed]") && called.ends_with("--- exit 0\n"), "{called}");
    }
}
