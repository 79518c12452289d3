//! The shipped system space holds what it promises, and all of it is whole.

use std::path::Path;

use rye::parse::ValueType;
use rye::resolve::{ItemId, ItemKind};
use rye::{RenderRequest, check, place, shipped};
use rye_tests::Scratch;
use serde_json::Value;

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

/// A value of the type.
fn some(value_type: ValueType) -> Value {
    match value_type {
        ValueType::Integer => 1.into(),
        _ => "x".into(),
    }
}

#[test]
fn every_shipped_directive_renders() {
    let rye = Scratch::new().rye();
    let directives = rye.library().list(ItemKind::Directive).unwrap();
    assert!(!directives.is_empty());
    for listed in directives {
        let item = rye.library().directive(&listed.id).unwrap();
        let required = item.content.value().inputs.iter().filter(|input| input.value.required);
        let mut request = RenderRequest::new(listed.id.clone());
        request.inputs = required
            .map(|input| (input.value.name.value.clone(), some(input.value.value_type)))
            .collect();
        rye.render(&request).unwrap_or_else(|error| panic!("{}: {error}", listed.id));
    }
}

/// What the shipped directives write by their steps alone passes its check, and could be signed as it is.
#[tokio::test]
async fn what_the_shipped_directives_create_is_whole() {
    // What XML or YAML would read as its own is text here.
    let said = "Reads & writes <b>it</b> where 1 < 2: \"always\" # or not.";
    let named: &[(&str, &str)] = &[("name", "fresh"), ("category", "made"), ("description", said)];
    let rows: [(&str, Vec<(&str, &str)>); 5] = [
        ("create_directive", named.to_vec()),
        ("create_threaded_directive", [named, &[("turns", "3")]].concat()),
        (
            "create_knowledge",
            vec![("name", "fresh"), ("category", "made"), ("title", said), ("content", "Text.")],
        ),
        ("create_tool", [named, &[("command", "wc")]].concat()),
        ("init", vec![("about", "A project.")]),
    ];
    for (name, inputs) in rows {
        let scratch = Scratch::new();
        let report = scratch.run(&format!("rye/core/{name}"), &inputs).await.unwrap();
        let outputs = report
            .outcome
            .outputs
            .unwrap_or_else(|| panic!("{name}: {:?}", report.outcome.failure));
        let path = scratch.project().join(outputs["path"].as_str().unwrap());
        let (kind, id) = place(&path).unwrap();
        let checked = check(&path, kind, Some(&id), std::fs::read_to_string(&path).unwrap());
        assert!(checked.findings.is_empty(), "{name}: {:?}", checked.findings);
        if name.starts_with("create") && kind == ItemKind::Directive {
            let written = rye::parse::directive(&checked.source).unwrap();
            assert_eq!(written.description.unwrap().value, said, "{name}");
        }
    }
}

#[tokio::test]
async fn a_shipped_directive_runs_without_a_model() {
    let scratch = Scratch::new();
    scratch.put("a.md", "# Alpha\n");
    let report = scratch.run("rye/core/list_folder", &[]).await.unwrap();
    let outputs = report.outcome.outputs.unwrap();
    assert_eq!(outputs["listing"], "- a.md: Alpha");
    assert_eq!(outputs["count"], 1);
}
