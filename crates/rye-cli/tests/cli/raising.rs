//! `rye resume` of threads that ended, `rye approve --always` and `rye deny --reason`.

use serde_json::Value;

use crate::session::Session;

const RUN: &str = "run notes/index --trust TRUST --provider steps";

/// The quick start, ended by its limit on turns.
fn limited() -> (Session, String) {
    let session = Session::new();
    let run = session.rye(&format!("{RUN} --turns 2"));
    (session, run)
}

#[test]
fn a_thread_that_a_limit_ended_goes_on() {
    let (session, run) = limited();
    insta::assert_snapshot!(run);
    insta::assert_snapshot!("limit_stands", session.rye("resume THREAD --trust TRUST"));
    insta::assert_snapshot!("not_raised", session.rye("resume THREAD --turns 2 --trust TRUST"));
    let other = session.rye("resume THREAD --tokens 60000 --trust TRUST");
    assert!(other.contains("--turns 4`") && other.ends_with("exit 5\n"), "{other}");
    insta::assert_snapshot!("raised", session.rye("resume THREAD --turns 20 --trust TRUST"));
    assert!(session.project().join("INDEX.md").is_file());
    insta::assert_snapshot!("raised_show", session.rye("threads show"));
    for (command, line) in [
        ("threads verify", "exit 0"),
        ("threads list", "completed"),
        ("replay THREAD --trust TRUST", "exit 0"),
    ] {
        let shown = session.rye(command);
        assert!(shown.contains(line), "{shown}");
    }
    let completed = session.rye("resume THREAD --turns 30 --trust TRUST");
    assert!(completed.contains("`completed`") && completed.ends_with("exit 1\n"), "{completed}");
}

/// Raised as little as it takes, it ends again, and says the next command.
#[test]
fn a_limit_is_raised_step_by_step() {
    let (session, _) = limited();
    let again = session.rye("resume --last --turns 3 --trust TRUST");
    assert!(again.contains("3 of 3") && again.contains("--turns 6`"), "{again}");
    assert!(again.ends_with("exit 5\n"), "{again}");
    let done = session.rye("resume --last --turns 6 --trust TRUST");
    assert!(done.ends_with("exit 0\n"), "{done}");
}

#[test]
fn the_command_that_goes_on_is_data_too() {
    let session = Session::new();
    let run = session.rye(&format!("{RUN} --turns 2 --json --quiet"));
    let (json, _) = run.split_once("--- standard error").unwrap();
    let (_, json) = json.split_once('\n').unwrap();
    let report: Value = serde_json::from_str(json).unwrap();
    assert_eq!(report["threads"][0]["resume"], "rye resume index-<UUID> --turns 4");
    let resumed = session.rye("resume THREAD --turns 20 --trust TRUST --json --quiet");
    assert!(resumed.contains("\"state\": \"completed\"") && !resumed.contains("\"resume\""));
}

#[test]
fn a_cancelled_thread_stays_ended() {
    let session = Session::new();
    session.asks_before_it_writes();
    session.rye(RUN);
    session.rye("cancel THREAD");
    let refused = session.rye("resume THREAD --turns 20 --trust TRUST");
    assert!(refused.contains("is `cancelled`") && refused.ends_with("exit 1\n"), "{refused}");
}

/// Another key than the operator's says nothing about what the operator allows.
#[test]
fn who_changes_the_record_raises_nothing() {
    let (session, _) = limited();
    let path = format!(".ai/threads/{}/thread.json", session.thread());
    session.change(&path, "\"turns\": 2,", "\"turns\": 9,");
    let refused = session.rye("resume THREAD --turns 20 --trust TRUST");
    assert!(refused.ends_with("exit 3\n"), "{refused}");
}

/// Lists the notes three times.
const LISTS: &str = r#"# Twice

```xml
<directive name="twice" version="1.0.0">
  <metadata>
    <description>Lists the notes again and again.</description>
    <category>notes</category>
    <author>example</author>
    <permissions><execute><tool>rye.file-system.ls</tool><tool>rye.file-system.read</tool></execute></permissions>
  </metadata>
</directive>
```

<process>
  <step name="one"><execute item_type="tool" item_id="rye/file-system/ls"><param name="path" value="notes" /></execute></step>
  <step name="two"><execute item_type="tool" item_id="rye/file-system/ls"><param name="path" value="." /></execute></step>
  <step name="three"><execute item_type="tool" item_id="rye/file-system/read"><param name="path" value="notes/bread.md" /></execute></step>
</process>
"#;

/// A thread that waits before each tool.
fn asking() -> (Session, String) {
    let session = Session::new();
    session.put(".ai/config/agent/approval.yaml", "ask:\n  - rye.execute.tool.*\n");
    session.rye("sign .ai/config/agent/approval.yaml --key KEY");
    session.put(".ai/directives/notes/twice.md", LISTS);
    let run = session.rye("run notes/twice --trust TRUST --provider steps --allow-unsigned");
    (session, run)
}

#[test]
fn an_approval_for_the_thread_asks_no_more_about_its_tool() {
    let (session, run) = asking();
    assert!(run.contains("waits for approval: `rye/file-system/ls`"), "{run}");
    insta::assert_snapshot!(
        "approved_in_thread",
        session.rye("approve THREAD --always --trust TRUST --allow-unsigned")
    );
    let resumed = session.rye("resume THREAD --trust TRUST --allow-unsigned");
    assert!(resumed.contains("waits for approval: `rye/file-system/read`"), "{resumed}");
    let shown = session.rye("threads show");
    assert!(shown.contains("approval_decided   approved in thread\n"), "{shown}");
    assert_eq!(shown.matches("approval_requested").count(), 2, "{shown}");
    let done = session.rye("approve THREAD --resume --trust TRUST --allow-unsigned");
    assert!(done.ends_with("exit 0\n"), "{done}");
    // It is this thread's alone.
    let other = session.rye("run notes/twice --trust TRUST --provider steps --allow-unsigned");
    assert!(other.contains("waits for approval: `rye/file-system/ls`"), "{other}");
}

#[test]
fn a_reason_reaches_the_model_and_the_record() {
    let (session, _) = asking();
    let options = "--trust TRUST --allow-unsigned";
    let reason = "`not`-on-a-\u{202e}Friday";
    let denied = session.rye(&format!("deny THREAD --reason {reason} {options} --json"));
    assert!(denied.contains("\"reason\": \"`not`-on-a-"), "{denied}");
    session.rye(&format!("resume THREAD {options}"));
    let shown = session.rye("threads show");
    assert!(shown.contains("denied: `not`-on-a-\\u{202e}Friday\n"), "{shown}");
    let told = session.rye("threads show --json");
    assert!(told.contains("\"reason\": \"`not`-on-a-"), "{told}");
    for bad in ["--reason= ", "--reason=\u{1b}x"] {
        let refused = session.rye(&format!("deny THREAD {bad} {options}"));
        assert!(refused.ends_with("exit 2\n"), "{refused}");
    }
}
