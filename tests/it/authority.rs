//! The layers that must allow a call: operator, project, signers and directive, each named by its denial, and
//! the token of a thread (SPEC 2.7, 9.4, 9.5).

use std::fs;

use rye::caps::{Authority, Capability, Grant, Layer, LayerName};
use rye::sign::token::{Token, TokenError, verify_chain};
use rye::sign::{PublicKey, SigningKey, TrustDocument};
use rye::thread::FailureKind;
use rye::types::ThreadState;
use rye::{ProviderChoice, RunReport, ThreadReadError, covers, with_signature};
use rye_tests::Scratch;
use serde_json::Value;

const WRITES: &str = "rye.execute.tool.rye.file-system.write";

/// A directive that writes a file and declares the permission `pattern`.
fn writing(pattern: &str, head: &str) -> String {
    let permissions =
        format!("<permissions><execute><tool>{pattern}</tool></execute></permissions>");
    rye_tests::writing(&format!("{head}{permissions}"), "")
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/write.md", &writing("rye.file-system.write", ""));
    scratch
}

fn policy(scratch: &Scratch, patterns: &str) {
    // The policy of the user space is signed too, with a trusted key.
    let signed = scratch.sign_unchecked(".ai/config/trust.yaml", &format!("grants: {patterns}\n"));
    scratch.put_user(".ai/config/trust.yaml", &fs::read_to_string(&signed).unwrap());
    fs::remove_file(signed).unwrap();
}

async fn run(scratch: &Scratch) -> RunReport {
    scratch.run("test/write", &[]).await.unwrap()
}

/// Checks that the call was refused, and that the message names the layer and the missing pattern.
#[track_caller]
fn check_denied(scratch: &Scratch, report: &RunReport, expected: &str) {
    assert!(!scratch.project().join("out.txt").exists());
    let failure = report.outcome.failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::Refused);
    let results = scratch.events(report);
    let result = results.iter().find(|(name, _)| name == "tool_call_result").unwrap();
    assert_eq!(result.1["refusal"]["pattern"], WRITES);
    let message = result.1["refusal"]["message"].as_str().unwrap();
    assert_eq!(message, format!("`{WRITES}` is not allowed by {expected}"));
}

#[tokio::test]
async fn the_operator_s_policy() {
    let scratch = scratch();
    policy(&scratch, "[rye.load.*]");
    let expected = format!(
        "the operator's policy (add `{WRITES}` to the `grants` of its `config/trust.yaml`)"
    );
    check_denied(&scratch, &run(&scratch).await, &expected);
}

#[tokio::test]
async fn an_operator_s_policy_that_allows_nothing() {
    let scratch = scratch();
    policy(&scratch, "[]");
    let expected = format!(
        "the operator's policy (add `{WRITES}` to the `grants` of its `config/trust.yaml`)"
    );
    check_denied(&scratch, &run(&scratch).await, &expected);
}

#[tokio::test]
async fn an_operator_s_policy_that_allows_it() {
    let scratch = scratch();
    policy(&scratch, "[rye.execute.tool.rye.file-system.*]");
    assert_eq!(run(&scratch).await.outcome.state, ThreadState::Completed);
}

/// A project can narrow the operator's policy, but not widen it.
#[tokio::test]
async fn the_project_s_policy() {
    let narrow = scratch();
    narrow.sign(".ai/config/trust.yaml", "grants: [rye.load.*]\n");
    let expected =
        format!("the project's policy (add `{WRITES}` to the `grants` of its `config/trust.yaml`)");
    check_denied(&narrow, &run(&narrow).await, &expected);

    let wide = scratch();
    policy(&wide, "[rye.load.*]");
    wide.sign(".ai/config/trust.yaml", "grants: ['rye.*']\n");
    let expected = format!(
        "the operator's policy (add `{WRITES}` to the `grants` of its `config/trust.yaml`)"
    );
    check_denied(&wide, &run(&wide).await, &expected);
}

#[test]
fn what_is_no_pattern_in_a_policy_refuses_every_run() {
    let scratch = scratch();
    policy(&scratch, "['rye.{a,b}']");
    let error = scratch.open().err().unwrap();
    let told =
        std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
            .map(ToString::to_string)
            .collect::<String>();
    assert!(told.contains("at `/grants/0`: "), "{told}");
}

