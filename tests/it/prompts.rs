//! Snapshots of the prompts of the quick start, made as a team makes its own.

use std::fs;
use std::path::{Path, PathBuf};

use rye::resolve::Spaces;
use rye::{Rye, Setup, shipped_files};
use rye_tests::Scratch;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn quickstart() -> Rye {
    let project = examples().join("quickstart");
    let spaces = Spaces::new().with_project(&project).with_shipped(shipped_files());
    let mut setup = Setup::new(spaces, "2026-11-20T18:00:00Z".parse().unwrap());
    let document = fs::read_to_string(examples().join("keys/example-trust.toml")).unwrap();
    setup.trust_documents.push(document);
    Rye::open(&setup).unwrap()
}

/// The same loop as in a team's own test. `cargo xtask prompts` writes to the same folder.
#[test]
fn of_the_quickstart_are_pinned() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(examples().join("quickstart/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (id, prompt) in quickstart().prompts().unwrap() {
        settings.bind(|| insta::assert_snapshot!(id.as_str(), prompt));
    }
}

#[test]
fn are_of_the_project_alone() {
    let prompts = quickstart().prompts().unwrap();
    let ids: Vec<&str> = prompts.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["notes/base", "notes/index"]);
}

#[test]
fn show_their_edges_and_their_context() {
    let scratch = Scratch::new();
    scratch.sign(
        ".ai/directives/a.md",
        "```xml\n<directive name=\"a\"><metadata><context><suppress>rye/agent/core/DirectiveInstruction</suppress>\
         <system>Be brief.</system></context></metadata>\
         <inputs><input name=\"what\"/></inputs></directive>\n```\nSay {input:what}.\r\r\nThen stop.\r\n",
    );
    let prompts = scratch.rye().prompts().unwrap();
    let [(_, prompt)] = prompts.as_slice() else { panic!("one prompt") };
    assert_eq!(
        prompt,
        "--- system\nBe brief.∎\n--- user\n<directive name=\"a\">\nSay {input:what}.␍\nThen stop.\n</directive>∎"
    );
}
