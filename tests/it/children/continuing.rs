//! Children whose conversations grow too long for one thread. Their parents wait for the last thread.

use rye::thread::{Decision, ThreadId, ThreadRecord};
use rye::types::ThreadState;
use rye::{ProviderChoice, ReopenError, RunReport};
use rye_tests::{Scratch, StoppedClock};
use serde_json::{Value, json};

use super::cancelling::account;
use super::{check_waits, put};
use crate::model::{answer, provider, server, tool_use};
use crate::server::{Answer, Server};

fn directive(name: &str, provider: &str, permissions: &str) -> String {
    format!(
        "# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata>\n    <description>For a \
         test.</description>\n    <model tier=\"fast\" provider=\"{provider}\" />\n    <permissions>{permissions}</permissions>\n  \
         </metadata>\n</directive>\n```\n\nDo it.\n"
    )
}

fn calls(name: &str, input: &Value) -> Answer {
    answer(&json!([tool_use("call_1", name, input)]), "tool_use")
}

fn starts() -> Answer {
    calls("rye_agent_threads_thread_directive", &json!({"directive": "test/child"}))
}

fn writes(path: &str) -> Answer {
    calls("rye_file_system_write", &json!({"path": path, "content": "x"}))
}

fn says(text: &str) -> Answer {
    answer(&json!([{"type": "text", "text": text}]), "end_turn")
}

/// A parent with a large context window, and a child whose window is full after one turn.
fn tree(script: Scratch, server: &Server) -> Scratch {
    tree_with_two_servers(script, server, server)
}

/// The same, with a model for each.
fn tree_with_two_servers(script: Scratch, server: &Server, childs: &Server) -> Scratch {
    let parent = "<execute><tool>rye.agent.threads.*</tool><tool>rye.file-system.write</tool><directive>test.*</directive></execute>";
    let child = "<execute><tool>rye.file-system.write</tool></execute>";
    put(&script, "test/parent", &directive("parent", "wide", parent));
    put(&script, "test/child", &directive("child", "narrow", child));
    let wide = provider(server);
    script.sign(".ai/tools/rye/agent/providers/wide.yaml", &wide);
    let narrow = provider(childs).replace("context_window: 100000", "context_window: 1200");
    script.sign(".ai/tools/rye/agent/providers/narrow.yaml", &narrow);
    script
}

async fn run(scratch: &Scratch) -> RunReport {
    let own = |request: &mut rye::RunRequest| request.provider = ProviderChoice::Directive;
    scratch.run_with("test/parent", &[], own).await.unwrap()
}

fn record(scratch: &Scratch, thread: &ThreadId) -> ThreadRecord {
    let rye = scratch.rye();
    rye.thread(&rye.threads().unwrap(), thread).unwrap().record
}

/// The result of the child that the parent's model got.
fn child_result(scratch: &Scratch, report: &RunReport) -> Value {
    let events = scratch.events(report);
    let result = events.iter().find(|(name, _)| name == "tool_call_result");
    result.map(|(_, payload)| payload["content"].clone()).unwrap_or_default()
}

/// Returns the two threads of the child's conversation, and checks that they refer to each other.
fn conversation(scratch: &Scratch, parent: &RunReport) -> (ThreadRecord, ThreadRecord) {
    let events = scratch.events(parent);
    let spawned: Vec<&Value> =
        events.iter().filter(|(name, _)| name == "spawn_child").map(|(_, it)| it).collect();
    assert_eq!(spawned.len(), 1);
    let first = record(scratch, &spawned[0]["thread"].as_str().unwrap().parse().unwrap());
    assert_eq!(first.state, ThreadState::Continued);
    let last = record(scratch, first.continued_by.as_ref().unwrap());
    assert_eq!(last.continues.as_ref(), Some(&first.thread));
    for thread in [&first, &last] {
        assert_eq!(thread.parent.as_ref(), Some(&parent.thread), "{}", thread.thread);
    }
    assert_eq!(last.facts["tokens_above"].as_array().map(Vec::len), Some(1));
    (first, last)
}

/// Checks that nothing is held for a child of a parent that is done, and that the cost is that of `answers` answers, each with 1,000
/// input and 100 output tokens.
#[track_caller]
fn check_money(scratch: &Scratch, parent: &RunReport, answers: u64) {
    let account = account(scratch, &parent.thread);
    assert_eq!((account.cost.get(), account.is_overrun), (answers * 1_500_000, false));
    let is_done = record(scratch, &parent.thread).state == ThreadState::Completed;
    assert!(!is_done || account.held.get() == 0, "{account:?}");
}

