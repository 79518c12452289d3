//! Threads that are opened again, with their items, their ancestors and their successors.

use rye::sign::{SigningKey, TrustDocument};
use rye::thread::{Decision, FailureKind, Registry, ThreadId, ThreadRecord};
use rye::types::{Nanos, ThreadState};
use rye::{ProviderChoice, ReopenError, RunError, RunReport, with_signature};
use rye_tests::{Scratch, StoppedClock};
use serde_json::json;

use super::model::{answer, provider, server, tool_use};
use super::server::{Answer, Server};

const GREET: &str = r#"# Greet

```xml
<directive name="greet" version="1.0.0">
  <metadata>
    <description>Writes a greeting.</description>
    <model tier="fast" /><continuation_directive>test/on</continuation_directive>
    <permissions><execute><tool>rye.file-system.write</tool><tool>rye.agent.threads.*</tool><directive>test.*</directive></execute></permissions>
  </metadata>
</directive>
```

Write a greeting to a file of your choice.
"#;

const CHILD: &str = r#"# Child

```xml
<directive name="child" version="1.0.0">
  <metadata>
    <description>Writes a file.</description><model tier="fast" />
    <permissions><execute><tool>rye.file-system.write</tool></execute></permissions>
  </metadata>
</directive>
```

Write a file.
"#;

/// A continuation directive that requires an input of this name.
fn on(input: &str) -> String {
    format!(
        "# On\n\n```xml\n<directive name=\"on\" version=\"1.0.0\"><metadata><description>Goes on.</description></metadata><inputs><input name=\"{input}\" required=\"true\" /></inputs></directive>\n```\n\nGo on after {{input:{input}}}.\n"
    )
}

fn write() -> Answer {
    let input = json!({"path": "ada.txt", "content": "Hello Ada"});
    answer(&json!([tool_use("call_1", "rye_file_system_write", &input)]), "tool_use")
}

fn says(text: &str) -> Answer {
    answer(&json!([{"type": "text", "text": text}]), "end_turn")
}

/// A project whose model has a context window that one turn fills.
fn narrow(scratch: Scratch, server: &Server) -> Scratch {
    scratch.sign(".ai/directives/test/greet.md", GREET);
    scratch.sign(".ai/directives/test/child.md", CHILD);
    let narrow = provider(server).replace("context_window: 100000", "context_window: 1200");
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &narrow);
    scratch
}

async fn run(scratch: &Scratch) -> Result<RunReport, RunError> {
    let local = |request: &mut rye::RunRequest| {
        request.provider = ProviderChoice::Named("local".to_owned());
    };
    scratch.run_with("test/greet", &[], local).await
}

const FIRST: &str = "greet-019a0000-0000-7000-8000-000000000001";

fn first() -> ThreadId {
    FIRST.parse().unwrap()
}

/// Once the problem that kept the successor from starting is repaired, resuming the first thread starts it.
#[tokio::test]
async fn a_continuation_that_failed_to_begin_is_begun_again() {
    for is_operators in [false, true] {
        let server = server(vec![write(), says("Done.")]);
        let scratch = if is_operators { Scratch::new().with_operator() } else { Scratch::new() };
        let scratch = narrow(scratch, &server);
        scratch.sign(".ai/directives/test/on.md", &on("nothing_of_the_sort"));
        let error = run(&scratch).await.unwrap_err();
        let RunError::Prepare { thread: Some(next), .. } = error else { panic!("{error:?}") };
        let record = |thread: &ThreadId| {
            let rye = scratch.rye();
            rye.thread(&rye.threads().unwrap(), thread).unwrap().record
        };
        let failed = record(&next);
        assert_eq!(failed.failure.unwrap().kind, FailureKind::Preparation);
        assert_eq!(failed.continues, Some(first()));
        let still = scratch.resume(&first()).await.unwrap_err();
        assert!(matches!(still, ReopenError::Continue(RunError::Prepare { .. })), "{still:?}");

        scratch.sign(".ai/directives/test/on.md", &on("thread"));
        let resumed = scratch.resume(&first()).await.unwrap();
        assert_eq!(resumed.thread, next);
        assert_eq!(resumed.outcome.state, ThreadState::Completed, "{:?}", resumed.outcome.failure);
        assert_eq!((record(&next).state, record(&next).failure), (ThreadState::Completed, None));
        let ended = scratch.resume(&first()).await.unwrap_err();
        assert!(matches!(ended, ReopenError::Ended { thread, .. } if thread == next));
    }
}

