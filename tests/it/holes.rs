//! Security holes of the original system, with one named test for each (SPEC 13).
//!
//! Attacks through command lines, variables and terminals are in `crates/rye-cli/tests/cli/hostile.rs`.

use std::fs;

use rye::caps::{Authority, Grant, Layer, LayerName};
use rye::resolve::ItemId;
use rye::sign::token::{Claims, Token, TokenError, covers_literally, verify_chain};
use rye::sign::{Digest, SigningKey};
use rye::thread::FailureKind;
use rye::types::{ItemKind, ThreadState};
use rye::{Class, ProviderChoice, RenderRequest, RunError, RunReport, ThreadReadError};
use rye_tests::Scratch;
use serde_json::{Value, json};

use crate::model::{answer, provider, server, tool_use};

mod clocks;
mod dots;
mod environment;
mod policy;
mod project_files;
mod wrappers;

const WRITE: &str =
    "<permissions><execute><tool>rye.file-system.write</tool></execute></permissions>";
const OUTPUT: &str =
    r#"<outputs><output name="path" type="string" required="true">The file</output></outputs>"#;

/// A directive that writes `out.txt`, with additions to its metadata and its fence.
fn writing(head: &str, tail: &str) -> String {
    rye_tests::writing(&format!("{WRITE}{head}"), tail)
}

/// A project that writes `out.txt` as long as a test does not break it.
fn sound() -> Scratch {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/write.md", &writing("", ""));
    scratch
}

fn wrote(scratch: &Scratch) -> bool {
    scratch.project().join("out.txt").exists()
}

/// The message of the innermost cause.
fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

/// Checks that a run was refused and had no effect. `reason` is part of the debug form of the error, usually
/// a variant of [`rye::sign::Error`].
#[track_caller]
fn check_refused(scratch: &Scratch, result: Result<RunReport, RunError>, reason: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.class(), Class::Refused, "{error:?}");
    assert!(!wrote(scratch));
    let told = format!("{error:?}");
    assert!(told.contains(reason), "{told}");
}

/// The project of the other tests runs, so their refusals have no other cause.
#[tokio::test]
async fn nothing_is_wrong_with_the_sound_project() {
    let scratch = sound();
    let report = scratch.run("test/write", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed);
    assert!(wrote(&scratch));
}

#[tokio::test]
async fn an_edited_process_body() {
    let scratch = sound();
    let path = scratch.project().join(".ai/directives/test/write.md");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("hello", "hullo")).unwrap();
    check_refused(&scratch, scratch.run("test/write", &[]).await, "Tampered");
    let id: ItemId = "test/write".parse().unwrap();
    assert!(scratch.rye().render(&RenderRequest::new(id)).is_err());
}

#[tokio::test]
async fn an_item_moved_to_another_id() {
    let scratch = sound();
    let text = fs::read_to_string(scratch.project().join(".ai/directives/test/write.md")).unwrap();
    scratch.put(".ai/directives/ops/write.md", &text);
    check_refused(&scratch, scratch.run("ops/write", &[]).await, "Unverified");
    // A signature for another kind does not count either.
    let advice = "```yaml\nname: advice\ntitle: Advice\n```\n\nAdvice.\n";
    let path = scratch.sign(".ai/knowledge/test/advice.md", advice);
    scratch.put(".ai/directives/test/advice.md", &fs::read_to_string(path).unwrap());
    check_refused(&scratch, scratch.run("test/advice", &[]).await, "Unverified");
}

#[tokio::test]
async fn an_unsigned_directive() {
    let scratch = sound();
    scratch.put(".ai/directives/test/write.md", &writing("", ""));
    check_refused(&scratch, scratch.run("test/write", &[]).await, "Unsigned");
}

#[tokio::test]
async fn an_unsigned_directive_that_a_signed_one_extends() {
    let scratch = Scratch::new();
    let leaf =
        writing("", "").replace("version=\"1.0.0\"", "version=\"1.0.0\" extends=\"test/base\"");
    scratch.sign(".ai/directives/test/write.md", &leaf);
    scratch.put(".ai/directives/test/base.md", &writing("", "").replace("\"write\"", "\"base\""));
    check_refused(&scratch, scratch.run("test/write", &[]).await, "Unsigned");
}

