//! The question with which a thread waits, and what was decided about it (SPEC 10.11, 14.1).

use super::samples::sample;
use super::*;
use crate::payload::{Asked, Decided};
use crate::{ApprovalReason, ApprovalRequest, DecidedApproval, Decider, Decision, Spawn, Waiting};

fn request(call: &str) -> ApprovalRequest {
    ApprovalRequest::new(&thread(), call, "a/b", &json!({"x": 1}), ApprovalReason::Configured)
}

fn asked(call: &str) -> Event {
    Event::ApprovalRequested(Asked::of(&request(call)))
}

fn decided(call: &str, decision: Decision) -> Event {
    Event::ApprovalDecided(Decided::new(&request(call), decision, "command"))
}

fn approved(call: &str) -> Event {
    decided(call, Decision::Approved)
}

/// Returns the transcript of a thread that began and recorded these events from record 2 on.
fn begun(events: &[Event]) -> Reading {
    told(&[[start(&KEY)].as_slice(), events].concat())
}

#[test]
fn a_thread_waits_with_a_question_until_it_is_decided_or_ends() {
    for (events, expected) in [
        (vec![], None),
        (vec![asked("1")], Some(("1", 2))),
        (vec![asked("1"), user("x")], Some(("1", 2))),
        (vec![asked("1"), resumed(&KEY, None)], Some(("1", 2))),
        (vec![asked("1"), approved("1")], None),
        (vec![asked("1"), decided("1", Decision::DENIED)], None),
        // What a call is called may come again. The place of its record tells the two apart.
        (vec![asked("1"), approved("1"), asked("1")], Some(("1", 5))),
        (vec![asked("1"), sample("ThreadError")], None),
        (vec![asked("1"), sample("ThreadComplete")], None),
        (vec![asked("1"), sample("ThreadContinued")], None),
        (vec![asked("1"), sample("ThreadError"), resumed(&KEY, None), asked("2")], Some(("2", 7))),
    ] {
        let pending = pending_approval(&begun(&events));
        let pending = pending.as_ref().map(|it| (it.request.call_id.as_str(), it.seq));
        assert_eq!(pending, expected, "{events:?}");
    }
}

#[test]
fn a_question_is_read_back_as_it_was_asked() {
    let arguments = json!({"b": [1, 2], "a": "é"});
    let asked =
        ApprovalRequest::new(&thread(), "1", "a/b", &arguments, ApprovalReason::Interrupted)
            .covering(vec!["rye.execute.tool.a.b".to_owned()]);
    let pending = pending_approval(&begun(&[Event::ApprovalRequested(Asked::of(&asked))])).unwrap();
    assert_eq!(pending.request, asked);
    assert_eq!(asked.covers, ["rye.execute.tool.a.b"]);
    // `printf '{"b":[1,2],"a":"é"}' | sha256sum`
    assert_eq!(asked.sha256, "367ee23f68fdb14e222e435747688bc565cccfe7628ea687d9beca32b4359097");
}

fn told_decision() -> DecidedApproval {
    DecidedApproval {
        item_id: "a/b".to_owned(),
        why: "the configuration asks before each call of it".to_owned(),
        decision: Decision::Approved,
        by: "command".to_owned(),
        at: AT,
    }
}

/// A resume acts on a decision that came while no process drove the thread.
#[test]
fn a_decision_stands_until_something_else_happens() {
    let rows = [
        (vec![], false),
        (vec![asked("1")], false),
        (vec![asked("1"), approved("1")], true),
        (vec![asked("1"), user("x"), approved("1")], true),
        (vec![asked("1"), approved("1"), resumed(&KEY, None)], true),
        (vec![asked("1"), approved("1"), resumed(&KEY, None), resumed(&KEY, None)], true),
        (vec![asked("1"), approved("1"), user("x")], false),
        (vec![asked("1"), approved("1"), sample("ToolCallStart")], false),
        (vec![asked("1"), approved("1"), sample("ThreadError")], false),
        (vec![asked("1"), approved("1"), asked("2")], false),
        // A decision about another call, and one without a question.
        (vec![asked("1"), approved("2")], false),
        (vec![approved("1")], false),
    ];
    for (events, stands) in rows {
        let decided = decided_approval(&begun(&events));
        assert_eq!(decided, stands.then(told_decision), "{events:?}");
    }
    // What a newer program may go on without says nothing, either. What it may not go on without may have acted.
    for (members, stands) in [(r#","ignorable":true"#, true), ("", false)] {
        let mut transcript = Transcript::new(&thread());
        transcript.tell(&[start(&KEY), asked("1"), approved("1")]);
        transcript.tell_newer("dream", members);
        assert_eq!(decided_approval(&transcript.reading()).is_some(), stands, "{members}");
    }
}

/// Record 2 asks, 3 decides, 5 asks about a call with the same name, and 6 decides.
#[test]
fn the_decision_on_a_question_is_found_by_its_place() {
    let denied = decided("1", Decision::DENIED);
    let reading = begun(&[asked("1"), approved("1"), asked("1"), denied, asked("2"), user("x")]);
    let decision = |seq: u64| decision_on(&reading, seq).map(|it| it.decision);
    let expected = [None, None, Some(Decision::Approved), None, None, Some(Decision::DENIED)];
    for (seq, expected) in (0..).zip(expected) {
        assert_eq!(decision(seq), expected, "{seq}");
    }
    // Record 8 has no decision, record 9 asks nothing, and there is no record after it.
    for seq in [8, 9, 10, u64::MAX] {
        assert_eq!(decision(seq), None, "{seq}");
    }
    assert_eq!(decision_on(&reading, 2), Some(told_decision()));
    assert_eq!(decision_on(&begun(&[asked("1"), approved("2")]), 2), None, "another call");
}

#[test]
fn a_decision_is_an_approval_or_a_denial() {
    let reason = Some("it is `Friday`".parse().unwrap());
    for (decision, word, is_approval, reason) in [
        (Decision::Approved, "approved", true, None),
        (Decision::ApprovedInThread, "approved_in_thread", true, None),
        (Decision::DENIED, "denied", false, None),
        (Decision::Denied(reason), "denied", false, Some("it is `Friday`")),
    ] {
        assert_eq!((decision.as_str(), decision.is_approval()), (word, is_approval));
        assert_eq!(decision.reason().map(ToString::to_string).as_deref(), reason, "{word}");
    }
    let reasons = ApprovalReason::ALL.iter().map(|reason| reason.as_str());
    assert_eq!(reasons.collect::<Vec<_>>(), ["configured", "escalated", "interrupted"]);
    let deciders = [Decider::prompt(), Decider::page(), Decider::command()];
    assert_eq!(deciders.each_ref().map(Decider::as_str), ["prompt", "page", "command"]);
}

#[test]
fn the_children_that_a_thread_began_are_in_order() {
    let spawn = |call: &str, child: &str| {
        let child = ThreadId::new(child, "019a0000-0000-7000-8000-000000000002").unwrap();
        Spawn::new(call, child, "a/child", Waiting::ForTheEnd, LimitSet::default())
    };
    let spawned = [spawn("1", "z"), spawn("2", "a")];
    let events = spawned.clone().map(Event::SpawnChild);
    assert_eq!(spawned_children(&begun(&events)), Some(spawned.to_vec()));
    assert_eq!(spawned_children(&begun(&[])), Some(vec![]));
}
