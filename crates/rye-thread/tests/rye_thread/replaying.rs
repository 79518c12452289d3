//! Threads held against their record.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rye_thread::{Asking, Cancel};

use crate::world::{World, cuts};

/// Nothing is asked and nothing happens, and what the model saw is the same.
#[tokio::test]
async fn a_replay_is_what_happened() {
    for asking in [Asking::Never, Asking::Always] {
        let mut world = World::new();
        world.asking = asking;
        world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
        let (asked, effects, bytes) =
            (world.model.asked.load(Ordering::Relaxed), world.effects(), world.bytes());
        let replayed = world.replay("", "").await;
        assert_eq!(replayed.divergence, None);
        assert_eq!((replayed.turns, &replayed.recorded), (20, &replayed.replayed));
        assert_eq!(world.model.asked.load(Ordering::Relaxed), asked, "nothing is requested");
        assert_eq!(world.effects(), effects, "nothing happens");
        assert_eq!(world.bytes(), bytes, "nothing is recorded");
    }
}

/// One recorded text changed: the first thing that differs from what the loop makes of it is named.
#[tokio::test]
async fn a_replay_names_the_first_divergence() {
    let world = World::new();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let rows = [
        (r#""text":"Be brief.""#, r#""text":"Be long.""#, "the system prompt"),
        (r#""text":"Begin.""#, r#""text":"End.""#, "the first message"),
        (
            r#"{"id":"a1","name":"a_once","arguments":{"read":{"n":1}}}"#,
            r#"{"id":"a1","name":"a_once","arguments":{"read":{"n":99}}}"#,
            "call 1 of turn 2",
        ),
        (r#"{"id":"a1","name":"a_once""#, r#"{"id":"a1","name":"a_set""#, "call 1 of turn 2"),
        (
            "another call of the same turn failed",
            "one call of the same turn failed",
            "the result of call 2 of turn 5",
        ),
        (r#"{"score":{"read":7}}"#, r#"{"score":{"read":7}}"#, ""),
        (
            r#""arguments":{"read":{"score":7}}"#,
            r#""arguments":{"read":{"score":8}}"#,
            "call 1 of turn 20",
        ),
        (r#""outputs":{"score":7}"#, r#""outputs":{"score":8}"#, "the end"),
    ];
    for (from, to, what) in rows {
        let replayed = world.replay(from, to).await;
        let found = replayed.divergence.map_or(String::new(), |divergence| divergence.what);
        assert_eq!(found, what, "{from}");
        assert_eq!(replayed.recorded == replayed.replayed, what.is_empty(), "{from}");
    }
}

#[tokio::test]
async fn a_thread_with_a_record_that_cannot_be_read_is_not_replayed() {
    let world = World::new();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let refused = world.try_replay(r#""text":"Be brief.""#, r#""text":7"#).await.unwrap_err();
    let told = "cannot be used: its event `system_prompt` cannot be read";
    assert!(refused.to_string().contains(told), "{refused}");
}

/// Whatever is there of a thread can be replayed.
#[tokio::test]
async fn half_a_thread_is_replayed_as_far_as_it_came() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    for end in cuts(&bytes) {
        let replayed = whole.cut(&bytes[..end]).replay("", "").await;
        assert_eq!(replayed.divergence, None, "cut at {end}");
    }
}
