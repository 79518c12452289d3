//! Runs with a model: a local server that answers like Anthropic's.

use std::collections::BTreeMap;

use rye::types::ThreadState;
use rye::{Placing, PlanRequest, ProviderChoice};
use rye_tests::Scratch;
use serde_json::{Value, json};

use super::server::{Answer, Received, Server};

const DIRECTIVE: &str = r#"# Greet

```xml
<directive name="greet" version="1.0.0">
  <metadata>
    <description>Writes a greeting.</description>
    <model tier="fast" />
    <permissions><execute><tool>rye.file-system.write</tool></execute></permissions>
  </metadata>
  <inputs><input name="who" type="string" required="true">Whom to greet</input></inputs>
  <outputs><output name="path" type="string" required="true">The file</output></outputs>
</directive>
```

Write a greeting for {input:who} to a file of your choice.
"#;

pub(super) fn provider(server: &Server) -> String {
    format!(
        "protocol: anthropic_messages\nbase_url: {}\nauth: {{ env: ANTHROPIC_API_KEY, header: x-api-key }}\n\
         tiers: {{ fast: test-model }}\nmodels:\n  test-model:\n    context_window: 100000\n    max_output: 1000\n    \
         prices: {{ input: \"1\", output: \"5\" }}\n",
        server.url()
    )
}

pub(super) fn answer(content: &Value, stop: &str) -> Answer {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "test-model",
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": { "input_tokens": 1000, "output_tokens": 100 },
    });
    Answer::json(200, message)
}

/// A server that sends each of these answers once, in turn.
pub(super) fn server(answers: Vec<Answer>) -> Server {
    Server::once(answers, |request| {
        request.line == "POST /v1/messages" && request.header("x-api-key") == Some("sk-test-secret")
    })
}

pub(super) fn tool_use(id: &str, name: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

#[tokio::test]
async fn a_model_calls_a_tool_and_returns_outputs() {
    let thinking = json!({ "type": "thinking", "thinking": "Ada.", "signature": "c2ln" });
    let write = tool_use(
        "call_1",
        "rye_file_system_write",
        &json!({ "path": "ada.txt", "content": "Hello Ada" }),
    );
    let returns = json!({
        "item_type": "tool", "item_id": "rye/agent/threads/directive_return", "parameters": { "path": "ada.txt" },
    });
    let server = server(vec![
        answer(&json!([thinking, write]), "tool_use"),
        answer(&json!([tool_use("call_2", "rye_execute", &returns)]), "tool_use"),
    ]);
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/greet.md", DIRECTIVE);
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(&server));
    let report = scratch
        .run_with("test/greet", &[("who", "Ada")], |request| {
            request.provider = ProviderChoice::Named("local".to_owned())
        })
        .await
        .unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(
        report.outcome.outputs.clone().map(Value::Object),
        Some(json!({ "path": "ada.txt" }))
    );
    assert_eq!(std::fs::read_to_string(scratch.project().join("ada.txt")).unwrap(), "Hello Ada");
    // Twice 1,000 input tokens at 1 USD and 100 output tokens at 5 USD per million.
    assert_eq!(report.outcome.cost.get(), 3_000_000);
    check_second_request(&server, &thinking);
    check_no_key(&report);
}

#[tokio::test]
async fn the_first_request_can_be_seen_before_it_is_sent() {
    let text = json!([{ "type": "text", "text": "Done." }]);
    let server = server(vec![answer(&text, "end_turn"), answer(&text, "end_turn")]);
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/greet.md", DIRECTIVE);
    let templated = format!(
        "{}prompts: {{ system_template: \"Do {{directive_name}} with {{tool_names}}, {{directive_inputs}}.\" }}\nreturns: tool\n",
        provider(&server).replace("max_output: 1000", "max_output: 8000")
    );
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &templated);
    let mut request = PlanRequest::new("test/greet".parse().unwrap());
    request.provider = ProviderChoice::from_name("local");
    request.inputs = Placing::Values(BTreeMap::from([("who".to_owned(), json!("Ada"))]));
    // A spend limit that shortens the answer, as the budget does before each request.
    request.limits.spend = Some("0.02".parse().unwrap());
    let first = scratch.rye().first_request(&request).unwrap();
    assert!(server.received().is_empty());
    let limits = request.limits;
    scratch
        .run_with("test/greet", &[("who", "Ada")], |request| {
            request.provider = ProviderChoice::from_name("local");
            request.limits = limits;
        })
        .await
        .unwrap();
    let sent = server.received();
    assert_eq!(sent[0].text(), first.body);
    let body: Value = serde_json::from_str(&first.body).unwrap();
    assert!(body["max_tokens"].as_u64().unwrap() < 8000, "{body}");
    let system = "Do greet with rye_agent_threads_directive_return, rye_execute, rye_file_system_write, {\"who\":\"Ada\"}.";
    assert_eq!(body["system"], system);
}

/// Checks that the history is resent as received, including reasoning, and that the result follows its call.
fn check_second_request(server: &Server, thinking: &Value) {
    let bodies: Vec<Value> = server.received().iter().map(Received::json).collect();
    let [first, second] = &bodies[..] else { panic!("two requests: {bodies:?}") };
    assert_eq!(first["messages"][0], second["messages"][0]);
    assert_eq!((&first["system"], &first["tools"]), (&second["system"], &second["tools"]));
    assert_eq!(second["messages"][1]["content"][0], *thinking);
    assert_eq!(second["messages"][2]["content"][0]["tool_use_id"], "call_1");
}

fn check_no_key(report: &rye::RunReport) {
    for file in ["thread.json", "transcript.jsonl", "transcript.md"] {
        let text = std::fs::read_to_string(report.folder.join(file)).unwrap();
        assert!(!text.contains("sk-test-secret"), "{file}");
    }
}

#[tokio::test]
async fn a_model_that_will_not_return_outputs_is_asked_once_and_then_fails() {
    let text = json!([{ "type": "text", "text": "Done." }]);
    let server = server(vec![answer(&text, "end_turn"), answer(&text, "end_turn")]);
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/greet.md", DIRECTIVE);
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(&server));
    let report = scratch
        .run_with("test/greet", &[("who", "Ada")], |request| {
            request.provider = ProviderChoice::Named("local".to_owned())
        })
        .await
        .unwrap();
    let failure = report.outcome.failure.unwrap();
    assert_eq!(failure.kind, rye::thread::FailureKind::MissingOutputs);
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn an_unsigned_provider_configuration_is_refused() {
    let server = server(Vec::new());
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/greet.md", DIRECTIVE);
    scratch.put(".ai/tools/rye/agent/providers/local.yaml", &provider(&server));
    let error = scratch
        .run_with("test/greet", &[("who", "Ada")], |request| {
            request.provider = ProviderChoice::Named("local".to_owned())
        })
        .await
        .unwrap_err();
    assert_eq!(error.class(), rye::Class::Refused);
    assert!(server.received().is_empty());
}
