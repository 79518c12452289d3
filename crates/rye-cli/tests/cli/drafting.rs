//! Templates of configuration, a signature that is only looked at, and a run that signs first.

use std::fs;

use rye::{DRAFTED_CONFIGS, DRAFTED_SCRIPTS};
use serde_json::{Value, json};

use crate::children::model::{Asked, Model, Says};
use crate::session::Session;

const TIDY: &str = ".ai/directives/notes/tidy.md";

/// A project whose operator has a key.
fn keyed() -> Session {
    let session = Session::new();
    session.rye("keys generate --owner ada@example.org");
    session
}

#[track_caller]
fn exits(output: &str, code: u8) {
    assert!(output.ends_with(&format!("--- exit {code}\n")), "{output}");
}

fn data(session: &Session, arguments: &str) -> Value {
    serde_json::from_slice(&session.raw(&format!("{arguments} --json")).stdout).unwrap()
}

/// Writes a draft, which is then checked with everything around it and signed; returns its path.
fn drafted(session: &Session, arguments: &str) -> String {
    let made = data(session, &format!("new {arguments}"));
    let path = made["items"][0]["path"].as_str().unwrap().to_owned();
    let text = fs::read(&path).unwrap();
    let checked = session.rye(&format!("check {path} --strict"));
    assert!(checked.contains("0 errors, 0 warnings"), "{arguments}: {checked}");
    exits(&checked, 0);
    exits(&session.rye(&format!("new {arguments}")), 1);
    assert_eq!(fs::read(&path).unwrap(), text, "{arguments}: nothing is written over a file");
    exits(&session.rye(&format!("sign {path}")), 0);
    path
}

/// Every script that has a template does what its description says, and is never a second file of an id.
#[test]
fn a_drafted_script_runs_once_it_is_signed() {
    for extension in DRAFTED_SCRIPTS {
        let session = keyed();
        session.put("notes/three.md", "one two\nthree\n");
        drafted(&session, &format!("tool notes/count --script {extension}"));
        exits(&session.rye("new tool notes/count"), 1);
        let argument = if extension == "sh" { "path=notes/three.md" } else { "text=one,two" };
        let called = data(&session, &format!("call notes/count {argument}"));
        let content = &called["threads"][0]["result"]["content"];
        let expected = match extension {
            "sh" => json!("3\n"),
            _ => json!({ "words": 1 }),
        };
        assert_eq!(*content, expected, "{extension}: {called}");
    }
    let unknown = keyed().rye("new tool notes/count --script pl");
    assert!(unknown.contains("[possible values: js, py, sh]"), "{unknown}");
    exits(&unknown, 2);
}

/// Every configuration that has a template counts once it is signed: the project runs under it.
#[test]
fn a_drafted_configuration_counts_once_it_is_signed() {
    for name in DRAFTED_CONFIGS {
        let session = keyed();
        drafted(&session, &format!("config {name}"));
        // Everything of the project by one key, bound to its place.
        exits(&session.rye("sign ITEMS --re-sign"), 0);
        let run = session.rye("run notes/index --provider steps");
        let code = if name == "approval" { 4 } else { 0 };
        assert!(run.ends_with(&format!("--- exit {code}\n")), "{name}: {run}");
        exits(&session.rye("doctor"), 0);
    }
    let unknown = keyed().rye("new config approvals");
    assert!(unknown.contains("approval"), "{unknown}");
    exits(&unknown, 2);
}

