//! The model and the limits of a directive that extends another one (SPEC D19).

use rye::thread::{Decision, ThreadId};
use rye::types::{LimitSet, Nanos, SpendLimit, ThreadState};
use rye::{Explained, LimitSource, ModelSource, PlanRequest, ProviderChoice, RecordedSettings};
use rye_tests::Scratch;
use serde_json::{Value, json};

use super::model::{answer, provider, server, tool_use};
use super::server::{Answer, Server};

/// A directive whose fence has these attributes and this metadata.
fn directive(attributes: &str, metadata: &str) -> String {
    format!(
        "# It\n\n```xml\n<directive {attributes} version=\"1.0.0\">\n  <metadata><description>Writes.</description>{metadata}</metadata>\n</directive>\n```\n\nWrite a file.\n"
    )
}

const BASE: &str = "<model provider=\"local\" tier=\"fast\" /><limits turns=\"3\" spend=\"0.30\" depth=\"1\" />\
     <permissions><execute><tool>rye.file-system.write</tool><tool>rye.agent.threads.*</tool><directive>test.*</directive></execute></permissions>";

/// A leaf that states no more than the limit on depth, below a base, with a provider `local` and one `other`.
fn scratch(local: &Server, other: &Server) -> Scratch {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/base.md", &directive("name=\"base\"", BASE));
    let leaf = directive("name=\"leaf\" extends=\"test/base\"", "<limits depth=\"2\" />");
    scratch.sign(".ai/directives/test/leaf.md", &leaf);
    for (name, server) in [("local", local), ("other", other)] {
        let path = format!(".ai/tools/rye/agent/providers/{name}.yaml");
        scratch.sign(&path, &provider(server));
    }
    scratch
        .sign(".ai/config/agent/approval.yaml", "ask: [rye.execute.tool.rye.file-system.write]\n");
    scratch
}

fn writes() -> Answer {
    let input = json!({"path": "ada.txt", "content": "Hello"});
    answer(&json!([tool_use("call_1", "rye_file_system_write", &input)]), "tool_use")
}

fn says(text: &str) -> Answer {
    answer(&json!([{"type": "text", "text": text}]), "end_turn")
}

fn thread() -> ThreadId {
    "leaf-019a0000-0000-7000-8000-000000000001".parse().unwrap()
}

fn recorded_limits(scratch: &Scratch) -> LimitSet {
    let rye = scratch.rye();
    rye.thread(&rye.threads().unwrap(), &thread()).unwrap().record.limits
}

/// A run is answered by the provider of the base within the limits of both, and so it is after an approval.
#[tokio::test]
async fn a_run_takes_what_its_base_states() {
    let (local, other) = (server(vec![writes(), says("Done.")]), server(vec![]));
    let scratch = scratch(&local, &other);
    let report = scratch.run_with("test/leaf", &[], |_| ()).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    let limits = recorded_limits(&scratch);
    assert_eq!((limits.turns, limits.depth), (3, 2));
    assert_eq!(limits.spend, SpendLimit::AtMost(Nanos::new(300_000_000)));
    assert_eq!(limits.tokens, LimitSet::default().tokens);

    // What limits would be now, as after an update of the program, does not count.
    scratch.sign(".ai/config/agent/resilience.yaml", "limits: { turns: 1 }\n");
    scratch.decide(&thread(), &Decision::Approved);
    let report = scratch.resume(&thread()).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(recorded_limits(&scratch), limits);
    assert_eq!((local.received().len(), other.received().len()), (2, 0));
}

/// A thread that began before `extends` inherited a model keeps the provider, the model and the limits of its record.
#[tokio::test]
async fn a_thread_of_the_older_rule_goes_on_as_it_began() {
    let (local, other) = (server(vec![]), server(vec![writes(), says("Done.")]));
    let scratch = scratch(&local, &other).with_operator();
    let options = |request: &mut rye::RunRequest| {
        request.provider = ProviderChoice::Named("other".to_owned());
        (request.limits.turns, request.limits.depth) = (Some(7), Some(2));
        request.limits.spend = Some(SpendLimit::AtMost(Nanos::new(400_000_000)));
    };
    let report = scratch.run_with("test/leaf", &[], options).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    let limits = recorded_limits(&scratch);
    // The same transcript, but that nothing was asked for: the defaults of that time chose.
    let asked_for = ["provider", "turns", "spend", "depth"];
    scratch.edit_transcript(&thread(), |record| {
        if let Some(Value::Object(request)) = record.pointer_mut("/payload/facts/request") {
            for name in asked_for {
                drop(request.insert(name.to_owned(), Value::Null));
            }
            request.retain(|_, value| !value.is_null());
        }
    });
    assert_eq!(recorded_limits(&scratch), limits);

    scratch.decide(&thread(), &Decision::Approved);
    let report = scratch.resume(&thread()).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(recorded_limits(&scratch), limits);
    assert_eq!((local.received().len(), other.received().len()), (0, 2));
}

