//! Environment variables must not reach a prompt, a tool or an error.

use std::fs;
use std::path::Path;
use std::process::Command;

use rye::{ProviderChoice, RenderRequest};
use rye_tests::Scratch;
use serde_json::json;

use super::{innermost, writing};
use crate::model::{answer, provider, server, tool_use};
use crate::server::Answer;

const NAME: &str = "RYE_TEST_CANARY";
const CANARY: &str = "canary-9f31c0de-secret";

/// A process cannot safely change its own environment, so a second process with the canary runs the test.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "only another process can be given another environment"
)]
fn an_environment_variable_in_a_prompt_a_tool_or_an_error() {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args(["holes::environment::with_the_canary", "--exact", "--ignored", "--nocapture"])
        .env(NAME, CANARY)
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
}

/// The notations for variables of many template languages.
fn placeholders() -> String {
    let name = NAME;
    [
        format!("${{{name}}}"),
        format!("${name}"),
        format!("${{env.{name}}}"),
        format!("${{ENV:{name}}}"),
        format!("${{env:{name}}}"),
        format!("{{env:{name}}}"),
        format!("{{{{env.{name}}}}}"),
        format!("{{input:{name}?}}"),
        format!("%{name}%"),
        format!("$({name})"),
        format!("`${name}`"),
        format!("${{inputs.env.{name}}}"),
    ]
    .join(" ")
}

#[tokio::test]
#[ignore = "run by the test above, in an environment with the canary"]
#[expect(
    clippy::disallowed_methods,
    reason = "the canary has to be there for its absence to mean something"
)]
async fn with_the_canary() {
    assert_eq!(std::env::var(NAME).as_deref(), Ok(CANARY));
    let places = placeholders();
    let scratch = Scratch::new();
    let written = json!({ "path": "out.txt", "content": places });
    let unread = json!({ "path": places });
    let failing = format!(
        "{{\"type\":\"error\",\"error\":{{\"type\":\"invalid_request_error\",\"message\":\"{NAME} sk-test-secret\"}}}}"
    );
    let server = server(vec![
        answer(&json!([tool_use("a", "rye_file_system_write", &written)]), "tool_use"),
        answer(&json!([tool_use("b", "rye_file_system_write", &unread)]), "tool_use"),
        Answer::json(400, failing),
    ]);
    let templated =
        format!("{}prompts: {{ system_template: 'System {places}' }}\n", provider(&server));
    scratch.sign(
        ".ai/tools/rye/agent/providers/local.yaml",
        &templated.replace("{env", "{ env").replace("{input", "{ input"),
    );
    let text = writing(
        "<context><system>test/rules</system></context>",
        &format!("<inputs><input name=\"{NAME}\" type=\"string\">x</input></inputs>"),
    );
    scratch.sign(
        ".ai/directives/test/write.md",
        &(text + &places.replace("${inputs.env", "${ inputs.env") + "\n"),
    );
    let rules = format!("```yaml\nname: rules\ntitle: Rules\n```\n\nRules {places}\n");
    scratch.sign(".ai/knowledge/test/rules.md", &rules);
    let rendered =
        scratch.rye().render(&RenderRequest::new("test/write".parse().unwrap())).unwrap();
    clean("the prompt", &format!("{rendered:?}"));
    let report = scratch.run_with("test/write", &[], |request| {
        request.provider = ProviderChoice::from_name("local");
        request.model = Some("test-model".to_owned());
    });
    let report = report.await.unwrap();
    for request in server.received() {
        clean("a request", request.text());
        clean("its headers", &format!("{:?}", request.headers));
    }
    assert_eq!(server.received().len(), 3);
    assert_eq!(fs::read_to_string(scratch.project().join("out.txt")).unwrap(), places);
    clean("the outcome", &format!("{:?}", report.outcome));
    assert!(!format!("{:?}", report.outcome).contains("sk-test-secret"));
    folder_is_clean(&scratch.project());
    let named = scratch.run_with("test/write", &[(CANARY, "x")], |_| {}).await.unwrap_err();
    assert!(innermost(&named).contains(CANARY), "what the operator writes is told back");
}

#[track_caller]
fn clean(what: &str, text: &str) {
    assert!(!text.contains(CANARY), "{what}: {text}");
}

/// Checks every file that the run left behind.
fn folder_is_clean(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            folder_is_clean(&path);
        } else {
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            clean(&path.display().to_string(), &text);
            assert!(!text.contains("sk-test-secret"), "{}", path.display());
        }
    }
}
