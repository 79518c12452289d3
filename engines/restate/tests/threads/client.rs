//! The operator's side: commands while no worker runs, requests that are used again, and workers that lack something.

use std::fs;

use serde_json::{Value, json};

use crate::balancer::Balancer;
use crate::lab::{self, Lab};

/// A tool may write items. That stops neither its thread nor a new one on the same copy.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn an_item_that_was_added_stops_no_thread() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("waits-a").await;
    let end = lab.end(&thread).await;
    let knowledge = lab.project("first").join(".ai/knowledge");
    fs::create_dir_all(&knowledge).unwrap();
    fs::write(knowledge.join("found.md"), "Written by a tool.\n").unwrap();
    lab.order(&thread, "rye-engine-approve", &end).await.unwrap();
    assert_eq!(lab.end(&thread).await["state"], "completed");
    let next = lab.start("waits-b").await;
    assert_eq!(lab.end(&next).await["state"], "suspended");
}

/// What a worker writes down is no thread of this machine, which `rye resume` would go on with.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_workers_cache_is_not_in_the_project() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let _beside = lab.unregistered_worker("first");
    let thread = lab.start("waits-c").await;
    lab.end(&thread).await;
    let project = lab.project("first");
    assert!(!project.join(".ai/threads").join(&thread).exists());
    let listed = lab.rye(&project, &["threads", "list"]);
    assert!(!listed.contains(&thread), "{listed}");
}

/// The engine takes a start and a decision while no worker runs. The command that waits goes on with a worker that comes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_thread_starts_and_is_decided_about_while_no_worker_runs() {
    let lab = Lab::new().await;
    let (balancer, worker) = Balancer::of_worker(&lab, "first").await;
    worker.kill();
    balancer.set(Vec::new());
    let here = lab.project("here");
    let engine = lab.engine();
    let run = ["run", "work/count", "--provider", "scripted", "--input", "name=waits-d"];
    let mut waiting = lab.rye_in_background(&here, &[&run[..], &["--engine", &engine]].concat());
    let told = waiting.wait_for_line("thread ");
    let thread = told.split_whitespace().nth(1).unwrap().to_owned();
    waiting.wait_for_line("no worker has begun it yet");
    let worker = lab.unregistered_worker("first");
    balancer.set(vec![worker.address.clone()]);
    let decide = waiting.wait_for_line("decide with `rye approve");
    assert_eq!(waiting.exit_code(), 4);
    worker.kill();
    balancer.set(Vec::new());
    let call = decide.split("--call ").nth(1).unwrap().split('`').next().unwrap();
    let (exit, told) = lab.rye_there(&here, &["approve", &thread, "--call", call]);
    assert!(exit == 0 && told.contains("the engine has the order"), "{told}");
    let worker = lab.unregistered_worker("first");
    balancer.set(vec![worker.address.clone()]);
    let completed = || async {
        let standing = lab.call(&thread, "standing", &Value::Null).await.ok()?;
        (standing["end"]["state"] == "completed").then_some(())
    };
    lab.wait_for("the end", completed).await;
    assert!(lab.project("first").join("waits-d.txt").exists());
}

/// The worker may get the start long before the cancel. The threads wait for an approval then.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_cancel_before_a_worker_comes_is_not_lost() {
    let lab = Lab::new().await;
    let (balancer, worker) = Balancer::of_worker(&lab, "first").await;
    worker.kill();
    balancer.set(Vec::new());
    let threads: Vec<String> = (0..8).map(|_| lab::new_thread()).collect();
    for thread in &threads {
        let inputs = json!({"inputs": {"name": "waits-e"}});
        lab.send(thread, "start", &lab.signed_start(thread, &inputs)).await;
    }
    for thread in &threads {
        lab.send_order(thread, "rye-engine-cancel", &Value::Null).await;
    }
    let worker = lab.unregistered_worker("first");
    balancer.set(vec![worker.address.clone()]);
    for thread in &threads {
        lab.end_in(thread, "cancelled").await;
    }
    drop(worker);
}

