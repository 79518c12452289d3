//! `rye resume`, `rye approve`, `rye deny`, `rye cancel` and the rest of `rye threads`.

use std::fs;

use crate::session::Session;

/// The quick start, with a thread that waits before it writes its file.
fn suspended() -> (Session, String) {
    let session = Session::new();
    session.asks_before_it_writes();
    let run = session.rye("run notes/index --trust TRUST --provider steps");
    (session, run)
}

#[test]
fn a_call_that_waits_suspends_the_thread() {
    let (session, run) = suspended();
    insta::assert_snapshot!(run);
    assert!(!session.project().join("INDEX.md").exists());
    insta::assert_snapshot!("suspended_show", session.rye("threads show"));
    let again = session.rye("resume THREAD --trust TRUST");
    assert!(again.contains("waits for approval") && again.ends_with("exit 4\n"), "{again}");
    let data = session.rye("resume THREAD --trust TRUST --json --quiet");
    assert!(data.contains("\"waits_for\": {") && data.ends_with("exit 4\n"), "{data}");
}

#[test]
fn an_approved_call_runs() {
    let (session, _) = suspended();
    insta::assert_snapshot!("approved", session.rye("approve THREAD --trust TRUST"));
    assert!(!session.project().join("INDEX.md").exists(), "to decide is not to run");
    insta::assert_snapshot!("resumed", session.rye("resume THREAD --trust TRUST"));
    assert!(session.project().join("INDEX.md").is_file());
    let shown = session.rye("threads show");
    assert!(shown.contains("approval_decided   approved"), "{shown}");
    insta::assert_snapshot!("resumed_verify", session.rye("threads verify"));
    insta::assert_snapshot!("resumed_tail", session.rye("threads tail THREAD"));
    insta::assert_snapshot!("resumed_tree", session.rye("threads tree"));
    session.export_threads("approved");
}

/// A command that was copied decides about the call that it was shown with, and about no later one.
#[test]
fn a_named_call_is_decided_and_no_other_one() {
    let (session, run) = suspended();
    let (_, named) = run.split_once(" --call ").unwrap();
    let seq: u64 = named.split('`').next().unwrap().parse().unwrap();
    let shown = "`rye/file-system/write` with {\"path\":\"INDEX.md\"";
    let hash = "0".repeat(64);
    let thread = session.thread();
    let others = [
        (seq - 1).to_string(),
        (seq + 1).to_string(),
        format!("{thread}:{seq}:{hash}:rye/file-system/write"),
    ];
    for other in others {
        for command in ["approve", "approve --always", "deny", "approve --json"] {
            let told = session.rye(&format!("{command} THREAD --call {other} --trust TRUST"));
            assert!(told.ends_with("--- exit 1\n"), "{told}");
            assert!(told.contains("nothing is decided"), "{told}");
            assert!(told.contains(&format!("--call {seq}`")), "{told}");
        }
        assert!(session.rye(&format!("deny THREAD --call {other}")).contains(shown));
    }
    let unread = session.rye("approve THREAD --call x");
    assert!(unread.ends_with("--- exit 2\n"), "{unread}");
    assert!(!session.rye("threads show --json").contains("approval_decided"));
    let told = session.rye(&format!("approve THREAD --call {seq} --trust TRUST"));
    assert!(told.contains(&format!("approved: {shown}")), "{told}");
    let again = session.rye(&format!("approve THREAD --call {seq} --trust TRUST"));
    assert!(again.contains("was approved already"), "{again}");
}

#[test]
fn a_denied_call_does_not_run() {
    let (session, _) = suspended();
    insta::assert_snapshot!("denied", session.rye("deny THREAD --trust TRUST --json"));
    insta::assert_snapshot!("denied_resumed", session.rye("resume THREAD --trust TRUST"));
    assert!(!session.project().join("INDEX.md").exists());
}

#[test]
fn nothing_more_happens_in_a_thread_that_ended() {
    let (session, _) = suspended();
    insta::assert_snapshot!("cancelled", session.rye("cancel THREAD"));
    let shown = session.rye("threads show");
    assert!(shown.contains("state      cancelled"), "{shown}");
    for command in ["resume", "approve", "deny", "cancel"] {
        insta::assert_snapshot!(
            format!("ended_{command}"),
            session.rye(&format!("{command} THREAD"))
        );
    }
}

/// The line that says how a thread ended is not waited for, so that a loss of power may leave an older list.
#[test]
fn an_end_that_only_the_record_has_is_shown() {
    let (session, _) = suspended();
    let registry = session.project().join(".ai/threads/registry.db");
    let older = fs::read(&registry).unwrap();
    session.rye("cancel THREAD");
    fs::write(&registry, &older).unwrap();
    for (command, line) in [
        ("threads list", "  cancelled  "),
        ("threads list --json", "\"state\": \"cancelled\""),
        ("threads show", "state      cancelled"),
        ("threads tree", "cancelled"),
    ] {
        let shown = session.rye(command);
        assert!(shown.contains(line) && !shown.contains("suspended"), "{shown}");
    }
    assert!(!session.rye("doctor").contains("suspended"));
    assert!(fs::read(&registry).unwrap() == older, "who looks changes nothing");
}

