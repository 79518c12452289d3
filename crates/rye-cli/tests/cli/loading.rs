//! `rye load`.

use crate::session::Session;

#[test]
fn an_item_as_it_is_written() {
    insta::assert_snapshot!(Session::new().rye("load notes/index-style --trust TRUST"));
}

#[test]
fn an_item_as_data() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("load notes/index-style --trust TRUST --json"));
    insta::assert_snapshot!(session.rye("load rye/agent/core/Identity --json"));
}

#[test]
fn an_id_of_two_kinds() {
    let session = Session::new();
    session.put(".ai/knowledge/notes/index.md", "Two.\n");
    insta::assert_snapshot!(session.rye("load notes/index --trust TRUST"));
    insta::assert_snapshot!(session.rye("load notes/index --kind knowledge --trust TRUST --json"));
    insta::assert_snapshot!(session.rye("load notes/nothing --trust TRUST --json"));
}

#[test]
fn a_kind_is_no_word_of_its_own() {
    for (words, how) in [
        ("directive notes/index", "the kind is an option: `rye load notes/index --kind directive`"),
        ("knowledge notes/index --json", "the kind is an option: `rye load notes/index --kind"),
        ("notes/index-style notes/index", "load each by itself"),
        ("notes/index-style notes/index notes/other", "load each by itself"),
    ] {
        let output = Session::new().rye(&format!("load {words} --trust TRUST"));
        let told = format!("`rye load` takes one id, and `notes/index` is one more; {how}");
        assert!(output.contains(&told) && output.ends_with("--- exit 2\n"), "{output}");
    }
}

#[test]
fn what_was_changed_is_refused() {
    let session = Session::new();
    session.change(".ai/knowledge/notes/index-style.md", "one Markdown file", "two Markdown files");
    let output = session.rye("load notes/index-style --trust TRUST");
    assert!(output.contains("is not verified") && output.ends_with("--- exit 3\n"), "{output}");
    assert!(!output.contains("Markdown files"), "{output}");
}

#[test]
fn a_copy_keeps_its_signature_and_replaces_nothing() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("load notes/index-style --trust TRUST --to user"));
    let original = session.project().join(".ai/knowledge/notes/index-style.md");
    let copy = session.home().join(".ai/knowledge/notes/index-style.md");
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(original).unwrap());
    insta::assert_snapshot!(session.rye("load notes/index-style --trust TRUST --to user"));
    insta::assert_snapshot!(session.rye("load notes/index-style --trust TRUST --to project"));
    insta::assert_snapshot!(session.rye("load rye/agent/core/base --to project"));
    std::fs::write(&copy, "Another.\n").unwrap();
    let kept = session.rye("load notes/index-style --trust TRUST --to user");
    assert!(kept.contains("exists and is not replaced") && kept.ends_with("exit 1\n"), "{kept}");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "Another.\n");
}

/// What comes with the program has no signature that a copy could keep.
#[test]
fn a_shipped_item_is_copied_unsigned_and_counts_once_it_is_signed() {
    let session = Session::new();
    session.rye("keys generate");
    let copied = session.rye("load rye/agent/core/Identity --to project");
    assert!(copied.contains("/.ai/knowledge/rye/agent/core/Identity.md\nnext: "), "{copied}");
    assert!(copied.ends_with("--- exit 0\n"), "{copied}");
    let command = copied.split('`').nth(1).unwrap().strip_prefix("rye ").unwrap().to_owned();
    let refused = session.rye("load rye/agent/core/Identity");
    assert!(refused.contains("unsigned") && refused.ends_with("--- exit 3\n"), "{refused}");
    let command =
        command.replace("<DIR>", &session.project().parent().unwrap().display().to_string());
    let signed = session.rye(&command);
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    let loaded = session.rye("load rye/agent/core/Identity");
    assert!(loaded.ends_with("--- exit 0\n"), "{loaded}");
    let told = session.rye("load rye/agent/core/Behavior --to user --json");
    assert!(told.contains("\"next\": \"rye sign "), "{told}");
}

/// `--with` takes along what a directive names, and only that.
#[test]
fn a_directive_is_copied_with_what_it_needs() {
    let session = Session::new();
    let several = session.rye("load notes/base notes/index-style --trust TRUST --to user");
    assert!(several.ends_with("--- exit 0\n"), "{several}");
    for path in ["directives/notes/base.md", "knowledge/notes/index-style.md"] {
        assert!(session.home().join(".ai").join(path).exists(), "{several}");
    }
    let session = Session::new();
    let alone = session.rye("load notes/index --trust TRUST --with");
    assert!(alone.ends_with("--- exit 2\n"), "{alone}");
    let copied = session.rye("load notes/index --trust TRUST --to user --with");
    assert!(copied.ends_with("--- exit 0\n"), "{copied}");
    let run = session.rye("run notes/index --trust TRUST --provider steps");
    assert!(run.ends_with("--- exit 0\n"), "{run}");
    let mut files = Vec::new();
    let mut folders = vec![session.home().join(".ai")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => files.push(path.display().to_string()),
            }
        }
    }
    files.retain(|path| path.ends_with(".md"));
    let there = |end: &str| files.iter().any(|path| path.ends_with(end));
    assert!(there("directives/notes/index.md") && there("directives/notes/base.md"), "{files:?}");
    assert!(there("knowledge/notes/index-style.md"), "{files:?}");
    assert_eq!(files.len(), 3, "{files:?}");
}

#[cfg(unix)]
#[test]
fn a_copy_does_not_follow_a_link_out_of_the_space() {
    let session = Session::new();
    let elsewhere = session.home().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::create_dir_all(session.home().join(".ai/knowledge")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, session.home().join(".ai/knowledge/notes")).unwrap();
    insta::assert_snapshot!(session.rye("load notes/index-style --trust TRUST --to user"));
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}