/// A request that was read at the engine starts nothing on another one, or later, and the engine does not give it away.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_request_counts_on_its_engine_and_for_a_day() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("waits-e").await;
    let end = lab.end(&thread).await;
    let standing = lab.call(&thread, "standing", &Value::Null).await.unwrap();
    assert_eq!(standing["directive"], "work/count");
    assert!(!standing.to_string().contains("_signature"), "{standing}");
    let order = lab::order(&thread, "rye-engine-approve", &end);
    let changes = [
        ("audience", json!("https://staging.example.org/"), "for the engine `https://staging"),
        ("expires", json!(1), "has expired"),
    ];
    for (name, value, message) in changes {
        let mut changed = order.clone();
        changed[name] = value;
        let refused = lab.call(&thread, "order", &lab.signed(&changed)).await.unwrap_err();
        assert!(refused.contains("400") && refused.contains(message), "{refused}");
    }
    assert!(!lab.project("first").join("waits-e.txt").exists());
}

/// An end that the server invents is no end.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn an_end_that_was_written_into_the_state_is_not_believed() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("waits-f").await;
    lab.end(&thread).await;
    lab.edit_state(&thread, |text| {
        text.replace("\"state\":\"suspended\"", "\"state\":\"completed\"")
    })
    .await;
    let standing = lab.call(&thread, "standing", &Value::Null).await.unwrap();
    assert_eq!(standing["end"]["state"], "completed");
    let here = lab.project("here");
    for command in ["pull", "show", "tail"] {
        let (exit, told) = lab.rye_there(&here, &["threads", command, &thread]);
        assert!(exit == 3 && told.contains("are not as workers made them"), "{told}");
    }
    let cancel = lab.order(&thread, "rye-engine-cancel", &Value::Null).await.unwrap_err();
    assert!(cancel.contains("421") && cancel.contains("are not as workers made them"), "{cancel}");
}

/// A worker signs the digest of the steps before its own, which the server keeps beside them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_digest_that_was_edited_is_not_signed() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("waits-g").await;
    let end = lab.end(&thread).await;
    let (member, forged) = ("\"last\":\"", "\"last\":\"f");
    lab.edit_state(&thread, |text| text.replace(member, forged)).await;
    let refused = lab.order(&thread, "rye-engine-approve", &end).await.unwrap_err();
    assert!(refused.contains("421") && refused.contains("whose digest it keeps"), "{refused}");
    lab.edit_state(&thread, |text| text.replace(forged, member)).await;
    lab.end_in(&thread, "completed").await;
    assert!(lab.project("first").join("waits-g.txt").exists());
}

/// A worker that lacks the key of a provider refuses the thread, which another worker, or this one later, begins.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_worker_without_a_providers_key_ends_no_thread() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let here = lab.project("here");
    let folder = here.join("../../user/.ai/tools/rye/agent/providers").canonicalize().unwrap();
    let provider = fs::read_to_string(folder.join("scripted.yaml")).unwrap();
    let provider: Vec<&str> = provider.lines().filter(|line| !line.starts_with('#')).collect();
    let keyed = folder.join("keyed.yaml");
    let write = |auth: &str| {
        fs::write(&keyed, format!("{}\n{auth}", provider.join("\n"))).unwrap();
        lab.rye(&here, &["sign", keyed.to_str().unwrap()]);
    };
    write("auth: { env: RYE_KEY_THAT_NO_WORKER_HAS }\n");
    let engine = lab.engine();
    let run = ["run", "work/count", "--provider", "keyed", "--input", "name=waits-g"];
    let mut waiting = lab.rye_in_background(&here, &[&run[..], &["--engine", &engine]].concat());
    let told = waiting.wait_for_line("RYE_KEY_THAT_NO_WORKER_HAS");
    assert!(told.contains("no worker goes on yet"), "{told}");
    write("");
    assert_eq!(waiting.exit_code(), 4);
}
