//! Children that wait for somebody, and parents that wait for their children.

use std::sync::Arc;

use serde_json::json;

use super::family::{CHILD, Family, PARENT};
use super::model::{Asked, Gate, Model, Says};
use super::{start, write};
use crate::resuming::mask;

/// A parent whose child waits for somebody before it writes.
fn suspended() -> (Family, String) {
    let model = Model::new(|asked: &Asked| match (asked.follows("parent"), asked.results()) {
        (true, results) if results.is_empty() => start("test/child"),
        (true, results) if results[0].contains("\"state\":\"completed\"") => {
            Says::Text("It wrote.")
        }
        (true, _) => Says::Text("It did not write."),
        (false, results) if results.is_empty() => write("a.txt"),
        (false, results) if results[0].contains("denied") => Says::Text("I may not."),
        (false, _) => Says::Text("Written."),
    });
    let family = Family::new(&model);
    family.config(
        ".ai/config/agent/approval.yaml",
        "ask:\n  - rye.execute.tool.rye.file-system.write\n",
    );
    family.directive("parent", PARENT);
    family.directive("child", CHILD);
    let run = family.run("parent", "");
    (family, run)
}

#[test]
fn a_child_that_waits_is_named() {
    let (family, run) = suspended();
    insta::assert_snapshot!("waiting_run", run);
    insta::assert_snapshot!("waiting_tree", family.rye("threads tree"));
    insta::assert_snapshot!("waiting_show", family.rye("threads show"));
    insta::assert_snapshot!("waiting_show_child", family.rye("threads show CHILD"));
    insta::assert_snapshot!("waiting_again", family.rye("resume PARENT"));
    let data = family.rye("resume PARENT --json --quiet");
    assert!(data.contains("\"thread\": \"child-<UUID>\""), "{data}");
}

/// Who decides at the wrong place is shown the right one.
#[test]
fn a_decision_belongs_to_the_child() {
    let (family, _) = suspended();
    insta::assert_snapshot!("waiting_approve_parent", family.rye("approve PARENT"));
    insta::assert_snapshot!("waiting_deny_parent", family.rye("deny PARENT --json"));
    insta::assert_snapshot!("waiting_approve_child", family.rye("approve CHILD"));
    insta::assert_snapshot!("waiting_resumed", family.rye("resume PARENT"));
    assert!(family.project().join("a.txt").is_file());
    insta::assert_snapshot!("waiting_nobody", family.rye("approve PARENT"));
}

#[test]
fn a_denied_child_tells_its_parent() {
    let (family, _) = suspended();
    insta::assert_snapshot!("waiting_deny_child", family.rye("deny CHILD --json"));
    insta::assert_snapshot!("waiting_denied", family.rye("resume PARENT"));
    assert!(!family.project().join("a.txt").exists());
}

/// A child that goes on alone comes to its end, which its parent takes when it goes on.
#[test]
fn a_child_goes_on_alone() {
    let (family, _) = suspended();
    insta::assert_snapshot!("alone_waits", family.rye("resume CHILD"));
    family.rye("approve CHILD");
    insta::assert_snapshot!("alone_resumed", family.rye("resume CHILD"));
    assert!(family.project().join("a.txt").is_file());
    insta::assert_snapshot!("alone_tree", family.rye("threads tree"));
    insta::assert_snapshot!("alone_again", family.rye("resume CHILD"));
    let resumed = family.rye("resume PARENT");
    assert!(resumed.contains("It wrote.") && resumed.ends_with("exit 0\n"), "{resumed}");
    insta::assert_snapshot!("alone_replay", mask(&family.rye("replay CHILD")));
}

/// The end of a child counts once its parent has it on record, whatever the child's folder says by then.
#[test]
fn rule_09_a_child_whose_end_its_parent_recorded_stays_ended() {
    let (family, _) = suspended();
    let child = family.project().join(".ai/threads").join(family.thread_of("child"));
    let files = ["transcript.jsonl", "thread.json"].map(|name| child.join(name));
    let before = files.clone().map(|path| std::fs::read(path).unwrap());
    family.rye("approve CHILD");
    let resumed = family.rye("resume PARENT");
    assert!(resumed.ends_with("--- exit 0\n"), "{resumed}");
    for (path, text) in files.iter().zip(&before) {
        std::fs::write(path, text).unwrap();
    }
    let approved = family.rye("approve CHILD");
    let again = family.rye("resume CHILD");
    for told in [approved, again] {
        assert!(told.contains("`completed`") && told.ends_with("--- exit 1\n"), "{told}");
    }
    assert_eq!(std::fs::read(&files[0]).unwrap(), before[0]);
}

