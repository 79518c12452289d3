//! `rye threads export`: files that hold a thread.

use std::fs;

use serde_json::Value;

use crate::children::family::{CHILD, Family, PARENT};
use crate::children::model::{Asked, Model, Says};
use crate::children::write;
use crate::session::Session;

fn ran() -> Session {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    session
}

fn exported(session: &Session, arguments: &str) -> String {
    let output = session.raw(&format!("threads export {arguments}"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn a_page_holds_the_thread_and_nothing_from_elsewhere() {
    let session = ran();
    let page = exported(&session, "--last --format html");
    for text in
        ["notes/index", "Completed", "Turn 1", "file-system/write", "INDEX.md", &session.thread()]
    {
        assert!(page.contains(text), "{text}");
    }
    for text in ["http://", "https://", "src="] {
        assert!(!page.contains(text), "{text}");
    }
}

/// The thread is signed by a key of its own here, which shows changes and not who wrote it.
#[test]
fn a_page_calls_nothing_verified_without_a_trusted_key() {
    let session = ran();
    assert!(exported(&session, "--format html").contains("Linked, not verified."));
    session.rye("keys generate");
    session.rye("run notes/index --trust TRUST --provider steps");
    assert!(exported(&session, "--format html").contains("<strong>Verified</strong>"));
}

#[test]
fn the_records_are_exported_byte_for_byte() {
    let session = ran();
    let folder = session.project().join(".ai/threads").join(session.thread());
    let transcript = fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
    assert_eq!(exported(&session, "THREAD --format jsonl"), transcript);
}

#[test]
fn a_written_file_is_told_and_never_replaced() {
    let session = ran();
    let told = exported(&session, "--format html --output page.html --json");
    let told: Value = serde_json::from_str(&told).unwrap();
    let page = fs::read_to_string(session.project().join("page.html")).unwrap();
    assert_eq!(told["exports"][0]["bytes"], page.len());
    assert_eq!(told["exports"][0]["thread"], session.thread());
    let again = session.rye("threads export --format html --output page.html");
    assert!(
        again.contains("exists and is not replaced") && again.ends_with("--- exit 1\n"),
        "{again}"
    );
    let bare = session.rye("threads export --format html --json");
    assert!(bare.contains("add `--output FILE`") && bare.ends_with("--- exit 2\n"), "{bare}");
}

#[test]
fn a_project_without_threads_and_an_unknown_format_are_told() {
    let session = Session::new();
    let none = session.rye("threads export --format html");
    assert!(none.contains("no thread has run in this project yet"), "{none}");
    let unknown = session.rye("threads export --format pdf");
    assert!(unknown.contains("[possible values: atif, html, jsonl, receipt]"), "{unknown}");
}

/// Waits and children have rows, and a pipe gets plain ASCII.
#[test]
fn a_timeline_is_drawn_as_text() {
    let session = ran();
    let drawn = session.rye("threads show --timeline");
    assert!(drawn.contains("turn    start      time     money") && drawn.is_ascii(), "{drawn}");
    assert!(drawn.contains("   1   0:00.0") && drawn.ends_with("--- exit 0\n"), "{drawn}");
    let json = session.rye("threads show --timeline --json");
    assert!(json.contains("leave it out") && json.ends_with("--- exit 2\n"), "{json}");
    let tree = session.rye("threads export --format jsonl --with-tree");
    assert!(tree.contains("add `--format html`") && tree.ends_with("--- exit 2\n"), "{tree}");
}

/// The children of a thread have rows of their own on its timeline.
#[test]
fn a_page_of_a_parent_shows_the_time_of_its_children() {
    let model =
        Model::new(|asked: &Asked| match (asked.follows("parent"), asked.results().len()) {
            (true, 0) => Says::Calls(
                "rye_agent_threads_thread_directive",
                serde_json::json!({ "directive": "test/first" }),
            ),
            (false, 0) => write("a.txt"),
            _ => Says::Text("Done."),
        });
    let family = Family::new(&model);
    family.directive("parent", PARENT);
    family.directive("first", CHILD);
    family.run("parent", "--quiet");
    let page = String::from_utf8(family.raw("threads export --format html").stdout).unwrap();
    let (_, picture) = page.split_once("<svg class=\"fl\"").unwrap();
    let (picture, _) = picture.split_once("</div>").unwrap();
    assert!(picture.contains(">Child 1<") && picture.contains("test/first, child:"), "{picture}");
    assert_eq!(
        picture.matches("class=\"s model").count(),
        4,
        "two of the parent and two of the child"
    );
    assert!(page.contains("completed, $0.0020"), "the end and the cost of the child");
    let tree = family.raw("threads export --format html --with-tree").stdout;
    let tree = String::from_utf8(tree).unwrap();
    assert!(tree.contains("href=\"#thread-first-") && tree.contains("id=\"thread-first-"));
    assert_eq!(
        tree.matches("<strong>Verified</strong>").count(),
        2,
        "of the parent and of the child"
    );
}
