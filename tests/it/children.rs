//! Threads that start threads, on real files and without a model.

mod cancelling;
mod continuing;
mod owning;

use std::time::Duration;

use rye::thread::{Cancel, Clock, Decision, ThreadId};
use rye::types::{Moment, ThreadState};
use rye::{Host, ProviderChoice, RunReport, RunRequest};
use rye_tests::{Scratch, StoppedClock};
use serde_json::{Value, json};

/// A directive whose steps call these tools, with parameters as JSON.
fn directive(name: &str, permissions: &str, calls: &[(&str, Value)], extra: &str) -> String {
    let step = |(place, (tool, parameters)): (usize, &(&str, Value))| {
        let given = parameters.as_object().unwrap().iter().map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("<param name=\"{name}\">{}</param>", text.replace('<', "&lt;"))
        });
        let given: String = given.collect();
        format!(
            "  <step name=\"s{place}\">\n    <description>Do.</description>\n    \
             <execute item_type=\"tool\" item_id=\"{tool}\">{given}</execute>\n  </step>\n"
        )
    };
    let steps: String = calls.iter().enumerate().map(step).collect();
    let last = name.rsplit('/').next().unwrap();
    format!(
        "# {last}\n\n```xml\n<directive name=\"{last}\" version=\"1.0.0\">\n  <metadata>\n    <description>For a \
         test.</description>\n    <permissions>{permissions}</permissions>\n    {extra}\n  </metadata>\n</directive>\n```\n\n\
         <process>\n{steps}</process>\n"
    )
}

const SPAWN: &str = "rye/agent/threads/thread_directive";
const PARENT: &str = "<execute><tool>rye.agent.threads.*</tool><tool>rye.file-system.write</tool><directive>test.*</directive></execute>";
const CHILD: &str = "<execute><tool>rye.file-system.write</tool></execute>";

fn write(path: &str) -> (&'static str, Value) {
    ("rye/file-system/write", json!({"path": path, "content": "x"}))
}

fn put(scratch: &Scratch, name: &str, text: &str) {
    scratch.sign(&format!(".ai/directives/{name}.md"), text);
}

