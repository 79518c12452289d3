//! Refused actions do not happen, are recorded, and differ from failures.

use std::fs;

use rye::sign::Policy;
use rye::thread::FailureKind;
use rye::types::{Limit, ThreadState};
use rye::{Class, RunReport};
use rye_tests::Scratch;
use serde_json::Value;

/// A directive that writes a file and declares the tools in `grant`.
fn writing(grant: &str, path: &str) -> String {
    format!(
        r#"# Write

```xml
<directive name="write" version="1.0.0">
  <metadata>
    <description>Writes a file.</description>
    <permissions><execute>{grant}</execute></permissions>
  </metadata>
  <outputs><output name="path" type="string" required="true">The file</output></outputs>
</directive>
```

<process>
  <step name="write">
    <execute item_type="tool" item_id="rye/file-system/write">
      <param name="path" value="{path}" />
      <param name="content" value="hello" />
    </execute>
  </step>
</process>
"#
    )
}

const READ: &str = "<tool>rye.file-system.read</tool>";
const WRITE: &str = "<tool>rye.file-system.write</tool>";

async fn run(scratch: &Scratch, grant: &str, path: &str) -> RunReport {
    scratch.sign(".ai/directives/test/write.md", &writing(grant, path));
    scratch.run("test/write", &[]).await.unwrap()
}

/// The only refusal in the transcript.
fn refusal(scratch: &Scratch, report: &RunReport) -> Value {
    let results = scratch.events(report).into_iter().filter(|(name, _)| name == "tool_call_result");
    let refusals: Vec<Value> = results.map(|(_, payload)| payload["refusal"].clone()).collect();
    assert_eq!(refusals.len(), 1);
    refusals.into_iter().next().unwrap()
}

#[tokio::test]
async fn what_is_granted_happens() {
    let scratch = Scratch::new();
    let report = run(&scratch, WRITE, "out.txt").await;
    assert_eq!(report.outcome.state, ThreadState::Completed);
    assert_eq!(fs::read_to_string(scratch.project().join("out.txt")).unwrap(), "hello");
}

#[tokio::test]
async fn a_tool_that_is_not_granted_is_refused_and_on_record() {
    let scratch = Scratch::new();
    let report = run(&scratch, READ, "out.txt").await;
    assert_eq!(
        report.outcome.failure.as_ref().map(|failure| &failure.kind),
        Some(&FailureKind::Refused)
    );
    assert!(!scratch.project().join("out.txt").exists());
    let refusal = refusal(&scratch, &report);
    assert_eq!(refusal["capability"], "rye.execute.tool.rye.file-system.write");
    assert_eq!(refusal["pattern"], "rye.execute.tool.rye.file-system.write");
}

#[tokio::test]
async fn the_signer_s_ceiling_holds_whatever_the_directive_declares() {
    let scratch = Scratch::new().with_ceiling(&["rye.execute.tool.rye.file-system.read"]);
    let report = run(&scratch, WRITE, "out.txt").await;
    assert_eq!(
        report.outcome.failure.as_ref().map(|failure| &failure.kind),
        Some(&FailureKind::Refused)
    );
    assert!(!scratch.project().join("out.txt").exists());
}

#[tokio::test]
async fn a_file_outside_the_project_is_refused() {
    let scratch = Scratch::new();
    let report = run(&scratch, WRITE, "../user/out.txt").await;
    assert_eq!(
        report.outcome.failure.as_ref().map(|failure| &failure.kind),
        Some(&FailureKind::Refused)
    );
    assert!(!scratch.user().join("out.txt").exists());
    assert_eq!(refusal(&scratch, &report)["layer"], "tool");
}

#[tokio::test]
async fn an_unsigned_directive_is_refused_and_leaves_a_failed_thread() {
    let scratch = Scratch::new();
    scratch.put(".ai/directives/test/write.md", &writing(WRITE, "out.txt"));
    let error = scratch.run("test/write", &[]).await.unwrap_err();
    assert_eq!(error.class(), Class::Refused);
    let threads = scratch.project().join(".ai/threads");
    let folders: Vec<_> =
        fs::read_dir(&threads).unwrap().map(|entry| entry.unwrap().path()).collect();
    let folder = folders.iter().find(|path| path.is_dir()).unwrap();
    let record: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("thread.json")).unwrap()).unwrap();
    assert_eq!(record["state"], "error");
}

