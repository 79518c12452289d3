//! What a thread leaves on disk.

use std::fs;
use std::sync::{Arc, Mutex};

use rye_sign::SigningKey;
use rye_thread::store::{LocalStore, Store, StoreError};
use rye_thread::transcript::payload::Injected;
use rye_thread::transcript::read_file;
use rye_thread::{
    FailureKind, Journal, JournalError, RecordError, Registry, ThreadRecord, ToolOutput,
};
use rye_types::{Effect, LimitSet, Moment, Nanos, ThreadState};
use serde_json::{Value, json};

use crate::doubles::{Function, Thread, call, calls, echo, returns, says, score, thread_id, tool};

#[tokio::test]
async fn events_in_order() {
    let driven = Thread::new(vec![
        calls(vec![call("1", "a_echo", json!({"n": 1}))]),
        says("Done?"),
        calls(vec![returns("2", json!({"score": 1}))]),
    ])
    .with(echo("a/echo", Effect::Once))
    .returning(score())
    .drive()
    .await;
    driven.check_consistent();
    assert_eq!(
        driven.events(),
        [
            "thread_start",
            "system_prompt",
            "user_message",
            "checkpoint",
            "step_start",
            "step_finish",
            "tool_call_start",
            "tool_call_result",
            "checkpoint",
            "step_start",
            "assistant_text",
            "step_finish",
            "user_message",
            "checkpoint",
            "step_start",
            "step_finish",
            "tool_call_start",
            "tool_call_result",
            "checkpoint",
            "thread_complete",
            "checkpoint",
        ]
    );
    let start = &driven.payloads("thread_start")[0];
    assert_eq!(start["palette"], json!({"a_echo": "a/echo"}));
    assert_eq!(start["tools"].as_array().map(Vec::len), Some(3));
    assert_eq!(driven.payloads("system_prompt")[0]["text"], "Be brief.");
    assert_eq!(driven.payloads("step_finish")[0]["reply"]["raw"], json!([{"text": ""}]));
    let done = &driven.payloads("thread_complete")[0];
    assert_eq!((&done["outputs"], &done["turns"]), (&json!({"score": 1}), &json!(3)));
}

/// What a tool gives back is on record, where it can be read again.
#[tokio::test]
async fn a_result_is_no_deeper_than_can_be_read() {
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    for (levels, kept) in [(64, nested(64)), (65, too_deep()), (126, too_deep()), (500, too_deep())]
    {
        let deep = nested(levels);
        let driven = Thread::new(vec![calls(vec![call("1", "a_deep", json!({}))]), says("Done.")])
            .with(tool("a/deep", Effect::ReadOnly, move |_| ToolOutput::ok(deep.clone())))
            .drive()
            .await;
        driven.check_consistent();
        let result = &driven.payloads("tool_call_result")[0];
        assert_eq!((&result["content"], &result["is_error"]), (&kept, &json!(levels > 64)));
    }
}

fn too_deep() -> Value {
    json!({"error": "the tool ran, and its result is nested deeper than 64 levels, which is not kept"})
}

#[tokio::test]
async fn what_the_caller_knows_is_on_record() {
    let mut thread = Thread::new(vec![says("Hello.")]);
    thread.injected = vec![
        Injected::new(Some("rye/identity"), "system", "00ff"),
        Injected::new(None, "before", "11"),
    ];
    thread.facts.insert("unverified".to_owned(), json!(true));
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(
        driven.payloads("context_injected"),
        [
            json!({"item_id": "rye/identity", "position": "system", "sha256": "00ff"}),
            json!({"item_id": null, "position": "before", "sha256": "11"}),
        ]
    );
    assert_eq!(driven.payloads("thread_start")[0]["facts"], json!({"unverified": true}));
    assert_eq!(driven.record().facts["unverified"], true);
}

/// A tool finds its own intent on disk when it runs, and no receipt.
#[tokio::test]
async fn rule_18_the_intent_is_on_disk_before_the_effect() {
    let thread =
        Thread::new(vec![calls(vec![call("1", "a_look", json!({"n": 7}))]), says("Seen.")]);
    let path =
        thread.place.path().join("threads").join(thread_id().as_str()).join("transcript.jsonl");
    let seen = Arc::new(Mutex::new(String::new()));
    let keep = Arc::clone(&seen);
    let looking = Function(move |_| {
        *keep.lock().unwrap() = fs::read_to_string(&path).unwrap();
        async { ToolOutput::ok(json!(null)) }
    });
    let driven = thread.with(tool("a/look", Effect::Once, looking)).drive().await;
    driven.check_consistent();
    let seen = seen.lock().unwrap();
    let last: Value = serde_json::from_str(seen.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["event"], &last["payload"]),
        (
            &json!("tool_call_start"),
            &json!({
                "call_id": "1",
                "name": "a_look",
                "arguments": {"n": 7},
                "target": {"item_id": "a/look", "capability": "rye.execute.tool.a.look", "effect": "once"},
            })
        )
    );
}

#[tokio::test]
async fn an_edited_transcript_is_located() {
    let driven = Thread::new(vec![says("Hello.")]).drive().await;
    let path = driven.folder().join("transcript.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().position(|line| line.contains("assistant_text")).unwrap();
    fs::write(&path, text.replace("Hello.", "Other.")).unwrap();
    let record = driven.record();
    let keys = [driven.public_key()];
    let damage =
        rye_thread::transcript::read(&fs::read(&path).unwrap(), &record.thread, &keys).unwrap_err();
    assert_eq!(
        damage.record,
        u64::try_from(line + 1).unwrap(),
        "the record after the edited one does not follow"
    );
}

#[tokio::test]
async fn the_readable_transcript() {
    let driven =
        Thread::new(vec![calls(vec![call("1", "a_echo", json!({"n": 1}))]), says("Hello.")])
            .with(echo("a/echo", Effect::Once))
            .drive()
            .await;
    driven.check_consistent();
    // Scenario: one call and a text. The mark shows where the file ends.
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("transcript.md", format!("{}∎", driven.markdown()));
    });
}

