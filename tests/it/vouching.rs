//! Unsigned items that the operator allows: the record names them, however they reach the model.

use rye::sign::{Policy, SigningKey};
use rye::{ProviderChoice, SignFileError, SigningStatus};
use rye_tests::{Scratch, writing};
use serde_json::{Value, json};

use super::model::{answer, provider, server, tool_use};

const GRANT: &str = "<permissions><execute><tool>rye/file-system/*</tool><directive>test/*</directive></execute><load><knowledge>*</knowledge></load></permissions>";

const DIRECTIVE: &str = "# Warn\n\n```xml\n<directive name=\"warn\" version=\"1.0.0\"><metadata><description>Warns.</description></metadata></directive>\n```\n\nTake care.\n";
const KNOWLEDGE: &str = "```yaml\nname: warn\ntitle: T\nentry_type: note\ncategory: test\nversion: \"1.0.0\"\n```\n\nBe kind.\n";

fn hook(event: &str, action: &str, kind: &str) -> String {
    format!(
        "<hooks><hook id=\"warn\" event=\"{event}\"><action primary=\"{action}\" item_type=\"{kind}\" item_id=\"test/warn\"/></hook></hooks>"
    )
}

fn allowing_unsigned() -> Scratch {
    Scratch::new().with_policy(Policy::default().dangerous_allow_unsigned())
}

/// Checks the record and the warnings of a run with an unsigned item, or without one if `item` is empty.
#[track_caller]
fn check(name: &str, facts: &serde_json::Map<String, Value>, warnings: &[String], item: &str) {
    assert_eq!(facts["verified"], item.is_empty(), "{name}");
    let told: Vec<&String> = warnings.iter().filter(|it| it.starts_with("UNVERIFIED")).collect();
    if item.is_empty() {
        assert_eq!(told, [""; 0], "{name}");
    } else {
        assert_eq!(told, [&format!("UNVERIFIED: {item} is not signed by anybody")], "{name}");
    }
    assert_eq!(
        facts["warnings"],
        json!(
            warnings
                .iter()
                .filter(|it| !it.contains("signed with a key of its own"))
                .collect::<Vec<_>>()
        ),
        "{name}"
    );
}

#[tokio::test]
async fn what_a_hook_puts_before_the_model_is_counted() {
    let load = "load";
    let execute = "execute";
    let rows = [
        ("knowledge at the start", hook("thread_started", load, "knowledge"), "knowledge"),
        ("knowledge in a turn", hook("after_step", load, "knowledge"), "knowledge"),
        ("a directive in a turn", hook("after_step", execute, "directive"), "directive"),
    ];
    for (name, hook, kind) in rows {
        for is_signed in [true, false] {
            let scratch = allowing_unsigned();
            scratch.sign(".ai/directives/test/write.md", &writing(&format!("{hook}{GRANT}"), ""));
            let (path, text) = match kind {
                "directive" => (".ai/directives/test/warn.md", DIRECTIVE),
                _ => (".ai/knowledge/test/warn.md", KNOWLEDGE),
            };
            if is_signed {
                scratch.sign(path, text)
            } else {
                scratch.put(path, text)
            };
            let report = scratch.run("test/write", &[]).await.unwrap();
            let rye = scratch.rye();
            let record = rye.thread(&rye.threads().unwrap(), &report.thread).unwrap().record;
            let item = if is_signed { String::new() } else { format!("{kind} `test/warn`") };
            check(name, &record.facts, &report.warnings, &item);
        }
    }
}

/// Only the thread that the continuation directive starts is marked.
#[tokio::test]
async fn the_continuation_directive_is_counted_where_it_is_followed() {
    for is_signed in [true, false] {
        let write = json!({"path": "ada.txt", "content": "x"});
        let write = answer(&json!([tool_use("a", "rye_file_system_write", &write)]), "tool_use");
        let done = answer(&json!([{"type": "text", "text": "Done."}]), "end_turn");
        let server = server(vec![write, done]);
        let scratch = allowing_unsigned();
        let head = format!(
            "<model tier=\"fast\"/><continuation_directive>test/warn</continuation_directive>{GRANT}"
        );
        scratch.sign(".ai/directives/test/write.md", &writing(&head, ""));
        let path = ".ai/directives/test/warn.md";
        if is_signed {
            scratch.sign(path, DIRECTIVE)
        } else {
            scratch.put(path, DIRECTIVE)
        };
        let narrow = provider(&server).replace("context_window: 100000", "context_window: 1200");
        scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &narrow);
        let local = |request: &mut rye::RunRequest| {
            request.provider = ProviderChoice::Named("local".to_owned());
        };
        let report = scratch.run_with("test/write", &[], local).await.unwrap();
        assert_eq!(report.continues.len(), 1);
        let rye = scratch.rye();
        let record = |thread| rye.thread(&rye.threads().unwrap(), thread).unwrap().record;
        assert_eq!(record(&report.continues[0]).facts["verified"], true);
        let item = if is_signed { "" } else { "directive `test/warn`" };
        check("continued", &record(&report.thread).facts, &report.warnings, item);
    }
}

/// Only the text that was shown is signed: a file that has changed since is left unchanged.
#[test]
fn a_text_is_signed_only_as_it_was_shown() {
    let scratch = Scratch::new();
    let path = scratch.put(".ai/knowledge/test/warn.md", KNOWLEDGE);
    let rye = scratch.rye();
    let key = SigningKey::generate().unwrap();
    let sign = |text: &str| {
        let at = "2026-11-20T18:00:00Z".parse().unwrap();
        rye.sign_text(&path, text, &key, at)
    };
    let error = sign(&KNOWLEDGE.replace("kind", "cruel")).unwrap_err();
    assert!(matches!(error, SignFileError::Changed { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), KNOWLEDGE);
    assert_eq!(sign(KNOWLEDGE).unwrap().status, SigningStatus::Signed);
}
