//! The forms of the founding documents, and their parsed content.

use rye::parse::{Directive, Outputs, directive, knowledge};
use rye_tests::seed;

/// A directive file with `inside` in its root element.
pub(super) fn file(inside: &str) -> String {
    format!("```xml\n<directive name=\"a\">{inside}</directive>\n```\n")
}

/// Parses a directive that must be valid.
#[track_caller]
fn read(source: &str) -> Directive {
    directive(source).unwrap_or_else(|error| panic!("{error}"))
}

/// The XML fences of a document that contain a directive, each as a file.
fn directives_in(text: &str) -> Vec<String> {
    text.split("```xml\n")
        .skip(1)
        .filter_map(|part| part.split_once("\n```"))
        .map(|(xml, _)| xml)
        .filter(|xml| xml.starts_with("<directive "))
        .map(|xml| format!("```xml\n{xml}\n```\n"))
        .collect()
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn knowledge_about_rendering() {
    let text = seed("000");
    let knowledge = knowledge(&text).expect("readable");
    assert_eq!(knowledge.name.as_deref(), Some("prompt-rendering"));
    assert_eq!(knowledge.version.as_deref(), Some("1.2.0"));
    assert_eq!((knowledge.tags.len(), knowledge.references.len()), (8, 3));
    assert!(knowledge.body.value.starts_with("# Prompt Rendering"));
    assert_eq!(knowledge.notes, []);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn guide_to_authoring() {
    let text = seed("001");
    let knowledge = knowledge(&text).expect("readable");
    assert_eq!((knowledge.name.as_deref(), knowledge.tags.len()), (Some("directives"), 4));
    assert_eq!(knowledge.notes.len(), 1);
    let sources = directives_in(&text);
    assert_eq!(sources.len(), 4);
    let found: Vec<_> = sources.iter().map(|source| read(source)).collect();
    let names: Vec<_> = found.iter().map(|directive| directive.name.value.as_str()).collect();
    assert_eq!(
        names,
        ["directive_name", "create_directive", "create_threaded_directive", "deploy_staging"]
    );
    assert!(matches!(&found[1].outputs, Outputs::Dict(outputs) if outputs.len() == 2));
    assert_eq!(found[1].steps.len(), 4);
    assert!(found[1].body.value.starts_with("<process>"));
    assert_eq!(found[3].context.len(), 3);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn three_directives_of_one_chain() {
    let text = seed("003");
    let chain: Vec<_> = directives_in(&text).iter().map(|source| read(source)).collect();
    let names: Vec<_> = chain.iter().map(|directive| directive.name.value.as_str()).collect();
    assert_eq!(
        names,
        [
            "my-project/task-runner",
            "rye/agent/core/base",
            "rye/agent/core/coder",
            "my-project/deploy-task"
        ]
    );
    let grants = chain
        .iter()
        .map(|directive| directive.permissions.as_ref().map(|all| all.value.entries.len()));
    assert_eq!(grants.collect::<Vec<_>>(), [None, Some(3), Some(4), None]);
    assert_eq!(chain[3].context.len(), 2);
    let context =
        text.split("```xml\n<metadata>").nth(1).and_then(|part| part.split_once("</metadata>"));
    let (context, _) = context.expect("an example of context");
    assert_eq!(read(&file(&format!("<metadata>{context}</metadata>"))).context.len(), 4);
    assert!(knowledge(&text).is_ok());
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn directive_that_writes_directives() {
    let text = seed("004");
    let directive = directive(&text).expect("readable");
    assert_eq!(
        directive.title.map(|title| title.value).as_deref(),
        Some("Create Threaded Directive")
    );
    assert_eq!((directive.inputs.len(), directive.steps.len()), (7, 5));
    assert!(directive.steps.iter().all(|step| step.value.actions.is_empty()));
    assert!(
        directive.body.value.starts_with("<process>")
            && directive.body.value.ends_with("</success_criteria>")
    );
    assert_eq!(directive.notes, []);
}
