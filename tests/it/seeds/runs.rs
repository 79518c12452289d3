//! Two directives of the founding documents, run from their text by the `steps` provider and, in each wire
//! protocol, by a model that executes them in its own thread.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rye::parse::{self, Action, Primary};
use rye::types::ThreadState;
use rye::{ProviderChoice, RunReport};
use rye_tests::{Scratch, seed};
use serde_json::{Map, Value, json};

use super::examples::examples;
use crate::wires::{Call, PROTOCOLS, provider, server};

const DEPLOY: &str = "project/deploy/deploy_staging";
const WRITE_AND_READ: &str = "test/write_and_read";

type Inputs = &'static [(&'static str, &'static str)];

const TARGET: Inputs = &[("target", "staging-us-east-1")];
const REPORT: Inputs = &[("topic", "bread"), ("output_path", "report.md")];

/// The part of a document from the first `start` to the end of the next `end`.
fn cut<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (at, _) = text.match_indices(start).next().expect("the start");
    let length = text[at..].find(end).expect("the end") + end.len();
    &text[at..at + length]
}

/// The directive that deploys.
fn deploy() -> String {
    let text = seed("001");
    let (_, example) = text.rsplit_once("# Deploy Staging\n").expect("the example");
    format!("# Deploy Staging\n{}\n", cut(example, "\n", "</process>"))
}

/// A directive made of the examples of metadata, of steps with elements for calls, and of a call that writes
/// a file. Another step reads the file back.
fn write_and_read() -> String {
    let text = seed("002");
    let examples = examples(&text);
    let beginning = |with: &str| {
        let found = examples.iter().find(|example| example.text.starts_with(with));
        found.expect("the example").text.as_str()
    };
    let metadata = beginning("<metadata>");
    let process = beginning("<process>");
    let call: Value = {
        let (_, behind) = text.split_once("**`item_type=\"tool\"`**").expect("the call");
        let json = cut(behind, "{", "\n}");
        serde_json::from_str(json).expect("JSON")
    };
    let written = &call["parameters"];
    let write = backtick_call(call["item_id"].as_str().unwrap(), written);
    let read = cut(&text, "rye/file-system/fs_read", "\"").trim_end_matches('"');
    let read = backtick_call(read, &json!({ "path": written["path"] }));
    let steps = format!(
        "<step name=\"write\">{write}</step>\n<step name=\"read\">{read}</step>\n</process>"
    );
    let process = process.replace("</process>", &steps);
    let inputs: String = REPORT
        .iter()
        .map(|(name, _)| format!("<input name=\"{name}\" required=\"true\">For a test</input>"))
        .collect();
    format!(
        "# Write and read\n\n```xml\n<directive name=\"write_and_read\" version=\"1.0.0\">\n{metadata}<inputs>{inputs}</inputs>\n\
         </directive>\n```\n\n{process}"
    )
}

fn backtick_call(id: &str, parameters: &Value) -> String {
    format!("`rye_execute(item_type=\"tool\", item_id=\"{id}\", parameters={parameters})`")
}

