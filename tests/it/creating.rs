//! The shipped directives that create items: their items are valid, and existing files are never replaced.

mod items;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rye::parse::Directive;
use rye::sign::Provenance;
use rye::thread::{ApprovalRequest, Approver, Cancel, Decider, Decision, ThreadId};
use rye::types::{ItemKind, ThreadState};
use rye::{
    Complexity, Host, ProviderChoice, RunReport, RunRequest, Severity, check, place, shipped_files,
};
use rye_tests::{Scratch, inputs};
use serde_json::{Value, json};

use self::items::{CHILD, whole};
use super::model;
use super::server::Server;
use super::sweep::sweep;

/// An approver that decides every call in the same way.
struct Operator(Decision);

#[async_trait]
impl Approver for Operator {
    async fn decide(&self, _: &ApprovalRequest) -> Option<(Decision, Decider)> {
        Some((self.0.clone(), Decider::prompt()))
    }
}

/// Runs a shipped directive with the `steps` provider. `round` makes the ids of threads in one project
/// unique.
async fn run(
    scratch: &Scratch,
    directive: &str,
    given: &[(&str, &str)],
    (decision, round): (Decision, u8),
) -> RunReport {
    let id = format!("rye/core/{directive}");
    let thread = format!("019a0000-0000-7000-8000-0000000000{round:02}");
    let thread = ThreadId::new(&id, &thread).unwrap();
    let mut request = RunRequest::new(id.parse().unwrap(), thread);
    request.inputs = inputs(given);
    request.provider = ProviderChoice::Steps;
    let cancel = Cancel::new();
    let operator = Operator(decision);
    let host = Host { approver: &operator, ..scratch.host(&cancel) };
    scratch.rye().run(request, host).await.unwrap()
}

/// Text with special characters of XML, Markdown and YAML.
const SAID: &str = "Reads & writes <b>it</b> where 1 < 2: \"always\" # or not.";

/// A shipped directive, its inputs, and the files that it creates.
struct Row {
    directive: &'static str,
    inputs: Vec<(&'static str, &'static str)>,
    creates: &'static [&'static str],
    /// `true` if its steps sign the files.
    signs: bool,
}

fn rows() -> Vec<Row> {
    let named = [("name", "fresh"), ("category", "made"), ("description", SAID)];
    let threaded = [
        ("complexity", "moderate"),
        ("permissions_needed", "rye.file-system.read, rye.search.directive.*"),
        ("process_steps", "- Look at <it>.\n- Report & stop."),
    ];
    let text = [("name", "fresh"), ("category", "made"), ("title", SAID), ("content", SAID)];
    vec![
        Row {
            directive: "create_directive",
            inputs: [&named[..], &[("process_steps", SAID)]].concat(),
            creates: &[".ai/directives/made/fresh.md"],
            signs: true,
        },
        Row {
            directive: "create_threaded_directive",
            inputs: [&named[..], &threaded[..]].concat(),
            creates: &[".ai/directives/made/fresh.md"],
            signs: true,
        },
        Row {
            directive: "create_knowledge",
            inputs: text.to_vec(),
            creates: &[".ai/knowledge/made/fresh.md"],
            signs: true,
        },
        Row {
            directive: "create_tool",
            inputs: [&named[..], &[("command", "wc")]].concat(),
            creates: &[".ai/tools/made/fresh.yaml"],
            signs: false,
        },
        Row {
            directive: "init",
            inputs: vec![("about", SAID)],
            creates: &[".ai/knowledge/project/about.md", ".ai/directives/project/base.md"],
            signs: false,
        },
    ]
}

/// Every file of the project with its bytes, without the threads.
fn files(scratch: &Scratch) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with(".ai/threads") {
                walk(&path, files);
            } else if path.is_file() {
                files.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&scratch.project(), &mut files);
    files
}

fn failure(report: &RunReport) -> String {
    report.outcome.failure.as_ref().map(ToString::to_string).unwrap_or_default()
}