/// The policy also applies to the function that a tool's name stands for, whatever key signed the tool.
#[tokio::test]
async fn a_policy_that_allows_another_name_for_a_function() {
    let scratch = Scratch::new();
    let text = writing("mine.write", "").replace("rye/file-system/write", "mine/write");
    scratch.sign(".ai/directives/test/write.md", &text);
    let tool = "description: W.\nexecutor: builtin\nbuiltin: file-system/write\ninput_schema: {}\n";
    scratch.sign(".ai/tools/mine/write.yaml", tool);
    policy(&scratch, "[rye.execute.tool.mine.*]");
    let error = scratch.run("test/write", &[]).await.unwrap_err();
    assert!(!scratch.project().join("out.txt").exists());
    let rye::RunError::Prepare { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.class(), rye::Class::Refused);
    let denied = format!(
        "`{WRITES}`, which `rye.execute.tool.mine.write` stands for, is not allowed by the operator's policy"
    );
    assert!(source.to_string().contains(&denied), "{source}");
}

#[tokio::test]
async fn the_signing_key() {
    let scratch = Scratch::new().with_ceiling(&["rye.load.*"]);
    scratch.sign(".ai/directives/test/write.md", &writing("rye.file-system.write", ""));
    let report = run(&scratch).await;
    let message = &report.outcome.failure.as_ref().unwrap().message;
    let (_, key) = message.split_once("the signing key `").unwrap();
    let (id, _) = key.split_once('`').unwrap();
    let expected =
        format!("the signing key `{id}` (add `{WRITES}` to the `grants` of its trust document)");
    check_denied(&scratch, &report, &expected);
}

#[tokio::test]
async fn the_directive() {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/write.md", &writing("rye.file-system.read", ""));
    let expected = "the directive `test/write` (add `<execute><tool>rye.file-system.write</tool></execute>` to its \
                    `<permissions>`)";
    check_denied(&scratch, &run(&scratch).await, expected);
}

/// Knowledge narrows the thread to the grants of its signing key, and a warning names the key.
#[tokio::test]
async fn knowledge_of_a_key_that_may_grant_less() {
    let scratch = Scratch::new();
    let key = SigningKey::generate().unwrap();
    let document = TrustDocument::new("a colleague", key.public()).with_grants([]);
    let id = key.public().key_id().to_string();
    scratch.put_user(&format!(".ai/config/keys/trusted/{id}.toml"), &document.to_toml());
    let head = "<context><system>guest/advice</system></context>";
    scratch.sign(".ai/directives/test/write.md", &writing("rye.file-system.write", head));
    let advice = "```yaml\nname: advice\ntitle: Advice\n```\n\nWrite files.\n";
    let path = scratch.project().join(".ai/knowledge/guest/advice.md");
    let at = "2026-11-20T00:00:00Z".parse().unwrap();
    scratch.put(".ai/knowledge/guest/advice.md", &with_signature(&path, advice, &key, at).unwrap());
    let report = run(&scratch).await;
    let expected =
        format!("the signing key `{id}` (add `{WRITES}` to the `grants` of its trust document)");
    check_denied(&scratch, &report, &expected);
    assert!(report.warnings.contains(&format!(
        "knowledge `guest/advice` lessens what the thread may do: the signing key `{id}`, which signed it, may not grant \
         `{WRITES}`; read it and sign it with a key that may, or leave it out"
    )), "{:?}", report.warnings);
}

