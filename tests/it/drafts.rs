//! Drafts, which are shown to a person and given to nothing that runs (SPEC D20).

use rye::primary::{Caller, ExecuteRequest, LoadRequest, causes, execute, load};
use rye::resolve::ItemId;
use rye::types::ItemKind;
use rye::{PlanRequest, PrepareError, Preview};
use rye_tests::Scratch;

const TEXT: &str = "```yaml\nname: style\n```\n\nWrite plainly.\n";

/// A project with a directive and knowledge that the operator changed after signing.
fn drafted() -> (Scratch, Preview) {
    let scratch = Scratch::new();
    let directive = rye_tests::writing("", "");
    for (path, text) in [
        (".ai/directives/test/write.md", directive.as_str()),
        (".ai/knowledge/test/style.md", TEXT),
    ] {
        let path = scratch.sign(path, text);
        let signed = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, signed + "\nMore.\n").unwrap();
    }
    let preview = Preview::open(&scratch.setup()).unwrap();
    (scratch, preview)
}

fn id(text: &str) -> ItemId {
    text.parse().unwrap()
}

#[test]
fn a_draft_is_planned_and_not_run() {
    let (_scratch, preview) = drafted();
    let request = PlanRequest::new(id("test/write"));
    assert_eq!(preview.plan(&request).unwrap().drafts(None).len(), 1);
    let error = preview.plan_run(&request).unwrap_err();
    assert!(matches!(error, PrepareError::Drafts { .. }), "{error:?}");
}

/// Neither by an operation of the operator, whose result may go to a model.
#[tokio::test]
async fn no_operation_gives_a_draft() {
    let (_scratch, preview) = drafted();
    let items = [(ItemKind::Directive, "test/write"), (ItemKind::Knowledge, "test/style")];
    for (kind, item) in items {
        let error = load(&preview, &LoadRequest::new(kind, id(item)), &Caller::operator());
        let error = error.unwrap_err();
        assert!(causes(&error).iter().any(|it| it.contains("tampered")), "{error:?}");
        let request = ExecuteRequest::new(kind, id(item));
        let error = execute(&preview, &request, &Caller::operator()).await.unwrap_err();
        assert!(causes(&error).iter().any(|it| it.contains("tampered")), "{error:?}");
    }
}
