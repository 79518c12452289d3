//! Threads on a real Restate server, which `cargo xtask e2e restate` installs.

mod balancer;
mod client;
mod farm;
mod handover;
mod lab;
mod mistakes;
mod model;
mod rows;
mod server;
mod suite;
mod visible;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::balancer::Balancer;
use self::farm::{Counted, Farm, next};
use self::lab::Lab;
use self::model::NUMBERS;

/// The lines that a thread of this name leaves, each once.
fn expected(name: &str) -> Vec<String> {
    let skipped: &[usize] = if name.starts_with("asks") { &[5, 10] } else { &[5] };
    let numbers = (0..NUMBERS).filter(|number| !skipped.contains(number));
    let mut lines: Vec<String> = numbers.map(|number| format!("{name}-{number}")).collect();
    lines.extend([format!("{name}-child"), format!("{name}-leaf")]);
    lines.sort();
    lines
}

/// The thread ended, and what the engine keeps of it verifies and replays. Returns the folder of a project that has it alone.
async fn check_completed(lab: &Lab, thread: &str, end: &Value, name: &str) -> PathBuf {
    assert_eq!(end["state"], "completed", "{end}");
    let reader = lab.project(&format!("reader-{name}"));
    lab.pull(thread, &reader).await;
    lab.rye(&reader, &["threads", "verify", thread]);
    let replayed = lab.rye(&reader, &["replay", thread]);
    assert!(!replayed.contains("differs"), "{replayed}");
    let shown: Value =
        serde_json::from_str(&lab.rye(&reader, &["threads", "show", thread, "--json"])).unwrap();
    assert_eq!(shown["threads"][0]["outputs"], json!({"count": NUMBERS}), "{shown}");
    reader
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_thread_ends_as_it_does_on_one_machine() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("plain").await;
    let end = lab.end(&thread).await;
    let reader = check_completed(&lab, &thread, &end, "plain").await;
    assert_eq!(lab.effects("first"), expected("plain"));

    let here = lab.project("here");
    let run = ["run", "work/count", "--provider", "scripted", "--quiet", "--input", "name=plain"];
    lab.rye(&here, &run);
    assert_eq!(lab.effects("here"), expected("plain"));
    let visible = visible::visible(&here);
    assert!(2 * NUMBERS < visible.len(), "{visible:?}");
    assert_eq!(visible::visible(&reader), visible);
}

