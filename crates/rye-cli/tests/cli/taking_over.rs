//! What `rye sign` does with files that another key signed: a folder or a pattern leaves them alone, and naming one takes its place.

use std::fs;

use crate::session::Session;

const INDEX: &str = ".ai/directives/notes/index.md";
const STYLE: &str = ".ai/knowledge/notes/index-style.md";
/// The key of the examples, which signed the project.
const OTHER: &str = "56dbf7b2d9ce86ed";

/// The quick start, which another key signed, with an operator who has a key of their own.
fn theirs() -> Session {
    let session = Session::new();
    session.rye("keys generate");
    session
}

fn texts(session: &Session) -> Vec<String> {
    let read = |path| fs::read_to_string(session.project().join(path)).unwrap();
    [INDEX, STYLE].map(read).to_vec()
}

#[track_caller]
fn says(told: &str, code: i32, words: &[&str]) {
    let lacking = words.iter().find(|word| !told.contains(**word));
    let is_so = told.ends_with(&format!("--- exit {code}\n"));
    assert!(is_so && lacking.is_none(), "lacks {lacking:?}:\n{told}");
}

/// Each row is a state of the other key, with the exit code and what is said of its files.
#[test]
fn a_folder_leaves_alone_what_another_key_signed() {
    let by_itself = "name the file itself to sign it in the place of";
    for (state, prepare, code, words) in [
        (
            "trusted",
            vec!["trust add TRUST --yes"],
            0,
            ["kept       ", "signed by `56dbf7b2d9ce86ed`"],
        ),
        (
            "limited",
            vec!["trust add TRUST --yes --grants rye.load.*"],
            0,
            ["kept       ", "0 signed, 3 kept, 0 not signed"],
        ),
        (
            "revoked",
            vec!["trust add TRUST --yes", "trust revoke 56dbf7b2d9ce86ed"],
            1,
            ["refused    ", "was revoked at"],
        ),
        ("unknown", vec![], 1, ["refused    ", "signed by the unknown key `56dbf7b2d9ce86ed`"]),
    ] {
        for options in ["", " --re-sign", " --dry-run"] {
            for paths in [".ai", ".ai/directives .ai/knowledge", ".ai/**/*.md"] {
                let session = theirs();
                for command in &prepare {
                    says(&session.rye(command), 0, &[]);
                }
                let before = texts(&session);
                let told = session.rye(&format!("sign {paths}{options}"));
                says(&told, code, &[words[0], words[1], by_itself]);
                assert_eq!(texts(&session), before, "{state}: {told}");
            }
        }
    }
}

#[test]
fn a_folder_leaves_alone_what_was_changed_after_another_key_signed_it() {
    let session = theirs();
    says(&session.rye("trust add TRUST --yes"), 0, &[]);
    session.change(STYLE, "one Markdown file", "two Markdown files");
    let before = texts(&session);
    let told = session.rye("sign .ai");
    says(&told, 1, &["kept       ", "refused    ", "tampered", "0 signed, 2 kept, 1 not signed"]);
    assert_eq!(texts(&session), before);
    let told = session.rye("sign .ai --json");
    says(&told, 1, &["\"kept\": 2", "\"refused\": 1", "\"status\": \"kept\""]);
    says(&told, 1, &[&format!("\"key_id\": \"{OTHER}\"")]);
}

/// What the operator's own key signed is signed again, and what nobody signed is signed.
#[test]
fn a_folder_signs_what_is_unsigned_and_the_operators_own() {
    let session = theirs();
    says(&session.rye("trust add TRUST --yes"), 0, &[]);
    says(&session.rye(&format!("sign {STYLE}")), 0, &[]);
    session.change(STYLE, "one Markdown file", "two Markdown files");
    session.put(".ai/directives/notes/new.md", NEW);
    let told = session.rye("sign .ai");
    says(&told, 0, &["over another content than", "2 signed, 2 kept, 0 not signed"]);
    says(&session.rye("sign .ai"), 0, &["0 signed, 2 unchanged, 2 kept, 0 not signed"]);
}