#[tokio::test]
async fn a_parent_is_told_what_the_last_thread_came_to() {
    let server = server(vec![starts(), writes("a.txt"), says("Written."), says("Done.")]);
    let scratch = tree(Scratch::new(), &server);
    let report = run(&scratch).await;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(server.received().len(), 4);
    let (first, last) = conversation(&scratch, &report);
    assert_eq!(last.state, ThreadState::Completed);
    let told = child_result(&scratch, &report);
    assert_eq!(told["thread"], first.thread.as_str(), "the thread that was started");
    assert_eq!((&told["state"], &told["text"]), (&json!("completed"), &json!("Written.")));
    assert_eq!((&told["turns"], &told["cost_nanos"]), (&json!(2), &json!(3_000_000)));
    check_money(&scratch, &report, 4);
    for thread in [&report.thread, &first.thread, &last.thread] {
        let replayed = scratch.rye().replay(thread).await.unwrap();
        assert_eq!(replayed.divergence, None, "{thread}");
    }
}

/// Runs a tree whose child was continued in another thread, which waits for approval before it writes.
async fn waiting(more: Vec<Answer>) -> (Server, Scratch, RunReport, ThreadId) {
    let read = calls("rye_file_system_write", &json!({"path": "a.txt", "content": 7}));
    let script = [vec![starts(), read, writes("b.txt")], more].concat();
    let server = server(script);
    let scratch = tree(Scratch::new(), &server);
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    scratch.sign(".ai/config/agent/approval.yaml", ask);
    let report = run(&scratch).await;
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    let asked = report.outcome.asked.clone().unwrap().thread;
    let (_, last) = conversation(&scratch, &report);
    assert_eq!(asked, last.thread);
    (server, scratch, report, asked)
}

#[track_caller]
fn check_done(scratch: &Scratch, report: &RunReport, answers: u64) {
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert!(scratch.project().join("b.txt").is_file());
    let (first, _) = conversation(scratch, report);
    let told = child_result(scratch, report);
    assert_eq!(
        (&told["thread"], &told["state"]),
        (&json!(first.thread.as_str()), &json!("completed"))
    );
    check_money(scratch, report, answers);
}

/// The window is full again after the next turn, so the conversation continues once more.
#[tokio::test]
async fn it_goes_on_with_its_parent() {
    let (_server, scratch, report, last) = waiting(vec![says("Written."), says("Done.")]).await;
    scratch.decide(&last, &Decision::Approved);
    let resumed = scratch.resume(&report.thread).await.unwrap();
    check_done(&scratch, &resumed, 5);
}

#[tokio::test]
async fn it_goes_on_alone_and_its_parent_takes_what_it_came_to() {
    let (_server, scratch, report, last) = waiting(vec![says("Written."), says("Done.")]).await;
    let (first, _) = conversation(&scratch, &report);
    scratch.decide(&last, &Decision::Approved);
    let alone = scratch.resume(&first.thread).await.unwrap();
    assert_eq!(alone.outcome.state, ThreadState::Completed, "{:?}", alone.outcome.failure);
    assert_eq!(alone.continues, [last]);
    assert_eq!(alone.parent.as_ref().map(|parent| &parent.thread), Some(&report.thread));
    let third = record(&scratch, &alone.thread);
    assert_eq!(third.parent.as_ref(), Some(&report.thread), "no thread gets above its parent");
    assert_eq!(third.facts["tokens_above"].as_array().map(Vec::len), Some(1));
    let resumed = scratch.resume(&report.thread).await.unwrap();
    check_done(&scratch, &resumed, 5);
}

/// If a program was killed before it started the successor, the resuming process starts it, with the parent
/// or alone.
#[tokio::test]
async fn a_thread_that_was_not_begun_is_begun() {
    for alone in [false, true] {
        let more = vec![writes("b.txt"), says("Written."), says("Done.")];
        let (_server, scratch, report, last) = waiting(more).await;
        let (first, _) = conversation(&scratch, &report);
        std::fs::remove_dir_all(scratch.project().join(".ai/threads").join(last.as_str())).unwrap();
        let resumes = if alone { &first.thread } else { &report.thread };
        let again = scratch.resume(resumes).await.unwrap();
        assert_eq!(again.outcome.asked.map(|asked| asked.thread), Some(last.clone()));
        scratch.decide(&last, &Decision::Approved);
        let resumed = scratch.resume(&report.thread).await.unwrap();
        // The transcript that was removed took the cost of its answer along.
        check_done(&scratch, &resumed, 5);
    }
}

#[tokio::test]
async fn it_is_cancelled_with_its_parent() {
    let (_server, scratch, report, last) = waiting(Vec::new()).await;
    drop(scratch.cancel(&report.thread, &StoppedClock).unwrap());
    for thread in [&report.thread, &last] {
        assert_eq!(record(&scratch, thread).state, ThreadState::Cancelled, "{thread}");
    }
    check_money(&scratch, &report, 3);
}