#[tokio::test]
async fn what_is_created_is_whole_and_signed() {
    for row in rows() {
        let name = row.directive;
        let scratch = Scratch::new().with_operator();
        let report = run(&scratch, name, &row.inputs, (Decision::Approved, 1)).await;
        assert_eq!(report.outcome.state, ThreadState::Completed, "{name}: {}", failure(&report));
        assert_eq!(files(&scratch).len(), row.creates.len(), "{name}");
        for path in row.creates {
            let path = scratch.project().join(path);
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
            let (kind, id) = place(&path).unwrap();
            let checked = check(&path, kind, Some(&id), text.clone());
            let heavy = checked.findings.iter().filter(|it| it.severity > Severity::Note);
            assert_eq!(heavy.count(), 0, "{name}: {:?}", checked.findings);
            let verified = scratch.rye().verify(&path, &text).result;
            let is_signed = matches!(verified, Ok(Provenance::Signed(_)));
            assert_eq!(is_signed, row.signs, "{name}: {verified:?}");
        }
    }
}

fn directive(scratch: &Scratch) -> Directive {
    let text = fs::read_to_string(scratch.project().join(".ai/directives/made/fresh.md")).unwrap();
    rye::parse::directive(&text).unwrap()
}

#[tokio::test]
async fn a_directive_is_what_was_said_of_it() {
    let row = rows().remove(1);
    let scratch = Scratch::new().with_operator();
    drop(run(&scratch, row.directive, &row.inputs, (Decision::Approved, 1)).await);
    let made = directive(&scratch);
    assert_eq!(made.description.as_ref().unwrap().value, SAID);
    assert_eq!(made.model.as_ref().unwrap().value.tier.as_ref().unwrap().value, "standard");
    let raw = &made.permissions.as_ref().unwrap().value.raw;
    for granted in ["<tool>rye.file-system.read</tool>", "<directive>*</directive>"] {
        assert!(raw.contains(granted), "{raw}");
    }
    let steps: Vec<&str> = made.steps.iter().map(|step| step.value.description.trim()).collect();
    // A body is text, so elements in it are escaped.
    assert_eq!(steps, ["Look at &lt;it>.", "Report &amp; stop."]);
}

#[tokio::test]
async fn limits_follow_from_the_complexity_and_the_configuration() {
    let rows = [
        ("simple", (5, 20_000, 50_000_000)),
        ("moderate", (15, 200_000, 500_000_000)),
        ("complex", (30, 200_000, 1_000_000_000)),
    ];
    for project in ["", "complexity:\n  simple: { turns: 3, spend: \"9.00\" }\n"] {
        for (class, (turns, tokens, nanos)) in rows {
            let scratch = Scratch::new().with_operator();
            if !project.is_empty() {
                scratch.sign(".ai/config/agent/resilience.yaml", project);
            }
            let given = [
                ("name", "fresh"),
                ("category", "made"),
                ("description", "x"),
                ("complexity", class),
            ];
            drop(run(&scratch, "create_directive", &given, (Decision::Approved, 1)).await);
            let limits = directive(&scratch).limits;
            // A project can only lower limits.
            let turns = if class == "simple" && !project.is_empty() { 3 } else { turns };
            assert_eq!(limits.turns.unwrap().value, turns, "{class}");
            assert_eq!(limits.tokens.unwrap().value, tokens, "{class}");
            assert_eq!(
                limits.spend.unwrap().value,
                rye::types::SpendLimit::AtMost(rye::types::Nanos::new(nanos)),
                "{class}"
            );
        }
    }
}

/// The inputs that the directive itself gives as examples, with the text of `permissions_needed` as its description has it.
fn own_example() -> Vec<(&'static str, String)> {
    let id = "rye/core/create_threaded_directive";
    let shipped = format!("directives/{id}.md");
    let file = shipped_files().iter().find(|file| file.path == shipped).unwrap();
    let read = rye::parse::directive(file.text).unwrap();
    let example = |name: &str| {
        let input = read.inputs.iter().find(|input| input.value.name.value == name).unwrap();
        let (_, example) = input.value.description.split_once("such as `").unwrap();
        example.split_once('`').unwrap().0.to_owned()
    };
    let named = ["name", "category", "permissions_needed"].map(|name| (name, example(name)));
    let said = [("description", SAID.to_owned()), ("complexity", "simple".to_owned())];
    named.into_iter().chain(said).collect()
}

/// Returns the state of each item of the project: signed or not.
fn signatures(scratch: &Scratch) -> Vec<bool> {
    let files = files(scratch).into_keys();
    let signed = files.filter(|path| !path.ends_with("local.yaml")).map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        matches!(scratch.rye().verify(&path, &text).result, Ok(Provenance::Signed(_)))
    });
    signed.collect()
}

