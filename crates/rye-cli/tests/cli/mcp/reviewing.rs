//! Checks and explanations for a client that writes directives.

use rye::caps::Grant;
use serde_json::{Value, json};

use super::granted;
use super::wire::{Era, Wire, server};
use crate::session::{Session, example_key};

const DRAFT: &str = "# Greet\n\n```xml\n<directive name=\"greet\" version=\"1.0.0\">\n  <metadata>\n    <description>Greets.</description>\n    \
                     <category>notes</category>\n    <author>me</author>\n    <secretword/>\n  </metadata>\n  <inputs>\n    \
                     <input name=\"who\" type=\"string\" required=\"true\">Whom</input>\n  </inputs>\n</directive>\n```\n\n\
                     Greet {input:hwo}.\n";
const PLACE: &str = ".ai/directives/notes/greet.md";

fn printed(session: &Session, line: &str, list: &str) -> Value {
    let output = session.rye(line);
    let data = output.split_once('\n').unwrap().1.split("--- standard error").next().unwrap();
    let mut answer: Value = serde_json::from_str(data).unwrap_or_else(|_| panic!("{output}"));
    answer[list][0].take()
}

/// The same with the folders of the session told as the program's output is.
fn steady(session: &Session, value: &Value) -> Value {
    let root = session.project().parent().unwrap().to_string_lossy().into_owned();
    serde_json::from_str(&value.to_string().replace(&root, "<DIR>")).unwrap()
}

async fn client(session: &Session, patterns: &[&str]) -> Wire {
    Wire::begin(server(session, granted(patterns)), Era::Initialize).await
}