/// If a program was killed after it made the folder of the successor and before its record, the successor can
/// still start.
#[tokio::test]
async fn a_folder_without_a_record_is_not_in_the_way() {
    let server = server(vec![write(), says("Done.")]);
    let scratch = narrow(Scratch::new(), &server);
    scratch.sign(".ai/directives/test/on.md", &on("nothing_of_the_sort"));
    let RunError::Prepare { thread: Some(next), .. } = run(&scratch).await.unwrap_err() else {
        panic!("it begins")
    };
    let folder = scratch.project().join(".ai/threads").join(next.as_str());
    std::fs::remove_file(folder.join("thread.json")).unwrap();
    scratch.sign(".ai/directives/test/on.md", &on("thread"));
    let resumed = scratch.resume(&first()).await.unwrap();
    assert_eq!((resumed.thread, resumed.outcome.state), (next, ThreadState::Completed));
}

/// The signer of the continuation directive limits the successor, and so all children of it, even one that is
/// resumed alone.
#[tokio::test]
async fn a_child_of_a_continuation_goes_on_alone() {
    let spawn = tool_use(
        "call_2",
        "rye_agent_threads_thread_directive",
        &json!({"directive": "test/child"}),
    );
    let script = vec![write(), answer(&json!([spawn]), "tool_use"), write(), says("Written.")];
    let server = server(script);
    let scratch = narrow(Scratch::new().with_operator(), &server);
    let guest = SigningKey::generate().unwrap();
    let granted = [
        "rye.execute.tool.rye.file-system.write",
        "rye.execute.tool.rye.agent.threads.*",
        "rye.execute.directive.test.*",
    ];
    let document =
        TrustDocument::new("the guest", guest.public()).with_grants(granted.map(str::to_owned));
    let file = format!(".ai/config/keys/trusted/{}.toml", guest.public().key_id());
    scratch.put_user(&file, &document.to_toml());
    let path = ".ai/directives/test/on.md";
    let at = "2026-11-20T00:00:00Z".parse().unwrap();
    scratch.put(
        path,
        &with_signature(&scratch.project().join(path), &on("thread"), &guest, at).unwrap(),
    );
    // The second thread's window is as small, and its child must wait for approval before it writes.
    scratch.sign(
        ".ai/config/agent/approval.yaml",
        "ask:\n  - rye.execute.tool.rye.file-system.write\n",
    );
    let report = run(&scratch).await.unwrap();
    let asked = report.outcome.asked.unwrap();
    assert_eq!(asked.thread, first());
    scratch.decide(&first(), &Decision::Approved);
    let report = scratch.resume(&first()).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    let child = report.outcome.asked.unwrap().thread;
    assert_ne!(child, report.thread);
    scratch.decide(&child, &Decision::Approved);
    let alone = scratch.resume(&child).await.unwrap();
    assert_eq!(alone.continues, [child], "a turn fills its window, too");
    assert_eq!(alone.outcome.state, ThreadState::Completed, "{:?}", alone.outcome.failure);
}

/// Runs a parent and a child that waits for approval, and returns the ids of both.
async fn waiting() -> (Scratch, ThreadId, ThreadId) {
    let spawn = tool_use(
        "call_1",
        "rye_agent_threads_thread_directive",
        &json!({"directive": "test/child"}),
    );
    let server = server(vec![answer(&json!([spawn]), "tool_use"), write()]);
    let scratch = narrow(Scratch::new().with_operator(), &server);
    scratch.sign(".ai/directives/test/on.md", &on("thread"));
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    scratch.sign(".ai/config/agent/approval.yaml", ask);
    let report = run(&scratch).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    let child = report.outcome.asked.unwrap().thread;
    (scratch, report.thread, child)
}