#[tokio::test]
async fn a_threaded_directive_of_its_own_example_is_signed() {
    let scratch = Scratch::new().with_operator();
    let given = own_example();
    let given: Vec<(&str, &str)> =
        given.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let report = run(&scratch, "create_threaded_directive", &given, (Decision::Approved, 1)).await;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{}", failure(&report));
    assert_eq!(signatures(&scratch), [true]);
}

/// A model that does what the steps say needs no more turns and authority than the directive has.
#[tokio::test]
async fn a_model_has_the_own_example_signed() {
    let given: BTreeMap<_, _> = own_example().into_iter().collect();
    let id = format!("{}/{}", given["category"], given["name"]);
    let path = format!(".ai/directives/{id}.md");
    let create = json!({
        "item_type": "directive", "name": given["name"], "category": given["category"],
        "description": SAID, "complexity": given["complexity"],
        "permissions": given["permissions_needed"], "extends": "rye/agent/core/base",
    });
    let mut turn = 0;
    let (named, read) = (id.clone(), path.clone());
    let server = Server::new(move |request| {
        turn += 1;
        let (name, input) = match turn {
            1 => ("rye_search", json!({ "item_type": "directive", "query": named })),
            2 => (
                "rye_load",
                json!({ "item_type": "knowledge", "item_id": "rye/authoring/directives" }),
            ),
            3 => ("rye_core_create_item", create.clone()),
            4 => ("rye_file_system_read", json!({ "path": read })),
            5 => {
                let created = result_of(&request.json(), "call_3");
                let sha256 = created["sha256"].clone();
                (
                    "rye_sign",
                    json!({ "item_type": "directive", "item_id": named, "sha256": sha256 }),
                )
            }
            _ => (
                "rye_agent_threads_directive_return",
                json!({ "directive_path": read, "signed": "yes" }),
            ),
        };
        model::answer(&json!([model::tool_use(&format!("call_{turn}"), name, &input)]), "tool_use")
    });
    let scratch = Scratch::new().with_operator();
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &model::provider(&server));
    let thread = ThreadId::new(&id, "019a0000-0000-7000-8000-000000000001").unwrap();
    let mut request =
        RunRequest::new("rye/core/create_threaded_directive".parse().unwrap(), thread);
    request.inputs = given.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    request.provider = ProviderChoice::Named("local".to_owned());
    let cancel = Cancel::new();
    let operator = Operator(Decision::Approved);
    let report = scratch
        .rye()
        .run(request, Host { approver: &operator, ..scratch.host(&cancel) })
        .await
        .unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{}", failure(&report));
    assert_eq!(signatures(&scratch), [true]);
}