#[tokio::test]
async fn an_unsigned_hook() {
    let scratch = sound();
    scratch.sign(".ai/directives/test/base.md", &writing("", "").replace("\"write\"", "\"base\""));
    let hooks = "hooks:\n  - {id: a, event: resolve_extends, extends: test/base}\n";
    scratch.put(".ai/config/agent/hooks.yaml", hooks);
    check_refused(&scratch, scratch.run("test/write", &[]).await, "Unsigned");
}

#[tokio::test]
async fn an_unsigned_provider() {
    let server = server(Vec::new());
    let scratch = sound();
    scratch.put(".ai/tools/rye/agent/providers/local.yaml", &provider(&server));
    let run = scratch.run_with("test/write", &[], |request| {
        request.provider = ProviderChoice::from_name("local");
        request.model = Some("test-model".to_owned());
    });
    check_refused(&scratch, run.await, "Unsigned");
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn an_unsigned_risk_config() {
    let scratch = sound();
    scratch.put(".ai/config/agent/capability_risk.yaml", "classifications: []\n");
    check_refused(&scratch, scratch.run("test/write", &[]).await, "Unsigned");
}

#[tokio::test]
async fn an_unsigned_tool() {
    let scratch = sound();
    let tool =
        "description: Writes.\nexecutor: builtin\nbuiltin: file-system/write\ninput_schema: {}\n";
    scratch.put(".ai/tools/rye/file-system/write.yaml", tool);
    check_refused(&scratch, scratch.run("test/write", &[]).await, "Unsigned");
}

/// Cloning a repository does not make its author trusted (SPEC 2.8).
#[tokio::test]
async fn a_project_s_own_trust_document() {
    let scratch = Scratch::new();
    let key = SigningKey::generate().unwrap();
    let document = rye::sign::TrustDocument::new("a stranger", key.public());
    let at = "2026-11-20T00:00:00Z".parse().unwrap();
    let signed_document = rye::sign::sign(
        &document.to_toml(),
        rye::sign::CommentStyle::Hash,
        &document.item_name(),
        &key,
        at,
    );
    let file = format!("config/keys/trusted/{}.toml", key.public().key_id());
    scratch.put(&format!(".ai/{file}"), &signed_document);
    let path = scratch.project().join(".ai/directives/test/write.md");
    let text = rye::with_signature(&path, &writing("", ""), &key, at).unwrap();
    scratch.put(".ai/directives/test/write.md", &text);
    check_refused(&scratch, scratch.run("test/write", &[]).await, "UnknownKey");
    // The same document counts in the user space.
    scratch.put_user(&format!(".ai/{file}"), &signed_document);
    let report = scratch.run_with("test/write", &[], |request| {
        request.provider = ProviderChoice::Steps;
        request.thread = "write-019a0000-0000-7000-8000-000000000002".parse().unwrap();
    });
    assert_eq!(report.await.unwrap().outcome.state, ThreadState::Completed);
}

/// The authorized tool is the one that runs: no argument of a call leads to another tool (SPEC 9.4).
#[tokio::test]
async fn a_tool_call_whose_arguments_name_another_tool() {
    let write = json!({ "path": "out.txt", "content": "hello" });
    let named = |id: &str, parameters: &Value| json!({ "item_type": "tool", "item_id": id, "parameters": parameters });
    let ls = "rye/file-system/ls";
    let writer = "rye/file-system/write";
    let mut smuggled = json!({ "path": ".", "tool": "rye_file_system_write" });
    smuggled["item_id"] = writer.into();
    smuggled["parameters"] = write.clone();
    let nested = named(ls, &named(writer, &write));
    let climbing = "rye/file-system/../file-system/write";
    // The grant, the called tool, its arguments, and the expected target.
    for (grant, tool, arguments, held_to) in [
        ("rye.file-system.*", "rye_file_system_ls", smuggled.clone(), Some(ls)),
        ("rye.file-system.*", "rye_execute", named(ls, &smuggled), Some(ls)),
        ("rye.file-system.*", "rye_execute", nested.clone(), Some(ls)),
        ("rye.file-system.*", "rye_execute", named(climbing, &write), None),
        ("rye.file-system.ls", "rye_execute", nested, Some(ls)),
        ("rye.file-system.ls", "rye_execute", named(writer, &write), None),
        ("rye.file-system.ls", "rye_execute", named("fs_write", &write), None),
        ("rye.file-system.ls", "rye_file_system_write", write.clone(), None),
    ] {
        let calls = answer(&json!([tool_use("call_1", tool, &arguments)]), "tool_use");
        let ends = answer(&json!([{ "type": "text", "text": "Done." }]), "end_turn");
        let server = server(vec![calls, ends]);
        let scratch = Scratch::new();
        let text = writing("", "").replace("rye.file-system.write", grant);
        scratch.sign(".ai/directives/test/write.md", &text);
        scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(&server));
        let report = scratch.run_with("test/write", &[], |request| {
            request.provider = ProviderChoice::from_name("local");
            request.model = Some("test-model".to_owned());
        });
        let report = report.await.unwrap();
        assert!(!wrote(&scratch), "{arguments}");
        let events = scratch.events(&report);
        let target = events.iter().find(|(name, _)| name == "tool_call_start").unwrap();
        assert_eq!(target.1["target"]["item_id"].as_str(), held_to, "{arguments}");
        let result = events.iter().find(|(name, _)| name == "tool_call_result").unwrap();
        assert_eq!(result.1["is_error"], true, "{arguments}");
    }
}