#[tokio::test]
async fn an_unsigned_directive_runs_for_its_author_and_is_marked() {
    let scratch = Scratch::new().with_policy(Policy::default().dangerous_allow_unsigned());
    scratch.put(".ai/directives/test/write.md", &writing(WRITE, "out.txt"));
    let report = scratch.run("test/write", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed);
    assert_eq!(report.warnings, ["UNVERIFIED: directive `test/write` is not signed by anybody"]);
    let (_, start) = scratch.events(&report).into_iter().next().unwrap();
    assert_eq!(start["facts"]["verified"], false);
}

/// A run is unverified if any item that it uses is (SPEC 2.10).
#[tokio::test]
async fn an_unsigned_tool_or_configuration_marks_a_signed_directive() {
    let scratch = Scratch::new().with_policy(Policy::default().dangerous_allow_unsigned());
    let tool =
        "description: Writes.\nexecutor: builtin\nbuiltin: file-system/write\ninput_schema: {}\n";
    for (path, text, name) in [
        (".ai/tools/rye/file-system/write.yaml", tool, "tool `rye/file-system/write`"),
        (".ai/config/agent/resilience.yaml", "limits: {}\n", "config `agent/resilience`"),
        (".ai/config/agent/capability_risk.yaml", "{}\n", "config `agent/capability_risk`"),
        (".ai/config/trust.yaml", "{}\n", "config `trust`"),
    ] {
        scratch.sign(".ai/directives/test/write.md", &writing(WRITE, "out.txt"));
        let file = scratch.put(path, text);
        let report = scratch.run("test/write", &[]).await.unwrap();
        assert_eq!(report.warnings, [format!("UNVERIFIED: {name} is not signed by anybody")]);
        let (_, start) = scratch.events(&report).into_iter().next().unwrap();
        assert_eq!(start["facts"]["verified"], false, "{path}");
        fs::remove_file(file).unwrap();
        fs::remove_dir_all(scratch.project().join(".ai/threads")).unwrap();
    }
}

#[tokio::test]
async fn a_tampered_directive_is_refused_even_to_its_author() {
    let scratch = Scratch::new().with_policy(Policy::default().dangerous_allow_unsigned());
    let path = scratch.sign(".ai/directives/test/write.md", &writing(WRITE, "out.txt"));
    let text = fs::read_to_string(&path).unwrap().replace("hello", "hullo");
    fs::write(&path, text).unwrap();
    assert_eq!(scratch.run("test/write", &[]).await.unwrap_err().class(), Class::Refused);
}

#[tokio::test]
async fn a_directive_moved_to_another_id_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.sign(".ai/directives/test/write.md", &writing(WRITE, "out.txt"));
    scratch.put(".ai/directives/other/write.md", &fs::read_to_string(path).unwrap());
    assert_eq!(scratch.run("other/write", &[]).await.unwrap_err().class(), Class::Refused);
}

#[tokio::test]
async fn a_grant_of_everything_needs_an_acknowledgement() {
    let scratch = Scratch::new();
    scratch.sign(
        ".ai/directives/test/write.md",
        &writing("*", "out.txt").replace("<execute>*</execute>", "*"),
    );
    let error = scratch.run("test/write", &[]).await.unwrap_err();
    assert_eq!(error.class(), Class::Refused);
    let acknowledged = r#"<acknowledge risk="unrestricted">A test.</acknowledge><execute><tool>*</tool></execute>"#;
    let text =
        writing(WRITE, "out.txt").replace(&format!("<execute>{WRITE}</execute>"), acknowledged);
    scratch.sign(".ai/directives/test/write.md", &text);
    let report = scratch.run_with("test/write", &[], |request| {
        request.provider = rye::ProviderChoice::Steps;
        request.thread = "write-019a0000-0000-7000-8000-000000000002".parse().unwrap();
    });
    assert_eq!(report.await.unwrap().outcome.state, ThreadState::Completed);
}