/// The JSON of a call's result in a request to the model.
fn result_of(request: &Value, call: &str) -> Value {
    let messages = request["messages"].as_array().unwrap().iter();
    let mut blocks =
        messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let result = blocks.find(|block| block["tool_use_id"] == call).unwrap();
    let text = result["content"]
        .as_str()
        .unwrap_or_else(|| result["content"][0]["text"].as_str().unwrap());
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

/// The knowledge for authors states the same table.
#[test]
fn authors_read_the_classes_of_the_configuration() {
    let rye = Scratch::new().rye();
    let shipped = "knowledge/rye/authoring/directives.md";
    let text = shipped_files().iter().find(|file| file.path == shipped).unwrap().text;
    for &class in Complexity::ALL {
        let limits = rye.class_limits(class).unwrap();
        let stated = format!(
            "turns=\"{}\" tokens=\"{}\" spend=\"{}\"",
            limits.turns, limits.tokens, limits.spend
        );
        assert!(text.contains(&stated), "{class}: {stated}");
    }
}

#[tokio::test]
async fn a_second_run_changes_nothing_that_exists() {
    for row in rows() {
        let name = row.directive;
        let scratch = Scratch::new().with_operator();
        drop(run(&scratch, name, &row.inputs, (Decision::Approved, 1)).await);
        let before = files(&scratch);
        let report = run(&scratch, name, &row.inputs, (Decision::Approved, 2)).await;
        assert!(files(&scratch) == before, "{name} changed a file");
        if name == "init" {
            assert_eq!(report.outcome.state, ThreadState::Completed, "{}", failure(&report));
        } else {
            let failure = failure(&report);
            assert!(
                failure.contains("`made/fresh` exists and is not replaced"),
                "{name}: {failure}"
            );
        }
    }
}

#[tokio::test]
async fn what_a_person_wrote_and_signed_stays() {
    for row in rows() {
        let name = row.directive;
        let scratch = Scratch::new().with_operator();
        for path in row.creates {
            scratch.sign(path, &whole(path));
        }
        let before = files(&scratch);
        let report = run(&scratch, name, &row.inputs, (Decision::Approved, 1)).await;
        assert!(files(&scratch) == before, "{name} changed a file");
        let failure = failure(&report);
        if name == "init" {
            assert_eq!(report.outcome.state, ThreadState::Completed, "{failure}");
        } else {
            let expected = "`made/fresh` exists and is not replaced";
            assert!(failure.contains(expected), "{name}: {failure}");
        }
        for path in row.creates {
            let path = scratch.project().join(path);
            let verified = scratch.rye().verify(&path, &fs::read_to_string(&path).unwrap()).result;
            assert!(matches!(verified, Ok(Provenance::Signed(_))), "{name}: {verified:?}");
        }
    }
}

/// A file with another extension has the same id, and two files with one id would be ambiguous.
#[tokio::test]
async fn an_item_with_another_extension_counts() {
    let scratch = Scratch::new();
    scratch.put(".ai/tools/made/fresh.sh", "#!/bin/sh\n");
    let rows = rows();
    let row = rows.iter().find(|row| row.directive == "create_tool").unwrap();
    let report = run(&scratch, row.directive, &row.inputs, (Decision::Approved, 1)).await;
    let failure = failure(&report);
    assert!(failure.contains("tool `made/fresh` exists and is not replaced"), "{failure}");
    assert_eq!(files(&scratch).len(), 1);
}

#[tokio::test]
async fn an_item_of_another_space_is_not_hidden() {
    let scratch = Scratch::new().with_operator();
    let given = [("name", "init"), ("category", "rye/core"), ("description", "x")];
    let report = run(&scratch, "create_directive", &given, (Decision::Approved, 1)).await;
    let failure = failure(&report);
    let expected = "directive `rye/core/init` exists in the builtin space, and an item of the project would hide it; give another name";
    assert!(failure.contains(expected), "{failure}");
    assert!(files(&scratch).is_empty());
}

/// Unless the sweep is whole, every name is tried with each second directive.
#[tokio::test]
async fn a_bad_name_is_refused_before_anything_is_written() {
    const NAME: &str = "is not in snake_case";
    const CATEGORY: &str = "is no folder of an item";
    let rows = [
        ("Fresh", "made", NAME),
        ("fresh-one", "made", NAME),
        ("1fresh", "made", NAME),
        ("", "made", NAME),
        ("fresh one", "made", NAME),
        ("../fresh", "made", NAME),
        ("fresh", "", CATEGORY),
        ("fresh", "made/", CATEGORY),
        ("fresh", "../made", CATEGORY),
        ("fresh", "/made", CATEGORY),
        ("fresh", "Made", CATEGORY),
    ];
    for (number, (name, category, expected)) in rows.into_iter().enumerate() {
        for row in sweep(rows_with_names(), number % 2, 2) {
            let scratch = Scratch::new().with_operator();
            let is_named = |(key, value): &(&'static str, &'static str)| match *key {
                "name" => ("name", name.to_owned()),
                "category" => ("category", category.to_owned()),
                key => (key, (*value).to_owned()),
            };
            let given: Vec<(&str, String)> = row.inputs.iter().map(is_named).collect();
            let given: Vec<(&str, &str)> =
                given.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let report = run(&scratch, row.directive, &given, (Decision::Approved, 1)).await;
            let failure = failure(&report);
            // Names of knowledge may have hyphens.
            if (row.directive, name) == ("create_knowledge", "fresh-one") {
                assert_eq!(report.outcome.state, ThreadState::Completed, "{failure}");
                continue;
            }
            let told = format!("{}: {name} {category}: {failure}", row.directive);
            assert!(failure.contains(expected), "{told}");
            assert!(files(&scratch).is_empty(), "{told}");
        }
    }
}

fn rows_with_names() -> Vec<Row> {
    let mut rows = rows();
    rows.retain(|row| row.directive != "init");
    rows
}

#[tokio::test]
async fn every_problem_of_a_directive_is_told_at_once() {
    let scratch = Scratch::new().with_operator();
    let given = [
        ("name", "fresh"),
        ("category", "made"),
        ("description", "x"),
        ("complexity", "simple"),
        ("permissions_needed", "rye.execute.tools.x, a b"),
        ("extends_from", "made/nothing"),
    ];
    let report = run(&scratch, "create_threaded_directive", &given, (Decision::Approved, 1)).await;
    let failure = failure(&report);
    for expected in [
        "`rye.execute.tools.x` names no kind of item",
        "`a b` is no capability pattern",
        "directive `made/nothing` not found",
    ] {
        assert!(failure.contains(expected), "{failure}");
    }
    assert!(files(&scratch).is_empty());
}

#[tokio::test]
async fn a_denied_signature_leaves_an_unsigned_file() {
    let row = rows().remove(0);
    let scratch = Scratch::new().with_operator();
    let report = run(&scratch, row.directive, &row.inputs, (Decision::DENIED, 1)).await;
    assert!(failure(&report).contains("the step `sign` failed"), "{}", failure(&report));
    let path = scratch.project().join(row.creates[0]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("rye:signed"), "{text}");
}

/// A directive that asks for more than the thread may do is created, but a person must sign it.
#[tokio::test]
async fn a_directive_with_more_authority_is_not_signed_by_a_thread() {
    let scratch = Scratch::new().with_operator();
    let given = [
        ("name", "fresh"),
        ("category", "made"),
        ("description", "x"),
        ("complexity", "simple"),
        ("permissions_needed", "rye.execute.tool.rye.bash.*"),
    ];
    let report = run(&scratch, "create_threaded_directive", &given, (Decision::Approved, 1)).await;
    assert!(failure(&report).contains("the step `sign` failed"), "{}", failure(&report));
    assert!(directive(&scratch).permissions.unwrap().value.raw.contains("rye.bash.*"));
}

/// A folder that cannot be made is an error, and the file at its path is unchanged.
#[tokio::test]
async fn a_place_that_cannot_be_written_is_told() {
    for row in rows() {
        let name = row.directive;
        let scratch = Scratch::new().with_operator();
        for &kind in ItemKind::ALL {
            scratch.put(&format!(".ai/{}", kind.folder()), "in the way\n");
        }
        let before = files(&scratch);
        let report = run(&scratch, name, &row.inputs, (Decision::Approved, 1)).await;
        assert_ne!(report.outcome.state, ThreadState::Completed, "{name}");
        assert!(files(&scratch) == before, "{name} changed a file");
    }
}

#[tokio::test]
async fn a_thread_is_spawned_by_the_call_that_the_directive_says() {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/child.md", CHILD);
    let given = [("directive", "child"), ("inputs", r#"{"word": "yes"}"#)];
    let report = run(&scratch, "spawn_thread", &given, (Decision::Approved, 1)).await;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{}", failure(&report));
    let events = scratch.events(&report);
    let spawned = events.iter().find(|(event, _)| event == "tool_call_result").unwrap();
    assert_eq!(spawned.1["content"]["outputs"]["said"], "yes");
    let child = report.outcome.outputs.unwrap()["thread"].clone();
    assert_eq!(child, spawned.1["content"]["thread"]);
}

/// The founding documents use one name of the tool in grants and another in calls.
#[tokio::test]
async fn the_tool_that_spawns_threads_has_two_names() {
    let scratch = Scratch::new();
    scratch.sign(
        ".ai/directives/spawn.md",
        r#"# Spawn

```xml
<directive name="spawn" version="1.0.0">
  <metadata>
    <description>Spawns a thread.</description>
    <permissions>
      <execute>
        <tool>rye.agent.threads.thread_directive</tool>
        <tool>rye.file-system.ls</tool>
        <directive>*</directive>
      </execute>
    </permissions>
  </metadata>
  <outputs><output name="thread" required="true">The thread</output></outputs>
</directive>
```

<process>
  <step name="spawn">
    <execute item_type="tool" item_id="rye/agent/threads/spawn_thread">
      <param name="directive" value="rye/core/list_folder" />
    </execute>
  </step>
</process>
"#,
    );
    let report = scratch.run("spawn", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{}", failure(&report));
}
