//! The example of the README, run in a copy so that the checkout is not changed.

use std::fs;
use std::path::{Path, PathBuf};

use rye::resolve::Spaces;
use rye::sign::Provenance;
use rye::{Rye, Setup, shipped_files};
use rye_tests::Scratch;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let target = to.join(entry.file_name());
        if path.ends_with(".ai/threads") {
            continue;
        }
        if path.is_dir() { copy(&path, &target) } else { _ = fs::copy(&path, &target).unwrap() }
    }
}

/// The example in a scratch project, whose user space trusts the example key.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    copy(&examples().join("quickstart"), &scratch.project());
    let document = fs::read_to_string(examples().join("keys/example-trust.toml")).unwrap();
    scratch.put_user(".ai/config/keys/trusted/56dbf7b2d9ce86ed.toml", &document);
    scratch
}

#[tokio::test]
async fn writes_the_index_and_returns_its_path_and_count() {
    let scratch = scratch();
    let report = scratch.run("notes/index", &[]).await.unwrap();
    let outputs = serde_json::Value::Object(report.outcome.outputs.clone().unwrap());
    assert_eq!(outputs.to_string(), r#"{"path":"INDEX.md","count":4}"#);
    let index = fs::read_to_string(scratch.project().join("INDEX.md")).unwrap();
    insta::assert_snapshot!(index, @r"
    # Index of notes

    - bicycle.md: Bicycle service in spring
    - bread.md: Bread for the week
    - lisbon.md: Lisbon, three days
    - reading.txt: Books to read before summer
    ");
}

#[tokio::test]
async fn leaves_a_record_that_verifies() {
    let scratch = scratch();
    let report = scratch.run("notes/index", &[("folder", "notes")]).await.unwrap();
    for file in ["thread.json", "transcript.jsonl", "transcript.md", "../registry.db"] {
        assert!(report.folder.join(file).is_file(), "{file}");
    }
    let events: Vec<String> = scratch.events(&report).into_iter().map(|(name, _)| name).collect();
    assert_eq!(events.first().map(String::as_str), Some("thread_start"));
    assert_eq!(events.iter().filter(|name| *name == "tool_call_start").count(), 4);
    assert_eq!(events[events.len() - 2..], ["thread_complete", "checkpoint"]);
}

#[tokio::test]
async fn a_transcript_that_was_edited_is_refused() {
    let scratch = scratch();
    let report = scratch.run("notes/index", &[]).await.unwrap();
    let path = report.folder.join("transcript.jsonl");
    let text = fs::read_to_string(&path).unwrap().replacen("bread.md", "bread.mx", 1);
    fs::write(&path, text).unwrap();
    let error =
        scratch.rye().thread(&scratch.project().join(".ai/threads"), &report.thread).unwrap_err();
    assert!(error.is_tampering(), "{error}");
}

#[test]
fn every_item_is_signed_by_the_example_key_and_bound_to_its_place() {
    let rye = scratch().rye();
    let root = examples().join("quickstart/.ai");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert_eq!(files.len(), 3, "{files:?}");
    for path in files {
        let verification =
            rye.verify(&path.canonicalize().unwrap(), &fs::read_to_string(&path).unwrap());
        let Ok(Provenance::Signed(signature)) = verification.result else {
            panic!("{verification:?}")
        };
        assert_eq!(
            signature.item().map(|item| item.id()),
            verification.id.as_ref().map(|id| id.as_str())
        );
    }
}

/// Everyone with the repository can sign with the example key, so it may grant only file tools.
#[test]
fn the_example_key_is_capped_and_not_trusted_by_default() {
    let document = fs::read_to_string(examples().join("keys/example-trust.toml")).unwrap();
    let document = rye::sign::TrustDocument::parse(&document).unwrap();
    assert_eq!(document.grants().unwrap(), ["rye.execute.tool.rye.file-system.*"]);
    let spaces =
        Spaces::new().with_project(examples().join("quickstart")).with_shipped(shipped_files());
    let rye = Rye::open(&Setup::new(spaces, "2026-11-20T18:00:00Z".parse().unwrap())).unwrap();
    let error = rye.library().directive(&"notes/index".parse().unwrap()).unwrap_err();
    assert!(error.is_unverified(), "{error}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("threads") {
            collect(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}