/// An upgrade: the old worker stays up for what it has begun, and the new one has an address of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_new_worker_takes_threads_over_at_their_next_turn() {
    let lab = Lab::new().await;
    let _old = lab.worker("first").await;
    let thread = lab.start("plain").await;
    let begun = || async { (2 < lab.effects("first").len()).then_some(()) };
    lab.wait_for("the first effects", begun).await;
    let _new = lab.worker("second").await;
    let end = lab.end(&thread).await;
    check_completed(&lab, &thread, &end, "thread").await;
    let old = lab.effects("first");
    let new = lab.effects("second");
    assert!(!new.is_empty(), "the old worker drove it to its end: {old:?}");
    let mut all = [old, new].concat();
    all.sort();
    assert_eq!(all, expected("plain"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_call_waits_for_a_signed_decision() {
    let lab = Lab::new().await;
    let worker = lab.worker("first").await;
    let (approved, denied, cancelled) =
        (lab.start("asks-a").await, lab.start("asks-b").await, lab.start("asks-c").await);
    let mut ends = Vec::new();
    for thread in [&approved, &denied, &cancelled] {
        let end = lab.end(thread).await;
        assert_eq!(
            (&end["state"], &end["asked"]["item"]),
            (&json!("suspended"), &json!("rye/file-system/write")),
            "{end}"
        );
        ends.push(end);
    }
    // Another worker, which knows nothing of the threads, goes on with them.
    worker.kill();
    let _other = lab.worker("second").await;

    let order = lab::order(&approved, "rye-engine-approve", &ends[0]);
    let unsigned = lab.call(&approved, "order", &order).await.unwrap_err();
    assert!(
        unsigned.contains("400") && unsigned.contains("not signed by this worker's operator"),
        "{unsigned}"
    );
    let of_another = lab.call(&denied, "order", &lab.signed(&order)).await.unwrap_err();
    assert!(of_another.contains("400") && of_another.contains(&denied), "{of_another}");
    // A server may show another call than the one that waits.
    let changes = [
        ("seq", json!(1), "waits with record 1"),
        ("item", json!("rye/file-system/read"), "another one than the engine showed"),
        ("sha256", json!("0".repeat(64)), "another one than the engine showed"),
        ("thread", json!(denied), "is in this tree"),
    ];
    for (name, value, message) in changes {
        let mut changed = order.clone();
        changed[name] = value;
        let refused = lab.call(&approved, "order", &lab.signed(&changed)).await.unwrap_err();
        assert!(refused.contains("409") && refused.contains(message), "{name}: {refused}");
    }

    lab.order(&approved, "rye-engine-approve", &ends[0]).await.unwrap();
    lab.order(&denied, "rye-engine-deny", &ends[1]).await.unwrap();
    lab.order(&cancelled, "rye-engine-cancel", &Value::Null).await.unwrap();
    let end = lab.end(&approved).await;
    check_completed(&lab, &approved, &end, "approved").await;
    let end = lab.end(&denied).await;
    check_completed(&lab, &denied, &end, "denied").await;
    assert_eq!(lab.end(&cancelled).await["state"], "cancelled");
    let project = lab.project("second");
    assert!(project.join("asks-a.txt").exists() && !project.join("asks-b.txt").exists());
    let again = lab.order(&cancelled, "rye-engine-cancel", &Value::Null).await.unwrap_err();
    assert!(again.contains("409"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn the_command_line_drives_threads_there() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let here = lab.project("here");
    let run = ["run", "work/count", "--provider", "scripted", "--input"];
    let (exit, told) = lab.rye_there(&here, &[&run[..], &["name=asks-cli"]].concat());
    assert_eq!(exit, 4, "{told}");
    assert!(told.contains("waits for approval: `rye/file-system/write`"), "{told}");
    let thread =
        told.split_whitespace().find(|word| word.starts_with("count-")).unwrap().to_owned();
    let (exit, told) = lab.rye_there(&here, &["threads", "pull", &thread]);
    assert!(exit == 1 && told.contains("has not ended"), "{told}");
    let (exit, told) = lab.rye_there(&here, &["deny", &thread, "--reason", "not today"]);
    assert!(exit == 0 && told.contains("denied"), "{told}");
    assert_eq!(lab.end(&thread).await["state"], "completed");
    let (exit, told) = lab.rye_there(&here, &["threads", "pull", &thread]);
    assert_eq!(exit, 0, "{told}");
    lab.rye(&here, &["threads", "verify", &thread]);
    let shown = lab.rye(&here, &["threads", "show", &thread]);
    assert!(shown.contains("not today"), "{shown}");
    let (exit, told) = lab.rye_there(&here, &["threads", "pull", &thread]);
    assert!(exit == 1 && told.contains("exists and is not replaced"), "{told}");

    see_there(&lab, &here, &thread).await;

    let options =
        [&["--strict"][..], &["--returns", "tool"], &["--allow-unsigned"], &["--json", "--deltas"]];
    for option in options {
        let (exit, told) = lab.rye_there(&here, &[&run[..], &["name=none"], option].concat());
        let name = option.iter().rfind(|word| word.starts_with("--")).unwrap();
        assert!(exit == 2 && told.contains(name), "{told}");
    }
    for option in ["--always", "--resume"] {
        let (exit, told) = lab.rye_there(&here, &["approve", &thread, option]);
        assert!(exit == 2 && told.contains("cannot be used with"), "{told}");
    }
    let (exit, told) = lab.rye_there(&here, &[&run[..], &["name=cli", "--turns", "3"]].concat());
    assert!(exit == 5 && told.contains("turns"), "{told}");
    let (exit, told) =
        lab.rye_there(&here, &["cancel", "count-01a20000-0000-7000-8000-000000000000"]);
    assert!(exit == 1 && told.contains("404"), "{told}");
}

/// What is seen of a thread on the engine is what is seen of its copy here.
async fn see_there(lab: &Lab, here: &std::path::Path, thread: &str) {
    let completed = || async {
        let (exit, told) = lab.rye_there(here, &["threads", "list", "--state", "completed"]);
        assert_eq!(exit, 0, "{told}");
        told.contains(thread).then_some(told)
    };
    let listed = lab.wait_for("the row", completed).await;
    let listed_here = lab.rye(here, &["threads", "list"]);
    let columns = |line: &str| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    let listed_here: Vec<String> = listed_here.lines().map(columns).collect();
    assert!(listed_here.contains(&columns(&listed)), "{listed} {listed_here:?}");
    let (exit, told) = lab.rye_there(here, &["threads", "list", "--directive", "work/none"]);
    assert_eq!((exit, told.as_str()), (0, ""));

    for command in ["show", "tail"] {
        let lines = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with("folder "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (exit, told) = lab.rye_there(here, &["threads", command, &thread[thread.len() - 8..]]);
        assert_eq!(exit, 0, "{told}");
        let told_here = lab.rye(here, &["threads", command, thread]);
        assert_eq!(lines(&told), lines(&told_here), "{command}");
    }
    let (exit, told) = lab.rye_there(here, &["threads", "show", "--last", "--timeline"]);
    assert!(exit == 0 && told.contains("21 turns"), "{told}");

    lab.name_engine("farm");
    let (exit, told) = lab.rye_by_name(here, "farm", &["threads", "list"]);
    assert!(exit == 0 && told.contains(thread), "{told}");
    let (exit, told) = lab.rye_by_name(here, "barn", &["threads", "list"]);
    assert!(exit == 2 && told.contains("no engine `barn`") && told.contains("`farm`"), "{told}");
}

/// The chain of hashes finds a record that was edited through the server's administration. Nothing is done until it is right.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn an_edited_record_stops_the_thread() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("asks-d").await;
    let end = lab.end(&thread).await;
    lab.edit_state(&thread, |text| text.replace("asks-d-3", "asks-e-3")).await;
    let refused = lab.order(&thread, "rye-engine-approve", &end).await.unwrap_err();
    assert!(
        refused.contains("421") && refused.contains("are not as workers made them"),
        "{refused}"
    );
    assert!(!lab.project("first").join("asks-d.txt").exists());
    // The engine kept the order, and a worker carries it out now.
    lab.edit_state(&thread, |text| text.replace("asks-e-3", "asks-d-3")).await;
    let end = lab.end_in(&thread, "completed").await;
    check_completed(&lab, &thread, &end, "thread").await;

    // A thread of which nothing is on record can be ended, too.
    let thread = lab.start("waits-e").await;
    lab.end(&thread).await;
    let forget = |text: &str| {
        if text.starts_with("{\"steps\":") { "{\"steps\":0}" } else { text }.to_owned()
    };
    lab.edit_state(&thread, forget).await;
    // The worker that drove it would drive it again from its first step.
    let refused = lab.order(&thread, "rye-engine-cancel", &Value::Null).await.unwrap_err();
    assert!(refused.contains("421") && refused.contains("that this worker saw"), "{refused}");
    let _other = lab.worker("second").await;
    lab.end_in(&thread, "cancelled").await;
    let end = lab.call(&thread, "standing", &Value::Null).await.unwrap();
    assert_eq!(end["steps"], 1);
    // Its only step has no record.
    lab.order(&thread, "rye-engine-cancel", &Value::Null).await.unwrap();
}

/// A worker whose project is another one refuses the thread and says why. The thread goes on when the right files are there.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_worker_with_other_files_refuses_the_thread() {
    let lab = Lab::new().await;
    let worker = lab.worker("first").await;
    let thread = lab.start("asks-f").await;
    let end = lab.end(&thread).await;
    let doomed = lab.start("asks-g").await;
    lab.end(&doomed).await;
    worker.kill();
    let right = lab.project("second");
    let wrong = lab.project("wrong");
    change_child(&lab, &wrong);
    let other = lab.unregistered_worker("wrong");
    // A worker that is killed within a step is asked again at its address.
    let balancer = Balancer::default();
    balancer.set(vec![other.address.clone()]);
    lab.register(&balancer.listen().await).await;
    let refused = lab.order(&thread, "rye-engine-approve", &end).await.unwrap_err();
    let sentence = "changed `project/.ai/directives/work/one.md`";
    assert!(refused.contains("421") && refused.contains(sentence), "{refused}");
    lab.order(&doomed, "rye-engine-cancel", &Value::Null).await.unwrap();
    assert_eq!(lab.end(&doomed).await["state"], "cancelled");
    let running = lab.start_in("plain", &wrong).await;
    lab.wait_for("effects", || async { (2 < lab.effects("wrong").len()).then_some(()) }).await;
    other.kill();

    // The right copy is one of two that this worker has.
    let both = lab.unregistered_worker_of(&["wrong", "second"]);
    balancer.set(vec![both.address.clone()]);
    let end = lab.end_in(&thread, "completed").await;
    check_completed(&lab, &thread, &end, "thread").await;
    assert!(right.join("asks-f.txt").exists() && !wrong.join("asks-f.txt").exists());
    let end = lab.approved_end(&running).await;
    assert_eq!(end["state"], "completed", "{end}");
    let mut effects = lab.effects("wrong");
    effects.dedup();
    assert_eq!(effects, expected("plain"));
}

/// A thread with a label runs on the workers with it, and is decided about, listed and pulled there.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_label_names_a_group_of_workers() {
    let lab = Lab::new().await;
    let _plain = lab.worker("first").await;
    let here = lab.project("here");
    let run = ["run", "work/count", "--provider", "scripted", "--input", "name=waits-l"];
    let labelled =
        |arguments: &[&str]| lab.rye_there(&here, &[arguments, &["--label", "gpu"]].concat());
    let (exit, told) = labelled(&run);
    assert!(exit == 1 && told.contains("404: service 'RyeThread-gpu' not found"), "{told}");
    let labelled_worker = lab.worker_with(&["second"], &["--label", "gpu"]);
    lab.register(&labelled_worker.address).await;
    let (exit, told) = labelled(&run);
    assert_eq!(exit, 4, "{told}");
    // Without a terminal nobody sees the call that the server names.
    let (exit, told) = labelled(&["approve", "--last"]);
    assert_eq!(exit, 2, "{told}");
    let call = told.split("--call ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    let (exit, told) = labelled(&["approve", "--last", "--call", &call]);
    assert_eq!(exit, 0, "{told}");
    let listed = || async {
        let (_, told) = labelled(&["threads", "list", "--state", "completed"]);
        told.split_whitespace().last().map(str::to_owned)
    };
    let thread = lab.wait_for("the thread", listed).await;
    assert_eq!(labelled(&["threads", "pull", &thread]).0, 0);
    let first = lab.project("first");
    let second = lab.project("second");
    assert!(second.join("waits-l.txt").exists() && !first.join("waits-l.txt").exists());
    let (_, told) = lab.rye_there(&here, &["threads", "list"]);
    assert_eq!(told, "", "a thread without a label is none of them");

    // A start for other workers that the server routes here.
    let (_, told) = lab.rye_there(&here, &[&run[..], &["--label", "GPU"]].concat());
    assert!(told.contains("`GPU` is no label of workers"), "{told}");
    let thread = lab::new_thread();
    let start = lab.signed_start(&thread, &json!({"label": "gpu"}));
    let refused = lab.call(&thread, "start", &start).await.unwrap_err();
    let sentence = "the thread is for workers with label `gpu`, and this one has no label";
    assert!(refused.contains("400") && refused.contains(sentence), "{refused}");
}

/// Changes the directive of children, which no thread looks at when it begins.
fn change_child(lab: &Lab, project: &std::path::Path) {
    let directive = project.join(".ai/directives/work/one.md");
    let text = std::fs::read_to_string(&directive).unwrap();
    let changed = text.replace("<description>Notes one number", "<description>Notes a number");
    assert_ne!(changed, text);
    std::fs::write(&directive, changed).unwrap();
    lab.rye(project, &["sign", directive.to_str().unwrap()]);
}

/// What the operator has reviewed is what runs: a worker with another project does not begin.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_thread_begins_with_the_operators_files_alone() {
    let lab = Lab::new().await;
    let wrong = lab.project("wrong");
    change_child(&lab, &wrong);
    // One address, because a turn stays with the address at which it began.
    let (balancer, worker) = Balancer::of_worker(&lab, "wrong").await;
    let here = lab.project("here");
    let engine = lab.engine();
    let run =
        ["run", "work/count", "--provider", "scripted", "--input", "name=cli", "--engine", &engine];
    let mut waiting = lab.rye_in_background(&here, &run);
    let told = waiting.wait_for_line("the project has other files than the operator's");
    assert!(told.contains("no worker goes on yet"), "{told}");
    assert!(lab.effects("wrong").is_empty());
    let (exit, told) = lab.rye_there(&here, &["threads", "show", "--last"]);
    assert!(exit == 1 && told.contains("other files than the operator's"), "{told}");
    worker.kill();
    let right = lab.unregistered_worker("second");
    balancer.set(vec![right.address.clone()]);
    assert_eq!(waiting.exit_code(), 0);
    assert_eq!(lab.effects("second"), expected("cli"));
}

/// A number that a variable sets for longer runs.
fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Whatever is killed at whatever moment: each thread ends as it does without, and nothing that has a receipt is done again.
///
/// `RYE_KILLS` sets the number of moments, and `RYE_THREADS` that of the threads at once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn killed_at_any_moment_each_thread_ends_the_same() {
    let mut farm = Farm::new().await;
    let visible = farm.visible_here();
    let mut seed = number("RYE_SEED", 20_261_124);
    let mut kills = number("RYE_KILLS", 6);
    let mut wave = 0;
    while 0 < kills {
        let mut threads = Vec::new();
        for place in 0..number("RYE_THREADS", 8) {
            // Each fourth thread has too little money for its numbers.
            let kind = if place % 4 == 3 { "poor" } else { "asks" };
            threads.push(Counted::start(&farm.lab, &format!("{kind}-{wave}x{place}")).await);
        }
        while threads.iter().any(|thread| !thread.has_ended()) {
            if 0 < kills {
                tokio::time::sleep(Duration::from_millis(next(&mut seed) % 1_500)).await;
                farm.kill(next(&mut seed)).await;
                kills -= 1;
            } else {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            for thread in &mut threads {
                thread.look(&farm.lab).await;
            }
        }
        for thread in &threads {
            thread.check(&farm.lab, &visible).await;
        }
        println!("wave {wave}: {} threads ended, {kills} kills are left", threads.len());
        wave += 1;
    }
}

/// Threads that wait for a decision cost their workers nothing. They are decided about while no worker runs. `RYE_WAITING` sets
/// their number.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn threads_that_wait_need_no_worker() {
    let waiting = number("RYE_WAITING", 40);
    let lab = Lab::new().await;
    let (balancer, worker) = Balancer::of_worker(&lab, "first").await;
    let mut threads = Vec::new();
    let mut memory = Vec::new();
    for part in [waiting / 4, waiting - waiting / 4] {
        let mut begun = Vec::new();
        for _ in 0..part {
            begun.push(lab.start(&format!("waits-{}", threads.len() + begun.len())).await);
        }
        for thread in begun {
            let end = lab.end(&thread).await;
            assert_eq!(end["state"], "suspended");
            threads.push((thread, end));
        }
        memory.push([worker.id(), lab.server_id()].map(lab::memory));
    }
    println!(
        "memory of worker and server with a quarter of {waiting} threads and with all, in KiB: {memory:?}"
    );
    worker.kill();
    for (thread, end) in &threads {
        lab.send_order(thread, "rye-engine-approve", end).await;
    }
    let worker = lab.unregistered_worker("first");
    balancer.set(vec![worker.address.clone()]);
    let begun = Instant::now();
    // The worker takes each tree over twice: for the decision, and to go on. A slow machine needs two seconds for that.
    let moment = begun + lab::PATIENCE + 2 * Duration::from_secs(threads.len() as u64);
    for (thread, _) in &threads {
        let ended = || async {
            let standing = lab.call(thread, "standing", &Value::Null).await.ok()?;
            (standing["end"]["state"] == "completed").then_some(())
        };
        lab.wait_until(moment, thread, ended).await;
    }
    println!("{} threads were taken over and ended in {:.1?}", threads.len(), begun.elapsed());
}
