//! The timeline as text.

use rye_types::Moment;
use rye_view::{Charset, Signer, Source, export};
use serde_json::json;

use crate::pages::everything;
use crate::recording::{CHILD, Recording, begun, limits, reply, used};

fn timeline(recording: &Recording, charset: Charset) -> String {
    let (record, reading) = (recording.record(), recording.reading());
    let source = Source::new(&record, &reading, Signer::Trusted, Moment::from_unix_millis(0));
    export::timeline(&source, charset)
}

#[test]
fn turns_waits_children_and_money_are_bars() {
    for (name, charset) in [("ascii", Charset::Ascii), ("blocks", Charset::Blocks)] {
        let text = timeline(&everything(), charset);
        assert_eq!(text.is_ascii(), charset == Charset::Ascii, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(name, text);
    }
}

/// Times that no clock gives do not make the picture fail, and texts cannot command the terminal.
#[test]
fn hostile_records_are_drawn() {
    let mut recording = Recording::begin();
    recording
        .turn(1)
        .add("request_retried", json!({ "turn": 1, "attempt": 2, "attempts": 4, "class": "overloaded", "message": "\u{1b}[31m", "hint_millis": null, "wait_millis": i64::MAX, "cost_nanos": u64::MAX, "reserved_nanos": 0 }))
        .add("spawn_child", json!({ "call_id": "x", "thread": CHILD, "directive": "\u{1b}[31m\u{202e}\nz", "async": false, "limits": limits() }))
        .add_after("user_message", json!({ "text": "" }), u64::MAX)
        .checkpoint();
    let text = timeline(&recording, Charset::Ascii);
    assert!(text.contains("child U+001B [31mU+202E") && !text.contains('\u{1b}'), "{text}");
}

/// The request of a reply that cannot be read has ended, and cost what its record says.
#[test]
fn an_unreadable_reply_is_drawn_like_any_other() {
    let drawn = |reply| {
        let mut recording = Recording::begin();
        recording
            .add("step_start", begun(1, 20_000_000))
            .wait(1_000)
            .add("step_finish", json!({ "turn": 1, "reply": reply, "cost_nanos": 10_000_000 }))
            .call("a", "x/y", json!({}), json!("z"))
            .wait(5_000)
            .add("user_message", json!({ "text": "more" }));
        timeline(&recording, Charset::Ascii)
    };
    assert_eq!(drawn(json!(7)), drawn(reply(used(0, 0))));
}
