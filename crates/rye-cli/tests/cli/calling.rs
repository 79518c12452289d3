//! `rye call`: one tool as a thread of its own.

use std::fs;

use serde_json::Value;

use crate::session::Session;

fn report(shown: &str) -> Value {
    let (json, _) = shown.split_once("--- standard error").unwrap();
    let (_, json) = json.split_once('\n').unwrap();
    serde_json::from_str::<Value>(json).unwrap()["threads"][0].clone()
}

#[test]
fn a_tool_is_called_and_its_call_is_on_record() {
    let session = Session::new();
    insta::assert_snapshot!("call", session.rye("call rye/file-system/read path=notes/bread.md"));
    for (command, line) in [
        ("threads list", "completed"),
        ("threads show", "tool_call_start    rye/file-system/read"),
        ("threads show --json", "\"tool\": \"rye/file-system/read\""),
        ("threads verify", "exit 0"),
        ("replay THREAD", "exit 0"),
    ] {
        let shown = session.rye(command);
        assert!(shown.contains(line) && shown.ends_with("exit 0\n"), "{shown}");
    }
    let called = report(&session.rye("call fs_read path=notes/bread.md --json"));
    assert_eq!(
        (&called["result"]["is_error"], &called["state"]),
        (&false.into(), &"completed".into())
    );
}

/// The thread declares the tool and nothing else.
#[test]
fn the_standard_error_of_a_program_is_shown() {
    let session = Session::new();
    let script = "#!/bin/sh\n# /// rye\n# description: Complains.\n# input_schema: {type: object}\n# ///\n\
                  printf 'one \\033[31mred\\ntwo\\n' >&2\nprintf done\n";
    session.put(".ai/tools/team/complain.sh", script);
    let called = session.rye("call team/complain --allow-unsigned");
    assert!(called.contains("done\n") && called.contains("one \\u{1b}[31mred\ntwo\n"), "{called}");
    let told = report(&session.rye("call team/complain --allow-unsigned --json"));
    assert_eq!(told["result"]["standard_error"], "one \u{1b}[31mred\ntwo");
    let shown = session.rye("threads show --last");
    assert!(shown.contains("      stderr  one \\u{1b}[31mred\n      stderr  two\n"), "{shown}");
}

#[test]
fn a_call_has_the_authority_of_its_tool_alone() {
    let session = Session::new();
    session.rye("call rye/file-system/ls path=notes");
    let record = session.project().join(".ai/threads").join(session.thread()).join("thread.json");
    let record: Value = serde_json::from_str(&fs::read_to_string(record).unwrap()).unwrap();
    let layers = record["facts"]["token"]["capabilities"].as_array().unwrap().clone();
    let last = layers.last().unwrap();
    assert_eq!(*last, serde_json::json!(["rye.execute.tool.rye.file-system.ls"]), "{layers:?}");
    // Run in any other way, the shipped directive may do nothing.
    let other = Session::new();
    let options =
        "--input tool=rye/file-system/write --input arguments={\"path\":\"x\",\"content\":\"y\"}";
    other.rye(&format!("run rye/core/call --provider steps {options}"));
    assert!(!other.project().join("x").exists());
}

#[test]
fn values_come_from_files_and_have_the_types_of_the_schema() {
    let session = Session::new();
    session.put("draft.txt", "from a file\n");
    let write = "call rye/file-system/write path=new.txt --input content=@draft.txt";
    assert!(session.rye(write).ends_with("exit 0\n"));
    let text = fs::read_to_string(session.project().join("new.txt")).unwrap();
    assert_eq!(text, "from a file\n");
    let listed = session.rye("call rye/file-system/ls path=notes first_lines=true");
    assert!(listed.contains("Bread for the week") && listed.ends_with("exit 0\n"), "{listed}");
}