/// A child that was left as it ran stays so once its parent has ended, also if the parent has no record of the child's end.
#[test]
fn rule_09_a_child_below_an_ended_parent_does_not_go_on() {
    let (family, _) = suspended();
    let child = family.project().join(".ai/threads").join(family.thread_of("child"));
    let files = ["transcript.jsonl", "thread.json"].map(|name| child.join(name));
    let before = files.clone().map(|path| std::fs::read(path).unwrap());
    let cancelled = family.rye("cancel PARENT");
    assert!(cancelled.ends_with("--- exit 0\n"), "{cancelled}");
    for (path, text) in files.iter().zip(&before) {
        std::fs::write(path, text).unwrap();
    }
    for command in ["approve CHILD", "resume CHILD"] {
        let told = family.rye(command);
        assert!(told.contains("which stands above it, has ended"), "{told}");
        assert!(told.ends_with("--- exit 1\n"), "{told}");
    }
    assert_eq!(std::fs::read(&files[0]).unwrap(), before[0]);
}

/// Whoever owns the first thread of a tree owns its children.
#[test]
fn rule_09_a_child_goes_on_under_the_lock_of_its_root() {
    let (family, _) = suspended();
    family.rye("approve CHILD");
    let threads = family.project().join(".ai/threads");
    let transcript = threads.join(family.thread_of("child")).join("transcript.jsonl");
    let before = std::fs::read(&transcript).unwrap();
    let lock = std::fs::File::open(threads.join(family.thread_of("parent")).join("lock")).unwrap();
    lock.lock().unwrap();
    let held = family.rye("resume CHILD");
    assert!(
        held.contains("` is driven by another process") && held.ends_with("--- exit 1\n"),
        "{held}"
    );
    assert_eq!(std::fs::read(&transcript).unwrap(), before);
    lock.unlock().unwrap();
    let resumed = family.rye("resume CHILD");
    assert!(resumed.ends_with("--- exit 0\n"), "{resumed}");
}

/// The limits of a child are a part of its parent's, so that the operator raises those of the first thread: nothing is done, and
/// that command is said. A child that has ended stays ended, because its parent was told.
#[test]
fn rule_09_the_limits_of_a_child_are_not_raised() {
    let (family, _) = suspended();
    let before = family.rye("threads show CHILD --json");
    for option in ["--turns 40", "--tokens 900000", "--spend 9", "--duration 9000"] {
        let refused = family.rye(&format!("resume CHILD {option}"));
        let told = "which started it, had left, and are not raised; raise those of the first thread: `rye resume parent-";
        assert!(refused.contains(told) && refused.ends_with("exit 2\n"), "{refused}");
    }
    assert_eq!(family.rye("threads show CHILD --json"), before);
    family.rye("approve CHILD");
    family.rye("resume CHILD");
    let ended = family.rye("resume CHILD --turns 40");
    assert!(ended.contains("`completed`") && ended.ends_with("exit 1\n"), "{ended}");
}

/// A parent that waits for neither of its children, both of which want to write and have to ask.
pub(crate) fn two_that_ask() -> (Family, Model) {
    let model =
        Model::new(|asked: &Asked| match (asked.follows("parent"), asked.results().len()) {
            (true, 0) => beside("test/left"),
            (true, 1) => beside("test/right"),
            (true, _) => Says::Text("Started."),
            (false, 0) if asked.follows("left") => write("a.txt"),
            (false, 0) => write("b.txt"),
            (false, _) => Says::Text("Written."),
        });
    let family = Family::new(&model);
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    family.config(".ai/config/agent/approval.yaml", ask);
    family.directive("parent", PARENT);
    family.directive("left", CHILD);
    family.directive("right", CHILD);
    (family, model)
}

