//! The readable transcript.

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

/// A person opens the file in an editor or on a terminal, whoever wrote the words.
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
    check_markdown(
        &user("```\n# Not a heading\n````"),
        "## User\n\n`````\n```\n# Not a heading\n````\n`````\n\n",
    );
}
