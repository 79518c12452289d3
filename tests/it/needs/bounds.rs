//! What signers and policies take away, and tools that cannot be offered: told by the check at the line, and alike by the run
//! (SPEC 2.7, 9.4).

use std::fs;

use rye::sign::{SigningKey, TrustDocument};
use rye::thread::FailureKind;
use rye::{Class, Explained, PlanRequest, ProviderChoice, Severity, with_signature};
use rye_tests::Scratch;
use serde_json::{Value, json};

use super::{call, directive, findings, permissions, privileges, put, steps, told};
use crate::model::{answer, provider, server, tool_use};

const READ: &str = "rye.execute.tool.rye.file-system.read";

/// A second key that may grant only reading files, and its id.
fn guest(scratch: &Scratch) -> (SigningKey, String) {
    let key = SigningKey::generate().unwrap();
    let id = key.public().key_id().to_string();
    let document = TrustDocument::new("the guest", key.public()).with_grants([READ.to_owned()]);
    scratch.put_user(&format!(".ai/config/keys/trusted/{id}.toml"), &document.to_toml());
    (key, id)
}

fn sign(scratch: &Scratch, key: &SigningKey, path: &str, text: &str) {
    let at = "2026-11-20T00:00:00Z".parse().unwrap();
    let text = with_signature(&scratch.project().join(path), text, key, at).unwrap();
    scratch.put(path, &text);
}

fn writing(head: &str) -> String {
    let may = permissions("<execute><tool>rye.file-system.write</tool></execute>");
    let write = call("rye/file-system/write", &json!({"path": "out.txt", "content": "x"}));
    directive("work", &format!("{may}{head}"), "", &steps(&[&write]))
}

/// The key that signed the directive, a directive that it extends, or knowledge in its context may not grant what it needs.
#[tokio::test]
async fn a_signer_that_may_not_grant_it_is_an_error_at_the_line() {
    let work = ".ai/directives/test/work.md";
    let advice = "```yaml\nname: advice\ntitle: Advice\n```\n\nWrite files.\n";
    let context = "<context><before>guest/advice</before></context>";
    let based = writing("").replace("name=\"work\"", "name=\"work\" extends=\"test/base\"");
    let rows = [
        ("the directive", writing(""), "this directive", 9),
        ("its base", based, "directive `test/base`", 4),
        ("its context", writing(context), "knowledge `guest/advice`", 9),
    ];
    for (name, text, signed, line) in rows {
        let scratch = Scratch::new();
        let (key, id) = guest(&scratch);
        let base = directive("base", "", "", "");
        match name {
            "the directive" => sign(&scratch, &key, work, &text),
            _ => drop(scratch.sign_unchecked(work, &text)),
        }
        sign(&scratch, &key, ".ai/directives/test/base.md", &base);
        sign(&scratch, &key, ".ai/knowledge/guest/advice.md", advice);
        let expected = format!(
            "error beyond-grants: the signing key `{id}`, which signed {signed}, may not grant \
             `rye.execute.tool.rye.file-system.write`, which step `s0` needs of `rye.execute.tool.rye.file-system.write`"
        );
        assert_eq!(told(&scratch, "work"), [expected], "{name}");
        let [finding] = &findings(&scratch, "work")[..] else { panic!("{name}") };
        let file = fs::read_to_string(scratch.project().join(work)).unwrap();
        // One line is the signature.
        let found = file[..finding.span.start].lines().count() - 1;
        assert_eq!(found, line, "{name}: {file}");
        assert!(finding.bars_signing, "{name}: it is judged under the signature that it gets");
        let page = privileges(&scratch, "work").to_string();
        assert!(page.contains(&format!("denied by the signing key `{id}`")), "{name}: {page}");
        let request = PlanRequest::new("test/work".parse().unwrap());
        let explained = Explained::of(&scratch.rye(), &request).unwrap();
        let warned = explained
            .warnings
            .iter()
            .any(|it| it.contains(&format!("signing key `{id}`, which signed it, may not grant")));
        assert!(warned, "{name}: {:?}", explained.warnings);
        let report = scratch.run("test/work", &[]).await.unwrap();
        assert_eq!(report.outcome.failure.unwrap().kind, FailureKind::Refused, "{name}");
        assert!(!scratch.project().join("out.txt").exists(), "{name}");
    }
}

/// Nothing is said of a signer that may grant all of it, and a part of a pattern is a warning.
#[test]
fn a_signer_that_may_grant_a_part_is_a_warning() {
    for (declared, expected) in [
        ("rye.file-system.read", &[][..]),
        ("rye.file-system.re*", &["warning beyond-grants"]),
        ("rye.file-system.ls", &["error beyond-grants"]),
    ] {
        let scratch = Scratch::new();
        let (key, _) = guest(&scratch);
        let may = permissions(&format!("<execute><tool>{declared}</tool></execute>"));
        let text = directive("work", &may, "", "Read what you need.");
        sign(&scratch, &key, ".ai/directives/test/work.md", &text);
        let found = told(&scratch, "work");
        let found: Vec<&str> = found.iter().filter_map(|it| it.split(": ").next()).collect();
        assert_eq!(found, expected, "{declared}");
    }
}