fn journal_in(
    place: &std::path::Path,
    key: &Arc<SigningKey>,
    store: Arc<dyn Store>,
) -> (Journal, Arc<Registry>) {
    let registry = Arc::new(Registry::open(&place.join("registry.db")).unwrap());
    let at = Moment::from_unix_millis(1_000);
    let mut record = ThreadRecord::new(&thread_id(), "test/greet", &LimitSet::default(), at);
    record.facts.insert("inputs".to_owned(), json!({"name": "World"}));
    let journal = Journal::create(
        &place.join("threads"),
        record,
        Arc::clone(key),
        Arc::clone(&registry),
        store,
    )
    .unwrap();
    (journal, registry)
}

#[test]
fn rule_08_a_thread_that_cannot_be_prepared_has_a_short_transcript() {
    let place = tempfile::tempdir().unwrap();
    let key = Arc::new(SigningKey::generate().unwrap());
    let store = Arc::new(LocalStore::open(&place.path().join("threads")).unwrap());
    let (journal, registry) = journal_in(place.path(), &key, store);
    let folder = journal.folder().to_owned();
    assert!(!folder.join("thread.json").exists() && registry.list().unwrap().is_empty());
    journal.fail("risk `elevated` is not acknowledged", Moment::from_unix_millis(2_000)).unwrap();
    let record = ThreadRecord::read(&folder, &[key.public()]).unwrap();
    assert_eq!(record.state, ThreadState::Error);
    let failure = record.failure.clone().unwrap();
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Preparation, "risk `elevated` is not acknowledged")
    );
    assert_eq!(record.transcript.as_ref().map(|claim| claim.records), Some(4));
    assert_eq!(record.facts["inputs"], json!({"name": "World"}));
    let mut known = record;
    known.transcript = None;
    assert_eq!(derived(&folder, &key), known);
    assert_eq!(registry.show(&thread_id()).unwrap().unwrap().state, ThreadState::Error);
    let stranger = SigningKey::generate().unwrap();
    let refused = ThreadRecord::read(&folder, &[stranger.public()]);
    assert!(matches!(refused, Err(RecordError::Unverified { .. })));
}

/// Computes the record from the transcript.
fn derived(folder: &std::path::Path, key: &SigningKey) -> ThreadRecord {
    let path = folder.join("transcript.jsonl");
    let reading = read_file(&path, &thread_id(), &[key.public()]).unwrap();
    ThreadRecord::from_transcript(&reading).unwrap()
}

/// Without that end another process could begin it once `thread.json` is lost.
#[test]
fn rule_08_a_thread_that_is_ended_before_it_begins_has_a_short_transcript() {
    let place = tempfile::tempdir().unwrap();
    let key = Arc::new(SigningKey::generate().unwrap());
    let store = Arc::new(LocalStore::open(&place.path().join("threads")).unwrap());
    let (journal, registry) = journal_in(place.path(), &key, store);
    let folder = journal.folder().to_owned();
    journal.cancel(Nanos::ZERO, Moment::from_unix_millis(2_000)).unwrap();
    let record = ThreadRecord::read(&folder, &[key.public()]).unwrap();
    assert_eq!(record.state, ThreadState::Cancelled);
    assert_eq!(record.transcript.clone().map(|claim| claim.records), Some(4));
    let mut known = record;
    known.transcript = None;
    assert_eq!(derived(&folder, &key), known);
    assert_eq!(registry.show(&thread_id()).unwrap().unwrap().state, ThreadState::Cancelled);
}

#[test]
fn a_thread_has_a_new_folder() {
    let place = tempfile::tempdir().unwrap();
    let threads = place.path().join("threads");
    let key = Arc::new(SigningKey::generate().unwrap());
    let store = Arc::new(LocalStore::open(&threads).unwrap());
    let (journal, registry) = journal_in(place.path(), &key, store.clone());
    let folder = journal.folder().to_owned();
    let record = journal.record().clone();
    let again = || {
        let (key, registry, store) = (Arc::clone(&key), Arc::clone(&registry), store.clone());
        Journal::create(&threads, record.clone(), key, registry, store)
    };
    let held = again().unwrap_err();
    assert!(matches!(held, JournalError::Store(StoreError::Held { .. })), "{held}");
    journal.cancel(Nanos::ZERO, Moment::from_unix_millis(2_000)).unwrap();
    let message = format!(
        "cannot create the thread's folder `{}`; each run needs a new folder",
        folder.display()
    );
    assert_eq!(again().unwrap_err().to_string(), message);
    fs::remove_file(folder.join("thread.json")).unwrap();
    assert_eq!(again().unwrap_err().to_string(), message);
}

/// A process that was killed leaves the folder, and at most a part of the first record.
#[test]
fn rule_08_the_owner_uses_a_folder_without_one_whole_record() {
    let place = tempfile::tempdir().unwrap();
    let threads = place.path().join("threads");
    let key = Arc::new(SigningKey::generate().unwrap());
    let store = Arc::new(LocalStore::open(&threads).unwrap());
    let folder = threads.join(thread_id().as_str());
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("transcript.jsonl"), "{\"seq\":0,").unwrap();
    let (journal, _) = journal_in(place.path(), &key, store);
    journal.cancel(Nanos::ZERO, Moment::from_unix_millis(2_000)).unwrap();
    assert_eq!(derived(&folder, &key).state, ThreadState::Cancelled);
}
