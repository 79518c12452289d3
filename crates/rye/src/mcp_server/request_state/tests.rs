use super::*;

const NOW: Moment = Moment::from_unix_millis(1_000_000);

#[test]
fn only_so_many_questions_wait_at_a_time() {
    let states = RequestStates::default();
    for number in 1..=256 {
        assert_eq!(states.opened_at(NOW, 1_000_010), Some(number));
    }
    assert_eq!(states.opened_at(NOW, 1_000_010), None);
    // Those that have expired make room.
    assert_eq!(states.opened_at(Moment::from_unix_millis(1_000_010), 2_000_000), Some(257));
}

#[test]
fn nothing_is_opened_before_anything_was_asked() {
    let states = RequestStates::default();
    let request = Digest::of(b"request");
    assert_eq!(states.open("{}", &request, NOW), Err(StateError::Forged));
    assert!(states.key.get().is_none());
}

#[test]
fn a_request_is_told_by_what_it_says() {
    let digest =
        |tool: &str, arguments: Value, client: Value| request_digest(tool, &arguments, &client);
    let own = digest("a", json!({ "x": 1, "y": 2 }), json!(["c", "1"]));
    assert_eq!(own, digest("a", json!({ "y": 2, "x": 1 }), json!(["c", "1"])));
    for other in [
        digest("b", json!({ "x": 1, "y": 2 }), json!(["c", "1"])),
        digest("a", json!({ "x": 1 }), json!(["c", "1"])),
        digest("a", json!({ "x": 1, "y": 3 }), json!(["c", "1"])),
        digest("a", json!({ "x": 1, "y": 2 }), json!(["c", "2"])),
        digest("a", json!({ "x": 1, "y": 2 }), json!(["d", "1"])),
        digest("a", json!({ "x": 1, "y": 2 }), json!(null)),
    ] {
        assert_ne!(own, other);
    }
}
