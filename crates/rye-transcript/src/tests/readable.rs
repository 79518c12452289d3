//! The readable transcript.

use serde_json::Value;
use serde_json::value::to_raw_value;

use super::samples::sample;
use super::*;
use crate::payload::{Intent, Receipt, Said};

#[track_caller]
fn check_markdown(event: &Event, expected: &str) {
    assert_eq!(Markdown::default().of(event, AT), expected);
}

#[test]
fn markdown_is_for_reading() {
    check_markdown(
        &start(&SigningKey::generate().unwrap()),
        "# Thread\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n",
    );
    check_markdown(
        &Event::AssistantText(Said { text: "Hi.\n".to_owned() }),
        "## Assistant\n\nHi.\n\n",
    );
    check_markdown(
        &Event::AssistantReasoning(Said { text: "a\nb".to_owned() }),
        "## Reasoning\n\n> a\n> b\n\n",
    );
    let call = crate::ToolCall::new("1", "a_b", json!({"x": 1}));
    let start = Event::ToolCallStart(Intent {
        call_id: "1".to_owned(),
        name: "a_b".to_owned(),
        arguments: json!({"x": 1}),
        target: None,
        hook: None,
        injects: None,
    });
    check_markdown(&start, "## Call: `a_b`\n\n```json\n{\n  \"x\": 1\n}\n```\n\n");
    let result = Event::ToolCallResult(Receipt::new(ToolResult::error(&call, json!("no"))));
    check_markdown(&result, "## Failed: `a_b`\n\n```json\nno\n```\n\n");
}

/// A person opens the file in an editor or on a terminal. The words may be of any author.
#[test]
fn nothing_hidden_stands_in_it() {
    const TEXT: &str = "a\u{1b}[2J\0\u{202e}b\u{200b}\r\n\tc é 👩\u{200d}💻";
    const SHOWN: &str = "a\\u{1b}[2J\\u{0}\\u{202e}b\\u{200b}\\r\n\tc é 👩\u{200d}💻";
    let said = Event::AssistantText(Said { text: TEXT.to_owned() });
    check_markdown(&said, &format!("## Assistant\n\n{SHOWN}\n\n"));
    check_markdown(&user(TEXT), &format!("## User\n\n```\n{SHOWN}\n```\n\n"));
    let call = crate::ToolCall::new("1", "a\u{1b}b", json!({}));
    let result = Event::ToolCallResult(Receipt::new(ToolResult::error(&call, json!(TEXT))));
    check_markdown(&result, &format!("## Failed: `a\\u{{1b}}b`\n\n```json\n{SHOWN}\n```\n\n"));
    let thought = Event::AssistantReasoning(Said { text: "a\u{2066}b".to_owned() });
    check_markdown(&thought, "## Reasoning\n\n> a\\u{2066}b\n\n");
}

/// A model chooses the names of its calls.
#[test]
fn a_name_is_no_heading_of_its_own() {
    let start = Event::ToolCallStart(Intent {
        call_id: "1".to_owned(),
        name: "a\n\n## Completed".to_owned(),
        arguments: json!({}),
        target: None,
        hook: None,
        injects: None,
    });
    check_markdown(&start, "## Call: `a\\n\\n## Completed`\n\n```json\n{}\n```\n\n");
}

#[test]
fn no_text_closes_its_fence() {
    check_markdown(&user("a `b` ``c``\n\n"), "## User\n\n```\na `b` ``c``\n```\n\n");
    check_markdown(
        &user("```\n# Not a heading\n````"),
        "## User\n\n`````\n```\n# Not a heading\n````\n`````\n\n",
    );
}

/// Returns a sample with other members.
fn changed(label: &str, members: &Value) -> Event {
    let sample = sample(label);
    let mut payload: Value = serde_json::from_str(sample.payload().get()).unwrap();
    for (name, value) in members.as_object().unwrap() {
        payload[name] = value.clone();
    }
    sample.kind().read(&to_raw_value(&payload).unwrap()).unwrap()
}

