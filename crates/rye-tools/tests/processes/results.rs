//! What programs are given, and what their results are.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use rye_sandbox::Policy;
use rye_sandbox::{Placing, Processes, Rules, Template};
use rye_thread::{OutputSink, OutputStream, Tool, ToolOutput, ToolStatus};
use rye_tools::{CommandTool, ScriptTool, bash};
use rye_types::SandboxMode;
use serde_json::{Value, json};

use crate::arena::{Arena, authorised, call, shell};

fn rules() -> Rules {
    let mut rules = Rules::default();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    rules.runtimes =
        BTreeMap::from([("sh".to_owned(), words(&["sh"])), ("py".to_owned(), words(&["python3"]))]);
    rules
}

/// In whichever sandbox this machine has.
fn any(arena: &Arena) -> Arc<Processes> {
    Arc::new(Processes::new(arena.host(), rules(), &arena.root.join("project")).unwrap())
}

fn script(processes: &Arc<Processes>, extension: &str, text: &str) -> Arc<dyn Tool> {
    ScriptTool::new(text, extension).tool(processes).unwrap()
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "rows read better")]
fn check(result: &ToolOutput, status: ToolStatus, content: Value) {
    assert_eq!((result.status, &result.content), (status, &content));
}

#[test]
fn a_command_line_says_what_it_wrote() {
    let arena = Arena::new();
    let processes = any(&arena);
    check(
        &shell(&processes, "pwd; cat src/a.txt; echo problem >&2; echo new > b.txt"),
        ToolStatus::Ok,
        json!({ "exit_code": 0, "stdout": format!("{}/project\na\n", arena.root.display()), "stderr": "problem\n" }),
    );
    assert_eq!(fs::read_to_string(arena.root.join("project/b.txt")).unwrap(), "new\n");
    check(
        &shell(&processes, "echo some; echo problem >&2; false; true"),
        ToolStatus::Ok,
        json!({ "exit_code": 0, "stdout": "some\n", "stderr": "problem\n" }),
    );
}

/// The members by which Rye speaks of a program are not the program's to set.
#[test]
fn no_result_of_a_program_passes_for_rye_s_account() {
    let arena = Arena::new();
    for member in ["quarantined", "self_starting", "unchecked"] {
        let said = json!({ member: ["by Rye"], "a": 1 });
        let text = format!("printf '%s' '{said}'");
        let tool = script(&any(&arena), "sh", &text);
        check(&call(&tool, json!({})), ToolStatus::Ok, json!({ "output": said }));
    }
}

/// The preamble of [`shell`] is none of these.
#[track_caller]
fn check_bash(arguments: Value, status: ToolStatus, content: Value) {
    let arena = Arena::new();
    check(&call(&bash(&any(&arena)), arguments), status, content);
}

#[test]
fn a_failure_quotes_the_end_of_standard_error() {
    check_bash(
        json!({ "command": "echo some; echo problem >&2; exit 7" }),
        ToolStatus::Error,
        json!({ "error": "it ended with code 7", "exit_code": 7, "stderr": "problem", "stdout": "some" }),
    );
    check_bash(
        json!({ "command": "kill -9 $$" }),
        ToolStatus::Error,
        json!({ "error": "it ended with code 137", "exit_code": 137, "stderr": "" }),
    );
}

#[test]
fn a_folder_is_one_of_the_project() {
    check_bash(
        json!({ "command": "cat a.txt", "cwd": "src" }),
        ToolStatus::Ok,
        json!({ "exit_code": 0, "stdout": "a\n" }),
    );
    for (cwd, problem) in [
        ("..", "it is not in the project"),
        ("/", "it is not in the project"),
        ("out", "it is not in the project"),
        ("src/../../outside", "it is not in the project"),
        ("nowhere", "it does not exist"),
        ("src/a.txt", "it is a file"),
    ] {
        let message = format!("the folder `{cwd}` is refused: {problem}");
        check_bash(
            json!({ "command": "true", "cwd": cwd }),
            ToolStatus::Refused,
            json!({ "error": message }),
        );
    }
}

#[test]
fn of_much_output_the_ends_are_kept() {
    let arena = Arena::new();
    let result =
        shell(&any(&arena), "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last");
    let text = result.content["stdout"].as_str().unwrap();
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast\n"), "{}", text.len());
    assert!(text.contains("x\n[49868940 bytes left out]\nx"), "{}", text.len());
    assert_eq!(result.content["omitted_bytes"], 49_868_940);
}