/// A thread that waits for its child's approval signs its whole transcript, because another process may
/// resume it.
#[tokio::test]
async fn a_thread_that_waits_for_its_child_is_sealed() {
    let (scratch, parent, child) = waiting().await;
    let rye = scratch.rye();
    for thread in [parent, child] {
        let reading = rye.thread(&rye.threads().unwrap(), &thread).unwrap().transcript;
        let records = u64::try_from(reading.records.len()).unwrap();
        assert_eq!(reading.signed, records - 1, "{thread}: the last record signs all before it");
    }
}

/// Changes the parent of a record and removes its token, which names the true parent.
fn begun_by(record: &mut ThreadRecord, parent: &ThreadId) {
    record.parent = Some(parent.clone());
    record.facts.remove("token");
}

/// Circular records, which no run writes, are reported and do not cause an endless loop.
#[tokio::test]
async fn records_in_circles_are_told() {
    type Forge = fn(&Scratch, &ThreadId, &ThreadId);
    let rows: [(&str, Forge, &str); 4] = [
        (
            "a thread that started itself",
            |it, _, child| {
                it.edit(child, |record| begun_by(record, child));
            },
            "it stands above itself",
        ),
        (
            "two threads that started each other",
            |it, parent, child| {
                it.edit(parent, |record| begun_by(record, child));
            },
            "it stands above itself",
        ),
        (
            "a thread that continues itself",
            |it, _, child| {
                it.edit(child, |record| {
                    (record.state, record.continued_by) =
                        (ThreadState::Continued, Some(child.clone()));
                });
            },
            "it goes on in itself",
        ),
        (
            "two threads that continue each other",
            |it, parent, child| {
                for (one, other) in [(parent, child), (child, parent)] {
                    it.edit(one, |record| {
                        (record.state, record.continued_by) =
                            (ThreadState::Continued, Some(other.clone()));
                    });
                }
            },
            "it goes on in itself",
        ),
    ];
    for (name, forge, told) in rows {
        let (scratch, parent, child) = waiting().await;
        forge(&scratch, &parent, &child);
        let error = scratch.resume(&child).await.unwrap_err();
        assert!(matches!(error, ReopenError::Unrepeatable { .. }), "{name}: {error}");
        assert!(error.to_string().ends_with(told), "{name}: {error}");
    }
}

/// A record of the operator's own names a thread as its successor that knows nothing of that.
#[tokio::test]
async fn a_successor_names_its_predecessor() {
    let (scratch, parent, child) = waiting().await;
    scratch.edit(&parent, |record| {
        record.state = ThreadState::Continued;
        record.continued_by = Some(child.clone());
    });
    let error = scratch.resume(&parent).await.unwrap_err();
    let ReopenError::NotItsSuccessor { thread, next } = &error else { panic!("{error}") };
    assert_eq!((thread, next), (&parent, &child));
    assert_eq!(error.class(), rye::Class::Refused);
}

/// As when their programs were killed, whose records do not know what was spent: the accounts do.
#[tokio::test]
async fn threads_that_are_cancelled_say_what_they_cost() {
    let (scratch, parent, child) = waiting().await;
    let threads = scratch.project().join(".ai/threads");
    let record = |thread: &ThreadId| scratch.rye().thread(&threads, thread).unwrap().record;
    let costs = [&parent, &child].map(|thread| record(thread).cost);
    assert!(!costs.contains(&Nanos::ZERO), "{costs:?}");
    for thread in [&parent, &child] {
        scratch.edit(thread, |record| {
            record.state = ThreadState::Running;
            (record.cost, record.transcript) = (Nanos::ZERO, None);
        });
    }
    scratch.cancel(&parent, &StoppedClock).unwrap();
    let all = record(&parent);
    let below = record(&child);
    assert_eq!(below.cost, costs[1]);
    assert_eq!(all.cost, costs[0], "its child's is its own, too");
    assert!(below.cost < all.cost, "{below:?}");
    let registry = Registry::open(&threads.join("registry.db")).unwrap();
    assert_eq!(registry.show(&parent).unwrap().unwrap().cost, all.cost);
}