#[tokio::test]
async fn a_child_runs_and_its_result_is_the_calls() {
    let scratch = Scratch::new();
    put(&scratch, "test/child", &directive("test/child", CHILD, &[write("a.txt")], ""));
    let calls = [(SPAWN, json!({"directive": "test/child"}))];
    put(&scratch, "test/parent", &directive("test/parent", PARENT, &calls, ""));
    let report = scratch.run("test/parent", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert!(scratch.project().join("a.txt").is_file());
    let events = scratch.events(&report);
    let spawned = events.iter().find(|(name, _)| name == "spawn_child").unwrap();
    let result = events.iter().find(|(name, _)| name == "tool_call_result").unwrap();
    assert_eq!(result.1["content"]["thread"], spawned.1["thread"]);
    assert_eq!(result.1["content"]["state"], "completed");
}

/// The event has the length and the hash of the child's transcript, and is written before the result of the
/// call.
#[tokio::test]
async fn rule_04_a_parent_records_the_end_of_a_child_that_is_on_disk() {
    let scratch = Scratch::new();
    put_parent_and_child(&scratch);
    let report = scratch.run("test/parent", &[]).await.unwrap();
    let events = scratch.events(&report);
    let place = |event: &str| events.iter().position(|(name, _)| name == event).unwrap();
    assert!(place("spawn_child") < place("child_ended"), "{events:?}");
    assert!(place("child_ended") < place("tool_call_result"), "{events:?}");
    let ended = &events[place("child_ended")].1;
    let rye = scratch.rye();
    let child = ended["thread"].as_str().unwrap().parse().unwrap();
    let child = rye.thread(&rye.threads().unwrap(), &child).unwrap();
    assert_eq!(ended["state"], child.record.state.as_str());
    assert_eq!(ended["cost_nanos"], child.record.cost.get());
    assert_eq!(ended["records"], child.transcript.records.len());
    assert_eq!(ended["head"], child.transcript.head.to_string());
}

fn results(events: &[(String, Value)]) -> Vec<&Value> {
    let found = events.iter().filter(|(name, _)| name == "tool_call_result");
    found.map(|(_, payload)| payload).collect()
}

/// Runs a parent that makes these calls, and returns their results.
async fn run_calls(
    scratch: &Scratch,
    permissions: &str,
    limits: &str,
    calls: &[(&str, Value)],
) -> (Vec<Value>, rye::RunReport) {
    put(scratch, "test/parent", &directive("test/parent", permissions, calls, limits));
    let report = scratch.run("test/parent", &[]).await.unwrap();
    let events = scratch.events(&report);
    let told = results(&events).into_iter().cloned().collect();
    (told, report)
}

/// A child may do only what both its own declaration and its parent allow (SPEC D6).
#[tokio::test]
async fn a_child_never_exceeds_its_parent() {
    let all = "<execute><tool>rye.file-system.*</tool><tool>rye.agent.threads.*</tool><directive>test.*</directive></execute>";
    let write_only = "<execute><tool>rye.file-system.write</tool></execute>";
    let read_only = "<execute><tool>rye.file-system.read</tool></execute>";
    let spawn_only =
        "<execute><tool>rye.agent.threads.*</tool><directive>test.*</directive></execute>";
    // The grants of the parent and of the child, and `true` if the child can write its file.
    let rows = [
        ("both", PARENT, write_only, true),
        ("a child that declares more", PARENT, all, true),
        ("a parent that may not write", spawn_only, write_only, false),
        ("a child that widens its grant", spawn_only, all, false),
        ("a child that does not declare it", PARENT, read_only, false),
        ("a child that declares nothing", PARENT, "", false),
    ];
    for (name, parent, child, writes) in rows {
        let scratch = Scratch::new();
        put(&scratch, "test/child", &directive("test/child", child, &[write("a.txt")], ""));
        let calls = [(SPAWN, json!({"directive": "test/child"}))];
        let (told, report) = run_calls(&scratch, parent, "", &calls).await;
        assert_eq!(scratch.project().join("a.txt").is_file(), writes, "{name}: {told:?}");
        assert_eq!(told[0]["is_error"], !writes, "{name}");
        let state = if writes { ThreadState::Completed } else { ThreadState::Error };
        assert_eq!(report.outcome.state, state, "{name}");
    }
}

/// A grandchild exceeds neither of its ancestors.
#[tokio::test]
async fn nor_does_a_grandchild() {
    let scratch = Scratch::new();
    let middle = "<execute><tool>rye.agent.threads.*</tool><directive>test.*</directive></execute>";
    put(&scratch, "test/leaf", &directive("test/leaf", CHILD, &[write("a.txt")], ""));
    let calls = [(SPAWN, json!({"directive": "test/leaf"}))];
    put(&scratch, "test/child", &directive("test/child", middle, &calls, ""));
    let calls = [(SPAWN, json!({"directive": "test/child"}))];
    let (told, _) = run_calls(&scratch, PARENT, "", &calls).await;
    assert!(!scratch.project().join("a.txt").exists(), "{told:?}");
    let message = told[0]["content"]["error"].as_str().unwrap();
    assert!(message.contains("the ancestor thread `child-"), "{message}");
}

#[tokio::test]
async fn calls_that_start_no_child() {
    let without_directive = "<execute><tool>rye.agent.threads.*</tool></execute>";
    let without_tool = "<execute><directive>test.*</directive></execute>";
    let rows = [
        (PARENT, "", json!({"directive": "test/none"}), "not found"),
        (PARENT, "", json!({"directive": "../x"}), "`directive`"),
        (PARENT, "", json!({"directive": "test/child", "inputs": {"n": 1}}), "input"),
        (PARENT, "", json!({"directive": "test/unsigned"}), "directive `test/unsigned` cannot run"),
        (
            PARENT,
            "",
            json!({"directive": "other/x"}),
            "is not allowed by the directive `test/parent`",
        ),
        (
            without_directive,
            "",
            json!({"directive": "test/child"}),
            "rye.execute.directive.test.child",
        ),
        (
            without_tool,
            "",
            json!({"directive": "test/child"}),
            "rye.execute.tool.rye.agent.threads.thread_directive",
        ),
        (
            PARENT,
            "<limits depth=\"0\"/>",
            json!({"directive": "test/child"}),
            "limit `depth` reached",
        ),
        (
            PARENT,
            "<limits spawns=\"0\"/>",
            json!({"directive": "test/child"}),
            "limit `spawns` reached: 0 of 0",
        ),
    ];
    for (permissions, limits, arguments, message) in rows {
        let scratch = Scratch::new();
        put(&scratch, "test/child", &directive("test/child", CHILD, &[write("a.txt")], ""));
        let text = directive("test/unsigned", CHILD, &[write("a.txt")], "");
        scratch.put(".ai/directives/test/unsigned.md", &text);
        let (told, _) = run_calls(&scratch, permissions, limits, &[(SPAWN, arguments)]).await;
        let error = told[0]["content"]["error"].as_str().unwrap();
        assert!(error.contains(message), "{message}: {error}");
        assert!(!scratch.project().join("a.txt").exists());
    }
}

/// A directive that starts itself ends at the depth limit.
#[tokio::test]
async fn recursion_is_bounded_by_depth() {
    let scratch = Scratch::new();
    let calls = [(SPAWN, json!({"directive": "test/parent"}))];
    let (_, report) = run_calls(&scratch, PARENT, "<limits depth=\"3\"/>", &calls).await;
    assert_eq!(report.outcome.state, ThreadState::Error);
    let threads = std::fs::read_dir(scratch.project().join(".ai/threads")).unwrap();
    let folders = threads.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(folders, 4, "the first and three below it");
    let failure = report.outcome.failure.unwrap().message;
    assert!(
        failure.contains("limit `depth` reached: no thread may be started below this one"),
        "{failure}"
    );
}

/// A child gets the limits that are asked for, but never more than its parent has left.
#[tokio::test]
async fn limits_are_capped_by_the_parents() {
    let parent = "<limits turns=\"6\" tokens=\"5000\" spend=\"0.20\" duration_seconds=\"90\" spawns=\"4\" depth=\"3\"/>";
    let none = [6, 5_000, 200_000_000, 90, 4, 2];
    let rows = [
        ("nothing is asked for", "", json!({}), none),
        (
            "the child wants more",
            "<limits turns=\"99\" tokens=\"999999\" spend=\"9\" duration_seconds=\"9999\" spawns=\"99\" depth=\"99\"/>",
            json!({}),
            none,
        ),
        (
            "the child wants less",
            "<limits turns=\"2\" tokens=\"100\" spend=\"0.01\" duration_seconds=\"9\" spawns=\"1\" depth=\"1\"/>",
            json!({}),
            [2, 100, 10_000_000, 9, 1, 1],
        ),
        (
            "the call wants more",
            "",
            json!({"turns": 99, "tokens": 999_999, "spend": "9", "duration_seconds": 9_999, "spawns": 99, "depth": 99}),
            none,
        ),
        (
            "the call wants less",
            "<limits turns=\"5\"/>",
            json!({"turns": 3, "tokens": 7, "spend": "0.1", "duration_seconds": 1, "spawns": 0, "depth": 0}),
            [3, 7, 100_000_000, 1, 0, 0],
        ),
        (
            "spending is not unlimited below a limit",
            "<limits spend=\"unlimited\"/>",
            json!({}),
            none,
        ),
    ];
    for (name, child, asked, expected) in rows {
        let scratch = Scratch::new();
        put(&scratch, "test/child", &directive("test/child", CHILD, &[write("a.txt")], child));
        let calls = [(SPAWN, json!({"directive": "test/child", "limits": asked}))];
        put(&scratch, "test/parent", &directive("test/parent", PARENT, &calls, parent));
        let report = scratch.run("test/parent", &[]).await.unwrap();
        let events = scratch.events(&report);
        let limits = &events.iter().find(|(name, _)| name == "spawn_child").unwrap().1["limits"];
        let keys = ["turns", "tokens", "spend_nanos", "duration_seconds", "spawns", "depth"];
        let found =
            keys.map(|key| limits[key]["at_most"].as_u64().or(limits[key].as_u64()).unwrap());
        assert_eq!(found, expected, "{name}");
    }
}

/// If an asynchronous child has no spend limit of its own, the parent keeps half of its money.
#[tokio::test]
async fn an_asynchronous_child_is_awaited_and_shares() {
    let scratch = Scratch::new();
    put(&scratch, "test/child", &directive("test/child", CHILD, &[write("a.txt")], ""));
    let calls = [
        (SPAWN, json!({"directive": "test/child", "async": true})),
        ("rye/agent/threads/list", json!({})),
    ];
    let (told, report) = run_calls(&scratch, PARENT, "", &calls).await;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(told[0]["content"]["state"], "running");
    assert_eq!(told[1]["content"]["threads"][0]["thread"], told[0]["content"]["thread"]);
    assert!(scratch.project().join("a.txt").is_file(), "the parent ended after its child");
    let threads = scratch.project().join(".ai/threads");
    let child = told[0]["content"]["thread"].as_str().unwrap().parse().unwrap();
    let record = scratch.rye().thread(&threads, &child).unwrap().record;
    assert_eq!(record.state, ThreadState::Completed);
    assert_eq!(record.parent, Some(report.thread));
    assert_eq!(record.limits.spend.to_owned(), "0.25".parse().unwrap());
}

/// The id of the first child, as a reference in a later step.
const FIRST: &str = "${steps.s0.thread}";

#[tokio::test]
async fn children_are_looked_after() {
    let scratch = Scratch::new();
    put(&scratch, "test/child", &directive("test/child", CHILD, &[write("a.txt")], ""));
    let of = |name: &'static str| (name, json!({"thread": FIRST}));
    let calls = [
        (SPAWN, json!({"directive": "test/child", "async": true})),
        of("rye/agent/threads/status"),
        (
            "rye/agent/threads/wait",
            json!({"threads": format!("[\"{FIRST}\"]"), "timeout_seconds": 60}),
        ),
        of("rye/agent/threads/result"),
        of("rye/agent/threads/cancel"),
    ];
    let (told, report) = run_calls(&scratch, PARENT, "", &calls).await;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(told[1]["content"]["parent"], report.thread.as_str());
    assert_eq!(told[2]["content"]["timed_out"], false);
    assert_eq!(told[2]["content"]["threads"][0]["state"], "completed");
    assert_eq!(told[3]["content"]["state"], "completed");
    assert_eq!(told[4]["content"]["state"], "completed", "an ended thread stays as it is");
}

/// The refusal of a thread that is not a descendant is the same as for one that does not exist.
#[tokio::test]
async fn other_threads_are_as_if_they_were_not_there() {
    for tool in ["status", "result", "cancel"] {
        let scratch = Scratch::new();
        put(&scratch, "test/child", &directive("test/child", CHILD, &[write("a.txt")], ""));
        // A thread of the same project that the parent did not start.
        let other = scratch.run_with("test/child", &[], |request| {
            request.provider = rye::ProviderChoice::Steps;
            request.thread = OTHER.parse().unwrap();
        });
        assert_eq!(other.await.unwrap().outcome.state, ThreadState::Completed);
        for thread in [OTHER, "child-019a0000-0000-7000-8000-0000000000ff", "no id"] {
            let scratch_call = [(&*format!("rye/agent/threads/{tool}"), json!({"thread": thread}))];
            put(&scratch, "test/parent", &directive("test/parent", PARENT, &scratch_call, ""));
            drop(std::fs::remove_dir_all(
                scratch.project().join(".ai/threads/parent-019a0000-0000-7000-8000-000000000001"),
            ));
            drop(std::fs::remove_file(scratch.project().join(".ai/threads/registry.db")));
            let report = scratch.run("test/parent", &[]).await.unwrap();
            let events = scratch.events(&report);
            let error = results(&events)[0]["content"]["error"].as_str().unwrap();
            assert_eq!(error, format!("no thread `{thread}` was started by this one or below it"));
        }
    }
}

const OTHER: &str = "child-019a0000-0000-7000-8000-0000000000aa";

/// Runs a parent whose child waits for approval before it writes.
async fn waiting(scratch: &Scratch) -> (RunReport, ThreadId) {
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    scratch.sign(".ai/config/agent/approval.yaml", ask);
    put_parent_and_child(scratch);
    let report = scratch.run("test/parent", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    let asked = report.outcome.asked.clone().unwrap();
    (report, asked.thread)
}

fn put_parent_and_child(scratch: &Scratch) {
    put(scratch, "test/child", &directive("test/child", CHILD, &[write("a.txt")], ""));
    let calls = [(SPAWN, json!({"directive": "test/child"}))];
    put(scratch, "test/parent", &directive("test/parent", PARENT, &calls, ""));
}

/// Checks that the parent waits for its child, and that a warning gives the reason.
#[track_caller]
fn check_waits(report: &RunReport, child: &ThreadId, reason: &str) {
    assert_eq!(report.outcome.state, ThreadState::Running, "{:?}", report.outcome.failure);
    let lead = format!("thread `{child}` does not go on for now: ");
    let told = report.warnings.iter().find(|warning| warning.starts_with(&lead));
    assert!(told.is_some_and(|told| told.contains(reason)), "{:?}", report.warnings);
}

#[tokio::test]
async fn a_child_that_waits_for_approval_goes_on_with_its_parent() {
    let scratch = Scratch::new();
    let (report, child) = waiting(&scratch).await;
    assert_ne!(child, report.thread);
    scratch.decide(&child, &Decision::Approved);
    let resumed = scratch.resume(&report.thread).await.unwrap();
    assert_eq!(resumed.outcome.state, ThreadState::Completed, "{:?}", resumed.outcome.failure);
    assert!(scratch.project().join("a.txt").is_file());
    let events = scratch.events(&resumed);
    assert_eq!(events.iter().filter(|(name, _)| name == "spawn_child").count(), 1);
}

/// A problem that keeps a child from resuming may be repaired, so it does not end the parent.
#[tokio::test]
async fn a_child_that_cannot_go_on_leaves_its_parent_to_go_on_later() {
    let scratch = Scratch::new();
    let (report, child) = waiting(&scratch).await;
    scratch.decide(&child, &Decision::Approved);
    put(&scratch, "test/child", &directive("test/child", CHILD, &[write("b.txt")], ""));
    let resumed = scratch.resume(&report.thread).await.unwrap();
    check_waits(&resumed, &child, "changed since it began");
    put_parent_and_child(&scratch);
    let resumed = scratch.resume(&report.thread).await.unwrap();
    assert_eq!(resumed.outcome.state, ThreadState::Completed, "{:?}", resumed.outcome.failure);
    assert!(scratch.project().join("a.txt").is_file());
}

/// A forged thread with the child's name does not count as the child's result.
#[tokio::test]
async fn an_operator_believes_no_child_that_only_its_own_key_vouches_for() {
    let forger = Scratch::new();
    put_parent_and_child(&forger);
    let forged = forger.run("test/parent", &[]).await.unwrap();
    assert_eq!(forged.outcome.state, ThreadState::Completed);
    let scratch = Scratch::new().with_operator();
    let (report, child) = waiting(&scratch).await;
    let folder = |scratch: &Scratch| scratch.project().join(".ai/threads").join(child.as_str());
    for file in ["thread.json", "transcript.jsonl", "transcript.md"] {
        std::fs::copy(folder(&forger).join(file), folder(&scratch).join(file)).unwrap();
    }
    let resumed = scratch.resume(&report.thread).await.unwrap();
    check_waits(&resumed, &child, "is signed with a key of its own and not with yours");
    assert!(!scratch.project().join("a.txt").exists());
}

/// A child that is resumed alone still spends its parent's reservation.
#[tokio::test]
async fn a_child_that_goes_on_alone_is_settled_below_its_parent() {
    let scratch = Scratch::new();
    let (report, child) = waiting(&scratch).await;
    scratch.decide(&child, &Decision::Approved);
    let alone = scratch.resume(&child).await.unwrap();
    assert_eq!(alone.outcome.state, ThreadState::Completed, "{:?}", alone.outcome.failure);
    let resumed = scratch.resume(&report.thread).await.unwrap();
    assert_eq!(resumed.outcome.state, ThreadState::Completed, "{:?}", resumed.outcome.failure);
    let results = scratch.events(&resumed);
    let result = results.iter().find(|(name, _)| name == "tool_call_result").unwrap();
    assert_eq!(result.1["content"]["state"], "completed");
}

/// A clock whose time of day jumps by hours once a file exists, while its elapsed time stands still. It
/// simulates a long approval wait.
struct Hours(std::path::PathBuf);

impl Clock for Hours {
    fn now(&self) -> Moment {
        let hours = if self.0.exists() { 5 } else { 0 };
        Moment::from_unix_millis(StoppedClock.now().as_unix_millis() + hours * 3_600_000)
    }
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// An approval wait beyond the thread's time limit does not count as its time, so it can still start a child.
#[tokio::test]
async fn a_thread_starts_another_one_after_its_first_token_has_ended() {
    let scratch = Scratch::new();
    put(&scratch, "test/child", &directive("test/child", CHILD, &[write("b.txt")], ""));
    let calls = [write("a.txt"), (SPAWN, json!({"directive": "test/child"}))];
    put(&scratch, "test/parent", &directive("test/parent", PARENT, &calls, ""));
    let hours = Hours(scratch.project().join("a.txt"));
    let cancel = Cancel::new();
    let thread: ThreadId = "parent-019a0000-0000-7000-8000-000000000001".parse().unwrap();
    let mut request = RunRequest::new("test/parent".parse().unwrap(), thread);
    request.provider = ProviderChoice::Steps;
    let host = Host { clock: &hours, ..scratch.host(&cancel) };
    let report = scratch.rye().run(request, host).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    let events = scratch.events(&report);
    assert_eq!(results(&events)[1]["content"]["state"], "completed", "{:?}", results(&events));
    let spawned = events.iter().find(|(name, _)| name == "spawn_child").unwrap();
    let child: ThreadId = spawned.1["thread"].as_str().unwrap().parse().unwrap();
    let rye = scratch.rye();
    let token = rye.thread(&rye.threads().unwrap(), &child).unwrap().token.unwrap();
    assert!(token.claims().issued < token.claims().expires, "{:?}", token.claims());
}