/// The id of the first thread refers to the latest thread of its conversation.
#[tokio::test]
async fn it_is_decided_by_the_name_that_its_parent_knows() {
    let (_server, scratch, report, _) = waiting(vec![says("Written."), says("Done.")]).await;
    let (first, _) = conversation(&scratch, &report);
    scratch.decide(&first.thread, &Decision::Approved);
    let resumed = scratch.resume(&report.thread).await.unwrap();
    check_done(&scratch, &resumed, 5);
}

#[tokio::test]
async fn it_is_cancelled_by_the_name_that_its_parent_knows() {
    let (_server, scratch, report, last) = waiting(vec![says("Done.")]).await;
    let (first, _) = conversation(&scratch, &report);
    drop(scratch.cancel(&first.thread, &StoppedClock).unwrap());
    assert_eq!(record(&scratch, &last).state, ThreadState::Cancelled);
    let again = scratch.cancel(&first.thread, &StoppedClock).unwrap_err();
    assert!(matches!(again, ReopenError::Ended { .. }), "{again}");
    let resumed = scratch.resume(&report.thread).await.unwrap();
    assert_eq!(resumed.outcome.state, ThreadState::Completed, "{:?}", resumed.outcome.failure);
    assert_eq!(child_result(&scratch, &resumed)["state"], "cancelled");
    check_money(&scratch, &resumed, 4);
}

/// A parent that waits for somebody, after its child took what its own child came to, which went on in another thread.
async fn three(scratch: Scratch) -> (Server, Scratch, RunReport) {
    let start =
        |name: &str| calls("rye_agent_threads_thread_directive", &json!({"directive": name}));
    let fails = calls("rye_file_system_write", &json!({"path": "a.txt", "content": 7}));
    let script = [start("test/middle"), start("test/child"), fails, says("Read."), says("Told.")];
    let server = server([&script[..], &[writes("p.txt"), says("Done.")]].concat());
    let scratch = tree(scratch, &server);
    let middle = "<execute><tool>rye.agent.threads.*</tool><tool>rye.file-system.write</tool><directive>test.*</directive></execute>";
    put(&scratch, "test/middle", &directive("middle", "wide", middle));
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    scratch.sign(".ai/config/agent/approval.yaml", ask);
    let report = run(&scratch).await;
    assert_eq!(report.outcome.asked.clone().unwrap().thread, report.thread);
    (server, scratch, report)
}

/// The child of `parent`.
fn child_of(scratch: &Scratch, parent: &ThreadId) -> ThreadRecord {
    let rye = scratch.rye();
    let reading = rye.thread(&rye.threads().unwrap(), parent).unwrap();
    let spawn = reading.transcript.records.iter().find(|it| it.name() == "spawn_child").unwrap();
    let spawn: Value = serde_json::from_str(spawn.payload.get()).unwrap();
    record(scratch, &spawn["thread"].as_str().unwrap().parse().unwrap())
}

/// A forged thread with the grandchild's name does not count as its result.
#[tokio::test]
async fn an_operator_believes_no_end_that_only_its_own_key_vouches_for() {
    let (_forgers, forger, _) = three(Scratch::new()).await;
    let (_server, scratch, report) = three(Scratch::new().with_operator()).await;
    let middle = child_of(&scratch, &report.thread);
    let last = child_of(&scratch, &middle.thread).continued_by.unwrap();
    let folder = |scratch: &Scratch| scratch.project().join(".ai/threads").join(last.as_str());
    for file in ["thread.json", "transcript.jsonl", "transcript.md"] {
        std::fs::copy(folder(&forger).join(file), folder(&scratch).join(file)).unwrap();
    }
    scratch.decide(&report.thread, &Decision::Approved);
    let resumed = scratch.resume(&report.thread).await.unwrap();
    check_waits(&resumed, &middle.thread, "is signed with a key of its own and not with yours");
}

/// Runs a child whose successor could not be prepared.
async fn waiting_for_a_thread(more: Vec<Answer>) -> (Server, Scratch, RunReport) {
    let write = calls("rye_file_system_write", &json!({"path": "a.txt", "content": 7}));
    let script = [vec![starts(), write, writes("b.txt")], more].concat();
    let server = server(script);
    let scratch = tree(Scratch::new().with_operator(), &server);
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    scratch.sign(".ai/config/agent/approval.yaml", ask);
    let report = run(&scratch).await;
    let (_, last) = conversation(&scratch, &report);
    scratch.make_unbegun(&last.thread);
    (server, scratch, report)
}

