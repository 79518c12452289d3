//! The example that programs begin with which embed Rye, run against a model's server on this machine.

use rye::thread::Registry;
use rye::types::ThreadState;
use serde_json::json;

use crate::children::model::{Asked, Model, Says};
use crate::session::Session;

#[path = "../../../rye/examples/own_tool.rs"]
#[expect(
    dead_code,
    reason = "its `main` reads a command line, and what that calls is what is tested"
)]
mod own_tool;

#[path = "../../../rye/examples/run_directive.rs"]
#[expect(
    dead_code,
    reason = "its `main` reads a command line, and what that calls is what is tested"
)]
mod run_directive;

#[path = "../../../rye/examples/run_programs.rs"]
#[expect(
    dead_code,
    reason = "its `main` reads a command line, and what that calls is what is tested"
)]
mod run_programs;

#[path = "../../../rye/examples/run_with_host.rs"]
#[expect(
    dead_code,
    reason = "its `main` reads a command line, and what that calls is what is tested"
)]
mod run_with_host;

/// The approver of the example decides, and the record is the operator's own.
#[tokio::test]
async fn a_host_lends_a_key_an_observer_and_an_approver() {
    let session = Session::new();
    session.rye("keys generate");
    session
        .put(".ai/config/agent/approval.yaml", "ask: [rye.execute.tool.rye.file-system.write]\n");
    let signed = session.rye("sign ITEMS");
    assert!(signed.contains(" 0 not signed"), "{signed}");
    let (project, user) = (session.project(), session.home());
    let words = [project.to_str().unwrap(), user.to_str().unwrap(), "notes/index"];
    let report = run_with_host::run(words).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(json!(report.outcome.outputs)["path"], "INDEX.md");
    let shown = session.rye("threads show");
    assert!(shown.contains("signed by  a trusted key"), "{shown}");
    let folder = project.join(".ai/threads").join(report.thread.as_str());
    let transcript = std::fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
    assert!(transcript.contains(r#""program run_with_host""#), "{transcript}");
}

/// A tool that is a program gets the embedding program's `PATH`, and nothing of its environment beside the names that tools may have.
#[tokio::test]
async fn a_directive_of_programs_runs_from_another_program() {
    let session = Session::new();
    let script = "#!/bin/sh\n# /// rye\n# description: Counts the variables that it has.\n# input_schema: {type: object}\n# ///\nprintf '{\"path\": \"%s\", \"cargo\": \"%s\"}' \"${PATH:+set}\" \"${CARGO_MANIFEST_DIR:-unset}\"\n";
    session.put(".ai/tools/my/env.sh", script);
    let text = "# Look\n\n```xml\n<directive name=\"look\" version=\"1.0.0\">\n<metadata><description>Looks.</description><author>ada</author>\
                <model tier=\"fast\" /><limits turns=\"4\" /><permissions><execute><tool>my.env</tool></execute>\
                <acknowledge risk=\"elevated\">a test</acknowledge></permissions></metadata>\n\
                <outputs><output name=\"path\" type=\"string\" required=\"true\">x</output><output name=\"cargo\" type=\"string\">x</output></outputs>\n\
                </directive>\n```\n\n<process><step name=\"look\"><execute item_type=\"tool\" item_id=\"my/env\" /></step></process>\n";
    session.put(".ai/directives/look.md", text);
    session.rye("keys generate");
    let signed = session.rye("sign .ai/tools .ai/directives/look.md");
    assert!(signed.contains("2 signed, 0 not signed"), "{signed}");
    let (project, user) = (session.project(), session.home());
    let words = [project.to_str().unwrap(), user.to_str().unwrap(), "look"];
    let launcher = rye::sandbox::Launcher::open(env!("CARGO_BIN_EXE_rye").as_ref()).unwrap();
    let report = run_programs::run(words, launcher).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    let outputs = json!(report.outcome.outputs);
    assert_eq!((&outputs["path"], &outputs["cargo"]), (&json!("set"), &json!("unset")));
}

/// The whole of a run from another program, which the guide shows: it fits on a page, and it runs.
#[tokio::test]
async fn a_directive_runs_from_another_program() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    let (project, user) = (session.project(), session.home());
    let run = |id| run_directive::run(project.to_str().unwrap(), user.to_str().unwrap(), id);
    let report = run("notes/index").await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert!(session.project().join("INDEX.md").is_file());
    assert!(session.rye("threads show").contains("state      completed"));
    let text = include_str!("../../../rye/examples/run_directive.rs");
    assert!(text.lines().count() <= 30, "{}", text.lines().count());
    let refused = run("notes/indx").await;
    assert!(refused.unwrap_err().to_string().contains("notes/indx"));
}

#[tokio::test]
async fn a_tool_of_ones_own_answers_a_model() {
    let model = Model::new(|asked: &Asked| match asked.results().first() {
        None => Says::Calls("length", json!({ "word": "Donaudampfschiff" })),
        Some(&"16") => Says::Text("It has 16 letters."),
        Some(other) => panic!("{other}"),
    });
    let folder = tempfile::tempdir().unwrap();
    let answer = own_tool::ask(&model.url(), "m", folder.path()).await.unwrap();
    assert_eq!((answer.as_str(), model.asked()), ("It has 16 letters.", 2));
    let registry = Registry::open(&folder.path().join("registry.db")).unwrap();
    let threads = registry.list().unwrap();
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0].state, ThreadState::Completed);
}

/// A tool that the model makes up is not one: the model is told, and what it says then is the answer.
#[tokio::test]
async fn another_tool_is_refused() {
    let model = Model::new(|asked: &Asked| match asked.results().first() {
        None => Says::Calls("rye_bash_bash", json!({ "command": "id" })),
        Some(_) => Says::Text("There is no shell."),
    });
    let folder = tempfile::tempdir().unwrap();
    let answer = own_tool::ask(&model.url(), "m", folder.path()).await.unwrap();
    assert_eq!(answer, "There is no shell.");
}

/// The waits between the attempts pass in no time.
#[tokio::test(start_paused = true)]
async fn what_fails_is_an_error() {
    let nobody =
        own_tool::ask("http://127.0.0.1:9", "m", tempfile::tempdir().unwrap().path()).await;
    let error = nobody.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:9"), "{error}");
}