#[test]
fn the_environment_is_what_was_lent_and_no_more() {
    let arena = Arena::new();
    let result = shell(&any(&arena), "env | cut -d= -f1 | sort");
    assert_eq!(result.content["stdout"], "PATH\nPWD\nSHLVL\nTEMP\nTMP\nTMPDIR\n_\n");
}

#[test]
fn a_script_reads_its_arguments_and_writes_its_result() {
    let arena = Arena::new();
    let processes = any(&arena);
    let double =
        "import json, sys\nn = json.load(sys.stdin)['n']\nprint(json.dumps({'n': 2 * n}))\n";
    check(
        &call(&script(&processes, "py", double), json!({ "n": 21 })),
        ToolStatus::Ok,
        json!({ "n": 42 }),
    );
    check(
        &call(&script(&processes, "sh", "cat"), json!({ "a": "b c" })),
        ToolStatus::Ok,
        json!({ "a": "b c" }),
    );
    check(&call(&script(&processes, "sh", "echo '[1]'"), json!({})), ToolStatus::Ok, json!([1]));
    check(&call(&script(&processes, "sh", "echo 1 {"), json!({})), ToolStatus::Ok, json!("1 {\n"));
    check(
        &call(&script(&processes, "sh", "echo no >&2; exit 2"), json!({})),
        ToolStatus::Error,
        json!({ "error": "it ended with code 2", "exit_code": 2, "stderr": "no" }),
    );
    assert!(ScriptTool::new("", "rb").tool(&processes).is_none());
}

#[test]
fn a_script_gets_its_command_line() {
    let arena = Arena::new();
    let processes = any(&arena);
    let words = |pieces: Vec<Placing>| {
        let mut script = ScriptTool::new("for word; do echo \"<$word>\"; done; cat", "sh");
        script.arguments = vec![Template::new(pieces)];
        script.parameters = vec!["args".to_owned()];
        script.tool(&processes).unwrap()
    };
    let arguments = json!({ "args": ["--in", "a b"] });
    let placed = words(vec![Placing::Needed("args".to_owned())]);
    check(&call(&placed, arguments.clone()), ToolStatus::Ok, json!("<--in>\n<a b>\n"));
    let refused = call(&placed, json!({ "args": "--in" }));
    assert_eq!(refused.status, ToolStatus::Error);
    let fixed = words(vec![Placing::Text("--all".to_owned())]);
    let read = "<--all>\n{\"args\":[\"--in\",\"a b\"]}\n";
    check(&call(&fixed, arguments), ToolStatus::Ok, json!(read));
}

#[test]
fn what_runs_is_the_text_that_was_verified() {
    let arena = Arena::new();
    let processes = any(&arena);
    let place = arena.root.join("project/tool.sh");
    fs::write(&place, "echo verified\n").unwrap();
    let tool = script(&processes, "sh", "echo verified\n");
    fs::write(&place, "echo exchanged\n").unwrap();
    check(&call(&tool, json!({})), ToolStatus::Ok, json!("verified\n"));
    for mode in [SandboxMode::Bubblewrap, SandboxMode::Namespaces, SandboxMode::Landlock] {
        let processes = arena.processes(mode, rules());
        if processes.sandbox().unwrap().mode() != mode {
            continue;
        }
        let change = script(
            &processes,
            "sh",
            "chmod u+w $0; echo 'echo exchanged' > $0; rm -f $0; ls -la $0 >/dev/null && echo whole\n",
        );
        check(&call(&change, json!({})), ToolStatus::Ok, json!("whole\n"));
    }
}

#[test]
fn a_shell_script_runs_by_the_shell_that_its_first_line_names() {
    let arena = Arena::new();
    let processes = any(&arena);
    for (first, expected) in [
        ("#!/bin/sh", "none\n"),
        ("", "none\n"),
        ("# for bash", "none\n"),
        ("#!/bin/bash", "bash\n"),
        ("#!/usr/bin/env bash", "bash\n"),
        ("#!/bin/bash -eu", "bash\n"),
    ] {
        let text = format!("{first}\n[ -n \"${{BASH_VERSION:-}}\" ] && echo bash || echo none\n");
        check(&call(&script(&processes, "sh", &text), json!({})), ToolStatus::Ok, json!(expected));
    }
    let mut chosen = rules();
    chosen.runtimes.insert("sh".to_owned(), vec!["sh".to_owned(), "-e".to_owned()]);
    let processes = Processes::new(arena.host(), chosen, &arena.root.join("project")).unwrap();
    let tool = script(&Arc::new(processes), "sh", "#!/bin/bash\necho ${BASH_VERSION:-none}\n");
    check(&call(&tool, json!({})), ToolStatus::Ok, json!("none\n"));
}