const MINE: &str =
    "description: W.\nexecutor: builtin\nbuiltin: file-system/write\ninput_schema: {}\n";

fn policy(scratch: &Scratch, patterns: &str) {
    scratch.sign(".ai/config/trust.yaml", &format!("grants: {patterns}\n"));
}

/// A directive whose step calls a tool of the project, and that a model runs.
fn with_policy(
    patterns: &str,
    answers: Vec<crate::server::Answer>,
) -> (Scratch, crate::server::Server) {
    let model = server(answers);
    let scratch = Scratch::new();
    scratch.sign(".ai/tools/mine/write.yaml", MINE);
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(&model));
    let may = permissions("<execute><tool>mine.write</tool></execute>");
    let write = call("mine/write", &json!({"path": "out.txt", "content": "x"}));
    let text = directive("work", &format!("<model tier=\"fast\" />{may}"), "", &steps(&[&write]));
    put(&scratch, "work", &text);
    policy(&scratch, patterns);
    (scratch, model)
}

/// A step whose tool the policy denies, by its id or by its function, costs no request, and the check says why.
#[tokio::test]
async fn what_a_step_needs_and_cannot_have_costs_no_request() {
    for patterns in ["[rye.load.*]", "[rye.execute.tool.mine.*]"] {
        let (scratch, model) = with_policy(patterns, Vec::new());
        let provider = ProviderChoice::Named("local".to_owned());
        let error = scratch.run_with("test/work", &[], |it| it.provider = provider).await;
        let rye::RunError::Prepare { source, .. } = error.unwrap_err() else {
            panic!("{patterns}")
        };
        assert_eq!(source.class(), Class::Refused, "{patterns}");
        let told = source.to_string();
        assert!(told.contains("step `s0` needs `rye.execute.tool.mine.write`"), "{told}");
        assert!(told.contains("the project's policy"), "{told}");
        assert_eq!(model.received().len(), 0, "{patterns}");
        let is_error = findings(&scratch, "work").iter().any(|it| it.severity == Severity::Error);
        assert!(is_error, "{patterns}: {:?}", super::told(&scratch, "work"));
    }
}

/// The refusals of the calls of a thread.
fn refusals(events: &[(String, Value)]) -> Vec<Value> {
    let results = events.iter().filter(|(name, _)| name == "tool_call_result");
    results.map(|(_, payload)| payload["refusal"].clone()).collect()
}

/// A call of a function that is not offered is refused with the layer and the pattern, as one of `rye_execute` is, and
/// triggers the event `error`.
#[tokio::test]
async fn a_flat_call_of_a_tool_that_is_not_granted_is_refused() {
    let hook = "<hooks><hook id=\"denied\" event=\"error\"><when>error.type eq \"permission_denied\"</when>\
                <action primary=\"execute\" item_type=\"tool\" item_id=\"rye/file-system/ls\"><param name=\"path\" value=\".\" />\
                </action></hook></hooks>";
    let input = json!({"path": "out.txt", "content": "x"});
    let by_id =
        json!({"item_type": "tool", "item_id": "rye/file-system/write", "parameters": input});
    let rows = [
        ("rye_file_system_write", &input),
        ("rye/file-system/write", &input),
        ("mcp__rye__rye_file_system_write", &input),
        ("rye_execute", &by_id),
    ];
    for (name, arguments) in rows {
        let model = server(vec![
            answer(&json!([tool_use("a", name, arguments)]), "tool_use"),
            answer(&json!([{ "type": "text", "text": "Done." }]), "end_turn"),
        ]);
        let scratch = Scratch::new();
        scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(&model));
        let may = permissions("<execute><tool>rye.file-system.ls</tool></execute>");
        let metadata = format!("<model tier=\"fast\" />{may}{hook}");
        put(&scratch, "work", &directive("work", &metadata, "", "Do what is needed."));
        let provider = ProviderChoice::Named("local".to_owned());
        let report = scratch.run_with("test/work", &[], |it| it.provider = provider).await.unwrap();
        let events = scratch.events(&report);
        let refusals = refusals(&events);
        assert_eq!(refusals[0]["pattern"], "rye.execute.tool.rye.file-system.write", "{name}");
        let triggered = events.iter().filter(|(event, _)| event == "hook_triggered").count();
        assert_eq!(triggered, 1, "{name}");
        assert!(!scratch.project().join("out.txt").exists(), "{name}");
    }
}

/// Without a model, the call is refused with the true reason, and not as one of no tool.
#[tokio::test]
async fn a_step_whose_tool_the_policy_denies_is_refused() {
    let (scratch, _) = with_policy("[rye.load.*]", Vec::new());
    let report = scratch.run("test/work", &[]).await.unwrap();
    let refusals = refusals(&scratch.events(&report));
    assert_eq!(refusals[0]["pattern"], "rye.execute.tool.mine.write");
    let failure = report.outcome.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert!(failure.message.contains("the project's policy"), "{}", failure.message);
}
