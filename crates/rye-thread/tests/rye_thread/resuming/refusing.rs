//! Threads that are not driven on, or not as they were.

use rye_sign::chain::{Head, sign_checkpoint};

use super::*;

#[tokio::test]
async fn rule_10_a_resume_names_what_changed_since() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let half = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(40).unwrap().0 + 1;
    let mut cut = whole.cut(&bytes[..half]);
    cut.limits.turns = 41;
    let error = cut.resume("Begin otherwise.").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the thread cannot go on as it began, because this changed since: its limits, its first message; undo the \
         change, or start the directive again"
    );
    assert_eq!(cut.bytes(), &bytes[..half], "nothing was added");
    assert_eq!(cut.effects(), [""; 0]);
}

#[tokio::test]
async fn an_ended_thread_is_not_driven_on() {
    let world = World::new();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let before = world.effects().len();
    // `thread.json` was not written any more: it is, from what the transcript says.
    let found = world.resume("Begin.").await.unwrap();
    assert_eq!(found.state, ThreadState::Completed);
    assert_eq!(world.effects().len(), before);
    let text = String::from_utf8(world.bytes()).unwrap();
    assert_eq!(text.matches(r#""event":"thread_complete""#).count(), 1);
}

/// Records that are signed and still make no run: a call result that nobody asked for.
#[tokio::test]
async fn records_that_contradict_each_other_are_refused() {
    let world = World::new();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let forged = World { key: Arc::clone(&world.key), ..World::new() };
    let ownership = forged.store.acquire(&thread_id(), &thread_id()).unwrap();
    let records = world.reading().records;
    let mut head = Head::genesis();
    let kept = records.iter().filter(|record| {
        record.name() != "step_finish" && (record.seq < 4 || record.name() != "checkpoint")
    });
    for (seq, record) in (0..).zip(kept.take(7)) {
        let payload = match record.name() {
            "checkpoint" => {
                sign_checkpoint(&head, seq, thread_id().as_str(), &world.key).unwrap().to_json()
            }
            _ => serde_json::from_str(record.payload.get()).unwrap(),
        };
        let line = json!({
            "seq": seq, "ts": record.at.to_string(), "thread_id": thread_id().as_str(), "directive": "test/greet",
            "event": record.name(), "payload": payload,
            "prev": head.to_string(),
        })
        .to_string();
        head = head.link(line.as_bytes());
        forged.store.append(&ownership, format!("{line}\n").as_bytes()).unwrap();
    }
    forged.store.release(&ownership);
    let error = forged.resume("Begin.").await.unwrap_err();
    assert!(matches!(error, ResumeError::Contradiction { record: 6, .. }), "{error}");
}

/// Whoever sent the folder may have put a link in the place of the readable transcript, which would lead what is written
/// elsewhere: it is left alone, whether there is something at its other end or not, and the thread goes on without the file.
#[cfg(unix)]
#[tokio::test]
async fn a_link_is_not_written_through() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let half = line_ends(&bytes).nth(39).unwrap();
    for there in [true, false] {
        let cut = whole.cut(&bytes[..half]);
        let folder = cut.place.path().join(thread_id().as_str());
        let (link, elsewhere) = (folder.join("transcript.md"), cut.place.path().join("elsewhere"));
        std::fs::create_dir_all(&folder).unwrap();
        if there {
            std::fs::write(&elsewhere, "kept").unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(outcome(&found), outcome(&expected));
        assert_eq!(
            found.warnings,
            [format!(
                "cannot write `{}`: it is not a plain file; remove it; `transcript.jsonl` is complete, and resuming the \
                 thread writes the file again",
                link.display()
            )]
        );
        let found = std::fs::read_to_string(&elsewhere).ok();
        assert_eq!(found.as_deref(), there.then_some("kept"));
        assert!(link.is_symlink());
    }
}