#[test]
fn what_is_no_thread_is_not_opened() {
    let (session, _) = suspended();
    let missing = "index-019a0000-0000-7000-8000-000000000000";
    for command in ["resume", "approve", "deny", "cancel", "threads verify", "threads tail"] {
        let name = command.replace(' ', "_");
        insta::assert_snapshot!(
            format!("missing_{name}"),
            session.rye(&format!("{command} {missing}"))
        );
        let misspelled = session.rye(&format!("{command} ../index"));
        assert!(
            misspelled.contains("is no part of a thread id") && misspelled.ends_with("exit 2\n"),
            "{misspelled}"
        );
    }
}

#[test]
fn a_thread_that_only_its_own_key_vouches_for_is_not_taken_for_the_operators() {
    let (session, _) = suspended();
    session.rye("keys generate");
    for command in ["resume", "approve", "deny"] {
        let name = format!("self_vouched_{command}");
        insta::assert_snapshot!(name, session.rye(&format!("{command} THREAD --trust TRUST")));
    }
    assert!(!session.project().join("INDEX.md").exists());
}

#[test]
fn nobody_waits_twice() {
    let (session, _) = suspended();
    session.rye("approve THREAD --trust TRUST");
    for command in ["approve", "deny"] {
        let name = format!("decided_{command}");
        insta::assert_snapshot!(name, session.rye(&format!("{command} THREAD --trust TRUST")));
    }
}

#[test]
fn a_changed_transcript_is_refused_and_located() {
    let (session, _) = suspended();
    let path =
        session.project().join(".ai/threads").join(session.thread()).join("transcript.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("bread.md", "brood.md", 1)).unwrap();
    for command in ["resume", "approve", "deny", "cancel", "threads verify", "threads tail"] {
        let refused = session.rye(&format!("{command} THREAD --trust TRUST"));
        let is_located = refused.contains("record 16 at byte ");
        assert!(is_located && refused.ends_with("--- exit 3\n"), "{refused}");
    }
    insta::assert_snapshot!(
        "tampered_verify",
        session.rye("threads verify --json").replace(char::is_numeric, "0")
    );
}

#[test]
fn what_changed_since_is_named() {
    let (session, _) = suspended();
    session.change(".ai/directives/notes/index.md", "List the notes", "List all notes");
    session.rye("sign .ai/directives/notes/index.md --key KEY");
    session.change(".ai/knowledge/notes/index-style.md", "one Markdown file", "two Markdown files");
    session.rye("sign .ai/knowledge/notes/index-style.md --key KEY");
    insta::assert_snapshot!("changed_directive", session.rye("resume THREAD --trust TRUST"));
    session.change(".ai/directives/notes/index.md", "List all notes", "List no notes");
    insta::assert_snapshot!("unsigned_change", session.rye("resume THREAD --trust TRUST"));
    assert!(!session.project().join("INDEX.md").exists());
}

/// A new signature over the same text, by whom the operator trusts as far, changes nothing that the thread rests on.
#[test]
fn a_thread_goes_on_with_files_that_were_signed_again() {
    let (session, _) = suspended();
    session.rye("approve THREAD --trust TRUST");
    session.rye("keys generate --owner other");
    fs::rename(session.home().join(".ai/config/keys/signing"), session.home().join("signing"))
        .unwrap();
    let key = session.home().join("signing/private_key.pem");
    session.rye("sign .ai --key KEY --re-sign");
    let file = ".ai/directives/notes/index.md";
    session.rye(&format!("sign {file} --key {}", key.display()));
    let resumed = session.rye("resume THREAD --trust TRUST");
    assert!(resumed.ends_with("exit 0\n"), "{resumed}");
    let shown = session.rye("threads show --json");
    assert!(shown.contains("\"signed_again\": [") && shown.contains("\"owner\": \"other\""));
}

/// A key that may grant less is another authority, whatever it signed.
#[test]
fn rule_10_a_key_that_may_grant_less_is_another_authority() {
    let (session, _) = suspended();
    session.rye("approve THREAD --trust TRUST");
    session.rye("keys generate --owner other");
    let signing = session.home().join(".ai/config/keys/signing");
    fs::rename(&signing, session.home().join("signing")).unwrap();
    let trusted = session.home().join(".ai/config/keys/trusted");
    let path = fs::read_dir(trusted).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&path).unwrap();
    let (_, text) = text.split_once('\n').unwrap();
    let grants = "grants = [\"rye.execute.tool.rye.file-system.read\"]\n[public_key]";
    fs::write(&path, text.replace("[public_key]", grants)).unwrap();
    // `rye sign` signs nothing beyond what the key may grant, but another program may.
    fs::copy(session.home().join("signing/private_key.pem"), session.home().join("narrow.pem"))
        .unwrap();
    crate::gates::apply(&session, "sign-by-narrow .ai/directives/notes/index.md");
    insta::assert_snapshot!("another_authority", session.rye("resume THREAD --trust TRUST"));
}

