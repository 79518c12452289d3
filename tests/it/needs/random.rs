//! The smaller block of random directives: it lets the same thread run again, and none of it can be left out (SPEC 9.7).

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rye::{Privileges, ProviderChoice, Severity};
use rye_tests::Scratch;
use serde_json::{Value, json};

use super::{SPAWN, call, directive, findings, permissions, put, steps};
use crate::model::{answer, provider, server, tool_use};
use crate::sweep::is_whole;

const TOOLS: [&str; 4] = ["ls", "read", "glob", "grep"];

fn arguments(tool: &str) -> Value {
    match tool {
        "ls" => json!({"path": "."}),
        "read" => json!({"path": "a.txt"}),
        _ => json!({"pattern": "a"}),
    }
}

fn file_tool(tool: &str) -> String {
    format!("rye/file-system/{tool}")
}

/// A child: what it declares, and what its model calls.
#[derive(Debug, Clone)]
struct Child {
    declares: BTreeSet<&'static str>,
    calls: Vec<&'static str>,
    /// `true` if a step of the parent names it; otherwise only the parent's model does.
    is_in_step: bool,
}

/// A parent with its children, and the thread that a model makes of it.
#[derive(Debug, Clone)]
struct Case {
    /// Tools that it is granted beside what it needs.
    granted: BTreeSet<&'static str>,
    has_wildcard: bool,
    has_prose: bool,
    step: Option<&'static str>,
    hook: Option<&'static str>,
    calls: Vec<&'static str>,
    children: Vec<Child>,
}

fn tool() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&TOOLS[..])
}

fn tools() -> impl Strategy<Value = BTreeSet<&'static str>> {
    prop::collection::btree_set(tool(), 0..4)
}

prop_compose! {
    fn child()(declares in tools(), is_in_step in any::<bool>(), some in any::<bool>()) -> Child {
        // What only a thread shows is known from its calls alone.
        let all = declares.iter().copied();
        let calls = if is_in_step && some { all.take(1).collect() } else { all.collect() };
        Child { declares, calls, is_in_step }
    }
}

prop_compose! {
    fn case()(
        granted in tools(),
        has_wildcard in any::<bool>(),
        has_prose in any::<bool>(),
        step in prop::option::of(tool()),
        hook in prop::option::of(tool()),
        calls in prop::collection::vec(tool(), 0..3),
        children in prop::collection::vec(child(), 0..3),
    ) -> Case {
        Case { granted, has_wildcard, has_prose, step, hook, calls, children }
    }
}

impl Case {
    fn block(&self) -> String {
        let mut named: BTreeSet<&str> = self.granted.clone();
        named.extend(self.step.iter().chain(&self.hook).chain(&self.calls));
        named.extend(self.children.iter().flat_map(|child| &child.declares));
        let named = named.into_iter().map(|tool| format!("<tool>rye.file-system.{tool}</tool>"));
        let tools: String = match self.has_wildcard {
            true => "<tool>rye.file-system.*</tool>".to_owned(),
            false => named.collect(),
        };
        permissions(&format!(
            "<execute>{tools}<tool>rye.agent.threads.*</tool><directive>test.*</directive></execute>"
        ))
    }

    fn parent(&self, block: &str) -> String {
        let hook = self.hook.map(|tool| {
            let action = call(&file_tool(tool), &arguments(tool));
            let action = action.replace("<execute ", "<action primary=\"execute\" ");
            let action = action.replace("</execute>", "</action>");
            format!("<hooks><hook id=\"h\" event=\"after_complete\">{action}</hook></hooks>")
        });
        let mut calls: Vec<String> =
            self.step.iter().map(|tool| call(&file_tool(tool), &arguments(tool))).collect();
        let named = self.children.iter().enumerate().filter(|(_, child)| child.is_in_step);
        calls.extend(
            named.map(|(at, _)| call(SPAWN, &json!({"directive": format!("test/child{at}")}))),
        );
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        let prose = if self.has_prose || calls.is_empty() { "Do what is needed.\n\n" } else { "" };
        let body =
            if calls.is_empty() { prose.to_owned() } else { format!("{prose}{}", steps(&calls)) };
        let metadata = format!("<model tier=\"fast\" />{block}{}", hook.unwrap_or_default());
        directive("parent", &metadata, "", &body)
    }

    /// The calls of the parent's model: those of its own, those of its steps, and one for each child.
    fn parent_calls(&self) -> Vec<(String, Value)> {
        let own = self.calls.iter().chain(&self.step);
        let own = own.map(|tool| (format!("rye_file_system_{tool}"), arguments(tool)));
        let started = (0..self.children.len()).map(|at| {
            let name = "rye_agent_threads_thread_directive".to_owned();
            (name, json!({"directive": format!("test/child{at}")}))
        });
        own.chain(started).collect()
    }