/// A run of a directive that another key may not have granted is refused before and after a folder is signed.
#[test]
fn a_folder_gives_no_authority_to_what_another_key_signed() {
    let session = theirs();
    says(&session.rye("trust add TRUST --yes --grants rye.load.*"), 0, &[]);
    let run = "run notes/index --provider steps --input folder=notes";
    let refused = session.rye(run);
    assert!(!refused.ends_with("--- exit 0\n"), "{refused}");
    says(&session.rye("sign .ai"), 0, &["3 kept"]);
    let still = session.rye(run);
    assert!(!still.ends_with("--- exit 0\n"), "{still}");
    assert!(!session.project().join("notes/INDEX.md").exists());
}

/// By its path or its id, a file is signed in the other key's place, and that is said.
#[test]
fn a_file_that_is_named_is_signed_in_the_place_of_another_key() {
    for (prepare, told) in [
        ("trust add TRUST --yes --grants rye.execute.*", "(grants: rye.execute.*"),
        ("trust add TRUST --yes", "(grants: rye.execute.tool.rye.file-system.*)"),
        ("keys show", "(did not count: unknown-key)"),
    ] {
        let session = theirs();
        says(&session.rye(prepare), 0, &[]);
        let told =
            format!("runs with your authority from now on, in place of that of `{OTHER}` {told}");
        says(&session.rye(&format!("sign {INDEX} --dry-run")), 0, &[&told, "would sign"]);
        says(&session.rye("sign notes/index"), 0, &[&told, "1 signed, 0 not signed"]);
        says(
            &session.rye(&format!("sign ./{STYLE} .ai --json")),
            if prepare == "keys show" { 1 } else { 0 },
            &["\"signed\": 1", "\"fault\": "],
        );
    }
}

const NEW: &str = "# New\n\n```xml\n<directive name=\"new\" version=\"1.0.0\"><metadata><description>New.</description><category>notes</category>\
                   <author>ada</author><model tier=\"fast\" /><limits turns=\"2\" /><permissions /></metadata></directive>\n```\n\nSay so.\n";

const APPROVAL: &str = ".ai/config/agent/approval.yaml";

/// A pattern that no call meets, and an id that no hook meets, are said when the file is signed, and by `rye doctor`.
#[test]
fn what_check_warns_of_is_said_when_a_file_is_signed() {
    let session = Session::new();
    session.rye("keys import KEY");
    session.put(APPROVAL, "ask: [rye.execute.tool.rye.file-system.wrte]\n");
    let warning = "`rye.execute.tool.rye.file-system.wrte` covers no tool that is there; did you mean `rye/file-system/write`?";
    let told = session.rye(&format!("sign {APPROVAL} --dry-run"));
    says(&told, 0, &[&format!("           warning: {warning}")]);
    let told = session.rye("sign .ai");
    says(&told, 0, &[&format!("           warning: {warning}")]);
    let json = session.rye(&format!("sign {APPROVAL} --re-sign --json"));
    says(&json, 0, &["\"warnings\"", "\"code\": \"unknown-grant\""]);
    let doctor = session.rye("doctor");
    says(&doctor, 0, &["note   approval", warning]);
    assert!(!doctor.contains("calls wait for approval"), "{doctor}");
    session.put(
        ".ai/config/agent/hooks.yaml",
        "hooks:\n  - id: guard\n    event: after_step\n    layer: 4\n    condition: {path: called_items, op: contains, value: rye/file-system/wrte}\n    action: {primary: execute, item_type: tool, item_id: rye/file-system/ls, params: {path: .}}\n",
    );
    let unmet = "there is no item `rye/file-system/wrte` that could be called; did you mean `rye/file-system/write`?";
    says(&session.rye("sign .ai/config"), 0, &["warning: hook `guard`: ", unmet]);
    says(&session.rye("doctor"), 0, &[unmet]);
}

/// Of other items, the number of the warnings is said, as `rye check` counts them.
#[test]
fn the_number_of_warnings_is_said_when_an_item_is_signed() {
    let session = Session::new();
    session.rye("keys import KEY");
    let file = ".ai/directives/notes/new.md";
    session.put(file, &NEW.replace("<permissions />", ""));
    let told = session.rye(&format!("sign {file}"));
    let checked = session.rye(&format!("check {file}"));
    says(&checked, 0, &["1 warning"]);
    says(
        &told,
        0,
        &["           1 warning: `rye check <DIR>/project/.ai/directives/notes/new.md` shows it"],
    );
}