/// If the parent or the child is cancelled, the successor is never started.
#[tokio::test]
async fn a_thread_that_was_not_begun_is_ended_with_those_before_it() {
    for names_parent in [true, false] {
        let (server, scratch, report) = waiting_for_a_thread(vec![says("Done.")]).await;
        let (first, last) = conversation(&scratch, &report);
        let named = if names_parent { &report.thread } else { &first.thread };
        let ended = scratch.cancel(named, &StoppedClock).unwrap();
        match names_parent {
            true => assert_eq!((ended.went_on_in, ended.below), (None, vec![last.thread.clone()])),
            false => {
                assert_eq!((ended.went_on_in, ended.below), (Some(last.thread.clone()), vec![]))
            }
        }
        assert_eq!(record(&scratch, &last.thread).state, ThreadState::Cancelled);
        for thread in [&first.thread, &last.thread] {
            let resumed = scratch.resume(thread).await.unwrap_err();
            assert!(matches!(resumed, ReopenError::Ended { .. }), "{resumed}");
        }
        assert_eq!(server.received().len(), 3);
        if !names_parent {
            let resumed = scratch.resume(&report.thread).await.unwrap();
            assert_eq!(
                resumed.outcome.state,
                ThreadState::Completed,
                "{:?}",
                resumed.outcome.failure
            );
            assert_eq!(child_result(&scratch, &resumed)["state"], "cancelled");
            // The transcript that was emptied took the cost of its answer along.
            check_money(&scratch, &resumed, 3);
        }
    }
}

/// A program was stopped after the transcript of the child said that it is continued, and before its record
/// said so.
#[tokio::test]
async fn a_child_that_turns_out_to_be_continued_is_ended_with_the_next_one() {
    let (_server, scratch, report) = waiting_for_a_thread(Vec::new()).await;
    let (first, last) = conversation(&scratch, &report);
    scratch.edit(&first.thread, |record| {
        (record.state, record.continued_by, record.transcript) = (ThreadState::Running, None, None);
        let registry = scratch.project().join(".ai/threads/registry.db");
        rye::thread::Registry::open(&registry).unwrap().enter(record).unwrap();
    });
    let ended = scratch.cancel(&report.thread, &StoppedClock).unwrap();
    assert_eq!(ended.below.as_slice(), std::slice::from_ref(&last.thread));
    assert_eq!(record(&scratch, &first.thread).state, ThreadState::Continued);
    assert_eq!(record(&scratch, &last.thread).state, ThreadState::Cancelled);
}

/// Runs a tree in which the successor of a grandchild starts another thread, while the root waits for
/// approval. Also returns the id of that last thread.
async fn four(more: Vec<Answer>) -> (Server, Scratch, RunReport, ThreadId) {
    let start =
        |name: &str| calls("rye_agent_threads_thread_directive", &json!({"directive": name}));
    let fails = calls("rye_file_system_write", &json!({"path": "a.txt", "content": 7}));
    let down = vec![start("test/middle"), start("test/child"), fails, start("test/leaf")];
    let up = vec![says("Leaf."), says("Read."), says("Told."), writes("p.txt")];
    let server = server([down, up, more].concat());
    let scratch = tree(Scratch::new(), &server);
    let starts = "<execute><tool>rye.agent.threads.*</tool><tool>rye.file-system.write</tool><directive>test.*</directive></execute>";
    put(&scratch, "test/middle", &directive("middle", "wide", starts));
    put(&scratch, "test/child", &directive("child", "narrow", starts));
    put(&scratch, "test/leaf", &directive("leaf", "wide", ""));
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    scratch.sign(".ai/config/agent/approval.yaml", ask);
    let report = run(&scratch).await;
    assert_eq!(report.outcome.asked.clone().map(|asked| asked.thread), Some(report.thread.clone()));
    let middle = child_of(&scratch, &report.thread).thread;
    let later = child_of(&scratch, &middle).continued_by.unwrap();
    let leaf = child_of(&scratch, &later).thread;
    (server, scratch, report, leaf)
}

/// This also holds for threads that another program started.
#[tokio::test]
async fn threads_below_those_that_go_on_are_known_to_those_above() {
    let (_server, _scratch, _report, leaf) = four(Vec::new()).await;
    let result = calls("rye_agent_threads_result", &json!({"thread": leaf.as_str()}));
    let (_server, scratch, report, same) = four(vec![result, says("Done.")]).await;
    assert_eq!(leaf, same, "its name is made of those above it");
    scratch.decide(&report.thread, &Decision::DENIED);
    let resumed = scratch.resume(&report.thread).await.unwrap();
    assert_eq!(resumed.outcome.state, ThreadState::Completed, "{:?}", resumed.outcome.failure);
    let events = scratch.events(&resumed);
    let result = events.iter().rfind(|(name, _)| name == "tool_call_result").unwrap();
    assert_eq!(result.1["content"]["text"], "Leaf.", "{}", result.1);
}
