//! The readable transcript.

use super::*;

#[track_caller]
fn check_markdown(event: &Event, expected: &str) {
    assert_eq!(markdown(event, AT), expected);
}

#[test]
fn markdown_is_for_reading() {
    check_markdown(
        &start(&SigningKey::generate().unwrap()),
        "# Thread\n\n2026-11-20T18:00:00.250Z, `m` at `p`\n\n",
    );
    check_markdown(&Event::AssistantText { text: "Hi.\n".to_owned() }, "## Assistant\n\nHi.\n\n");
    check_markdown(
        &Event::AssistantReasoning { text: "a\nb".to_owned() },
        "## Reasoning\n\n> a\n> b\n\n",
    );
    let call = crate::ToolCall::new("1", "a_b", json!({"x": 1}));
    let start = Event::ToolCallStart {
        call_id: "1".to_owned(),
        name: "a_b".to_owned(),
        arguments: json!({"x": 1}),
        target: None,
    };
    check_markdown(&start, "## Call: `a_b`\n\n```json\n{\n  \"x\": 1\n}\n```\n\n");
    let result = Event::ToolCallResult {
        result: ToolResult::error(&call, json!("no")),
        refusal: None,
        limit: None,
        added: Vec::new(),
    };
    check_markdown(&result, "## Failed: `a_b`\n\n```json\nno\n```\n\n");
}

#[test]
fn no_text_closes_its_fence() {
    check_markdown(
        &user("```\n# Not a heading\n````"),
        "## User\n\n`````\n```\n# Not a heading\n````\n`````\n\n",
    );
}