/// What cannot be called leaves no thread.
#[test]
fn typos_are_told_at_once_and_leave_no_thread() {
    let session = Session::new();
    insta::assert_snapshot!("call_unknown", session.rye("call rye/file-system/raed path=x"));
    insta::assert_snapshot!(
        "call_misfit",
        session.rye("call rye/file-system/ls pth=notes first_lines=maybe")
    );
    let twice = session.rye("call rye/file-system/read path=a path=b");
    assert!(twice.contains("argument `path` is given twice") && twice.ends_with("exit 2\n"));
    assert!(!session.project().join(".ai/threads").exists());
}

#[test]
fn a_tool_that_fails_or_is_refused_says_so() {
    let session = Session::new();
    let failed = session.rye("call rye/file-system/read path=missing.md");
    assert!(failed.contains("missing.md") && failed.ends_with("exit 1\n"), "{failed}");
    let refused = session.rye("call rye/file-system/write path=.ai/config/x.yaml content=y");
    assert!(refused.ends_with("exit 3\n"), "{refused}");
    assert!(!session.project().join(".ai/config/x.yaml").exists());
}

#[test]
fn a_call_that_is_asked_about_waits() {
    let session = Session::new();
    session.asks_before_it_writes();
    session.rye("keys generate");
    let waits = session.rye("call rye/file-system/write path=new.txt content=hello --trust TRUST");
    assert!(waits.contains("waits for approval") && waits.ends_with("exit 4\n"), "{waits}");
    assert!(!session.project().join("new.txt").exists());
    let done = session.rye("approve THREAD --resume --trust TRUST");
    assert!(done.ends_with("exit 0\n"), "{done}");
    assert_eq!(fs::read_to_string(session.project().join("new.txt")).unwrap(), "hello");
}

/// The record of a call says which tool it grants. A project can bring one along, with a valid signature by a key of its own.
#[test]
fn a_record_that_no_key_of_the_operator_signed_calls_nothing() {
    let session = Session::new();
    session.asks_before_it_writes();
    let waits = session.rye("call rye/file-system/write path=new.txt content=hello --trust TRUST");
    assert!(waits.ends_with("exit 4\n"), "{waits}");
    for command in ["resume THREAD", "approve THREAD --resume", "approve THREAD", "resume --last"] {
        let refused = session.rye(&format!("{command} --trust TRUST"));
        assert!(!session.project().join("new.txt").exists(), "{command}");
        if command.starts_with("resume") || command.ends_with("--resume") {
            assert!(refused.contains("no key of yours signed its record"), "{refused}");
            assert!(refused.ends_with("exit 3\n"), "{refused}");
        }
    }
}

/// An unsigned tool is refused as it is in a directive, and so is a directive in the place of the shipped one.
#[test]
fn a_call_trusts_nothing_more_than_a_run() {
    let session = Session::new();
    let tool = "description: Says hello\nversion: 1.0.0\nexecutor: command\ncommand: echo\nargs: [hello]\ninput_schema: { type: object }\n";
    session.put(".ai/tools/say/hello.yaml", tool);
    let refused = session.rye("call say/hello");
    assert!(refused.contains("is not verified") && refused.ends_with("exit 3\n"), "{refused}");
    session.put(".ai/directives/rye/core/call.md", "# Mine\n");
    let hidden = session.rye("call rye/file-system/ls path=notes");
    assert!(hidden.contains("hides the shipped directive"), "{hidden}");
    assert!(hidden.ends_with("exit 1\n"), "{hidden}");
}

/// The operator cannot acknowledge a risk in the shipped directive, and is told of it without that advice.
#[test]
fn a_risk_is_told_without_advice_that_cannot_be_followed() {
    let session = Session::new();
    let called = session.rye("call rye/bash/bash command=true");
    assert!(
        called.contains("warning: granting `rye.execute.tool.rye.bash.bash` is `elevated`"),
        "{called}"
    );
    assert!(!called.contains("<acknowledge"), "{called}");
}
