use proptest::prelude::*;

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

fn thread() -> ThreadId {
    "index-019a0000-0000-7000-8000-000000000000".parse().unwrap()
}

const WITHIN: Duration = Duration::from_millis(10);

#[test]
fn a_state_opens_once_and_in_time() {
    let states = RequestStates::default();
    let request = Digest::of(b"request");
    for (at, in_time) in [(1_000_000, true), (1_000_009, true), (1_000_010, false)] {
        let at = Moment::from_unix_millis(at);
        let state = states.seal(&request, (&thread(), "call"), NOW, WITHIN).unwrap();
        let opened = Opened { thread: thread(), call: "call".to_owned() };
        let expected = if in_time { Ok(opened) } else { Err(StateError::Expired) };
        assert_eq!(states.open(&state, &request, at), expected, "{at:?}");
        assert_eq!(states.open(&state, &request, NOW), Err(StateError::Used), "{at:?}");
    }
}

#[test]
fn a_state_of_another_process_is_forged() {
    let states = RequestStates::default();
    let other = RequestStates::default();
    let request = Digest::of(b"request");
    let seal = |of: &RequestStates| of.seal(&request, (&thread(), "call"), NOW, WITHIN).unwrap();
    let own = seal(&states);
    let foreign = seal(&other);
    assert_eq!(states.open(&foreign, &request, NOW), Err(StateError::Forged));
    // A record of the same shape that is signed for something else is not one either.
    let stranger = sign_json(&json!({ "purpose": "x" }), states.key().unwrap(), NOW.timestamp());
    let stranger = stranger.unwrap().to_string();
    assert_eq!(states.open(&stranger, &request, NOW), Err(StateError::Forged));
    assert!(states.open(&own, &request, NOW).is_ok());
}

proptest! {
    /// Whatever else than the very state comes back is worth nothing, and uses nothing up.
    #[test]
    fn nothing_but_the_state_itself_opens(at in 0_usize..400, put in "[ -~]{0,2}", cut in 0_usize..3) {
        let states = RequestStates::default();
        let request = Digest::of(b"request");
        let state = states.seal(&request, (&thread(), "call"), NOW, WITHIN).unwrap();
        let at = at % state.len();
        let end = (at + cut).min(state.len());
        let changed = format!("{}{put}{}", &state[..at], &state[end..]);
        // base64 has two alphabets, and a signature is the same in both.
        let alphabet = |text: &str| text.replace('_', "/").replace('-', "+");
        prop_assume!(changed == state || alphabet(&changed) != alphabet(&state));
        let is_same = serde_json::from_str::<Value>(&changed).ok()
            == serde_json::from_str::<Value>(&state).ok();
        let expected = if is_same { Ok(()) } else { Err(StateError::Forged) };
        prop_assert_eq!(states.open(&changed, &request, NOW).map(drop), expected);
        prop_assert_eq!(states.open(&state, &request, NOW).is_ok(), !is_same);
    }

    #[test]
    fn what_anybody_writes_is_no_state(text in ".{0,80}") {
        let states = RequestStates::default();
        let request = Digest::of(b"request");
        states.seal(&request, (&thread(), "call"), NOW, WITHIN).unwrap();
        prop_assert_eq!(states.open(&text, &request, NOW), Err(StateError::Forged));
    }
}