/// Returns the token, the key and the record of a run from its `thread.json`.
fn token(report: &RunReport) -> (Token, PublicKey, Value) {
    let text = fs::read_to_string(report.folder.join("thread.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let token = Token::parse(&record["facts"]["token"].to_string()).unwrap();
    let pem = record["facts"]["signed_by"]["public_key"].as_str().unwrap();
    (token, PublicKey::from_pem(pem).unwrap(), record)
}

/// The token of a thread allows exactly what its layers together allow.
#[tokio::test]
async fn a_thread_s_token_says_what_it_may_do() {
    let scratch = Scratch::new().with_ceiling(&["rye.execute.tool.*.write"]);
    scratch.sign(".ai/directives/test/write.md", &writing("rye.[fo]*", ""));
    policy(&scratch, "['rye.execute.tool.*.file-system.*']");
    let report = run(&scratch).await;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    let (token, key, record) = token(&report);
    let issued = token.claims().issued;
    let verified = verify_chain(std::slice::from_ref(&token), &[key], issued, covers).unwrap();
    assert_eq!(verified.claims().thread_id, report.thread.as_str());
    assert_eq!(record["facts"]["chain"][0]["sha256"], verified.claims().directive_hash.to_string());
    let authority = of_token(verified);
    for (capability, allowed) in [
        (WRITES, true),
        ("rye.execute.tool.rye.file-system.read", false),
        ("rye.execute.tool.rye.notes.write", false),
        ("rye.execute.tool.acme.file-system.write", false),
        ("rye.execute.tool.rye.other.file-system.write", true),
        ("rye.load.tool.rye.file-system.write", false),
    ] {
        let capability: Capability = capability.parse().unwrap();
        assert_eq!(authority.permit(&capability.clone().into()).is_ok(), allowed, "{capability}");
    }
    let threads = scratch.project().join(".ai/threads");
    let reading = scratch.rye().thread(&threads, &report.thread).unwrap();
    assert_eq!(reading.token.as_ref(), Some(verified));
}

/// The authority of the capability lists of a token.
fn of_token(token: &Token) -> Authority {
    let mut layers = token.claims().capabilities.iter().map(|list| {
        let grant: Grant = list.iter().map(|pattern| pattern.parse().unwrap()).collect();
        Layer::new(LayerName::Thread(token.claims().thread_id.clone()), grant)
    });
    let root = Authority::new(layers.next().unwrap());
    layers.fold(root, |authority, layer| authority.narrow(layer))
}

#[tokio::test]
async fn a_thread_s_token_is_refused_with_its_own_error() {
    let scratch = scratch();
    let report = run(&scratch).await;
    let (token, key, _) = token(&report);
    let issued = token.claims().issued;
    let expires = token.claims().expires;
    let keys = [key];
    let verify =
        |token: &Token, at| verify_chain(std::slice::from_ref(token), &keys, at, covers).cloned();
    assert!(verify(&token, issued).is_ok());
    assert!(matches!(verify(&token, expires), Err(TokenError::Expired { .. })));
    let forged =
        Token::parse(&token.to_json().replace("file-system.write", "file-system.*")).unwrap();
    assert!(matches!(verify(&forged, issued), Err(TokenError::Forged { .. })));
    let other = SigningKey::generate().unwrap();
    let minted = Token::mint(token.claims().clone(), &other).unwrap();
    assert!(matches!(verify(&minted, issued), Err(TokenError::UnknownKey { .. })));
    let mut claims = token.claims().clone();
    claims.capabilities.push(vec![WRITES.to_owned()]);
    let child = token.child(claims.clone(), &other, covers).unwrap();
    let keys = [keys[0].clone(), other.public()];
    let chain = |tokens: &[Token]| verify_chain(tokens, &keys, issued, covers).cloned();
    assert_eq!(chain(&[token.clone(), child.clone()]), Ok(child.clone()));
    assert!(matches!(chain(&[minted, child]), Err(TokenError::Reparented { .. })));
    claims.capabilities = vec![vec!["rye.execute.tool.rye.file-system.*".to_owned()]];
    assert!(matches!(token.child(claims, &other, covers), Err(TokenError::Widened { .. })));
}

/// Even the thread's own key cannot put the token of another thread into the record.
#[tokio::test]
async fn a_record_with_the_token_of_another_thread_is_refused() {
    let scratch = scratch();
    let key = SigningKey::generate().unwrap();
    let report = run(&scratch).await;
    let (token, _, mut record) = token(&report);
    let pem = key.public().to_pem();
    record.as_object_mut().unwrap().remove("_signature");
    record["facts"]["signed_by"]["public_key"] = pem.into();
    let threads = scratch.project().join(".ai/threads");
    let at = token.claims().issued;
    let reading = |record: &Value| {
        let signed = rye::sign::sign_json(record, &key, at).unwrap();
        fs::write(report.folder.join("thread.json"), signed.to_string()).unwrap();
        scratch.rye().thread(&threads, &report.thread)
    };
    // The transcript is left out, because its checkpoints are signed with the first key.
    fs::write(report.folder.join("transcript.jsonl"), "").unwrap();
    record["transcript"] = Value::Null;
    let of = |thread: &str| {
        let mut claims = token.claims().clone();
        claims.thread_id = thread.to_owned();
        serde_json::from_str::<Value>(&Token::mint(claims, &key).unwrap().to_json()).unwrap()
    };
    record["facts"]["token"] = of(report.thread.as_str());
    assert!(reading(&record).is_ok());
    record["facts"]["token"] = of("another");
    assert!(matches!(reading(&record), Err(ThreadReadError::OtherToken { .. })));
    record["facts"]["token"]["capabilities"] = serde_json::json!([["rye.*"]]);
    assert!(matches!(
        reading(&record),
        Err(ThreadReadError::Token { source: TokenError::Forged { .. }, .. })
    ));
}

/// A duration beyond the range of timestamps still gives a readable token.
#[tokio::test]
async fn a_thread_that_may_last_for_ever() {
    let scratch = scratch();
    let report = scratch.run_with("test/write", &[], |request| {
        request.provider = ProviderChoice::Steps;
        request.limits.duration_seconds = Some(u64::MAX);
    });
    let report = report.await.unwrap();
    let threads = scratch.project().join(".ai/threads");
    assert!(scratch.rye().thread(&threads, &report.thread).unwrap().token.is_some());
}
