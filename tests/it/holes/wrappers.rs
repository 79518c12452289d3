//! A second name for a function does not change the rules for the function, and only the operator may have
//! configuration signed (SPEC 9.6b, 4.3, 11.1).

use rye::Privileges;
use rye::caps::{Grant, Pattern};
use rye::primary::{Caller, ExecuteRequest, PrimaryError, SignRequest, execute, sign};
use rye::types::ThreadState;
use serde_json::json;

use super::*;

const WRITER: &str = "description: Writes.\nexecutor: builtin\nbuiltin: file-system/write\ninput_schema:\n  type: object\n";
const FUNCTION: &str = "rye.execute.tool.rye.file-system.write";

/// Patterns for aliases of the tool: aliases themselves, and patterns that match an alias but not the tool.
const ALIASES: [&str; 4] = [
    "rye.execute.tool.fs_write",
    "rye.execute.tool.fs_*",
    "rye.execute.tool.?s_write",
    "rye.execute.tool.rye.file-system.fs_*",
];

/// A project with a wrapper of the tool that writes files, which its directive grants and calls.
fn wrapper_project() -> Scratch {
    wrapper_project_in(Scratch::new())
}

fn wrapper_project_in(scratch: Scratch) -> Scratch {
    scratch.sign(".ai/tools/mine/write.yaml", WRITER);
    let text = writing("", "").replace("rye.file-system.write", "mine.*");
    let text = text.replace("rye/file-system/write", "mine/write");
    scratch.sign(".ai/directives/test/write.md", &text);
    scratch
}

fn client(pattern: &str) -> Caller {
    let pattern: Pattern = pattern.parse().unwrap();
    Caller::client(Grant::from_iter([pattern]))
}

