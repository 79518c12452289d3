//! Hooks of directives and of hooks files, in real runs.

use std::fs;

use rye::types::ThreadState;
use rye::{RenderRequest, RunReport};
use rye_tests::{Scratch, writing};
use serde_json::{Value, json};

const GRANT: &str = "<permissions><execute><tool>rye/file-system/*</tool></execute><load><knowledge>*</knowledge></load></permissions>";

/// A directive with two steps in two turns, so that hooks can run between them.
fn two_steps(metadata: &str) -> String {
    writing(&format!("{metadata}{GRANT}"), "").replace(
        "</process>",
        r#"  <step name="list">
    <execute item_type="tool" item_id="rye/file-system/ls"><param name="path" value="." /></execute>
  </step>
</process>"#,
    )
}

fn triggered_hooks(scratch: &Scratch, report: &RunReport) -> Vec<String> {
    let events = scratch.events(report);
    let hooks = events.iter().filter(|(name, _)| name == "hook_triggered");
    hooks.map(|(_, it)| format!("{} {}", it["hook"].as_str().unwrap(), it["layer"])).collect()
}

fn knowledge(scratch: &Scratch, id: &str, text: &str) {
    let file = format!(
        "```yaml\nname: {id}\ntitle: T\nentry_type: note\ncategory: test\nversion: \"1.0.0\"\n```\n\n{text}\n"
    );
    scratch.sign(&format!(".ai/knowledge/test/{id}.md"), &file);
}