/// Both children of a parent that waits for neither want something; each is named with its commands.
#[test]
fn two_children_that_wait_are_both_named() {
    let (family, _model) = two_that_ask();
    let run = family.run("parent", "");
    assert!(run.ends_with("--- exit 4\n"), "{run}");
    insta::assert_snapshot!("both_approve_parent", family.rye("approve PARENT"));
    family.rye("approve LEFT");
    let resumed = family.rye("resume PARENT");
    assert!(resumed.contains("`rye approve right-") && resumed.ends_with("exit 4\n"), "{resumed}");
    assert!(family.project().join("a.txt").is_file());
    family.rye("deny RIGHT");
    let resumed = family.rye("resume PARENT");
    assert!(resumed.ends_with("exit 0\n"), "{resumed}");
    assert!(!family.project().join("b.txt").exists());
}

fn beside(directive: &str) -> Says {
    let arguments = json!({ "directive": directive, "async": true });
    Says::Calls("rye_agent_threads_thread_directive", arguments)
}

/// Who waits for a time only is told which threads still run, and may ask for them, but for no other thread.
#[test]
fn a_parent_that_waits_for_a_time_is_told_who_still_runs() {
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let model = Model::new(move |asked: &Asked| {
        let results = asked.results();
        match (asked.follows("parent"), results.len()) {
            (true, 0) => beside("test/child"),
            (true, 1) => Says::Calls("rye_agent_threads_wait", json!({ "timeout_seconds": 0.01 })),
            (true, 2) => {
                let told: serde_json::Value = serde_json::from_str(results[1]).unwrap();
                assert_eq!(told["timed_out"], true, "{told}");
                assert_eq!(told["still_running"][0], told["threads"][0]["thread"], "{told}");
                assert_eq!(told["threads"][0]["state"], "running", "{told}");
                held.open();
                Says::Calls("rye_agent_threads_wait", json!({}))
            }
            (true, 3) => {
                let told: serde_json::Value = serde_json::from_str(results[2]).unwrap();
                assert_eq!(
                    (&told["timed_out"], &told["still_running"]),
                    (&json!(false), &json!(null))
                );
                assert_eq!(told["threads"][0]["state"], "completed", "{told}");
                let stranger = "parent-019a0000-0000-7000-8000-000000000000";
                Says::Calls("rye_agent_threads_status", json!({ "thread": stranger }))
            }
            (true, _) => {
                assert!(results[3].contains("was started by this one or below it"), "{results:?}");
                Says::Text("Done.")
            }
            (false, _) => Says::AfterThat(Arc::clone(&held), Box::new(Says::Text("Late."))),
        }
    });
    let family = Family::new(&model);
    family.directive("parent", PARENT);
    family.directive("child", CHILD);
    let run = family.run("parent", "");
    assert!(run.contains("Done.") && run.ends_with("--- exit 0\n"), "{run}");
    insta::assert_snapshot!("waited_tail", family.rye("threads tail"));
}

/// The list of threads is gone, and with it nothing that was spent: a thread of the tree can be resumed at each place.
#[test]
fn rule_22_a_tree_without_its_list_of_threads_goes_on() {
    let (family, _) = suspended();
    let spent = |family: &Family| -> u64 {
        let shown = family.rye("threads tree --json");
        let json = shown.split_once('\n').unwrap().1.split("--- standard error").next().unwrap();
        let tree: serde_json::Value = serde_json::from_str(json).unwrap();
        tree["threads"][0]["total_nanos"].as_u64().unwrap()
    };
    let before = spent(&family);
    assert_ne!(before, 0);
    let forget = || {
        for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
            drop(std::fs::remove_file(family.project().join(".ai/threads").join(name)));
        }
    };
    forget();
    let alone = family.rye("resume CHILD");
    assert!(alone.ends_with("--- exit 4\n"), "{alone}");
    forget();
    let again = family.rye("resume PARENT");
    assert!(again.ends_with("--- exit 4\n"), "{again}");
    assert_eq!(spent(&family), before, "nothing was asked");
    family.rye("approve CHILD");
    let resumed = family.rye("resume PARENT");
    assert!(resumed.ends_with("--- exit 0\n"), "{resumed}");
    assert_eq!(spent(&family), 2 * before, "as much was asked again");
}