#[test]
fn nothing_of_a_call_is_left_among_temporary_files() {
    let arena = Arena::new();
    let processes = any(&arena);
    let result = shell(&processes, "echo a > $TMPDIR/a; echo b > /tmp/b && cat $TMPDIR/a");
    assert_eq!(result.content["stdout"], "a\n", "{result:?}");
    let left: Vec<_> = fs::read_dir(arena.root.join("calls")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

fn named(name: &str) -> Template {
    Template::new(vec![Placing::Needed(name.to_owned())])
}

fn text(text: &str) -> Template {
    Template::new(vec![Placing::Text(text.to_owned())])
}

#[test]
fn a_command_gets_its_arguments_as_words() {
    let arena = Arena::new();
    let processes = any(&arena);
    let mut tool = CommandTool::new("printf");
    tool.arguments = vec![text("<%s>"), named("what")];
    tool.parameters = vec!["what".to_owned()];
    let tool = tool.tool(&processes);
    let hostile = "a b; echo $HOME `id` $(id) 'x' \"y\" \\ *\n";
    check(&call(&tool, json!({ "what": hostile })), ToolStatus::Ok, json!(format!("<{hostile}>")));
    check(&call(&tool, json!({ "what": ["a", "b"] })), ToolStatus::Ok, json!("<a><b>"));
    check(
        &call(&tool, json!({ "what": "--version" })),
        ToolStatus::Error,
        json!({ "error": "the argument `what` begins with `-`, which the program would read as an option" }),
    );
}

#[test]
fn what_has_no_place_is_read() {
    let arena = Arena::new();
    let processes = any(&arena);
    let mut tool = CommandTool::new("cat");
    tool.parameters = vec!["what".to_owned()];
    check(
        &call(&tool.tool(&processes), json!({ "what": [1] })),
        ToolStatus::Ok,
        json!({ "what": [1] }),
    );
    check(&call(&CommandTool::new("cat").tool(&processes), json!({})), ToolStatus::Ok, json!(""));
    let mut tool = CommandTool::new("sh");
    tool.arguments = vec![text("-c"), text("cat; echo $GREETING")];
    tool.environment = BTreeMap::from([("GREETING".to_owned(), named("what"))]);
    tool.parameters = vec!["what".to_owned()];
    check(
        &call(&tool.tool(&processes), json!({ "what": "hi; id" })),
        ToolStatus::Ok,
        json!("hi; id\n"),
    );
}

#[test]
fn a_manifest_cannot_steer_the_launcher_by_its_environment() {
    let arena = Arena::new();
    let processes = any(&arena);
    let mut tool = CommandTool::new("sh");
    tool.arguments = vec![
        text("-c"),
        text(
            "echo \"$LD_PRELOAD\"; cat /proc/$PPID/environ | tr '\\0' '\\n' | grep -c '^LD_PRELOAD='; true",
        ),
    ];
    tool.environment = BTreeMap::from([("LD_PRELOAD".to_owned(), text("/nowhere.so"))]);
    let result = call(&tool.tool(&processes), json!({}));
    assert_eq!(result.content, json!("/nowhere.so\n0\n"));
}

#[test]
fn the_network_is_for_those_that_ask_for_it() {
    let arena = Arena::new();
    let processes = any(&arena);
    let port = arena.tcp.local_addr().unwrap().port();
    let mut tool = CommandTool::new("bash");
    tool.arguments =
        vec![text("-c"), text(&format!("echo > /dev/tcp/127.0.0.1/{port} && echo reached"))];
    assert_eq!(call(&tool.clone().tool(&processes), json!({})).status, ToolStatus::Error);
    tool.network = true;
    check(&call(&tool.tool(&processes), json!({})), ToolStatus::Ok, json!("reached\n"));
    let mut tool = CommandTool::new("perl");
    tool.arguments = vec![text("-e"), text("print socket(S, 1, 1, 0) ? 'open' : 'closed'")];
    tool.network = true;
    check(&call(&tool.tool(&processes), json!({})), ToolStatus::Ok, json!("closed"));
}

#[test]
fn a_sandbox_that_is_required_and_not_there_refuses() {
    let arena = Arena::new();
    let mut host = arena.host();
    host.launcher = None;
    let mut rules = rules();
    rules.sandbox = Policy::Required;
    let processes = Processes::new(host, rules, &arena.root.join("project")).unwrap();
    let result = shell(&Arc::new(processes), "touch began");
    check(
        &result,
        ToolStatus::Refused,
        json!({ "error": "no program is started: `sandbox: required` is set, and this machine has no whole sandbox (bubblewrap: this program has no launcher for it; namespaces: this program has no launcher for it; landlock: this program has no launcher for it)" }),
    );
    assert!(!arena.root.join("project/began").exists());
}

#[test]
fn a_sandbox_that_is_off_is_none() {
    let arena = Arena::new();
    let mut rules = rules();
    rules.sandbox = Policy::Off;
    let processes = arena.processes(SandboxMode::Namespaces, rules);
    let report = processes.sandbox().unwrap().to_string();
    assert_eq!(report.lines().next(), Some("sandbox: none (wanted: off)"));
    assert_eq!(shell(&processes, "echo $0").content["stdout"], "/bin/bash\n");
}

/// Keeps what it is told.
#[derive(Default)]
struct Heard(Mutex<Vec<(OutputStream, String)>>);

impl OutputSink for Heard {
    fn output(&self, stream: OutputStream, text: &str) {
        self.0.lock().unwrap().push((stream, text.to_owned()));
    }
}

#[test]
fn output_is_told_while_it_comes() {
    let arena = Arena::new();
    let tool = bash(&any(&arena));
    let heard = Heard::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // The second piece waits for a file that is written when the first one was told.
    let command = "echo one; while [ ! -e go ]; do sleep 0.01; done; printf 'tw\\303'; sleep 0.05; printf '\\266\\n' >&1";
    let (told, file) = (&heard, arena.root.join("project/go"));
    runtime.block_on(async {
        let call = tool.call_with_sink(authorised(json!({ "command": command })), told);
        let answer = async {
            while told.0.lock().unwrap().is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
            fs::write(&file, "").unwrap();
        };
        let (result, ()) = tokio::join!(call, answer);
        assert_eq!(result.content["stdout"], "one\ntwö\n");
    });
    let heard: String = heard.0.into_inner().unwrap().into_iter().map(|(_, text)| text).collect();
    assert_eq!(heard, "one\ntwö\n");
}

/// What lies in a project decides nothing about the sandbox: neither a link in the place of its keys nor what its
/// configuration hides.
#[test]
fn nothing_in_a_project_takes_the_sandbox_away() {
    let usual = any(&Arena::new()).sandbox().unwrap().mode();
    let linked = Arena::new();
    let keys = linked.root.join("project/.ai/config/keys/signing");
    fs::remove_dir_all(&keys).unwrap();
    std::os::unix::fs::symlink("/usr", &keys).unwrap();
    assert_eq!(any(&linked).sandbox().unwrap().mode(), usual);
    let wide = Arena::new();
    let mut rules = rules();
    rules.hidden.push("/usr".into());
    let processes = Processes::new(wide.host(), rules, &wide.root.join("project")).unwrap();
    assert_eq!(processes.sandbox().unwrap().mode(), usual);
}

/// A guard stands where the path leads, and not where the link does.
#[test]
fn a_link_in_the_place_of_what_is_guarded_starts_nothing() {
    for place in [".ai/config", ".ai/config/keys/signing", ".ai/threads", ".git"] {
        let arena = Arena::new();
        let path = arena.root.join("project").join(place);
        fs::rename(&path, arena.root.join("project/moved")).unwrap();
        std::os::unix::fs::symlink("moved", &path).unwrap();
        let output = shell(&any(&arena), "true");
        let message = output.content["error"].as_str().unwrap_or_default();
        assert!(message.ends_with("it is a link; put a folder in its place"), "{place}: {message}");
        assert_eq!(output.status, ToolStatus::Refused);
    }
}
