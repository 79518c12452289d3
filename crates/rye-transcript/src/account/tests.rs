use crate::EventKind;
use crate::money::Change;
use crate::tests::events::{every_event, recorded};

/// Appending an event changes the account in the same way as reading its record.
#[test]
fn rule_07_an_event_and_its_record_change_the_account_alike() {
    let mut changed = 0;
    for (event, record) in every_event().iter().zip(recorded()) {
        let change = event.money();
        assert_eq!(change, record.change.clone(), "{}", record.name());
        changed += usize::from(change.is_some());
    }
    assert_eq!(changed, 9);
}

/// Raised limits count only under their own checkpoint.
#[test]
fn rule_01_a_limit_that_is_raised_without_a_checkpoint_changes_nothing() {
    let records = recorded();
    let resumed = records.iter().find(|record| record.kind == EventKind::ThreadResumed).unwrap();
    let change = resumed.change.as_ref().unwrap();
    assert!(matches!(change, Change::Raise { .. }));
    assert!(change.needs_seal());
}