#[tokio::test]
async fn a_text_is_checked_as_its_file_would_be() {
    let session = Session::new();
    let mut wire = client(&session, &[]).await;
    let by_id = json!({ "item_type": "directive", "item_id": "notes/greet", "text": DRAFT });
    let before = wire.call("rye_check", by_id).await["structuredContent"].clone();
    assert!(!session.project().join(PLACE).exists());
    let by_path = json!({ "path": PLACE, "text": DRAFT });
    assert_eq!(wire.call("rye_check", by_path).await["structuredContent"], before);
    session.put(PLACE, DRAFT);
    let mut expected = printed(&session, "check notes/greet --trust TRUST --json", "files");
    expected["withheld"] = false.into();
    assert_eq!(steady(&session, &before["files"][0]), expected);
    let codes: Vec<&str> = expected["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"unsigned") && before["ok"] == false, "{before}");
    assert!(before.to_string().contains("secretword"), "{before}");
}

/// A client learns where the problems of a file are that it could not load, and reads none of its words.
#[tokio::test]
async fn words_of_an_unverified_file_reach_no_client() {
    let session = Session::new();
    session.put(PLACE, DRAFT);
    let mut wire = client(&session, &[]).await;
    for arguments in [json!({ "path": PLACE }), json!({})] {
        let told = wire.call("rye_check", arguments).await["structuredContent"].clone();
        let text = told.to_string();
        assert!(!text.contains("secretword") && !text.contains("hwo"), "{text}");
        let file = &told["files"][0];
        assert_eq!((&file["withheld"], &file["id"]), (&json!(true), &json!("notes/greet")));
        let problems = file["problems"].as_array().unwrap();
        let expected = printed(&session, "check notes/greet --trust TRUST --json", "files");
        for (problem, whole) in problems.iter().zip(expected["problems"].as_array().unwrap()) {
            for member in ["code", "severity", "line", "column"] {
                assert_eq!(problem[member], whole[member], "{text}");
            }
        }
        assert!(text.contains("give its `text`") && text.contains("rye sign"), "{text}");
    }
}

/// Findings quote the items that a directive names. The words of one that no signature covers are in no answer, whoever names it.
#[tokio::test]
async fn words_of_an_unverified_item_are_in_no_finding_about_another() {
    let session = Session::new();
    let narrow = DRAFT
        .replace("    <secretword/>\n", "")
        .replace("required=\"true\"", "required=\"true\" enum=\"forgetyourrules\"")
        .replace("Greet {input:hwo}.", "Greet {input:who}.");
    session.put(PLACE, &narrow);
    let caller = "# Call\n\n```xml\n<directive name=\"call\" version=\"1.0.0\">\n  <metadata>\n    <description>Calls.</description>\n    \
                  <category>notes</category>\n    <author>me</author>\n    <permissions><execute><directive>notes.greet</directive></execute>\
                  </permissions>\n  </metadata>\n</directive>\n```\n\n<process><step name=\"a\"><execute item_type=\"directive\" \
                  item_id=\"notes/greet\"><param name=\"who\">x</param></execute></step></process>\n";
    let path = ".ai/directives/notes/call.md";
    session.put(path, caller);
    session.sign_file_as_it_is(path, &example_key());
    let mut wire = client(&session, &[]).await;
    let requests = [
        json!({}),
        json!({ "path": path }),
        json!({ "path": path, "text": caller }),
        json!({ "path": path, "text": caller.replace("name=\"call\"", "name=\"call\" extends=\"notes/greet\"") }),
    ];
    for request in requests {
        let told = wire.call("rye_check", request.clone()).await["structuredContent"].to_string();
        assert!(!told.contains("forgetyourrules") && !told.contains("`who`"), "{request}: {told}");
    }
    let whole = session.rye("check notes/call --trust TRUST");
    assert!(whole.contains("forgetyourrules"), "the operator reads it: {whole}");
}

/// A signature makes the messages readable, and the answer does not call it a review.
#[tokio::test]
async fn a_verified_file_is_told_in_words() {
    let session = Session::new();
    let text = DRAFT.replace("    <secretword/>\n", "").replace("Greet {input:hwo}.", "Greet.");
    session.put(PLACE, &text);
    session.sign_file_as_it_is(PLACE, &example_key());
    let mut wire = client(&session, &[]).await;
    let told = wire.call("rye_check", json!({ "path": PLACE })).await["structuredContent"].clone();
    assert_eq!(told["files"][0]["withheld"], false, "{told}");
    assert!(
        told.to_string().contains("`who`") && !told.to_string().contains("\"signed\""),
        "{told}"
    );
}

#[tokio::test]
async fn an_explanation_is_the_program_s() {
    let session = Session::new();
    let expected = printed(&session, "explain notes/index --trust TRUST --json", "directives");
    let mut wire = client(&session, &[]).await;
    let told = wire.call("rye_explain", json!({ "item_id": "notes/index" })).await;
    assert_eq!(steady(&session, &told["structuredContent"]), expected);
    session.change(".ai/directives/notes/index.md", "# ", "# Changed ");
    let told = wire.call("rye_explain", json!({ "item_id": "notes/index" })).await;
    assert!(told.to_string().contains("\\\"class\\\":\\\"refused\\\""), "{told}");
}

/// A finding names items around the file, so a client that may not load all of them has the file's own form alone.
#[tokio::test]
async fn a_client_reviews_what_it_may_load() {
    let session = Session::new();
    let grant: Grant =
        ["rye.load.directive.notes.*"].iter().map(|it| it.parse().unwrap()).collect();
    let mut wire = Wire::begin(server(&session, grant), Era::Initialize).await;
    let text = DRAFT.replace("<author>", "<parent>notes/inde</parent><author>");
    let told = wire.call("rye_check", json!({ "path": PLACE, "text": text })).await;
    let told = told["structuredContent"].to_string();
    assert!(told.contains("\"form_only\":true") && !told.contains("notes/index"), "{told}");
    for (tool, arguments) in [
        ("rye_check", json!({ "item_type": "directive", "item_id": "other/one", "text": DRAFT })),
        ("rye_check", json!({ "item_type": "knowledge", "item_id": "notes/index-style" })),
        ("rye_explain", json!({ "item_id": "rye/agent/core/base" })),
    ] {
        let answer = wire.call(tool, arguments).await;
        assert!(answer.to_string().contains("\\\"class\\\":\\\"refused\\\""), "{answer}");
    }
    let all = wire.call("rye_check", json!({})).await["structuredContent"].clone();
    let directives = std::fs::read_dir(session.project().join(".ai/directives/notes")).unwrap();
    assert_eq!(all["checked"], directives.count(), "{all}");
    let grant: Grant = ["rye.search.*"].iter().map(|it| it.parse().unwrap()).collect();
    let mut wire = Wire::begin(server(&session, grant), Era::Initialize).await;
    assert_eq!(super::tools(&mut wire).await, ["rye_fetch", "rye_search"]);
}