/// A project with both directives and the items that they name.
fn scratch() -> Scratch {
    let scratch = Scratch::new().with_programs();
    let knowledge =
        |title: &str| format!("```yaml\ntitle: {title}\n```\n\nThis is the text of {title}.\n");
    for (place, title) in [
        ("project/deploy/environment-rules", "Rules"),
        ("project/deploy/completion-checklist", "Checklist"),
        ("notes/bread", "bread"),
    ] {
        scratch.sign(&format!(".ai/knowledge/{place}.md"), &knowledge(title));
    }
    scratch.put(".ai/config/deploy/staging-us-east-1.yaml", "replicas: 2\n");
    let script =
        scratch.put("scripts/deploy.sh", "#!/bin/sh\necho \"$1\" > deployed.txt\necho deployed\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    scratch.sign(&format!(".ai/directives/{DEPLOY}.md"), &deploy());
    scratch.sign(&format!(".ai/directives/{WRITE_AND_READ}.md"), &write_and_read());
    scratch
}

/// Returns the result of each call, and checks that none is an error.
fn results(scratch: &Scratch, report: &RunReport) -> Vec<Value> {
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    let events = scratch.events(report);
    let results = events.into_iter().filter(|(name, _)| name == "tool_call_result");
    let results: Vec<Value> = results.map(|(_, result)| result).collect();
    assert!(results.iter().all(|result| result["is_error"] == false), "{results:?}");
    results.into_iter().map(|mut result| result["content"].take()).collect()
}

fn check_deployed(scratch: &Scratch, results: &[Value]) {
    let [config, run] = results else { panic!("two calls: {results:?}") };
    assert!(config.to_string().contains("replicas: 2"), "{config}");
    assert_eq!((&run["exit_code"], &run["stdout"]), (&json!(0), &json!("deployed\n")));
    assert_eq!(read(scratch, "deployed.txt"), "staging-us-east-1\n");
}

fn check_written(scratch: &Scratch, results: &[Value]) {
    let [found, _, _, output] = results else { panic!("four calls: {results:?}") };
    assert!(found.to_string().contains("notes/bread"), "{found}");
    assert!(output.to_string().contains("hello"), "{output}");
    assert_eq!(read(scratch, "report.md"), "Report content");
    assert_eq!(read(scratch, "output.md"), "hello");
}

fn read(scratch: &Scratch, path: &str) -> String {
    fs::read_to_string(scratch.project().join(path)).unwrap()
}

/// A directive with its inputs, and the check that all of its steps were carried out.
type Row = (&'static str, Inputs, fn(&Scratch, &[Value]));

const ROWS: [Row; 2] = [(DEPLOY, TARGET, check_deployed), (WRITE_AND_READ, REPORT, check_written)];

#[tokio::test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
async fn the_steps_provider_carries_them_out() {
    for (id, inputs, check) in ROWS {
        let scratch = scratch();
        let report = scratch.run(id, inputs).await.unwrap();
        check(&scratch, &results(&scratch, &report));
        let replayed = scratch.rye().replay(&report.thread).await.unwrap();
        assert_eq!(replayed.divergence, None, "{id}");
    }
}

/// The prompt has all context that the directive names and extends.
#[tokio::test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
async fn the_context_of_the_one_that_deploys_is_in_its_prompt() {
    let scratch = scratch();
    let report = scratch.run(DEPLOY, TARGET).await.unwrap();
    let events = scratch.events(&report);
    let injected: Vec<(&str, &str)> = events
        .iter()
        .filter(|(name, _)| name == "context_injected")
        .map(|(_, it)| (it["position"].as_str().unwrap(), it["item_id"].as_str().unwrap()))
        .collect();
    let expected = [
        ("system", "rye/agent/core/Identity"),
        ("system", "rye/agent/core/Behavior"),
        ("before", "rye/agent/core/DirectiveInstruction"),
        ("before", "rye/agent/core/Environment"),
        ("before", "project/deploy/environment-rules"),
        ("after", "project/deploy/completion-checklist"),
    ];
    assert_eq!(injected, expected);
}

/// A thread with an acknowledged shell executes each directive and then makes the calls of its steps.
#[tokio::test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
async fn a_model_follows_them_in_its_own_thread_on_every_wire() {
    for protocol in PROTOCOLS {
        for (id, inputs, check) in ROWS {
            let scratch = scratch();
            scratch.sign(".ai/directives/test/outer.md", OUTER);
            let text = read(&scratch, &format!(".ai/directives/{id}.md"));
            let calls = calls(id, &text, inputs);
            let server = server(protocol, &calls);
            scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(protocol, &server));
            let model = |request: &mut rye::RunRequest| {
                request.provider = ProviderChoice::from_name("local")
            };
            let report = scratch.run_with("test/outer", &[], model).await.unwrap();
            let results = results(&scratch, &report);
            let (directions, results) = results.split_first().unwrap();
            check_directions(directions, &text, inputs);
            check(&scratch, results);
            assert_eq!(server.received().len(), calls.len() + 1);
            let replayed = scratch.rye().replay(&report.thread).await.unwrap();
            assert_eq!(replayed.divergence, None, "{protocol} {id}");
        }
    }
}

const OUTER: &str = r#"# Outer

```xml
<directive name="outer" version="1.0.0">
  <metadata>
    <description>Follows another directive.</description>
    <permissions>
      <execute><directive>*</directive><tool>rye.bash.*</tool><tool>rye.file-system.*</tool></execute>
      <search><knowledge>*</knowledge></search>
      <acknowledge risk="elevated">For a test.</acknowledge>
    </permissions>
  </metadata>
</directive>
```

Follow the directive that you are told.
"#;

/// The call that returns the directive, then the calls of its steps.
fn calls(id: &str, text: &str, inputs: Inputs) -> Vec<Call> {
    let values: Map<String, Value> =
        inputs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let first = json!({"item_type": "directive", "item_id": id, "parameters": values});
    let directive = parse::directive(text).unwrap();
    let actions = directive.steps.iter().flat_map(|step| &step.value.actions);
    let calls = actions.map(|action| call(&action.value, inputs));
    [("rye_execute", first)].into_iter().chain(calls).collect()
}

fn call(action: &Action, inputs: Inputs) -> Call {
    let (name, arguments) = match action.primary {
        Primary::Search => {
            ("rye_search", json!({"item_type": action.item_type, "query": action.query}))
        }
        Primary::Execute => (
            "rye_execute",
            json!({"item_type": action.item_type, "item_id": action.item_id, "parameters": action.parameters}),
        ),
        other => panic!("no step calls `{other}`"),
    };
    (name, serde_json::from_str(&place_inputs(&arguments.to_string(), inputs)).unwrap())
}

fn place_inputs(text: &str, inputs: Inputs) -> String {
    inputs.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{input:{name}}}"), value)
    })
}

/// Checks that the directions are the body of the file, byte for byte, with the inputs inserted.
fn check_directions(told: &Value, text: &str, inputs: Inputs) {
    let (_, body) = text.split_once("</directive>\n```\n").expect("a body");
    assert_eq!(told["your_directions"], place_inputs(body.trim(), inputs));
    let name =
        Path::new(told["id"].as_str().unwrap()).file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(told["name"], name);
}