/// A request may cost a cent, and an answer cost a tenth of that: what was spent before leaves too little for another one.
#[test]
fn rule_22_without_the_list_of_threads_there_is_no_more_money() {
    let model = Model::new(|asked: &Asked| match asked.results().len() {
        0 => write("a.txt"),
        _ => Says::Text("Written."),
    });
    let family = Family::new(&model);
    let provider = model.provider();
    let prices =
        ["prices: {input: \"1\", output: \"1\"}", "prices: {input: \"0\", output: \"10\"}"];
    assert!(provider.contains(prices[0]), "{provider}");
    let provider = provider.replace(prices[0], prices[1]);
    family.config(".ai/tools/rye/agent/providers/small.yaml", &provider);
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    family.config(".ai/config/agent/approval.yaml", ask);
    family.directive("leaf", CHILD);
    let run = family.run("leaf", "--spend 0.0105");
    assert!(run.ends_with("--- exit 4\n"), "{run}");
    family.rye("approve LEAF");
    std::fs::remove_file(family.project().join(".ai/threads/registry.db")).unwrap();
    let resumed = family.rye("resume LEAF");
    assert!(resumed.contains("spend") && resumed.ends_with("--- exit 5\n"), "{resumed}");
    assert_eq!(model.asked(), 1, "nobody is asked without money");
}

/// A tree whose list of threads is gone is ended with what it has cost.
#[test]
fn rule_22_a_tree_without_its_list_of_threads_is_cancelled() {
    let (family, _) = suspended();
    let cost = |name: &str| {
        let shown = family.rye(&format!("threads show {name}"));
        shown.lines().find(|line| line.starts_with("cost")).unwrap().to_owned()
    };
    let before = (cost("PARENT"), cost("CHILD"));
    std::fs::remove_file(family.project().join(".ai/threads/registry.db")).unwrap();
    let cancelled = family.rye("cancel PARENT");
    assert!(cancelled.ends_with("--- exit 0\n"), "{cancelled}");
    assert_eq!((cost("PARENT"), cost("CHILD")), before);
}

/// What was committed or copied without the list of threads is looked at all the same, and who decides at the wrong place is
/// shown the right one.
#[test]
fn threads_without_their_list_are_found() {
    let (family, _) = suspended();
    let shown = |command: &str| family.rye(command).replace("  0 USD", "");
    let commands =
        ["threads list", "threads show", "threads show CHILD", "threads verify", "threads tree"];
    let before = commands.map(shown);
    let registry = family.project().join(".ai/threads/registry.db");
    std::fs::remove_file(&registry).unwrap();
    for (command, before) in commands.into_iter().zip(&before) {
        let line = |it: &str, word: &str| it.lines().filter(|line| line.contains(word)).count();
        let after = shown(command);
        for word in ["parent-", "child-", "suspended", "ok "] {
            assert_eq!(line(&after, word), line(before, word), "{command}: {after}\n{before}");
        }
        assert!(after.ends_with("--- exit 0\n"), "{after}");
    }
    assert!(!registry.exists(), "who looks makes no list");
    let tail = family.rye("threads tail CHILD");
    assert!(tail.ends_with("--- exit 0\n"), "{tail}");
    let approved = family.rye("approve PARENT");
    assert!(approved.contains("rye approve child-"), "{approved}");
    std::fs::remove_file(&registry).unwrap();
    let approved = family.rye("approve CHILD");
    assert!(approved.contains("go on with `rye resume parent-"), "{approved}");
}

/// Another thread that ran here since makes a list, on which the changed one is not.
#[test]
fn a_changed_thread_that_is_on_no_list_is_refused() {
    let (family, _) = suspended();
    let threads = family.project().join(".ai/threads");
    std::fs::remove_file(threads.join("registry.db")).unwrap();
    let record = threads.join(family.thread_of("child")).join("thread.json");
    let text = std::fs::read_to_string(&record).unwrap();
    std::fs::write(&record, text.replacen("suspended", "completed", 1)).unwrap();
    for _ in 0..2 {
        let verified = family.rye("threads verify");
        assert!(verified.contains("REFUSED  child-"), "{verified}");
        assert!(verified.ends_with("--- exit 3\n"), "{verified}");
        let listed = family.rye("threads list");
        assert!(listed.contains("warning: thread child-"), "{listed}");
        family.directive("other", CHILD);
        family.run("other", "");
        assert!(threads.join("registry.db").exists());
    }
}