/// The run is refused. If the item were left out, a changed file could hide rules from the model.
#[tokio::test]
async fn a_tampered_context_item() {
    for element in ["<system>", "<before optional=\"true\">", "<after>"] {
        let scratch = Scratch::new();
        let name = element.trim_matches(['<', '>']).split(' ').next().unwrap();
        let context = format!("<context>{element}test/rules</{name}></context>");
        scratch.sign(".ai/directives/test/write.md", &writing(&context, ""));
        let rules = "```yaml\nname: rules\ntitle: Rules\n```\n\nNever delete.\n";
        let path = scratch.sign(".ai/knowledge/test/rules.md", rules);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("Never", "Always")).unwrap();
        check_refused(&scratch, scratch.run("test/write", &[]).await, "Tampered");
        // An unsigned item is refused too.
        fs::write(&path, rules).unwrap();
        let run = scratch.run_with("test/write", &[], |request| {
            request.provider = ProviderChoice::Steps;
            request.thread = "write-019a0000-0000-7000-8000-000000000002".parse().unwrap();
        });
        check_refused(&scratch, run.await, "Unsigned");
    }
}

/// All readers of a transcript use [`rye::Rye::thread`], which refuses an edited one.
#[tokio::test]
async fn a_resumed_transcript_that_was_edited() {
    let scratch = sound();
    let report = scratch.run("test/write", &[]).await.unwrap();
    let path = report.folder.join("transcript.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let threads = scratch.project().join(".ai/threads");
    let reading = |text: &str| {
        fs::write(&path, text).unwrap();
        scratch.rye().thread(&threads, &report.thread)
    };
    let lines: Vec<&str> = whole.lines().collect();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("hello")) {
        let mut edited = lines.clone();
        let forged = line.replace("hello", "hullo");
        edited[index] = &forged;
        match reading(&(edited.join("\n") + "\n")).unwrap_err() {
            // The next record contains the hash of this one.
            ThreadReadError::Damaged { source, .. } => {
                assert_eq!(source.record, u64::try_from(index + 1).unwrap());
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(whole.contains("hello"));
    let shorter = lines[..lines.len() - 1].join("\n") + "\n";
    assert!(matches!(reading(&shorter), Err(ThreadReadError::Length { .. })));
    assert!(reading(&whole).is_ok());
}

#[test]
fn a_child_widening_its_grant() {
    let grant = |pattern: &str| -> Grant { [pattern.parse().unwrap()].into_iter().collect() };
    let layer =
        |name: &str, pattern: &str| Layer::new(LayerName::Thread(name.to_owned()), grant(pattern));
    let parent = Authority::new(layer("parent", "rye.execute.tool.rye.file-system.*"));
    let child = parent.narrow(layer("child", "rye.*"));
    let allowed =
        |authority: &Authority, text: &str| authority.permit(&text.parse().unwrap()).is_ok();
    assert!(allowed(&child, "rye.execute.tool.rye.file-system.read"));
    assert!(!allowed(&child, "rye.execute.tool.rye.bash.bash"));
    check_child_tokens();
}

fn check_child_tokens() {
    let key = SigningKey::generate().unwrap();
    let claims = |id: &str, pattern: &str| Claims {
        token_id: id.to_owned(),
        thread_id: id.to_owned(),
        directive_id: "test/write".to_owned(),
        directive_hash: Digest::of(b""),
        capabilities: vec![vec![pattern.to_owned()]],
        issued: "2026-11-20T17:00:00Z".parse().unwrap(),
        expires: "2026-11-20T19:00:00Z".parse().unwrap(),
    };
    let parent = Token::mint(claims("parent", "rye.execute.tool.a"), &key).unwrap();
    let wide = claims("child", "rye.*");
    let minted = parent.child(wide.clone(), &key, covers_literally);
    assert!(matches!(minted, Err(TokenError::Widened { .. })), "{minted:?}");
    // A wider token that was signed anyway fails verification.
    let forged = parent.child(wide, &key, |_, _| true).unwrap();
    let now = "2026-11-20T18:00:00Z".parse().unwrap();
    let verified = verify_chain(&[parent, forged], &[key.public()], now, covers_literally).cloned();
    assert!(matches!(verified, Err(TokenError::Widened { .. })), "{verified:?}");
}

#[tokio::test]
async fn a_finished_thread_without_its_required_outputs() {
    let text = answer(&json!([{ "type": "text", "text": "All done!" }]), "end_turn");
    let returns = |parameters: Value| {
        let call = tool_use("call", "rye_agent_threads_directive_return", &parameters);
        answer(&json!([call]), "tool_use")
    };
    for answers in [
        vec![text.clone(), text.clone()],
        vec![returns(json!({})), text.clone(), text.clone()],
        vec![returns(json!({ "path": 7 })), text.clone(), text.clone()],
        vec![returns(json!({ "pfad": "out.txt" })), text.clone(), text.clone()],
    ] {
        let server = server(answers);
        let scratch = Scratch::new();
        scratch.sign(".ai/directives/test/write.md", &writing("", OUTPUT));
        scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(&server));
        let report = scratch.run_with("test/write", &[], |request| {
            request.provider = ProviderChoice::from_name("local");
            request.model = Some("test-model".to_owned());
        });
        let outcome = report.await.unwrap().outcome;
        assert_eq!(outcome.state, ThreadState::Error);
        assert_eq!(outcome.failure.unwrap().kind, FailureKind::MissingOutputs);
        assert_eq!(outcome.outputs, None);
    }
}

#[tokio::test]
async fn two_files_for_one_id() {
    let scratch = sound();
    let manifest =
        "description: Writes.\nexecutor: builtin\nbuiltin: file-system/write\ninput_schema: {}\n";
    for extension in ["yaml", "yml"] {
        scratch.sign(&format!(".ai/tools/rye/file-system/write.{extension}"), manifest);
    }
    let error = scratch.run("test/write", &[]).await.unwrap_err();
    let told = innermost(&error);
    assert!(told.contains("write.yaml") && told.contains("write.yml"), "{told}");
    assert!(!wrote(&scratch));
    let id: ItemId = "rye/file-system/write".parse().unwrap();
    assert!(scratch.rye().library().tool(&id).is_err());
    assert!(scratch.rye().library().locate(ItemKind::Tool, &id).is_err());
}