#[tokio::test]
async fn a_limit_ends_the_thread_and_says_which() {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/write.md", &writing(WRITE, "out.txt"));
    let report = scratch.run_with("test/write", &[], |request| {
        request.provider = rye::ProviderChoice::Steps;
        request.limits.turns = Some(1);
    });
    let report = report.await.unwrap();
    match report.outcome.failure.map(|failure| failure.kind) {
        Some(FailureKind::Limit(hit)) => {
            assert_eq!((hit.limit, hit.value, hit.maximum), (Limit::Turns, 1, 1))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_project_cannot_raise_the_operator_s_limits() {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/write.md", &writing(WRITE, "out.txt"));
    scratch.sign(".ai/config/agent/resilience.yaml", "limits:\n  turns: 99\n  tokens: 5000\n");
    let report = scratch.run("test/write", &[]).await.unwrap();
    let (_, start) = scratch.events(&report).into_iter().next().unwrap();
    assert_eq!((&start["limits"]["turns"], &start["limits"]["tokens"]), (&10.into(), &5000.into()));
}

#[tokio::test]
async fn a_spend_limit_in_a_currency_that_no_price_is_in_is_refused() {
    let scratch = Scratch::new();
    let limits = r#"<limits spend="50" spend_currency="JPY" /><permissions>"#;
    scratch.sign_unchecked(
        ".ai/directives/test/write.md",
        &writing(WRITE, "out.txt").replace("<permissions>", limits),
    );
    let error = scratch.run("test/write", &[]).await.unwrap_err();
    assert_eq!(
        std::error::Error::source(&error).unwrap().to_string(),
        "directive `test/write` limits its spend in `JPY`; prices are in `USD`, so write it in that"
    );
}

#[tokio::test]
async fn a_fallback_is_no_reason_to_warn() {
    let scratch = Scratch::new();
    let asks = "<model tier=\"fast\" fallback=\"high\" /><permissions>";
    scratch.sign(
        ".ai/directives/test/write.md",
        &writing(WRITE, "out.txt").replace("<permissions>", asks),
    );
    let report = scratch.run("test/write", &[]).await.unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
}

/// An inserted value is never scanned again (SPEC 6.2), not even for references to results.
#[tokio::test]
async fn an_input_cannot_read_the_result_of_a_step() {
    let scratch = Scratch::new();
    let text = writing(WRITE, "{input:path}").replace(
        "<outputs>",
        "<inputs><input name=\"path\" required=\"true\" /></inputs><outputs>",
    );
    scratch.sign(".ai/directives/test/write.md", &text);
    let error = scratch.run("test/write", &[("path", "${steps.write.path}")]).await.unwrap_err();
    assert_eq!(error.class(), Class::Usage);
}

/// A hook that cannot act is an error before any request is sent.
#[tokio::test]
async fn hooks_that_cannot_act_are_refused_rather_than_passed_over() {
    let rows = [
        (
            "<action primary=\"search\" item_type=\"tool\" item_id=\"x\" />",
            "hooks cannot do what they say: `a` of directive `test/write`: hooks do not `search` items of kind `tool`; they execute tools and \
             directives, and execute or load knowledge",
        ),
        (
            "<action primary=\"execute\" item_type=\"tool\" />",
            "hooks cannot do what they say: `a` of directive `test/write`: the action `execute` names no item; give it an \
             `item_id`",
        ),
        (
            "<action primary=\"execute\" item_id=\"x\" />",
            "hooks cannot do what they say: `a` of directive `test/write`: the action does not say what kind of item it \
             means; give it an `item_type`",
        ),
    ];
    for (action, expected) in rows {
        let scratch = Scratch::new();
        let hooks = format!("<hooks><hook id=\"a\" event=\"error\">{action}</hook></hooks>");
        let text =
            writing(WRITE, "out.txt").replace("<permissions>", &format!("{hooks}<permissions>"));
        scratch.sign(".ai/directives/test/write.md", &text);
        let error = scratch.run("test/write", &[]).await.unwrap_err();
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), expected);
    }
}

#[tokio::test]
async fn knowledge_of_hooks_must_be_there() {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/write.md", &writing(WRITE, "out.txt"));
    let hook = "{id: a, event: error, action: {primary: load, item_type: knowledge, item_id: x}}";
    scratch.sign(".ai/config/agent/hooks.yaml", &format!("hooks:\n  - {hook}\n"));
    let error = scratch.run("test/write", &[]).await.unwrap_err();
    assert_eq!(error.class(), Class::Failed);
    let told = rye::primary::causes(&error).join(": ");
    assert!(told.contains("hook `a` of config `agent/hooks`"), "{told}");
    assert!(told.contains("knowledge `x` not found"), "{told}");
}