/// Whoever drafts a file that each run reads is told that nothing runs until it is signed. What is told holds.
#[test]
fn a_draft_that_keeps_runs_from_starting_says_so() {
    let told = "until it is signed, runs of this project are refused\n";
    let unnamed = "until it is signed, runs of this project that name no provider are refused\n";
    let kinds = ["hook log_end", "provider local", "tool notes/count", "knowledge notes/habits"];
    let configs = DRAFTED_CONFIGS.map(|name| format!("config {name}"));
    for kind in kinds.map(str::to_owned).into_iter().chain(configs) {
        let session = Session::new();
        session.rye("trust add TRUST --yes");
        let made = session.rye(&format!("new {kind}"));
        exits(&made, 0);
        let run = session.rye("run notes/index --provider steps");
        assert_eq!(made.contains(told), run.ends_with("--- exit 3\n"), "{kind}: {made}{run}");
        assert_eq!(made.contains(unnamed), kind == "config default_provider", "{kind}: {made}");
    }
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    session.rye("new config default_provider");
    exits(&session.rye("run notes/index"), 3);
    let made = session.rye(&format!("new config web --project {}", session.home().display()));
    assert!(made.contains("until it is signed, runs of all projects are refused\n"), "{made}");
    exits(&session.rye("run notes/index --provider steps"), 3);
}

/// What the configuration says is what happens.
#[test]
fn drafted_limits_bound_a_thread() {
    let session = keyed();
    drafted(&session, "config resilience");
    let directive = "# Plain\n\n```xml\n<directive name=\"plain\" version=\"1.0.0\"><metadata><description>Plain.</description>\
                     <category>notes</category><author>ada</author></metadata></directive>\n```\n\nDo nothing.\n";
    session.put(".ai/directives/notes/plain.md", directive);
    session.rye("sign .ai/directives/notes/plain.md");
    let explained = session.rye("explain notes/plain");
    assert!(explained.contains("turns") && explained.contains("0.25"), "{explained}");
}

#[test]
fn a_drafted_provider_answers() {
    let model = Model::new(|_: &Asked| Says::Text("Done."));
    let session = keyed();
    let path = drafted(&session, "provider local");
    let text = fs::read_to_string(&path).unwrap();
    let address = model.url();
    let address = address.trim_end_matches("/v1");
    fs::write(&path, text.replace("http://localhost:8080", address)).unwrap();
    exits(&session.rye(&format!("sign {path}")), 0);
    session.put(TIDY, &directive(""));
    session.rye(&format!("sign {TIDY}"));
    let run = session.rye("run notes/tidy --provider local");
    assert!(run.contains("Done."), "{run}");
    exits(&run, 0);
    exits(&session.rye("new provider team/local"), 2);
}

/// The hook of the template acts where its condition holds, and only there.
#[test]
fn a_drafted_hook_acts() {
    let session = keyed();
    drafted(&session, "hook rules_of_work");
    session.put(TIDY, &directive(""));
    session.put(
        ".ai/directives/notes/more.md",
        &directive(" extends=\"rye/agent/core/base\"").replace("tidy", "more"),
    );
    exits(&session.rye("sign .ai/directives/notes/tidy.md .ai/directives/notes/more.md"), 0);
    let told = "<Behavior id=\"rye/agent/core/Behavior\"";
    assert!(session.rye("render notes/tidy").contains(told));
    assert!(!session.rye("render notes/more").contains(told));
    let again = session.rye("new hook another");
    assert!(again.contains("add the hook to its list"), "{again}");
}

fn directive(extends: &str) -> String {
    format!(
        "# Tidy\n\n```xml\n<directive name=\"tidy\" version=\"1.0.0\"{extends}>\n  <metadata>\n    <description>Tidies.</description>\n    \
         <category>notes</category>\n    <author>ada</author>\n    <model tier=\"fast\" />\n    <limits turns=\"3\" />\n    \
         <permissions><execute><tool>rye.file-system.ls</tool></execute></permissions>\n  </metadata>\n</directive>\n```\n\n\
         <process><step name=\"look\"><execute item_type=\"tool\" item_id=\"rye/file-system/ls\"><param name=\"path\" value=\".\" />\
         </execute></step></process>\n"
    )
}

