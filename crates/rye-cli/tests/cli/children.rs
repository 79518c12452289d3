//! Threads that start threads, as a person sees them: while they run, afterwards, and when something comes in between.

pub(crate) mod family;
pub(crate) mod model;
mod stopping;
pub(crate) mod waiting;

use family::{Family, steady_names};
use model::{Asked, Model, Says};
use serde_json::{Value, json};

use crate::resuming::mask;

/// A parent whose model starts two children, one after the other, each of which writes a file.
fn two_children() -> (Family, Model) {
    let model =
        Model::new(|asked: &Asked| match (asked.follows("parent"), asked.results().len()) {
            (true, 0) => start("test/first"),
            (true, 1) => start("test/second"),
            (true, _) => Says::Text("Both are done."),
            (false, 0) if asked.follows("first") => write("a.txt"),
            (false, 0) => write("b.txt"),
            (false, _) => Says::Text("Written."),
        });
    let family = Family::new(&model);
    family.directive("parent", family::PARENT);
    family.directive("first", family::CHILD);
    family.directive("second", family::CHILD);
    (family, model)
}

fn start(directive: &str) -> Says {
    Says::Calls("rye_agent_threads_thread_directive", json!({ "directive": directive }))
}

pub(crate) fn write(path: &str) -> Says {
    Says::Calls("rye_file_system_write", json!({ "path": path, "content": "x" }))
}

#[test]
fn a_tree_that_has_run() {
    let (family, model) = two_children();
    insta::assert_snapshot!("tree_run", family.run("parent", ""));
    assert_eq!(model.asked(), 7, "three for the parent and two for each child");
    insta::assert_snapshot!("tree_list", family.rye("threads list"));
    let listed = family.rye("threads list --json");
    insta::assert_snapshot!("tree_list_json", listed);
    // An index that was written anew from the transcripts has the same figures.
    family.rye("threads reindex");
    assert_eq!(family.rye("threads list --json"), listed);
    insta::assert_snapshot!("tree_tree", family.rye("threads tree"));
    insta::assert_snapshot!("tree_tree_json", family.rye("threads tree --json"));
    insta::assert_snapshot!("tree_tree_of_a_child", family.rye("threads tree SECOND"));
    insta::assert_snapshot!("tree_show", family.rye("threads show"));
    insta::assert_snapshot!("tree_show_child", family.rye("threads show FIRST"));
    insta::assert_snapshot!("tree_tail", family.rye("threads tail"));
    insta::assert_snapshot!("tree_verify", family.rye("threads verify"));
    insta::assert_snapshot!(
        "tree_missing",
        family.rye("threads tree index-019a0000-0000-7000-8000-000000000000")
    );
}

/// On a terminal each line of a child stands below its parent's, with its name.
#[cfg(unix)]
#[test]
fn a_tree_that_is_watched() {
    let (family, _model) = two_children();
    insta::assert_snapshot!("tree_watched", steady_names(&family.watched("parent")));
}

#[test]
fn a_tree_as_data() {
    let (family, _model) = two_children();
    let shown = family.run("parent", "--json --quiet");
    let (json, _) = shown.split_once("--- standard error").unwrap();
    let (_, json) = json.split_once('\n').unwrap();
    let report: Value = serde_json::from_str(json).unwrap();
    assert_eq!(
        report["threads"][0]["cost_nanos"], 7_000_000,
        "its own three requests, and two for each child"
    );
    let shown = family.rye("threads show --json");
    let (json, _) = shown.split_once("--- standard error").unwrap();
    let (_, json) = json.split_once('\n').unwrap();
    let whole: Value = serde_json::from_str(json).unwrap();
    let told: Vec<(&str, &str, u64)> = whole["threads"][0]["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| {
            let text = |name: &str| child[name].as_str().unwrap();
            (text("directive"), text("state"), child["cost_nanos"].as_u64().unwrap())
        })
        .collect();
    let expected =
        [("test/first", "completed", 2_000_000), ("test/second", "completed", 2_000_000)];
    assert_eq!(told, expected);
    family.export_threads("children");
}

/// A replay asks nobody, starts nobody and writes nothing: what a child came to is in its parent's receipt.
#[test]
fn a_tree_is_replayed() {
    let (family, model) = two_children();
    family.run("parent", "--quiet");
    let asked = model.asked();
    for file in ["a.txt", "b.txt"] {
        std::fs::remove_file(family.project().join(file)).unwrap();
    }
    let folders = family.folders();
    insta::assert_snapshot!("tree_replay", mask(&family.rye("replay PARENT")));
    insta::assert_snapshot!("tree_replay_child", mask(&family.rye("replay FIRST")));
    insta::assert_snapshot!("tree_replay_json", mask(&family.rye("replay PARENT --json")));
    assert_eq!(model.asked(), asked);
    assert_eq!(family.folders(), folders);
    assert!(!family.project().join("a.txt").exists() && !family.project().join("b.txt").exists());
}

/// What a parent no longer may, its child no longer may: the replay of the child says so.
#[test]
fn a_child_is_replayed_below_what_its_parent_may_do_now() {
    let (family, _model) = two_children();
    family.run("parent", "--quiet");
    let narrow = family::PARENT.replace("<tool>rye.file-system.write</tool>", "");
    family.directive("parent", &narrow);
    let told = family.rye("replay FIRST");
    assert!(told.contains("diverges: the tools\n"), "{told}");
    assert!(told.contains("-    \"name\": \"rye_file_system_write\","), "{told}");
    assert!(told.ends_with("--- exit 1\n"), "{told}");
}

#[test]
fn what_a_directive_may_start() {
    let (family, _model) = two_children();
    family.directive("reader", "<execute><tool>rye.file-system.*</tool></execute>");
    family.directive("elsewhere", family::CHILD);
    family.unsigned("stranger", family::CHILD);
    family.put(
        ".ai/directives/test/broken.md",
        "# Broken\n\n```xml\n<directive name=\"broken\">\n</directive>\n```\n",
    );
    let told = family.rye("explain test/parent");
    let (_, starts) = told.split_once("may start, as threads below its own\n").unwrap();
    let (starts, _) = starts.split_once("\n\n").unwrap();
    insta::assert_snapshot!("tree_explained", starts);
    let data = family.rye("explain test/parent --json");
    assert!(data.contains("\"starts\": ["), "{data}");
    // Who may start nobody is told nothing of it.
    let told = family.rye("explain test/first");
    assert!(!told.contains("may start"), "{told}");
}

#[test]
fn a_limit_that_lets_nobody_begin_is_told() {
    let (family, _model) = two_children();
    family.directive_with("parent", family::PARENT, "<limits depth=\"0\"/>");
    let told = family.rye("explain test/parent");
    assert!(told.contains("would be refused: the limit `depth` of this directive is 0"), "{told}");
}

/// What was found when a child began is told with the run, whose operator sees no other terminal.
#[test]
fn warnings() {
    let (family, _model) = two_children();
    let empty = "```yaml\nname: empty\ntitle: Empty\ncategory: test\nversion: 1.0.0\nauthor: rye\nentry_type: pattern\n```\n";
    family.config(".ai/knowledge/test/empty.md", empty);
    let context = "<context><before>test/empty</before></context>";
    family.directive_with("second", family::CHILD, context);
    let told = family.run("parent", "");
    let warning = "warning: knowledge `test/empty` has no text to take into the context\n";
    assert_eq!(told.matches(warning).count(), 1, "{told}");
}
