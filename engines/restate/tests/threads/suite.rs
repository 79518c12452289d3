//! Threads of every kind, each on one machine and on the engine: what their models see, their ends and their costs are the same.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use rye::thread::ThreadId;
use serde_json::{Value, json};

use crate::lab::{self, Lab};
use crate::model::{calls, place, serve_by, whole};
use crate::rows::{Answer, Row, rows};
use crate::visible::visible;

/// The rows by their names, for the model.
static SCRIPTS: LazyLock<BTreeMap<&'static str, Vec<Answer>>> =
    LazyLock::new(|| rows().into_iter().map(|row| (row.name, row.answers)).collect());

/// The requests that failed once.
static FAILED: LazyLock<Mutex<HashSet<(String, usize)>>> = LazyLock::new(Mutex::default);

/// Answers by the script that the first message names last.
fn answer(request: &Value) -> (u16, Value) {
    if request["model"] == "gone-1" {
        return (404, failure("model_not_found"));
    }
    let (first, turn) = place(request);
    let name = first.rsplit("Script ").next().and_then(|rest| rest.split(' ').next());
    let answer = name.and_then(|name| SCRIPTS.get(name)).and_then(|answers| answers.get(turn));
    let Some(answer) = answer else { return (400, failure("no_script")) };
    let fails_first = || FAILED.lock().unwrap().insert((first.clone(), turn));
    match answer {
        Answer::Fails(status, _) if fails_first() => (*status, failure("scripted")),
        Answer::Fails(_, answer) => (200, whole(request, &message(answer), 20)),
        Answer::Fills(tokens, answer) => (200, whole(request, &message(answer), *tokens)),
        answer => (200, whole(request, &message(answer), 20)),
    }
}

fn failure(code: &str) -> Value {
    json!({"error": {"message": code, "type": code, "code": code}})
}

fn message(answer: &Answer) -> Value {
    match answer {
        Answer::Says(text) => json!({"role": "assistant", "content": text}),
        Answer::Calls(given) => calls(given),
        Answer::Fails(_, answer) | Answer::Fills(_, answer) => message(answer),
    }
}

/// The files of the project in which the rows run.
fn files() -> Vec<(String, String)> {
    let directives = rows()
        .into_iter()
        .map(|row| (format!(".ai/directives/suite/{}.md", row.name), row.directive()));
    let mut files: Vec<(String, String)> = directives.collect();
    let style = "```yaml\nname: style\ntitle: Style\nentry_type: pattern\ncategory: suite\nversion: \"1.0.0\"\n```\n\nBe brief.\n";
    files.push((".ai/knowledge/suite/style.md".to_owned(), style.to_owned()));
    let asked = "ask:\n  - rye.execute.tool.rye.file-system.edit\n";
    files.push((".ai/config/agent/approval.yaml".to_owned(), asked.to_owned()));
    files.push(("notes.txt".to_owned(), "one\n".to_owned()));
    files
}

/// What is compared of a thread.
#[derive(Debug, PartialEq)]
struct Seen {
    /// The exit code of `rye run`.
    exit: i32,
    /// State, outputs, failure, turns and cost, as `rye threads show` says.
    end: Value,
    /// Everything that models saw, with what it cost.
    visible: Vec<String>,
    /// The files that tools wrote.
    files: BTreeMap<String, String>,
}

impl Seen {
    /// Looks at a thread of a project, whose tools ran in another folder.
    fn of(lab: &Lab, project: &Path, tools: &Path, thread: &str, exit: i32) -> Self {
        let mut shown = show(lab, project, thread);
        // The thread that ended is the last one of its conversation.
        while let Some(next) = shown["continued_by"].as_str() {
            shown = show(lab, project, next);
        }
        let names = ["state", "outputs", "failure", "turns", "cost_nanos", "tokens"];
        let end = names.map(|name| (name.to_owned(), shown[name].clone()));
        let written = ["notes.txt", "a.txt", "b.txt"].map(|name| {
            (name.to_owned(), fs::read_to_string(tools.join(name)).unwrap_or_default())
        });
        let visible = visible(project);
        let folder = tools.to_str().unwrap();
        let visible = visible.iter().map(|line| line.replace(folder, "PROJECT")).collect();
        Self { exit, end: Value::Object(end.into_iter().collect()), visible, files: written.into() }
    }
}

fn show(lab: &Lab, project: &Path, thread: &str) -> Value {
    let shown = lab.rye(project, &["threads", "show", thread, "--json"]);
    let mut shown: Value = serde_json::from_str(&shown).unwrap();
    shown["threads"][0].take()
}

