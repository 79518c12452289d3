//! The shipped system space holds what it promises, and all of it is whole.

use std::path::Path;

use rye::resolve::{ItemId, ItemKind};
use rye::{RenderRequest, check, shipped};
use rye_tests::Scratch;

#[test]
fn every_shipped_item_passes_its_check() {
    for file in shipped() {
        let path = Path::new(file.path);
        let (folder, rest) = file.path.split_once('/').unwrap();
        let kind = ItemKind::ALL.into_iter().find(|kind| kind.folder() == folder).unwrap();
        let id: ItemId = rest.rsplit_once('.').unwrap().0.parse().unwrap();
        let checked = check(path, kind, Some(&id), file.text.to_owned());
        assert!(checked.findings.is_empty(), "{}: {:?}", file.path, checked.findings);
    }
}

#[test]
fn the_core_knowledge_is_there() {
    let rye = Scratch::new().rye();
    for name in ["Identity", "Behavior", "Environment", "DirectiveInstruction"] {
        let item =
            rye.library().knowledge(&format!("rye/agent/core/{name}").parse().unwrap()).unwrap();
        assert_eq!(item.content.value().name.as_deref(), Some(name));
        assert!(!item.content.value().body.value.trim().is_empty());
    }
}

#[test]
fn every_shipped_directive_renders() {
    let rye = Scratch::new().rye();
    let directives = rye.library().list(ItemKind::Directive).unwrap();
    assert!(!directives.is_empty());
    for listed in directives {
        rye.render(&RenderRequest::new(listed.id.clone()))
            .unwrap_or_else(|error| panic!("{}: {error}", listed.id));
    }
}

#[tokio::test]
async fn a_shipped_directive_runs_without_a_model() {
    let scratch = Scratch::new();
    scratch.put("a.md", "# Alpha\n");
    let report = scratch.run("rye/core/list_folder", &[]).await.unwrap();
    let outputs = report.outcome.outputs.unwrap();
    assert_eq!(outputs["listing"], "- .ai\n- a.md: Alpha");
    assert_eq!(outputs["count"], 2);
}