/// The other forms of the events in the table of all events.
#[test]
fn what_is_missing_takes_no_words() {
    let inputs = json!({"facts": {"inputs": {"name": "x"}}});
    let chain = |id: &str| json!({"facts": {"chain": [{"id": id}, {"id": "base"}], "inputs": {}}});
    for (label, members, expected) in [
        ("ContextInjected", json!({"item_id": null}), "Context in `before`: `inline text`\n\n"),
        ("HookTriggered", json!({"effect": null}), "*Hook `h` at `limit`*\n\n"),
        ("RequestFailed", json!({"cost_nanos": 0}), "*Turn 2 has no answer: it broke*\n\n"),
        (
            "RequestRetried",
            json!({"cost_nanos": 42}),
            "*Turn 2: it answered 429: rate limited, next attempt in 6 s (2 of 4); 0.000000042 USD counts as spent*\n\n",
        ),
        (
            "ThreadResumed",
            json!({"limits": null}),
            "*Resumed 2026-11-20T18:00:00.250Z, opening 3*\n\n",
        ),
        (
            "ThreadComplete",
            json!({"outputs": null, "turns": 1}),
            "## Completed\n\n1 turn, 0.000000042 USD\n\n",
        ),
        (
            "ThreadError",
            json!({"failure": null, "state": "cancelled", "turns": 0}),
            "## Ended: cancelled\n\n0 turns, 0.000000042 USD\n\n",
        ),
        (
            "ThreadStart",
            json!({"provider": "", "model": ""}),
            "# Thread\n\n2026-11-20T18:00:00.250Z, ended before it began\n\n",
        ),
        (
            "ThreadStart",
            json!({"facts": {"verified": true, "inputs": {}, "chain": []}}),
            "# Thread\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n",
        ),
        (
            "ThreadStart",
            json!({"facts": {"verified": false}}),
            "# Thread\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n**Unverified: this thread used unsigned items.**\n\n",
        ),
        (
            "ThreadStart",
            inputs,
            "# Thread\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\nInputs:\n\n```json\n{\n  \"name\": \"x\"\n}\n```\n\n",
        ),
        (
            "ThreadStart",
            chain("greet/hello"),
            "# Thread of `greet/hello`\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n",
        ),
        (
            "ThreadStart",
            chain("a\n# b"),
            "# Thread of `a\\n# b`\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n",
        ),
        (
            "HookCallStart",
            json!({"target": null, "arguments": {}}),
            "## Call of hook `h`: `rye_execute`\n\n```json\n{}\n```\n\n",
        ),
    ] {
        check_markdown(&changed(label, &members), expected);
    }
}

/// A person learns that the action of a hook did not happen.
#[test]
fn a_hook_that_was_refused_or_failed_is_a_warning() {
    let refusal = json!({"capability": "c", "layer": "l", "pattern": null, "message": "m"});
    for (members, expected) in [
        (
            json!({"is_error": true, "refusal": refusal}),
            "**Warning: an action of hook `h` was refused.**\n\n## Failed of hook `h`: `a_b`\n\n```json\nfine\n```\n\n",
        ),
        (
            json!({"is_error": true}),
            "**Warning: an action of hook `h` failed.**\n\n## Failed of hook `h`: `a_b`\n\n```json\nfine\n```\n\n",
        ),
        (json!({}), "## Result of hook `h`: `a_b`\n\n```json\nfine\n```\n\n"),
    ] {
        check_markdown(&changed("HookCallResult", &members), expected);
    }
}

/// A decision names its call alone. The item is that of the question before it.
#[test]
fn a_decision_is_about_the_item_that_was_asked_about() {
    let asked = |call: &str, item: &str| {
        changed("ApprovalRequested", &json!({"call_id": call, "item_id": item}))
    };
    let decided = |call: &str, decision: &str| {
        let members = json!({"call_id": call, "decision": decision, "reason": null, "by": "page"});
        changed("ApprovalDecided", &members)
    };
    let mut shown = Markdown::default();
    for (question, decision, expected) in [
        (None, decided("1", "denied"), "Call of `1` denied by page\n\n"),
        (Some(asked("1", "a/b")), decided("1", "approved"), "Call of `a/b` approved by page\n\n"),
        (Some(asked("2", "c/d")), decided("1", "denied"), "Call of `1` denied by page\n\n"),
        (None, decided("2", "approved_in_thread"), "Call of `c/d` approved in thread by page\n\n"),
    ] {
        drop(question.map(|question| shown.of(&question, AT)));
        assert_eq!(shown.of(&decision, AT), expected);
    }
}