    /// A project with the parent and its children, and a model that makes the same calls each time.
    fn scratch(&self, block: &str) -> Scratch {
        let done = || answer(&json!([{ "type": "text", "text": "Done." }]), "end_turn");
        let mut answers = Vec::new();
        for (at, (name, input)) in self.parent_calls().iter().enumerate() {
            answers.push(answer(&json!([tool_use(&format!("p{at}"), name, input)]), "tool_use"));
            let started = input["directive"].as_str().and_then(|id| id.strip_prefix("test/child"));
            let Some(child) = started.map(|at| &self.children[at.parse::<usize>().unwrap()]) else {
                continue;
            };
            for (at, tool) in child.calls.iter().enumerate() {
                let name = format!("rye_file_system_{tool}");
                let call = tool_use(&format!("c{at}"), &name, &arguments(tool));
                answers.push(answer(&json!([call]), "tool_use"));
            }
            answers.push(done());
        }
        answers.push(done());
        let scratch = Scratch::new();
        scratch.put("a.txt", "a");
        scratch.sign_unchecked(
            ".ai/tools/rye/agent/providers/local.yaml",
            &provider(&server(answers)),
        );
        for (at, child) in self.children.iter().enumerate() {
            let declares = child.declares.iter();
            let declares = declares.map(|tool| format!("<tool>rye.file-system.{tool}</tool>"));
            let declares = declares.collect::<String>();
            let may = match declares.is_empty() {
                true => permissions(""),
                false => permissions(&format!("<execute>{declares}</execute>")),
            };
            let metadata = format!("<model tier=\"fast\" />{may}");
            let name = format!("child{at}");
            put(&scratch, &name, &directive(&name, &metadata, "", "Do what is needed."));
        }
        put(&scratch, "parent", &self.parent(block));
        scratch
    }
}

/// The end of a check and a run: the refusals, and the block that is enough for the thread.
struct Ran {
    refusals: Vec<String>,
    /// The permitted calls of all threads.
    calls: Vec<String>,
    block: String,
    patterns: Vec<String>,
}

/// The errors of a check.
fn checked(scratch: &Scratch) -> Vec<String> {
    let found = findings(scratch, "parent");
    let errors = found.into_iter().filter(|it| it.severity == Severity::Error);
    errors.map(|it| it.message).collect()
}

async fn check_and_run(case: &Case, block: &str) -> Ran {
    let scratch = case.scratch(block);
    let mut refusals = checked(&scratch);
    let provider = ProviderChoice::Named("local".to_owned());
    let report = match scratch.run_with("test/parent", &[], |it| it.provider = provider).await {
        Ok(report) => report,
        Err(error) => {
            refusals.push(error.to_string());
            return Ran { refusals, calls: Vec::new(), block: String::new(), patterns: Vec::new() };
        }
    };
    let mut calls = Vec::new();
    let rye = scratch.rye();
    let threads = rye.threads().unwrap();
    for folder in std::fs::read_dir(scratch.project().join(".ai/threads")).unwrap() {
        let folder = folder.unwrap();
        if !folder.path().is_dir() || folder.file_name() == "requests" {
            continue;
        }
        let id = folder.file_name().into_string().unwrap().parse().unwrap();
        for record in &rye.thread(&threads, &id).unwrap().transcript.records {
            let payload: Value = serde_json::from_str(record.payload.get()).unwrap();
            if let Some(called) = payload.pointer("/target/capability") {
                calls.push(called.to_string());
            }
            if record.name() == "tool_call_result" && !payload["refusal"].is_null() {
                refusals.push(payload["refusal"]["message"].to_string());
            }
        }
    }
    let reading = rye.thread(&threads, &report.thread).unwrap();
    let id = "test/parent".parse().unwrap();
    let shown = [(&reading.record, &reading.transcript)];
    let privileges = Privileges::of(&rye, &id, &shown).unwrap();
    let Ok(tightened) = privileges.tighten() else {
        calls.sort();
        return Ran { refusals, calls, block: permissions(""), patterns: Vec::new() };
    };
    let patterns = tightened.grant.patterns().iter().map(ToString::to_string).collect();
    calls.sort();
    Ran { refusals, calls, block: tightened.to_string(), patterns }
}

fn without(patterns: &[String], left_out: &str) -> String {
    let left = patterns.iter().filter(|it| *it != left_out);
    let left: String = left.map(|it| format!("<cap>{it}</cap>")).collect();
    permissions(&left)
}

async fn judge(case: Case) {
    let first = check_and_run(&case, &case.block()).await;
    assert_eq!(first.refusals, [""; 0], "{case:?}");
    let made = case.parent_calls().len() + case.hook.iter().count();
    let made = made + case.children.iter().map(|child| child.calls.len()).sum::<usize>();
    assert_eq!(first.calls.len(), made, "{case:?}: {:?}", first.calls);
    let again = check_and_run(&case, &first.block).await;
    assert_eq!(again.refusals, [""; 0], "{case:?}\n{}", first.block);
    assert_eq!((&again.calls, &again.patterns), (&first.calls, &first.patterns), "{case:?}");
    for pattern in &first.patterns {
        let less = without(&first.patterns, pattern);
        // What the check refuses need not run, and the model of a child may need all that the child declares.
        let scratch = case.scratch(&less);
        let is_lessening =
            findings(&scratch, "parent").iter().any(|it| it.code == "lessened-child");
        if checked(&scratch).is_empty() && !is_lessening {
            let ran = check_and_run(&case, &less).await;
            assert!(!ran.refusals.is_empty(), "{case:?}: nothing needs `{pattern}`");
        }
    }
}

/// The cases, of which each is several runs. In a whole sweep they are as many as those of other properties.
///
/// The macro `proptest!` would take `PROPTEST_CASES` in the place of any other number.
fn config() -> ProptestConfig {
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::default() };
    let part = if is_whole() { 1 } else { 16 };
    ProptestConfig { cases: config.cases.div_ceil(part), ..config }
}

#[test]
fn the_smaller_block_is_enough_and_no_more() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tried = TestRunner::new(config()).run(&case(), |case| {
        runtime.block_on(judge(case));
        Ok(())
    });
    assert!(tried.is_ok(), "{}", tried.unwrap_err());
}
