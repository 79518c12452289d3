//! Threads in lists and by short names: what they cost while they run, filters, and parts of ids.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::children::model::{Asked, Gate, Model, Says};
use crate::session::Session;

/// The rows of `rye threads list` with these options.
fn rows(session: &Session, options: &str) -> Vec<Value> {
    let output = session.raw(&format!("threads list --json {options}"));
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    listed["threads"].as_array().unwrap().clone()
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["thread"].as_str().unwrap()).collect()
}

#[expect(clippy::disallowed_methods, reason = "what is listed is another program's")]
fn start(session: &Session, arguments: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_rye"))
        .args(arguments.split(' '))
        .current_dir(session.project())
        .env_clear()
        .env("HOME", session.home())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_thread_whose_folder_was_removed_is_not_listed() {
    let session = Session::new();
    for _ in 0..2 {
        session.rye("run notes/index --provider steps --trust TRUST");
    }
    let listed = rows(&session, "");
    let [kept, removed] = ids(&listed)[..] else { panic!("{listed:?}") };
    std::fs::remove_dir_all(session.project().join(".ai/threads").join(removed)).unwrap();
    assert_eq!(ids(&rows(&session, "")), [kept]);
    let shown = session.rye(&format!("threads show {removed}"));
    assert!(shown.contains("name a thread that exists"), "{shown}");
}

/// The first answer costs 0.001 USD; the thread then waits for the second one, is listed, and is killed.
#[test]
fn a_running_and_a_killed_thread_are_listed_with_their_cost() {
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let model = Model::new(move |asked: &Asked| match asked.results().len() {
        0 => Says::Calls("rye_file_system_ls", json!({ "path": "." })),
        _ => Says::AfterThat(Arc::clone(&held), Box::new(Says::Text("Done."))),
    });
    let session = Session::new();
    session.provider("paid", &model.provider());
    let mut run = start(
        &session,
        &format!("run notes/index --provider paid --allow-unsigned --trust {}", session.trust()),
    );
    gate.reached();
    let running = session.rye("threads list");
    assert!(
        running.contains("  running    ") && running.contains(" 0.001 USD  index-"),
        "{running}"
    );
    assert_eq!(rows(&session, "--state running")[0]["cost_nanos"], 1_000_000);
    run.kill().unwrap();
    run.wait().unwrap();
    let killed = session.rye("threads list");
    assert!(killed.contains("  stopped    "), "{killed}");
    let row = &rows(&session, "--state stopped")[0];
    // The request that has no answer may be charged for, so that all that was set aside for it counts.
    assert!(row["cost_nanos"].as_u64().unwrap() >= 1_000_000, "{row}");
    gate.open();
}

#[test]
fn threads_are_listed_by_state_and_directive() {
    let session = Session::new();
    let steps = "--provider steps --trust TRUST";
    session.rye(&format!("run notes/index {steps}"));
    session.rye(&format!("run notes/index {steps} --turns 1"));
    session.rye(&format!("run rye/core/list_folder {steps}"));
    let all = rows(&session, "");
    let matching = |name: &str, value: &str| -> Vec<Value> {
        all.iter().filter(|row| row[name] == value).cloned().collect()
    };
    assert_eq!(all.len(), 3);
    for (options, expected) in [
        ("--state error", matching("state", "error")),
        ("--state completed", matching("state", "completed")),
        ("--state completed --state error", all.clone()),
        ("--state suspended", Vec::new()),
        ("--directive notes/index", matching("directive", "notes/index")),
        ("--directive notes/index --directive rye/core/list_folder", all.clone()),
        ("--directive notes/other", Vec::new()),
    ] {
        assert_eq!(rows(&session, options), expected, "{options}");
    }
    let both = rows(&session, "--state completed --directive notes/index");
    assert_eq!(both.len(), 1);
    assert_eq!(
        (&both[0]["state"], &both[0]["directive"]),
        (&json!("completed"), &json!("notes/index"))
    );
}

/// A prefix that one thread has and the last eight characters name it; what several have is told with all of them.
#[test]
fn a_thread_is_named_by_a_part_of_its_id_or_as_the_last() {
    let session = Session::new();
    let steps = "--provider steps --trust TRUST";
    for directive in ["notes/index", "rye/core/list_folder", "rye/core/list_folder"] {
        session.rye(&format!("run {directive} {steps}"));
    }
    let all = rows(&session, "");
    let indexed: Vec<&Value> = all.iter().filter(|row| row["directive"] == "notes/index").collect();
    let index = indexed[0]["thread"].as_str().unwrap();
    let newest = all.iter().max_by_key(|row| {
        row["thread"].as_str().unwrap().rsplit_once("list_folder-").map(|(_, id)| id.to_owned())
    });
    let newest = newest.unwrap()["thread"].as_str().unwrap();
    let end = |id: &str| id[id.len() - 8..].to_owned();
    for (part, expected) in [
        ("in".to_owned(), index),
        (index[..20].to_owned(), index),
        (index.to_owned(), index),
        (end(index), index),
        (end(newest), newest),
        ("--last".to_owned(), newest),
    ] {
        let shown = session.raw(&format!("threads show {part} --json"));
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["threads"][0]["thread"], expected, "{part}");
        let verified = session.rye(&format!("threads verify {part}"));
        assert!(verified.ends_with("--- exit 0\n"), "{verified}");
    }
    for (part, told) in [
        ("list", "list_folder-"),
        ("zzz", "no thread here has an id that begins with `zzz`"),
        ("../x", "is no part of a thread id"),
    ] {
        let refused = session.rye(&format!("threads show {part}"));
        assert!(refused.contains(told) && !refused.ends_with("--- exit 0\n"), "{refused}");
    }
    let several = session.rye("threads show list");
    assert_eq!(several.matches("list_folder-<UUID>").count(), 2, "{several}");
    assert_eq!(ids(&all).len(), 3);
}