/// Nobody's word is not the word of whom it replaces.
#[test]
fn a_thread_does_not_go_on_with_what_is_no_longer_signed() {
    let (session, _) = suspended();
    let path = session.project().join(".ai/directives/notes/index.md");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.split_once('\n').unwrap().1).unwrap();
    let resumed = session.rye("resume THREAD --trust TRUST --allow-unsigned");
    assert!(resumed.contains("directive `notes/index` changed since it began"), "{resumed}");
}

#[test]
fn without_trust_nothing_goes_on() {
    let (session, _) = suspended();
    session.rye("approve THREAD --trust TRUST");
    insta::assert_snapshot!("untrusted_resume", session.rye("resume THREAD"));
}

#[test]
fn half_a_record_is_cut_off_and_said() {
    let (session, _) = suspended();
    let folder = session.project().join(".ai/threads").join(session.thread());
    // As the thread was before it waited: its record knows no end yet, and its last line is torn.
    let text = fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
    let refused = {
        fs::write(folder.join("transcript.jsonl"), &text[..text.len() - 30]).unwrap();
        session.rye("resume THREAD --trust TRUST")
    };
    assert!(
        refused.contains("does not end where `thread.json` says") && refused.ends_with("exit 3\n"),
        "{refused}"
    );
}

#[test]
fn a_bad_approval_file_is_told() {
    let session = Session::new();
    for (name, text) in [
        ("no_pattern", "ask:\n  - rye.execute.tool.[\n"),
        ("unknown_key", "asks: []\n"),
        ("no_list", "ask: everything\n"),
    ] {
        session.put(".ai/config/agent/approval.yaml", text);
        let name = format!("approval_{name}");
        let run = "run notes/index --trust TRUST --provider steps --allow-unsigned";
        insta::assert_snapshot!(name, session.rye(run));
    }
}

#[test]
fn a_thread_is_replayed() {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    fs::remove_file(session.project().join("INDEX.md")).unwrap();
    insta::assert_snapshot!("replay", mask(&session.rye("replay THREAD --trust TRUST")));
    assert!(!session.project().join("INDEX.md").exists(), "nothing is done");
    insta::assert_snapshot!(
        "replay_json",
        mask(&session.rye("replay THREAD --trust TRUST --json"))
    );
    let missing = "index-019a0000-0000-7000-8000-000000000000";
    insta::assert_snapshot!(
        "replay_missing",
        session.rye(&format!("replay {missing} --trust TRUST"))
    );
    insta::assert_snapshot!("replay_untrusted", session.rye("replay THREAD"));
}

/// A transcript is a test: what the directive says by now is held against what the model saw then.
#[test]
fn a_changed_directive_is_a_divergence() {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    session.change(".ai/directives/notes/index.md", "List the notes", "List all the notes");
    session.rye("sign .ai/directives/notes/index.md --key KEY");
    insta::assert_snapshot!("replay_diverges", mask(&session.rye("replay THREAD --trust TRUST")));
    let data = session.rye("replay THREAD --trust TRUST --json");
    let is_named = data.contains(r#""what": "the first message""#);
    assert!(is_named && data.ends_with("exit 1\n"), "{data}");
}

/// What never began has nothing to be held against, and says who knows why.
#[test]
fn a_thread_that_never_began_is_not_replayed() {
    let session = Session::new();
    session.rye("run notes/index --provider steps");
    let refused = session.rye("replay THREAD --trust TRUST");
    assert!(
        refused.contains("never began, so that nothing can be replayed; `rye threads show index-"),
        "{refused}"
    );
    assert!(refused.ends_with("--- exit 1\n"), "{refused}");
}

#[test]
fn a_changed_transcript_is_not_replayed() {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    let path =
        session.project().join(".ai/threads").join(session.thread()).join("transcript.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("bread.md", "brood.md", 1)).unwrap();
    let refused = session.rye("replay THREAD --trust TRUST");
    assert!(refused.contains("at byte ") && refused.ends_with("exit 3\n"), "{refused}");
}

/// Digests are over texts that a release changes.
pub(crate) fn mask(text: &str) -> String {
    let is_digest = |word: &str| word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words
        .map(|word| {
            let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if is_digest(bare) { word.replace(bare, "<SHA256>") } else { word.to_owned() }
        })
        .collect()
}