#[tokio::test]
async fn a_granted_wrapper_needs_no_grant_of_what_it_wraps() {
    let scratch = wrapper_project();
    let report = scratch.run("test/write", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert!(wrote(&scratch));
}

#[tokio::test]
async fn a_wrapper_manifest_that_escapes_ask() {
    let own = [FUNCTION, "rye.execute.tool.mine.write"];
    for asked in own.into_iter().chain(ALIASES) {
        let scratch = wrapper_project();
        scratch.sign(".ai/config/agent/approval.yaml", &format!("ask: [{asked}]\n"));
        let report = scratch.run("test/write", &[]).await.unwrap();
        assert_eq!(report.outcome.state, ThreadState::Suspended, "{asked}");
        assert!(!wrote(&scratch), "{asked}");
    }
}

/// A step can start a thread with `rye_execute`, which is another way to call the tool that starts threads.
#[tokio::test]
async fn a_fork_that_escapes_the_rules_about_starting_threads() {
    let forks = r#"# Forks

```xml
<directive name="forks" version="1.0.0">
  <metadata>
    <description>Starts a thread.</description>
    <permissions><execute><directive>test.write</directive><tool>mine.*</tool></execute></permissions>
  </metadata>
</directive>
```

<process>
  <step name="fork"><execute item_type="directive" item_id="test/write" thread="fork" /></step>
</process>
"#;
    let project = |scratch: Scratch| {
        let scratch = wrapper_project_in(scratch);
        scratch.sign(".ai/directives/test/forks.md", forks);
        scratch
    };
    let scratch = project(Scratch::new());
    scratch.run("test/forks", &[]).await.unwrap();
    assert!(wrote(&scratch), "the fork starts where no rule is against it");
    let scratch = project(Scratch::new());
    scratch.sign(".ai/config/agent/approval.yaml", "ask: [rye.execute.tool.rye.agent.threads.*]\n");
    let report = scratch.run("test/forks", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    assert!(!wrote(&scratch));
}

/// Knowledge that a hook adds waits for approval like a call of the model.
#[tokio::test]
async fn a_hook_s_knowledge_that_escapes_ask() {
    let scratch = wrapper_project();
    scratch.sign(
        ".ai/knowledge/test/house.md",
        "```yaml\nname: house\ntitle: House\n```\n\nBe kind.\n",
    );
    let text = fs::read_to_string(scratch.project().join(".ai/directives/test/write.md")).unwrap();
    let (_signature, text) = text.split_once('\n').unwrap();
    let text = text.replace("</execute>", "</execute><load><knowledge>test.*</knowledge></load>");
    scratch.sign(".ai/directives/test/write.md", &text);
    scratch.sign(
        ".ai/config/agent/hooks.yaml",
        "hooks:\n  - {id: house, event: after_step, action: {primary: load, item_type: knowledge, item_id: test/house}}\n",
    );
    scratch.sign(".ai/config/agent/approval.yaml", "ask: [rye.load.knowledge.*]\n");
    let report = scratch.run("test/write", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
}

/// The question before a run has the answer that the call gets in it.
#[test]
fn a_question_about_a_wrapper_is_one_about_its_function() {
    let ask = |scratch: &Scratch, capability: &str| {
        let privileges =
            Privileges::of(&scratch.rye(), &"test/write".parse().unwrap(), &[]).unwrap();
        let answer = privileges.permit(&capability.parse().unwrap());
        answer.map(|permit| permit.capability().to_string()).map_err(|denied| denied.to_string())
    };
    let id = "rye.execute.tool.mine.write";
    assert_eq!(ask(&wrapper_project(), id), Ok(id.to_owned()));
    let limited = wrapper_project_in(Scratch::new().with_ceiling(&["rye.execute.tool.mine.*"]));
    let denied = ask(&limited, id).unwrap_err();
    let expected =
        format!("`{FUNCTION}`, which `{id}` stands for, is not allowed by the signing key");
    assert!(denied.starts_with(&expected), "{denied}");
    // A question about an alias is one about its tool.
    assert_eq!(ask(&sound(), "rye.execute.tool.fs_write"), Ok(FUNCTION.to_owned()));
}

#[tokio::test]
async fn a_wrapper_manifest_that_escapes_a_risk_block() {
    for pattern in ALIASES.into_iter().chain([FUNCTION]) {
        let scratch = wrapper_project();
        let table =
            format!("classifications:\n  - {{risk: unrestricted, patterns: [{pattern}]}}\n");
        scratch.sign(".ai/config/agent/capability_risk.yaml", &table);
        check_refused(&scratch, scratch.run("test/write", &[]).await, "Risk");
    }
}

/// A grant of an alias is a grant of the tool, for keys and clients. A project cannot lower a risk with an
/// alias.
#[tokio::test]
async fn an_alias_in_a_rule_means_its_tool() {
    for alias in ALIASES {
        let scratch = Scratch::new().with_ceiling(&[alias]);
        scratch.sign(".ai/directives/test/write.md", &writing("", ""));
        let report = scratch.run("test/write", &[]).await.unwrap();
        assert_eq!(report.outcome.state, ThreadState::Completed, "{alias}");
        assert!(wrote(&scratch), "{alias}");

        let scratch = Scratch::new();
        let parameters = json!({"path": "out.txt", "content": "x"}).as_object().cloned().unwrap();
        let id = "rye/file-system/write".parse().unwrap();
        let request = ExecuteRequest::new(ItemKind::Tool, id).with(parameters);
        let done = execute(&scratch.rye(), &request, &client(alias)).await.unwrap();
        assert_eq!(done.status, rye::thread::ToolStatus::Ok, "{alias}: {done:?}");

        let scratch = sound();
        let row = format!("classifications:\n  - {{risk: safe, patterns: [{alias}]}}\n");
        scratch.sign(".ai/config/agent/capability_risk.yaml", &row);
        let error = scratch.run("test/write", &[]).await.unwrap_err();
        let told = innermost(&error);
        assert!(told.contains(&format!("lower the risk of `{FUNCTION}`")), "{alias}: {told}");
    }
}

#[tokio::test]
async fn a_client_that_runs_a_function_by_another_name() {
    let scratch = wrapper_project();
    let parameters = json!({"path": "out.txt", "content": "x"}).as_object().cloned().unwrap();
    let request = ExecuteRequest::new(ItemKind::Tool, "mine/write".parse().unwrap());
    let request = request.with(parameters);
    let call = async |caller: Caller| execute(&scratch.rye(), &request, &caller).await;
    let error = call(client("rye.execute.tool.mine.*")).await.unwrap_err();
    assert_eq!(error.class(), Class::Refused);
    let expected =
        format!("`{FUNCTION}`, which `rye.execute.tool.mine.write` stands for, is not allowed by");
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(!wrote(&scratch));
    // A call that would wait for approval in a thread is refused, because a client has no approver.
    scratch.sign(".ai/config/agent/approval.yaml", &format!("ask: [{FUNCTION}]\n"));
    let asked = call(client("rye.execute.tool.*")).await.unwrap();
    assert_eq!(asked.status, rye::thread::ToolStatus::Refused, "{asked:?}");
    assert!(!wrote(&scratch));
    fs::remove_file(scratch.project().join(".ai/config/agent/approval.yaml")).unwrap();
    let done = call(client("rye.execute.tool.*")).await.unwrap();
    assert_eq!(done.status, rye::thread::ToolStatus::Ok, "{done:?}");
    assert!(wrote(&scratch));
}

#[test]
fn configuration_that_a_client_has_signed() {
    let scratch = Scratch::new();
    let provider = "protocol: anthropic_messages\nbase_url: https://example.org\nmodels:\n  m: { context_window: 1000, max_output: 10 }\n";
    scratch.put(".ai/tools/rye/agent/providers/theirs.yaml", provider);
    for file in ["agent/hooks", "agent/capability_risk", "agent/approval", "providers"] {
        scratch.put(&format!(".ai/config/{file}.yaml"), "{}\n");
    }
    let key = SigningKey::generate().unwrap();
    let at = "2026-11-20T17:00:00Z".parse().unwrap();
    let signing = |kind, id: &str| {
        let request = SignRequest::new(kind, id.parse().unwrap());
        let spaces = rye::resolve::Spaces::new().with_project(scratch.project());
        let rye = rye::Rye::open(&rye::Setup::new(spaces, at)).unwrap();
        sign(&rye, &request, &key, at, &client("rye.sign.*"))
    };
    for (kind, id) in [
        (ItemKind::Tool, "rye/agent/providers/theirs"),
        (ItemKind::Config, "agent/hooks"),
        (ItemKind::Config, "agent/capability_risk"),
        (ItemKind::Config, "agent/approval"),
        (ItemKind::Config, "providers"),
    ] {
        let error = signing(kind, id).unwrap_err();
        assert!(matches!(error, PrimaryError::Configuration), "{id}: {error}");
    }
    let text =
        fs::read_to_string(scratch.project().join(".ai/tools/rye/agent/providers/theirs.yaml"));
    assert_eq!(text.unwrap(), provider);
}

/// Only the operator signs a file in the place of another key.
#[test]
fn a_client_signs_nothing_that_another_key_signed() {
    let scratch = Scratch::new();
    let path = ".ai/knowledge/test/theirs.md";
    scratch.sign(path, "```yaml\nname: theirs\ntitle: Theirs\ncategory: test\n```\n\nText.\n");
    let read = || fs::read_to_string(scratch.project().join(path)).unwrap();
    let before = read();
    let key = SigningKey::generate().unwrap();
    let at = "2026-11-20T17:00:00Z".parse().unwrap();
    let request = SignRequest::new(ItemKind::Knowledge, "test/theirs".parse().unwrap());
    let spaces = rye::resolve::Spaces::new().with_project(scratch.project());
    let rye = rye::Rye::open(&rye::Setup::new(spaces, at)).unwrap();
    let error = sign(&rye, &request, &key, at, &client("rye.sign.*")).unwrap_err();
    assert!(error.to_string().contains("is signed by the key"), "{error}");
    assert_eq!(error.class(), rye::Class::Refused);
    assert_eq!(read(), before);
    let signed = sign(&rye, &request, &key, at, &Caller::operator()).unwrap();
    assert!(signed.replaced.is_some());
    assert_ne!(read(), before);
}

/// A project's prices do not lift the spend limit on the operator's key.
#[tokio::test]
async fn a_provider_configuration_with_prices_of_zero() {
    let server = server(vec![answer(&json!([{ "type": "text", "text": "Hi." }]), "end_turn")]);
    let free = provider(&server).replace("\"1\"", "0").replace("\"5\"", "0");
    let project = |scratch: Scratch| {
        scratch.sign(".ai/directives/test/write.md", &writing("", ""));
        scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &free);
        scratch
    };
    let run = async |scratch: &Scratch| {
        let report = scratch.run_with("test/write", &[], |request| {
            request.provider = ProviderChoice::from_name("local");
            request.model = Some("test-model".to_owned());
        });
        report.await.unwrap()
    };
    let unpriced = run(&project(Scratch::new().without_prices())).await;
    let failure = unpriced.outcome.failure.clone().unwrap();
    assert_eq!(failure.kind, FailureKind::Unpriced);
    assert!(failure.message.contains("provider configuration of your user space"), "{failure}");
    let told = "to accept them, copy the file with `rye load rye/agent/providers/local --to user`";
    assert!(unpriced.warnings.iter().any(|warning| warning.contains(told)), "{unpriced:?}");
    assert!(server.received().is_empty());
    // 1,000 input tokens at 1 USD and 100 output tokens at 5 USD per million.
    let priced = run(&project(Scratch::new())).await;
    assert_eq!(priced.outcome.cost.get(), 1_500_000, "{priced:?}");
}

/// A project may choose the server, but not which of the operator's secrets it gets.
#[tokio::test]
async fn a_provider_configuration_that_names_another_variable() {
    let server = server(Vec::new());
    let scratch = sound();
    let theirs = provider(&server).replace("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY");
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &theirs);
    let run = || {
        scratch.run_with("test/write", &[], |request| {
            request.provider = ProviderChoice::from_name("local");
            request.model = Some("test-model".to_owned());
        })
    };
    let error = run().await.unwrap_err();
    assert_eq!(error.class(), Class::Refused);
    let told = innermost(&error);
    for word in ["AWS_SECRET_ACCESS_KEY", "local.yaml", "`variables` of `config/providers.yaml`"] {
        assert!(told.contains(word), "{told}");
    }
    // The project cannot allow it to itself either.
    scratch.sign(".ai/config/providers.yaml", "variables: [AWS_SECRET_ACCESS_KEY]\n");
    let error = run().await.unwrap_err();
    assert!(innermost(&error).contains("a project may not say"), "{error:?}");
    assert!(server.received().is_empty());
}