/// What the operator states bounds what is inherited, and not what the leaf states itself.
#[test]
fn the_operator_bounds_what_is_inherited() {
    let scratch = scratch(&server(vec![]), &server(vec![]));
    let text = "limits: { turns: 2, depth: 1, spend: \"0.40\" }\n";
    scratch.sign_user(".ai/config/agent/resilience.yaml", text);
    let request = PlanRequest::new("test/leaf".parse().unwrap());
    let explained = Explained::of(&scratch.rye(), &request).unwrap();
    let value = |name: &str| explained.limits.iter().find(|limit| limit.name == name).unwrap();
    assert_eq!((value("turns").value.as_str(), value("depth").value.as_str()), ("2", "2"));
    assert!(matches!(value("turns").set_by, LimitSource::Config(_)));
    // A lower one of the base stands.
    assert_eq!(value("spend").value, "0.30 USD");
}

/// The plan of a thread that goes on has its model and limits from its record. A model that took over stays the fallback.
#[test]
fn a_plan_for_a_thread_that_goes_on() {
    let scratch = scratch(&server(vec![]), &server(vec![]));
    let mut request = PlanRequest::new("test/leaf".parse().unwrap());
    let limits = LimitSet { turns: 9, ..LimitSet::default() };
    request.recorded = Some(RecordedSettings {
        provider: "other".to_owned(),
        model: "test-model".to_owned(),
        fallback: None,
        limits: limits.clone(),
    });
    let planned = scratch.rye().plan_run(&request).unwrap();
    assert_eq!(planned.plan.limits.limits, limits);
    let info = planned.answerer.describe();
    assert_eq!((info.provider.as_str(), info.model.as_str()), ("other", "test-model"));
}

/// Each limit and the model name the directive that set them, as text and as JSON.
#[test]
fn an_explanation_names_who_set_each() {
    let scratch = scratch(&server(vec![]), &server(vec![]));
    let explain = |request: &PlanRequest| Explained::of(&scratch.rye(), request).unwrap();
    let explained = explain(&PlanRequest::new("test/leaf".parse().unwrap()));
    let id = |id: &str| id.parse().unwrap();
    let by: Vec<_> = explained.limits.iter().map(|it| (it.name, it.set_by.clone())).collect();
    let of = |name| by.iter().find(|(it, _)| *it == name).unwrap().1.clone();
    assert_eq!(of("turns"), LimitSource::Directive(id("test/base")));
    assert_eq!(of("depth"), LimitSource::Directive(id("test/leaf")));
    assert!(matches!(of("tokens"), LimitSource::Config(_)), "{by:?}");
    let model = explained.model.as_ref().unwrap();
    assert_eq!(model.set_by, ModelSource::Directive(id("test/base")));
    let json = explained.to_json();
    assert_eq!(json["model"]["set_by"], json!({ "layer": "directive", "id": "test/base" }));
    assert_eq!(json["limits"][0]["set_by"], json!({ "layer": "directive", "id": "test/base" }));
    let text = explained.to_string();
    let row = |begins: &str| text.lines().find(|line| line.trim_start().starts_with(begins));
    assert!(row("turns").unwrap().ends_with("directive test/base"), "{text}");
    assert!(row("local").unwrap().ends_with("directive test/base"), "{text}");

    let mut request = PlanRequest::new("test/leaf".parse().unwrap());
    request.provider = ProviderChoice::Named("other".to_owned());
    assert_eq!(explain(&request).model.unwrap().set_by, ModelSource::Options);
    request.provider = ProviderChoice::Directive;
    request.directive = id("test/base");
    assert_eq!(explain(&request).model.unwrap().set_by, ModelSource::Directive(id("test/base")));
}

/// A base without a bound on money leaves the default to its leaf, and a currency of a base that no price is in refuses its leaf.
#[test]
fn money_of_a_base() {
    let scratch = scratch(&server(vec![]), &server(vec![]));
    for (limits, expected) in [
        ("spend=\"unlimited\"", Ok(SpendLimit::AtMost(Nanos::new(500_000_000)))),
        ("spend=\"2\"", Ok(SpendLimit::AtMost(Nanos::new(2_000_000_000)))),
        ("spend=\"2\" spend_currency=\"EUR\"", Err(())),
    ] {
        let base = directive("name=\"base\"", &format!("<limits {limits} />"));
        scratch.sign_unchecked(".ai/directives/test/base.md", &base);
        let plan = scratch.rye().plan(&PlanRequest::new("test/leaf".parse().unwrap()));
        let spend = plan.map(|plan| plan.limits.limits.spend);
        assert_eq!(spend.map_err(drop), expected, "{limits}");
    }
}
