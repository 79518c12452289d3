//! Transcripts that were written to attack a page.

use proptest::prelude::*;
use rye_transcript::{DamageKind, EventKind};
use serde_json::{Value, json};

use crate::recording::{CHILD, Recording, begun, limits, reply, used};

const ATTACKS: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "</template></textarea></title><!--",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "\u{202e}turned\u{202c} \u{1b}[31mred",
    "]]><![CDATA[",
];

/// A thread whose every text is an attack.
fn attacked(text: &str) -> Recording {
    let mut recording = Recording::begin();
    recording
        .add("step_start", begun(1, 0))
        .add("request_retried", json!({ "turn": 1, "attempt": 2, "attempts": 4, "class": "overloaded", "message": text, "hint_millis": null, "wait_millis": i64::MAX, "cost_nanos": 0, "reserved_nanos": u64::MAX }))
        .add("request_failed", json!({ "turn": 1, "class": text, "message": text, "cost_nanos": 0 }))
        .add("step_finish", json!({ "turn": 1, "cost_nanos": u64::MAX, "reply": reply(used(u64::MAX, 1)) }))
        .add("assistant_text", json!({ "text": text }))
        .add("assistant_reasoning", json!({ "text": text }))
        .add("context_injected", json!({ "item_id": text, "position": text, "sha256": text, "hook": text }))
        .add("hook_triggered", json!({ "evaluation": 1, "hook_event": "limit", "hook": text, "declared_by": text, "layer": 1, "effect": null, "failure": null, "final": false, "data": {} }))
        .add("approval_requested", json!({ "call_id": text, "item_id": text, "arguments": { text: text }, "arguments_sha256": text, "reason": "configured" }))
        .add("approval_decided", json!({ "call_id": text, "decision": "denied", "by": text, "arguments_sha256": text }))
        .call(text, text, json!({ "command": text, text: [text] }), json!({ text: text, "stdout": text, "exit_code": text }))
        .call("diff", text, json!({ "path": text }), json!({ "diff": format!("@@ -1 +1 @@\n-{text}\n+{text}\n{text}") }))
        .add("tool_call_result", json!({ "call_id": "x", "name": text, "content": text, "is_error": true, "refusal": { "capability": text, "layer": text, "pattern": text, "message": text } }))
        .add("spawn_child", json!({ "call_id": text, "thread": CHILD, "directive": text, "async": false, "limits": limits() }))
        .add("model_fallback", json!({ "model": text, "provider": text, "reason": text }))
        .add(text, json!({ text: text }))
        .add("thread_continued", json!({ "next": CHILD, "turns": u64::MAX, "usage": used(u64::MAX, 0), "cost_nanos": 0, "limits": limits(), "text": text }))
        .checkpoint();
    recording
}

/// The elements and attributes of a page, as a parser of HTML sees them: between `<` and `>` outside of text.
fn tags(page: &str) -> Vec<&str> {
    let (_, body) = page.split_once("<main").unwrap();
    let (body, _) = body.split_once("</main>").unwrap();
    body.split('<').skip(1).filter_map(|tag| tag.split_once('>')).map(|(tag, _)| tag).collect()
}

/// Elements of the page's own markup; everything else would have come out of a text.
const OWN: [&str; 40] = [
    "a", "article", "aside", "b", "code", "dd", "details", "div", "dl", "dt", "fieldset", "footer",
    "form", "h1", "h2", "h3", "header", "input", "kbd", "label", "legend", "li", "line", "nav",
    "ol", "p", "pre", "rect", "section", "span", "strong", "summary", "svg", "table", "tbody",
    "td", "text", "th", "thead", "time",
];

#[track_caller]
fn check(text: &str) {
    let page = attacked(text).page();
    for tag in tags(&page) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(
            OWN.contains(&name) || ["title", "tr", "ul", "use"].contains(&name),
            "<{tag}> for {text:?}"
        );
        let outside_of_values: String = tag.split('"').step_by(2).collect::<Vec<_>>().join(" ");
        for name in outside_of_values.split_whitespace().skip(1) {
            let name = name.trim_end_matches('=');
            let is_own =
                !name.starts_with("on") && !["style", "src", "srcdoc", "action"].contains(&name);
            assert!(is_own && !name.contains(['\'', '&', '=']), "<{tag}> for {text:?}");
        }
        assert!(!tag.contains("href=\"javascript"), "<{tag}>");
    }
    if let Some((before, _)) = page.split_once(['\u{202e}', '\u{1b}']) {
        panic!("hidden after {:?}", before.get(before.len() - 80..));
    }
}

#[test]
fn no_text_becomes_markup() {
    ATTACKS.iter().for_each(|text| check(text));
}

proptest! {
    #[test]
    fn no_random_text_becomes_markup(text in "[<>\"'&/!a-z=\\-\u{202e}\u{1b} ]{0,30}") {
        check(&text);
    }

    /// A newer version may record anything under a name that is known here.
    #[test]
    fn no_payload_makes_a_page_fail(kind in prop::sample::select(EventKind::ALL.to_vec()), payload in value()) {
        // These are checked where a transcript is verified.
        prop_assume!(kind != EventKind::Checkpoint && !kind.names_key());
        let event = kind.name();
        let mut recording = Recording::begin();
        recording.turn(1).add(event, payload.clone()).add(event, payload).checkpoint();
        match recording.try_reading() {
            Ok(_) => prop_assert!(recording.page().contains("</html>")),
            Err(damage) => prop_assert!(matches!(damage.kind, DamageKind::Payload { .. }), "{damage}"),
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    const NAMES: [&str; 14] = [
        "call_id",
        "turn",
        "text",
        "arguments",
        "content",
        "diff",
        "thread",
        "next",
        "outputs",
        "failure",
        "refusal",
        "reply",
        "usage",
        "cost_nanos",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(NAMES.to_vec()), inner), 0..6).prop_map(
                |members| Value::Object(
                    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
                )
            ),
        ]
    })
}

/// One line of 20 MB makes a page of bounded size, which says what it leaves out.
#[test]
fn a_very_long_line_is_cut() {
    let long = "x".repeat(20_000_000);
    let mut recording = Recording::begin();
    recording.turn(1).call(
        "a",
        "rye/bash/bash",
        json!({ "command": "cat" }),
        json!({ "stdout": long, "exit_code": 0 }),
    );
    let page = recording.end().page();
    assert!(page.len() < 400_000, "{}", page.len());
    assert!(page.contains("19.9 MB more are not on this page"));
}
