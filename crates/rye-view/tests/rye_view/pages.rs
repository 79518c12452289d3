//! Pages of threads: what is shown, and what is not shown as verified.

use rye_view::Signer;
use serde_json::json;

use crate::recording::{CHILD, Recording, begun, reply, text_of, used};
use crate::trajectories::trajectory;

/// A thread with everything that a page shows in its own way.
pub(crate) fn everything() -> Recording {
    let mut recording = Recording::begin();
    recording
        .turn(1)
        .add("assistant_reasoning", json!({ "text": "First the tests." }))
        .add("assistant_text", json!({ "text": "I run `cargo test`.\n\nThen I edit." }))
        .call("a", "rye/bash/bash", json!({ "command": "cargo test" }), json!({ "exit_code": 0, "stdout": "ok\n", "stderr": "" }))
        .call("b", "rye/file-system/edit", json!({ "path": "Cargo.toml", "edits": [] }),
            json!({ "path": "Cargo.toml", "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-2.3\n+2.4\n" }))
        .call("c", "rye/file-system/read", json!({ "path": "none" }), json!({ "failed": true, "message": "not there" }))
        .checkpoint()
        .add("step_start", begun(2, 20_000_000))
        .wait(300)
        .add("request_retried", json!({ "turn": 2, "attempt": 2, "attempts": 4, "class": "overloaded", "message": "529", "hint_millis": null, "wait_millis": 700, "cost_nanos": 0, "reserved_nanos": 20_000_000 }))
        .wait(1_700)
        .add("step_finish", json!({ "turn": 2, "reply": reply(used(10, 5)), "cost_nanos": 5_000_000 }))
        .intent("d", "rye/agent/threads/thread_directive", json!({ "directive": "release/notes" }))
        .add("spawn_child", json!({
            "call_id": "d", "thread": CHILD, "directive": "release/notes", "async": false,
            "limits": { "turns": 1, "tokens": 1, "spend_nanos": "unlimited", "duration_seconds": 1, "spawns": 0, "depth": 0 },
        }))
        .wait(2_000)
        .add("child_ended", json!({ "thread": CHILD, "state": "completed", "cost_nanos": 2_000_000, "records": 5, "head": "00" }))
        .add("tool_call_result", json!({ "call_id": "d", "name": "x", "content": "done", "is_error": false, "refusal": null }))
        .add("approval_requested", json!({ "call_id": "e", "item_id": "rye/file-system/write", "arguments": { "path": "R.md" }, "arguments_sha256": "4f3ebae8", "reason": "configured" }))
        .wait(60_000)
        .add_after("approval_decided", json!({ "call_id": "e", "arguments_sha256": "4f3ebae8", "decision": "approved", "by": "command" }), 60_000)
        .checkpoint()
        .call("e", "rye/file-system/write", json!({ "path": "R.md" }), json!({ "bytes": 3 }))
        .add_ignorable("a_later_event", json!({ "new": true }))
        .end();
    recording
}

#[test]
fn a_thread_with_everything() {
    insta::assert_snapshot!(text_of(&everything().page()));
}

#[track_caller]
fn check(page: &str, shown: &[&str], absent: &[&str]) {
    for text in shown {
        assert!(page.contains(text), "`{text}` is not on the page");
    }
    for text in absent {
        assert!(!page.contains(text), "`{text}` is on the page");
    }
}

#[test]
fn a_signed_thread_is_verified_and_a_tail_is_linked_only() {
    let mut recording = Recording::begin();
    check(
        &recording.page(),
        &["<strong>Verified</strong>", "4 of 4 records, 1 checkpoint"],
        &["linked"],
    );
    recording.turn(1);
    check(
        &recording.page(),
        &[
            "<strong>Verified to record 3</strong>",
            "2 records after it, linked but not signed yet",
            "No checkpoint signs it yet.",
        ],
        &["<strong>Verified</strong>"],
    );
}

/// A key that only this thread names shows changes, and not who wrote it.
#[test]
fn a_thread_under_its_own_key_is_not_called_verified() {
    let page = Recording::begin().page_of(Signer::OwnKey);
    check(
        &page,
        &["<strong>Linked, not verified. </strong>", "made for this thread"],
        &["<strong>Verified", "href=\"#i-seal\"", "signature valid"],
    );
}