fn arguments<'a>(row: &'a Row, directive: &'a str) -> Vec<&'a str> {
    let run = ["run", directive, "--json", "--quiet", "--input", "run=row"];
    [&run[..], row.options].concat()
}

/// Returns the root's id from the output of `rye run`, which has another form if the thread could not begin.
fn thread_in(told: &str, row: &Row) -> String {
    let is_root = |word: &&str| word.starts_with(row.name) && word.parse::<ThreadId>().is_ok();
    let words = told.split(['"', ' ', '\n']);
    words.into_iter().find(is_root).unwrap_or_else(|| panic!("{told}")).to_owned()
}

/// Runs a row on this machine.
fn run_here(lab: &Lab, row: &Row) -> Seen {
    let project = lab.project(&format!("here-{}", row.name));
    let directive = format!("suite/{}", row.name);
    let (exit, told) = lab.run_with(&project, &arguments(row, &directive));
    let thread = thread_in(&told, row);
    for decision in row.decisions {
        decide_here(lab, &project, &thread, decision);
    }
    Seen::of(lab, &project, &project, &thread, exit)
}

/// Decides about the call that a thread or one below it waits with, and resumes the thread.
fn decide_here(lab: &Lab, project: &Path, thread: &str, decision: &str) {
    if decision == "cancel" {
        lab.rye(project, &["cancel", thread]);
        return;
    }
    let listed = lab.rye(project, &["threads", "list", "--state", "suspended"]);
    let waits = listed.lines().filter_map(|line| line.split_whitespace().last());
    // A child waits with the call, and its parent with the child.
    let asking =
        waits.max_by_key(|id| id.len().checked_sub(36).map(|start| id[start..].to_owned()));
    lab.rye(project, &[decision, asking.unwrap()]);
    lab.run_with(project, &["resume", thread]);
}

/// Runs a row on the engine, and copies its records into a project.
async fn run_there(lab: &Lab, row: &Row) -> Seen {
    let here = lab.project("operator");
    let tools = lab.project("first");
    for name in ["a.txt", "b.txt"] {
        drop(fs::remove_file(tools.join(name)));
    }
    fs::write(tools.join("notes.txt"), "one\n").unwrap();
    let directive = format!("suite/{}", row.name);
    let (exit, told) = lab.rye_there(&here, &arguments(row, &directive));
    let thread = thread_in(&told, row);
    for decision in row.decisions {
        let call = lab::call_name(&lab.end(&thread).await);
        let arguments: &[&str] = match *decision {
            "cancel" => &["cancel", &thread],
            decision => &[decision, &thread, "--call", &call],
        };
        let (code, told) = lab.rye_there(&here, arguments);
        assert_eq!(code, 0, "{}: {told}", row.name);
        lab.end(&thread).await;
    }
    let project = lab.project(&format!("there-{}", row.name));
    let (code, told) = lab.rye_there(&project, &["threads", "pull", &thread]);
    assert_eq!(code, 0, "{}: {told}", row.name);
    lab.rye(&project, &["threads", "verify", &thread]);
    let (code, replayed) = lab.run_with(&project, &["replay", &thread]);
    let has_differences = code != 0 || replayed.contains("differs");
    let has_begun = !replayed.contains("never began");
    assert!(!(has_begun && has_differences), "{}: {replayed}", row.name);
    Seen::of(lab, &project, &tools, &thread, exit)
}

/// With `RYE_SUSPEND`, the server suspends each handler at every wait. `RYE_ROW` names one row.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn threads_of_every_kind_are_the_same_there() {
    let lab = Arc::new(Lab::with(serve_by(answer), &files(), "").await);
    let _worker = lab.worker("first").await;
    let only = std::env::var("RYE_ROW").ok();
    let rows = rows().into_iter().filter(|row| only.as_ref().is_none_or(|only| only == row.name));
    let mut failed = Vec::new();
    for row in rows {
        let name = row.name;
        let lab = Arc::clone(&lab);
        // One row that fails keeps no other one from being checked.
        if tokio::spawn(async move { check(&lab, &row).await }).await.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

async fn check(lab: &Lab, row: &Row) {
    FAILED.lock().unwrap().clear();
    let here = run_here(lab, row);
    let told = format!("{}: {here:#?}", row.name);
    assert_eq!((here.exit, &here.end["state"]), (row.exit, &json!(row.state)), "{told}");
    FAILED.lock().unwrap().clear();
    let there = run_there(lab, row).await;
    for (there, here) in there.visible.iter().zip(&here.visible) {
        assert_eq!(there, here, "{}", row.name);
    }
    assert_eq!(there, here, "{}", row.name);
}
