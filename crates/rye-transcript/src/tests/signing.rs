//! Records that count only under a checkpoint, and the claims of a signed record about a transcript.

use rye_types::{Nanos, ThreadState, Usage};

use super::*;
use crate::payload::{Decided, Said, ThreadComplete, ThreadContinued, ThreadError};
use crate::{ApprovalReason, ApprovalRequest, Decision};

fn decided() -> Event {
    let request =
        ApprovalRequest::new(&thread(), "1", "a/b", &json!({}), ApprovalReason::Configured);
    Event::ApprovalDecided(Decided::new(&request, Decision::Approved, "command"))
}

/// Returns each event that decides something, with `true` if it counts without a checkpoint.
fn rows(key: &SigningKey) -> Vec<(Event, bool)> {
    let turns = 1;
    let usage = Usage::new(1, 1);
    let cost = Nanos::ZERO;
    let next = thread();
    let limits = LimitSet::default();
    let text = String::new();
    vec![
        (decided(), false),
        (resumed(key, None), false),
        (
            Event::ThreadComplete(ThreadComplete {
                outputs: None,
                text: text.clone(),
                turns,
                usage,
                cost,
            }),
            false,
        ),
        (Event::ThreadContinued(ThreadContinued { next, limits, text, turns, usage, cost }), false),
        (
            Event::ThreadError(ThreadError {
                state: ThreadState::Cancelled,
                failure: None,
                turns,
                usage,
                cost,
            }),
            false,
        ),
        (user("more"), true),
    ]
}

#[test]
fn rule_01_decisions_resumes_and_ends_count_only_under_a_checkpoint() {
    let key = SigningKey::generate().unwrap();
    for (event, counts) in rows(&key) {
        let mut transcript = Transcript::new(&thread());
        transcript.append(&start(&key));
        transcript.checkpoint(&key);
        transcript.append(&user("before"));
        let head = transcript.head;
        let whole = transcript.text().len();
        transcript.append(&event);
        transcript.append(&user("after"));
        let unsigned = transcript.text();
        let reading = read(unsigned.as_bytes(), &thread(), &[key.public()]).unwrap();
        let cut = (3, Some(whole..unsigned.len()), head);
        let kept = (5, None, transcript.head);
        let found = (reading.records.len(), reading.torn, reading.head);
        assert_eq!(found, if counts { kept } else { cut }, "{}", event.name());
        transcript.checkpoint(&key);
        let reading = read(&transcript.lines, &thread(), &[key.public()]).unwrap();
        assert_eq!((reading.records.len(), reading.torn), (6, None), "{}", event.name());
        assert_eq!(reading.signers, [key.public().key_id().clone()]);
    }
}

#[test]
fn rule_01_nothing_happens_before_the_beginning_is_signed() {
    let key = SigningKey::generate().unwrap();
    let mut transcript = Transcript::new(&thread());
    transcript.append(&start(&key));
    transcript.append(&user("Begin."));
    let text = transcript.text();
    let reading = read(text.as_bytes(), &thread(), &[key.public()]).unwrap();
    assert_eq!((reading.records.len(), reading.torn), (0, Some(0..text.len())), "it never began");
    transcript.append(&Event::AssistantText(Said { text: "Done.".to_owned() }));
    let damage = read(&transcript.lines, &thread(), &[key.public()]).unwrap_err();
    assert_eq!((damage.record, damage.kind), (2, DamageKind::Unsigned));
}

/// The other key may sign here, too.
#[test]
fn rule_01_a_checkpoint_is_by_the_key_that_the_opening_names() {
    let key = SigningKey::generate().unwrap();
    let other = SigningKey::generate().unwrap();
    let keys = [key.public(), other.public()];
    for (named, signs, is_fine) in [(&key, &key, true), (&key, &other, false)] {
        let mut transcript = Transcript::new(&thread());
        transcript.append(&start(named));
        transcript.checkpoint(signs);
        let read_back = |transcript: &Transcript| read(&transcript.lines, &thread(), &keys);
        let named_by =
            |key: &SigningKey| DamageKind::OtherSigner { named: key.public().key_id().clone() };
        match read_back(&transcript) {
            Ok(_) => assert!(is_fine),
            Err(damage) => assert_eq!((is_fine, damage.kind), (false, named_by(named))),
        }
        if is_fine {
            transcript.append(&resumed(&other, None));
            transcript.checkpoint(&key);
            assert_eq!(read_back(&transcript).unwrap_err().kind, named_by(&other));
        }
    }
}

#[test]
fn rule_02_a_claim_of_a_longer_chain_does_not_fit() {
    let written = Written::new();
    let reading = written.read(&written.text()).unwrap();
    let other = Head::genesis().to_string();
    let head = |records: u64| reading.head_after(records).unwrap().to_string();
    for (records, head, is_open, fits) in [
        (0, head(0), true, true),
        (3, head(3), true, true),
        (6, head(6), true, true),
        (6, head(6), false, true),
        (5, head(5), false, false),
        (3, other.clone(), true, false),
        (6, other.clone(), true, false),
        (7, head(6), true, false),
        (7, other, true, false),
    ] {
        let claim = TranscriptClaim::new(records, head, is_open);
        assert_eq!(reading.fits(&claim), fits, "{claim:?}");
    }
    assert_eq!(reading.head_after(7), None);
    // A closed thread has no incomplete line behind its end.
    let torn = written.read(&(written.text() + "{")).unwrap();
    for (is_open, fits) in [(true, true), (false, false)] {
        assert_eq!(torn.fits(&TranscriptClaim::new(6, head(6), is_open)), fits);
    }
}