/// Hooks of every source run in order, with the data of the event in their arguments.
#[tokio::test]
async fn hooks_of_all_sources_act_in_turn() {
    let scratch = Scratch::new();
    let write = |path: &str, content: &str| {
        format!(
            "{{primary: execute, item_type: tool, item_id: rye/file-system/write, params: {{path: {path}, content: '{content}'}}}}"
        )
    };
    let hook = r#"<hooks><hook id="own" event="after_step"><when>cost.turns eq 1</when>
      <execute item_type="tool">rye/file-system/write</execute>
      <inputs><path>own.txt</path><content>turn ${cost.turns} of ${directive.id}</content></inputs></hook></hooks>"#;
    scratch.sign(".ai/directives/test/write.md", &two_steps(hook));
    scratch.sign(
        ".ai/config/agent/hooks.yaml",
        &format!(
            "hooks:\n  - {{id: late, event: after_step, when: cost.turns eq 1, action: {}}}\n  - {{id: end, event: after_complete, action: {}}}\n",
            write("late.txt", "${calls.0.name}"),
            write("end.txt", "${state}"),
        ),
    );
    let report = scratch.run("test/write", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!(triggered_hooks(&scratch, &report), ["own 1", "late 3", "end 3"]);
    let read = |name: &str| fs::read_to_string(scratch.project().join(name)).unwrap();
    assert_eq!(read("own.txt"), "turn 1 of test/write");
    assert_eq!(read("late.txt"), "rye_execute");
    assert_eq!(read("end.txt"), "completed");
    let replayed = scratch.rye().replay(&report.thread).await.unwrap();
    assert_eq!(replayed.divergence, None);
}

/// A hook may do no more than its thread, so nothing that the directive does not declare.
#[tokio::test]
async fn a_hook_does_not_exceed_its_thread() {
    let scratch = Scratch::new();
    let text = two_steps("").replace("rye/file-system/*", "rye/file-system/ls");
    scratch.sign(".ai/directives/test/write.md", &text);
    let hook = "{id: more, event: after_complete, action: {primary: execute, item_type: tool, item_id: rye/file-system/write, params: {path: more.txt, content: x}}}";
    scratch.sign(".ai/config/agent/hooks.yaml", &format!("hooks:\n  - {hook}\n"));
    let report = scratch.run("test/write", &[]).await.unwrap();
    assert!(!scratch.project().join("more.txt").exists());
    let events = scratch.events(&report);
    let receipt =
        events.iter().find(|(name, it)| name == "tool_call_result" && it["hook"] == "more");
    let Some((_, receipt)) = receipt else { panic!("the hook says what became of it") };
    assert_eq!(receipt["refusal"]["capability"], "rye.execute.tool.rye.file-system.write");
}

/// Knowledge of a hook at the start is part of the first message, as `rye render` shows it, unless the
/// directive suppresses it.
#[tokio::test]
async fn knowledge_at_the_start_is_in_the_opening() {
    let scratch = Scratch::new();
    knowledge(&scratch, "house", "Be kind.");
    let hooks = "hooks:\n  - {id: rules, event: thread_started, when: inputs.mode eq \"x\", action: {primary: load, item_type: knowledge, item_id: test/house}}\n";
    scratch.sign(".ai/config/agent/hooks.yaml", hooks);
    let tail = "<inputs><input name=\"mode\" default=\"x\" /></inputs>";
    let text = writing(GRANT, tail);
    scratch.sign(".ai/directives/test/write.md", &text);
    let first = |mode: &str| -> String {
        let mut request = RenderRequest::new("test/write".parse().unwrap());
        request.inputs = rye_tests::inputs(&[("mode", mode)]);
        scratch.rye().render(&request).unwrap().first_user_message
    };
    // The knowledge of the program's own hook comes first, because layer 2 comes before layer 3.
    let told =
        "and stop.\n<House id=\"test/house\" type=\"knowledge\">\nBe kind.\n</House>\n\n<directive";
    assert!(first("x").contains(told), "{}", first("x"));
    assert!(first("y").contains("and stop.\n\n<directive"), "{}", first("y"));
    let report = scratch.run("test/write", &[]).await.unwrap();
    let events = scratch.events(&report);
    let injected: Vec<&Value> =
        events.iter().filter(|(name, _)| name == "context_injected").map(|(_, it)| it).collect();
    let hooks: Vec<_> = injected.iter().map(|it| (&it["hook"], &it["position"])).collect();
    let before = json!("before");
    let expected = ["ctx_directive_instruction", "rules"].map(Value::from);
    assert_eq!(hooks, expected.iter().map(|hook| (hook, &before)).collect::<Vec<_>>());
    let suppressing = text.replace(
        "<permissions>",
        "<context><suppress>test/house</suppress></context><permissions>",
    );
    scratch.sign(".ai/directives/test/write.md", &suppressing);
    assert!(first("x").contains("and stop.\n\n<directive"), "{}", first("x"));
}

/// The result of a tool at the start has an element as knowledge has, which it cannot close, unless the hook says otherwise.
#[tokio::test]
async fn a_result_at_the_start_stands_in_an_element() {
    let inner = "one </Read> two </ read>";
    for (wrap, expected) in [
        ("", "<Read id=\"rye/file-system/read\" type=\"tool\">\n"),
        (", wrap: false", "{\"path\":\"a.txt\",\"content\":\"one </Read> two </ read>\""),
    ] {
        let scratch = Scratch::new();
        scratch.put("a.txt", inner);
        let hook = format!(
            "{{id: begin, event: thread_started{wrap}, action: {{primary: execute, item_type: tool, item_id: fs_read, params: {{path: a.txt}}}}}}"
        );
        scratch.sign(".ai/config/agent/hooks.yaml", &format!("hooks:\n  - {hook}\n"));
        scratch.sign(".ai/directives/test/write.md", &two_steps(""));
        let report = scratch.run("test/write", &[]).await.unwrap();
        assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
        let events = scratch.events(&report);
        let said =
            events.iter().filter(|(name, _)| name == "user_message").map(|(_, it)| &it["text"]);
        let said: Vec<&str> = said.filter_map(Value::as_str).collect();
        let told = said.iter().find(|text| text.starts_with(expected));
        let Some(told) = told else { panic!("{said:?}") };
        if wrap.is_empty() {
            assert!(told.ends_with("\n</Read>"), "{told}");
            assert!(told.contains("one &lt;/Read> two &lt;/ read>"), "{told}");
        }
        // What is on record is told again as it stands there.
        let replayed = scratch.rye().replay(&report.thread).await.unwrap();
        assert!(replayed.divergence.is_none(), "{:?}", replayed.divergence);
    }
}

/// Knowledge that a hook adds during a thread needs a permit like any other load.
#[tokio::test]
async fn knowledge_in_a_turn_is_a_permitted_load() {
    for (granted, is_told) in [(true, true), (false, false)] {
        let scratch = Scratch::new();
        knowledge(&scratch, "house", "Be kind.");
        let hooks = "hooks:\n  - {id: rules, event: after_step, action: {primary: load, item_type: knowledge, item_id: test/house}}\n";
        scratch.sign(".ai/config/agent/hooks.yaml", hooks);
        let text = two_steps("");
        let text =
            if granted { text } else { text.replace("<load><knowledge>*</knowledge></load>", "") };
        scratch.sign(".ai/directives/test/write.md", &text);
        let report = scratch.run("test/write", &[]).await.unwrap();
        let events = scratch.events(&report);
        let told = events.iter().any(|(name, it)| {
            name == "user_message"
                && it["text"].as_str().is_some_and(|text| text.contains("Be kind."))
        });
        assert_eq!(told, is_told);
    }
}

/// The directions of a directive that a hook executes are added to the same thread, with the hook's
/// parameters as inputs.
#[tokio::test]
async fn a_directive_is_followed_in_the_thread() {
    let scratch = Scratch::new();
    let hook = r#"<hooks><hook id="warn" event="after_step"><condition path="cost.turns" op="gte" value="1"/>
      <action primary="execute" item_type="directive" item_id="test/warn"><param name="turns">${cost.turns}</param></action></hook></hooks>"#;
    let grant = GRANT.replace("</tool>", "</tool><directive>test/warn</directive>");
    scratch.sign(".ai/directives/test/write.md", &two_steps(hook).replace(GRANT, &grant));
    let warn = "# Warn\n\n```xml\n<directive name=\"warn\" version=\"1.0.0\"><metadata><description>Warns.</description></metadata><inputs><input name=\"turns\" type=\"integer\" required=\"true\" /></inputs></directive>\n```\n\nYou have used {input:turns} turns.\n";
    scratch.sign(".ai/directives/test/warn.md", warn);
    let report = scratch.run("test/write", &[]).await.unwrap();
    let events = scratch.events(&report);
    let told: Vec<&str> = events
        .iter()
        .filter(|(name, _)| name == "user_message")
        .filter_map(|(_, it)| it["text"].as_str())
        .collect();
    assert!(told[1].contains("You have used 1 turns."), "{told:?}");
}

/// The effect of a hook decides the end of the thread.
#[tokio::test]
async fn a_hook_ends_the_thread() {
    for (effect, state) in [
        ("fail", ThreadState::Error),
        ("abort", ThreadState::Cancelled),
        ("escalate", ThreadState::Suspended),
    ] {
        let scratch = Scratch::new();
        let hook =
            format!("<hooks><hook id=\"stop\" event=\"after_step\" effect=\"{effect}\"/></hooks>");
        scratch.sign(".ai/directives/test/write.md", &two_steps(&hook));
        let report = scratch.run("test/write", &[]).await.unwrap();
        assert_eq!(report.outcome.state, state);
        assert_eq!(report.outcome.turns, 1);
    }
}

/// An unsigned hooks file is refused, whatever its hooks do.
#[tokio::test]
async fn an_unsigned_hooks_file_is_refused() {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/write.md", &two_steps(""));
    scratch
        .put(".ai/config/agent/hooks.yaml", "hooks:\n  - {id: a, event: error, effect: retry}\n");
    let error = scratch.run("test/write", &[]).await.unwrap_err();
    assert_eq!(error.class(), rye::Class::Refused);
}
