//! Conversations that become too long for one thread.

use rye::thread::{Decision, ThreadId};
use rye::types::{SpendLimit, ThreadState};
use rye::{ProviderChoice, ReopenError, RunReport};
use rye_tests::{Scratch, StoppedClock};
use serde_json::{Value, json};

use super::model::{answer, provider, server, tool_use};
use super::server::{Answer, Received, Server};

fn directive(metadata: &str) -> String {
    format!(
        r#"# Greet

```xml
<directive name="greet" version="1.0.0">
  <metadata>
    <description>Writes a greeting.</description>
    <model tier="fast" />{metadata}
    <permissions><execute><tool>rye.file-system.write</tool></execute></permissions>
  </metadata>
  <outputs><output name="path" type="string" required="true">The file</output></outputs>
</directive>
```

Write a greeting to a file of your choice.
"#
    )
}

/// Answers of a model that reasons and writes a file, and in the next thread returns outputs.
fn answers() -> Vec<Answer> {
    let thinking =
        json!({ "type": "thinking", "thinking": "A secret thought.", "signature": "c2ln" });
    let text = json!({ "type": "text", "text": "I write </last_text> it." });
    let write = tool_use(
        "call_1",
        "rye_file_system_write",
        &json!({ "path": "ada.txt", "content": "Hello Ada" }),
    );
    vec![answer(&json!([thinking, text, write]), "tool_use"), returning()]
}

fn returning() -> Answer {
    let returns = json!({
        "item_type": "tool", "item_id": "rye/agent/threads/directive_return", "parameters": { "path": "ada.txt" },
    });
    answer(&json!([tool_use("call_2", "rye_execute", &returns)]), "tool_use")
}

fn scratch(server: &Server, metadata: &str) -> Scratch {
    prepare(Scratch::new(), server, metadata)
}

fn with_operator(server: &Server) -> Scratch {
    prepare(Scratch::new().with_operator(), server, "")
}

fn prepare(scratch: Scratch, server: &Server, metadata: &str) -> Scratch {
    scratch.sign(".ai/directives/test/greet.md", &directive(metadata));
    let narrow = provider(server).replace("context_window: 100000", "context_window: 1200");
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &narrow);
    scratch
}

async fn run(scratch: &Scratch) -> RunReport {
    let local = |request: &mut rye::RunRequest| {
        request.provider = ProviderChoice::Named("local".to_owned());
    };
    scratch.run_with("test/greet", &[], local).await.unwrap()
}

fn bodies(server: &Server) -> Vec<Value> {
    server.received().iter().map(Received::json).collect()
}

/// The successor gets the same first message and a summary of the work, but no reasoning and no new budget.
#[tokio::test]
async fn a_full_conversation_goes_on_in_a_new_thread() {
    let server = server(answers());
    let scratch = scratch(&server, "");
    let report = run(&scratch).await;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(report.continues.len(), 1);
    let bodies = bodies(&server);
    let first = bodies[0]["messages"][0]["content"].as_str().map(Value::from);
    let first = first.unwrap_or_else(|| bodies[0]["messages"][0]["content"][0]["text"].clone());
    let second = &bodies[1]["messages"][0]["content"];
    assert_eq!(bodies[1]["system"], bodies[0]["system"]);
    assert_eq!(bodies[1]["tools"], bodies[0]["tools"]);
    assert_eq!(bodies[1]["messages"].as_array().unwrap().len(), 1);
    assert_eq!(second[0]["text"], first);
    let told = second[1]["text"].as_str().unwrap();
    assert!(
        told.contains(
            "- called rye/file-system/write with {\"path\":\"ada.txt\",\"content\":\"Hello Ada\"}"
        ),
        "{told}"
    );
    assert!(told.contains("I write &lt;/last_text> it."), "{told}");
    assert!(!bodies[1].to_string().contains("secret thought"));

    let rye = scratch.rye();
    let threads = rye.threads().unwrap();
    let before = rye.thread(&threads, &report.continues[0]).unwrap().record;
    let after = rye.thread(&threads, &report.thread).unwrap().record;
    assert_eq!(before.state, ThreadState::Continued);
    assert_eq!(before.continued_by.as_ref(), Some(&report.thread));
    assert_eq!(after.continues.as_ref(), Some(&report.continues[0]));
    assert_eq!((before.limits.turns, after.limits.turns), (10, 9));
    assert_eq!(after.limits.tokens, before.limits.tokens - 1_100);
    let left = match (before.limits.spend, after.limits.spend) {
        (SpendLimit::AtMost(before), SpendLimit::AtMost(after)) => before.saturating_sub(after),
        other => panic!("{other:?}"),
    };
    assert_eq!(left, before.cost);

    for thread in [&report.continues[0], &report.thread] {
        let replayed = rye.replay(thread).await.unwrap();
        assert_eq!(replayed.divergence, None, "{thread}");
        assert_eq!(replayed.turns, 1);
    }
    assert_eq!(server.received().len(), 2, "a replay requests nothing");
}