/// The axis is active time: an approval wait of a minute takes none of it.
#[test]
fn waits_do_not_count_as_time() {
    let page = everything().page();
    check(&page, &["Approval waits 1 m 00 s, folded", "over 7.0 s of active time"], &[]);
}

#[test]
fn a_call_that_waits_is_shown_with_its_arguments_and_the_command() {
    let mut recording = Recording::begin();
    recording
        .turn(1)
        .add("approval_requested", json!({ "call_id": "e", "item_id": "rye/file-system/write", "arguments": { "path": "R.md" }, "arguments_sha256": "4f3ebae8", "reason": "configured" }))
        .checkpoint();
    let page = recording.page();
    let command = format!("rye approve {} --call ", crate::recording::THREAD);
    check(&page, &["1 call waits for approval", "rec ask", "waits for a decision", &command], &[]);
    check(&page, &["Asked because", "the configuration asks before each call of it"], &[BEGAN]);
}

#[test]
fn a_decision_has_the_icon_of_what_it_does() {
    for (decision, icon) in
        [("approved", "completed"), ("approved_in_thread", "completed"), ("denied", "cancelled")]
    {
        let mut recording = Recording::begin();
        recording
            .turn(1)
            .add("approval_requested", json!({ "call_id": "e", "item_id": "x/y", "arguments": {}, "arguments_sha256": "4f3ebae8", "reason": "configured" }))
            .add("approval_decided", json!({ "call_id": "e", "arguments_sha256": "4f3ebae8", "decision": decision, "by": "command" }))
            .checkpoint();
        let page = recording.page();
        let (before, _) = page.split_once(" by command").unwrap();
        let (_, shown) = before.rsplit_once("#i-").unwrap();
        assert!(shown.starts_with(icon), "{decision}: {shown}");
    }
}

/// The clause about a call that was cut off.
const BEGAN: &str =
    "it began before and may have happened, and an approval may do it a second time";

/// SPEC 14.1: the page and the trajectory say of a call that was cut off that it may have happened.
#[test]
fn a_call_that_began_before_says_so() {
    let mut recording = Recording::begin();
    recording
        .turn(1)
        .add("approval_requested", json!({ "call_id": "e", "item_id": "rye/file-system/write", "arguments": { "path": "R.md" }, "arguments_sha256": "4f3ebae8", "reason": "interrupted" }))
        .checkpoint();
    check(&recording.page(), &["Asked because", BEGAN], &["the configuration asks"]);
    let trajectory = trajectory(&recording).to_string();
    assert!(trajectory.contains(&format!("waits for a decision: {BEGAN}")), "{trajectory}");
}

/// A picture with thousands of spans joins those that no eye tells apart.
#[test]
fn a_long_thread_has_a_bounded_picture() {
    let mut recording = Recording::begin();
    for turn in 1..=1_000 {
        let id = format!("c{turn}");
        recording.turn(turn).call(&id, "rye/bash/bash", json!({ "command": "true" }), json!("ok"));
    }
    let page = recording.end().page();
    let (_, picture) = page.split_once("<svg class=\"fl\"").unwrap();
    let (picture, _) = picture.split_once("</div>").unwrap();
    assert!(picture.matches("<rect").count() < 700, "{}", picture.matches("<rect").count());
    check(&page, &["id=\"t1000\""], &[]);
}

/// A page with a whole tree has each id once, and a link from each call to the child that it started.
#[test]
fn a_page_with_its_tree_holds_the_children() {
    let (parent, mut child) = (everything(), Recording::begin_as(CHILD));
    child.turn(1).add("assistant_text", json!({ "text": "Said by the child." })).end();
    let (record, reading) = (parent.record(), parent.reading());
    let (child_record, child_reading) = (child.record(), child.reading());
    let now = rye_types::Moment::from_unix_millis(0);
    let mut source = rye_view::Source::new(&record, &reading, Signer::Trusted, now);
    source.children =
        vec![rye_view::Source::new(&child_record, &child_reading, Signer::Trusted, now)];
    let page = rye_view::export::html_tree(&source);
    check(
        &page,
        &[
            "Said by the child.",
            &format!("id=\"thread-{CHILD}\""),
            &format!("href=\"#thread-{CHILD}\""),
            "id=\"c1-r6\"",
            "href=\"#c1-p6\"",
        ],
        &[],
    );
    let ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "an id stands twice");
    assert!(!rye_view::export::html(&source).contains("Said by the child."));
}