/// The rows and the exit code are those of signing, and no file changes.
#[test]
fn a_dry_run_says_what_signing_would_do_and_writes_nothing() {
    let session = keyed();
    session.put(TIDY, &directive(""));
    session.put(".ai/directives/notes/broken.md", &directive("").replace("</directive>", ""));
    session.rye("sign .ai/knowledge/notes/index-style.md");
    let paths = format!("{TIDY} .ai/directives/notes/broken.md .ai/knowledge/notes/index-style.md");
    let before = texts(&session, &paths);
    insta::assert_snapshot!(session.rye(&format!("sign {paths} --dry-run")));
    let dry = data(&session, &format!("sign {paths} --dry-run"));
    assert_eq!(texts(&session, &paths), before);
    let real = data(&session, &format!("sign {paths}"));
    let statuses = |told: &Value| -> Vec<String> {
        let rows = told["files"].as_array().unwrap();
        rows.iter().map(|row| row["status"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(statuses(&dry), ["refused", "would_sign", "unchanged"]);
    assert_eq!(statuses(&real), ["refused", "signed", "unchanged"]);
    assert_eq!(
        (&dry["summary"]["dry_run"], &real["summary"]["dry_run"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(dry["files"][0]["error"], real["files"][0]["error"]);
    for options in ["", " --re-sign"] {
        let paths = "sign .ai/directives/notes/tidy.md";
        exits(&session.rye(&format!("{paths}{options} --dry-run")), 0);
    }
    let fresh = Session::new().rye("sign .ai --dry-run");
    exits(&fresh, 2);
}

fn texts(session: &Session, paths: &str) -> Vec<String> {
    let read = |path| fs::read_to_string(session.project().join(path)).unwrap();
    paths.split(' ').map(read).collect()
}

#[test]
fn a_run_signs_its_directive_after_it_was_shown() {
    let session = keyed();
    let hook = "<hooks><hook id=\"h\" event=\"after_step\"><execute item_type=\"tool\">rye/file-system/ls</execute>\
                <inputs><path>.</path></inputs></hook></hooks><permissions>";
    let context = "<context><before>notes/index-style</before></context><hooks>";
    let text = directive("").replace("<permissions>", hook).replace("<hooks>", context);
    session.put(TIDY, &text);
    session.rye("sign .ai/knowledge/notes/index-style.md");
    insta::assert_snapshot!(session.rye("run notes/tidy --provider steps --sign"));
    // By now there is nothing to sign, and nothing to show.
    let again = session.rye(&format!("run {TIDY} --provider steps --sign"));
    assert!(!again.contains("signing"), "{again}");
    exits(&again, 0);
    exits(&session.rye("verify .ai/directives/notes/tidy.md --strict"), 0);
    // A change after a signature is told before a new one replaces it, and so is another signer.
    let changed =
        fs::read_to_string(session.project().join(TIDY)).unwrap().replace("Tidies", "Sorts");
    session.put(TIDY, &changed);
    let changed = session.rye("run notes/tidy --provider steps --sign");
    assert!(
        changed.contains("tidy.md: over another content than the one that was signed at 20"),
        "{changed}"
    );
    exits(&changed, 0);
    let other = session.rye("run notes/index --provider steps --sign --trust TRUST");
    assert!(
        other.contains(
            "in place of that of `56dbf7b2d9ce86ed` (grants: rye.execute.tool.rye.file-system.*)"
        ),
        "{other}"
    );
    // What comes with the program needs no signature.
    exits(&session.rye("run rye/core/list_folder --provider steps --sign"), 0);
}

#[test]
fn a_run_refuses_to_sign_what_signing_refuses() {
    let session = keyed();
    for (text, code) in [
        (directive("").replace("notes</category>", "other</category>"), 1),
        (directive("").replace("rye/file-system/ls\">", "rye/file-system/lss\">"), 1),
    ] {
        session.put(TIDY, &text);
        let run = session.rye("run notes/tidy --provider steps --sign");
        exits(&run, code);
        assert!(run.contains("has problems that bar its signature"), "{run}");
        assert_eq!(texts(&session, TIDY), [text]);
        assert!(!session.project().join(".ai/threads").exists(), "{run}");
    }
    let keyless = Session::new();
    keyless.put(TIDY, &directive(""));
    let run = keyless.rye("run notes/tidy --provider steps --sign");
    assert!(run.contains("rye keys generate"), "{run}");
    assert_eq!(texts(&keyless, TIDY), [directive("")]);
}
