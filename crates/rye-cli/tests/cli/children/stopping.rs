//! Trees that are cancelled, interrupted and killed.

use std::sync::Arc;

use super::family::{CHILD, Family, PARENT};
use super::model::{Asked, Gate, Model, Says};
use super::{start, write};

/// A tree of three: the parent's child writes a file and starts one below it, which asks its model and hears nothing until the
/// gate is opened.
fn held() -> (Family, Model, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let model = Model::new(move |asked: &Asked| {
        match (asked.follows("parent"), asked.follows("middle"), asked.results().len()) {
            (true, _, 0) => start("test/middle"),
            (_, true, 0) => write("a.txt"),
            (_, true, 1) => start("test/leaf"),
            (false, false, 0) => Says::AfterThat(Arc::clone(&held), Box::new(write("b.txt"))),
            _ => Says::Text("Done."),
        }
    });
    let family = Family::new(&model);
    family.directive("parent", PARENT);
    family.directive("middle", PARENT);
    family.directive("leaf", CHILD);
    (family, model, gate)
}

#[test]
fn a_tree_that_runs_is_cancelled_from_another_program() {
    let (family, _model, gate) = held();
    let run = family.started("parent");
    gate.reached();
    insta::assert_snapshot!("running_list", family.rye("threads list"));
    insta::assert_snapshot!("cancelled_running", family.rye("cancel PARENT"));
    insta::assert_snapshot!("cancelled_tree", unpriced(&family.rye("threads tree")));
    gate.open();
    insta::assert_snapshot!("cancelled_run", unpriced(&family.ended(run)));
    assert!(!family.project().join("b.txt").exists(), "what is cancelled does nothing more");
    let verified = family.rye("threads verify");
    assert!(verified.ends_with("--- exit 0\n"), "{verified}");
}

/// The result says how the thread ended, and not that this program could not write it down.
#[test]
fn a_cancelled_run_is_told_as_data() {
    let (family, _model, gate) = held();
    let run = family.started_with("parent", "--json --quiet");
    gate.reached();
    family.rye("cancel PARENT");
    gate.open();
    insta::assert_snapshot!("cancelled_run_json", without_cost(&family.ended(run)));
}

/// Only what was set aside for the lost request differs.
fn without_cost(text: &str) -> String {
    let is_cost = |line: &&str| !line.contains("\"cost_nanos\": ");
    text.lines().filter(is_cost).map(|line| format!("{line}\n")).collect()
}

/// A thread that answers after it was cancelled starts nobody any more.
#[test]
fn nobody_begins_below_a_cancelled_thread() {
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let model =
        Model::new(move |asked: &Asked| match (asked.follows("parent"), asked.results().len()) {
            (true, 0) => start("test/middle"),
            (false, 0) if asked.follows("middle") => {
                Says::AfterThat(Arc::clone(&held), Box::new(start("test/leaf")))
            }
            _ => Says::Text("Done."),
        });
    let family = Family::new(&model);
    family.directive("parent", PARENT);
    family.directive("middle", PARENT);
    family.directive("leaf", CHILD);
    let run = family.started("parent");
    gate.reached();
    let cancelled = family.rye("cancel PARENT --json");
    assert!(
        cancelled.contains("\"cancelled_below\": [\n        \"middle-<UUID>\"\n      ]"),
        "{cancelled}"
    );
    gate.open();
    family.ended(run);
    assert!(!family.has_thread_of("leaf"), "{:?}", family.folders());
}

#[test]
fn a_child_is_cancelled_alone_and_its_parent_is_told() {
    let (family, _model, gate) = held();
    let run = family.started("parent");
    gate.reached();
    insta::assert_snapshot!("cancelled_child", family.rye("cancel MIDDLE"));
    gate.open();
    let shown = family.ended(run);
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    insta::assert_snapshot!("cancelled_child_tree", unpriced(&family.rye("threads tree")));
}

#[test]
fn a_tree_that_waits_is_cancelled() {
    let (family, _model, gate) = held();
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    family.config(".ai/config/agent/approval.yaml", ask);
    gate.open();
    let run = family.run("parent", "");
    assert!(run.ends_with("--- exit 4\n"), "{run}");
    insta::assert_snapshot!("cancelled_waiting", family.rye("cancel PARENT"));
    for name in ["PARENT", "MIDDLE"] {
        let shown = family.rye(&format!("threads show {name}"));
        assert!(shown.contains("state      cancelled"), "{shown}");
        let again = family.rye(&format!("resume {name}"));
        assert!(again.contains("is `cancelled`, and nothing more happens in it"), "{again}");
    }
}

/// What the tree has done before it was stopped is not done again.
#[cfg(unix)]
#[test]
fn a_tree_that_is_interrupted_goes_on() {
    let (family, model, gate) = held();
    let run = family.started("parent");
    gate.reached();
    let process = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    insta::assert_snapshot!("interrupted_run", family.ended(run));
    insta::assert_snapshot!("interrupted_tree", unpriced(&family.rye("threads tree")));
    check_goes_on(&family, &model, &gate, "interrupted_resumed");
}

/// A program that is killed leaves threads that nobody drives, which is what the list says.
#[test]
fn a_tree_that_is_killed_goes_on() {
    let (family, model, gate) = held();
    let mut run = family.started("parent");
    gate.reached();
    run.kill().unwrap();
    family.ended(run);
    insta::assert_snapshot!("killed_list", family.rye("threads list"));
    insta::assert_snapshot!("killed_tail", family.rye("threads tail MIDDLE"));
    check_goes_on(&family, &model, &gate, "killed_resumed");
}

/// One request of the leaf is lost with the program that made it, and asked for again.
#[track_caller]
fn check_goes_on(family: &Family, model: &Model, gate: &Gate, name: &str) {
    let asked = model.asked();
    assert_eq!(asked, 4, "one of the parent, two of its child, one of the leaf");
    let written = family.project().join("a.txt");
    std::fs::write(&written, "kept").unwrap();
    gate.open();
    insta::assert_snapshot!(name, unpriced(&family.rye("resume PARENT")));
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "kept", "a receipt is not done again");
    assert!(family.project().join("b.txt").is_file());
    assert_eq!(family.folders().len(), 3, "nobody was started twice");
    assert_eq!(model.asked(), asked + 4, "what was answered is not asked again");
    let verified = family.rye("threads verify");
    assert!(verified.ends_with("--- exit 0\n"), "{verified}");
    let tree = family.rye("threads tree");
    assert_eq!(tree.matches("completed").count(), 3, "{tree}");
}

/// A request that was lost counts as what was set aside for it, which grows with every word that a model is told.
fn unpriced(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_price = |place: usize| words.get(place + 1).is_some_and(|next| next.starts_with("USD"));
    let told = words.iter().enumerate();
    let told: Vec<String> = told
        .map(|(place, word)| match word.chars().next() {
            Some('(') if is_price(place) => "(<MONEY>".to_owned(),
            Some(_) if is_price(place) => "<MONEY>".to_owned(),
            _ => (*word).to_owned(),
        })
        .collect();
    told.join(" ")
}