/// If a program was killed before it started the successor, resuming the first thread starts it.
#[tokio::test]
async fn a_thread_that_was_not_begun_is_begun_when_the_first_is_resumed() {
    let mut script = answers();
    script.push(returning());
    let server = server(script);
    let scratch = scratch(&server, "");
    let report = run(&scratch).await;
    let first = report.continues[0].clone();
    let second = report.thread.clone();
    std::fs::remove_dir_all(&report.folder).unwrap();
    let resumed = scratch.resume(&first).await.unwrap();
    assert_eq!(resumed.thread, second);
    assert_eq!(resumed.outcome.state, ThreadState::Completed, "{:?}", resumed.outcome.failure);
    let ended = scratch.resume(&first).await.unwrap_err();
    assert!(matches!(ended, ReopenError::Ended { thread, .. } if thread == second));
}

/// A continuation directive replaces the default instructions, and hooks add to it.
#[tokio::test]
async fn a_directive_of_ones_own_says_how_to_go_on() {
    let server = server(answers());
    let scratch = scratch(&server, "<continuation_directive>test/on</continuation_directive>");
    scratch.sign(
        ".ai/directives/test/on.md",
        "# On\n\n```xml\n<directive name=\"on\" version=\"1.0.0\"><metadata><description>Goes on.</description></metadata><inputs><input name=\"turns\" type=\"integer\" required=\"true\" /></inputs></directive>\n```\n\nAfter {input:turns} turns, go on.\n",
    );
    scratch.sign(
        ".ai/knowledge/test/house.md",
        "```yaml\nname: house\ntitle: T\nentry_type: note\ncategory: test\nversion: \"1.0.0\"\n```\n\nBe kind.\n",
    );
    scratch.sign(
        ".ai/config/agent/hooks.yaml",
        "hooks:\n  - {id: again, event: thread_continued, position: after, action: {primary: load, item_type: knowledge, item_id: test/house}}\n",
    );
    let report = run(&scratch).await;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    let bodies = bodies(&server);
    let told = bodies[1]["messages"][0]["content"][1]["text"].as_str().unwrap();
    assert_eq!(
        told,
        "<directive name=\"on\">\n<description>Goes on.</description>\nAfter 1 turns, go on.\n</directive>\n\n<House id=\"test/house\" type=\"knowledge\">\nBe kind.\n</House>"
    );
    assert!(!bodies[0].to_string().contains("Be kind."));
    assert_eq!(scratch.rye().replay(&report.thread).await.unwrap().divergence, None);
}

/// A missing continuation directive is an error before any request is sent.
#[tokio::test]
async fn a_continuation_directive_must_be_there() {
    let server = server(answers());
    let scratch = scratch(&server, "<continuation_directive>test/on</continuation_directive>");
    let local = |request: &mut rye::RunRequest| {
        request.provider = ProviderChoice::Named("local".to_owned());
    };
    let error = scratch.run_with("test/greet", &[], local).await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.starts_with("directive `test/on` not found"), "{source}");
    assert!(server.received().is_empty());
}

/// Runs a conversation whose first thread was continued, and whose second thread could not be prepared.
async fn cut_before_the_second(scratch: &Scratch) -> (ThreadId, ThreadId) {
    let report = run(scratch).await;
    scratch.make_unbegun(&report.thread);
    (report.continues[0].clone(), report.thread)
}

/// No call waits in a thread that was not started, and it is never started once its conversation was
/// cancelled.
#[tokio::test]
async fn a_thread_that_was_not_begun_can_be_ended() {
    for is_there in [true, false] {
        let server = server(answers());
        let scratch = with_operator(&server);
        let (first, second) = cut_before_the_second(&scratch).await;
        let threads = scratch.project().join(".ai/threads");
        if !is_there {
            std::fs::remove_dir_all(threads.join(second.as_str())).unwrap();
        }
        for decision in [Decision::Approved, Decision::DENIED] {
            let refused = scratch.try_decide(&first, &decision).unwrap_err();
            let expected = format!(
                "no call of thread `{first}` waits for a decision; it goes on in `{second}`, which `rye resume {first}` begins"
            );
            assert_eq!(refused.to_string(), expected);
        }
        let ended = scratch.cancel(&first, &StoppedClock).unwrap();
        assert_eq!((ended.went_on_in.as_ref(), ended.below.len()), (Some(&second), 0));
        let rye = scratch.rye();
        let after = rye.thread(&threads, &second).unwrap().record;
        assert_eq!((after.state, after.continues.as_ref()), (ThreadState::Cancelled, Some(&first)));
        for thread in [&first, &second] {
            let again = scratch.cancel(thread, &StoppedClock).unwrap_err();
            assert!(
                matches!(&again, ReopenError::Ended { thread, .. } if *thread == second),
                "{again}"
            );
            let resumed = scratch.resume(thread).await.unwrap_err();
            assert!(
                matches!(&resumed, ReopenError::Ended { thread, .. } if *thread == second),
                "{resumed}"
            );
        }
        assert_eq!(server.received().len(), 2);
    }
}

#[tokio::test]
async fn rule_09_a_successor_belongs_to_the_tree_of_its_predecessor() {
    let server = server(answers());
    let scratch = with_operator(&server);
    let report = run(&scratch).await;
    let [first] = &report.continues[..] else { panic!("{:?}", report.continues) };
    let rye = scratch.rye();
    let reading = rye.thread(&rye.threads().unwrap(), &report.thread).unwrap();
    assert_eq!(&reading.record.root, first);
    assert_eq!(rye::thread::recorded_root(&reading.transcript).as_ref(), Some(first));
    assert!(!reading.folder.join("lock").exists());
}
