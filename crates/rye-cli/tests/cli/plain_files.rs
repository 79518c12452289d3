//! Plain files of a project as context, and their signatures beside them (SPEC 17.3).

use std::fs;

use serde_json::Value;

use crate::gates::{apply, signed_project};
use crate::session::Session;

const INDEX: &str = ".ai/directives/notes/index.md";
const SIGNATURE: &str = ".ai/signed/AGENTS.md.sig";
const RUN: &str = "run notes/index --provider steps --input folder=notes";

/// The quick start, signed by the operator's own key, whose directive takes `AGENTS.md` before its prompt. The file is not signed.
fn named() -> Session {
    let session = signed_project();
    session.put("AGENTS.md", "Use tabs.\n");
    session.change(INDEX, "<context>", "<context><before file=\"AGENTS.md\" />");
    fine(&session, &format!("sign {INDEX}"));
    session
}

fn signed() -> Session {
    let session = named();
    fine(&session, "sign AGENTS.md --at 2026-11-20T18:00:00Z");
    session
}

#[track_caller]
fn fine(session: &Session, command: &str) -> String {
    let said = session.rye(command);
    assert!(said.ends_with("--- exit 0\n"), "{command}: {said}");
    said
}

/// Runs a command, and compares its exit code and words that it says.
#[track_caller]
fn check(session: &Session, command: &str, code: i32, words: &[&str]) {
    let said = session.rye(command);
    let joined = said.split_whitespace().filter(|it| *it != "│").collect::<Vec<_>>().join(" ");
    let lacking = words.iter().find(|word| !joined.contains(**word));
    assert!(
        said.ends_with(&format!("--- exit {code}\n")) && lacking.is_none(),
        "{command} lacks {lacking:?}:\n{said}"
    );
}

fn json(session: &Session, command: &str) -> Value {
    serde_json::from_slice(&session.raw(command).stdout).unwrap()
}

fn read(session: &Session, path: &str) -> String {
    fs::read_to_string(session.project().join(path)).unwrap()
}

#[test]
fn the_signature_is_kept_beside_the_file() {
    let session = named();
    let dry = fine(&session, "sign AGENTS.md --dry-run");
    assert!(dry.contains("would sign <DIR>/project/AGENTS.md"), "{dry}");
    assert!(!session.project().join(SIGNATURE).exists());
    let said = fine(&session, "sign AGENTS.md --at 2026-11-20T18:00:00Z");
    assert!(
        said.contains("its signature is in `<DIR>/project/.ai/signed/AGENTS.md.sig`"),
        "{said}"
    );
    assert_eq!(read(&session, "AGENTS.md"), "Use tabs.\n");
    let line = read(&session, SIGNATURE);
    assert!(line.starts_with("# rye:signed:2026-11-20T18:00:00Z:") && line.lines().count() == 1);
    check(&session, "verify AGENTS.md", 0, &["ok <DIR>/project/AGENTS.md whole, bound"]);
    check(&session, "verify", 0, &["ok <DIR>/project/AGENTS.md whole, bound"]);
    check(&session, &format!("verify {SIGNATURE}"), 0, &["whole, bound"]);
    let row = &json(&session, "verify AGENTS.md --json")["files"][0];
    assert_eq!((&row["kind"], &row["id"]), (&"knowledge".into(), &"file:AGENTS.md".into()));
    // It is left alone while nothing changes, and signed again after a change.
    check(&session, "sign AGENTS.md", 0, &["unchanged", "1 unchanged"]);
    assert_eq!(read(&session, SIGNATURE), line);
    session.put("AGENTS.md", "Use spaces.\n");
    check(&session, "verify AGENTS.md", 3, &["tampered"]);
    let over = "over another content than the one that was signed at 2026-11-20T18:00:00Z";
    check(
        &session,
        "sign . --at 2026-11-20T19:00:00Z",
        1,
        &["signed <DIR>/project/AGENTS.md", over],
    );
    assert_ne!(read(&session, SIGNATURE), line);
    let row =
        &json(&session, "sign AGENTS.md --re-sign --at 2026-11-21T18:00:00Z --json")["files"][0];
    assert_eq!((&row["status"], &row["id"]), (&"signed".into(), &"file:AGENTS.md".into()));
    assert!(row["signature"]["path"].as_str().unwrap().ends_with(SIGNATURE));
}

#[test]
fn a_nested_file_has_a_nested_signature() {
    let session = named();
    session.put("docs/team/rules.md", "Rules.\n");
    fine(&session, "sign docs/team/rules.md");
    assert!(session.project().join(".ai/signed/docs/team/rules.md.sig").is_file());
    check(&session, "verify docs/team/rules.md", 0, &["whole, bound"]);
    // Moved to another place, the signature is none for the file there.
    session.put("docs/rules.md", "Rules.\n");
    let signed = session.project().join(".ai/signed/docs");
    fs::copy(signed.join("team/rules.md.sig"), signed.join("rules.md.sig")).unwrap();
    check(&session, "verify docs/rules.md", 3, &["bad signature"]);
}

#[test]
fn what_is_no_file_of_context_is_not_signed() {
    let session = named();
    session.put(".hidden.md", "x");
    session.put("docs/rules.md", "x");
    session.put(".ai/stray.md", "x");
    fs::write(session.project().join("../outside.md"), "x").unwrap();
    fs::write(session.project().join("latin.md"), b"gr\xfc\xdfe\n").unwrap();
    fs::write(session.project().join("long.md"), vec![b'a'; 256 * 1024 + 1]).unwrap();
    fs::write(session.project().join("longest.md"), vec![b'a'; 256 * 1024]).unwrap();
    for (path, reason) in [
        (".hidden.md", "`.hidden.md` cannot be a file of context"),
        (".ai/stray.md", "is not an item"),
        ("../outside.md", "is outside of the project `<DIR>/project`"),
        ("latin.md", "is not UTF-8 text"),
        ("long.md", "is longer than 262144 bytes"),
        ("docs", "is signed by its own path the first time"),
        ("docs/*.md", "is signed by its own path the first time"),
    ] {
        check(&session, &format!("sign {path}"), 1, &["refused", reason]);
    }
    check(&session, "sign nowhere.md", 2, &["does not exist"]);
    assert!(!session.project().join(".ai/signed").exists());
    // One refusal does not stop the others.
    check(&session, "sign latin.md docs/rules.md longest.md", 1, &["2 signed, 1 not signed"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_signed() {
    use std::os::unix::fs::symlink;

    let session = named();
    session.put("docs/rules.md", "x");
    let at = |path: &str| session.project().join(path);
    symlink("AGENTS.md", at("LINK.md")).unwrap();
    symlink("docs", at("linked")).unwrap();
    for path in ["LINK.md", "linked/rules.md"] {
        check(&session, &format!("sign {path}"), 1, &["is reached by a link"]);
    }
    symlink("../docs", at(".ai/signed")).unwrap();
    check(&session, "sign AGENTS.md", 1, &["is reached by a link"]);
    assert_eq!(fs::read_dir(at("docs")).unwrap().count(), 1);
}

/// The context of a run, byte for byte: the file is read as other programs read it.
#[test]
fn the_model_reads_the_whole_file() {
    let session = signed();
    let text = "---\nname: rules\n---\n\n# Rules\r\n\nUse {input:folder} and ```xml.\n";
    session.put("AGENTS.md", text);
    fine(&session, "sign AGENTS.md");
    let rendered = fine(&session, "render notes/index --input folder=notes");
    assert!(
        rendered.contains("---\nname: rules\n---\n\n# Rules\n\nUse {input:folder} and ```xml.\n"),
        "{rendered}"
    );
    assert!(!rendered.contains("rye:signed"), "{rendered}");
    fine(&session, RUN);
}

#[test]
fn a_run_needs_the_signature() {
    let session = named();
    let sign = "to do: review it, then `rye sign <DIR>/project/AGENTS.md`";
    check(&session, RUN, 3, &["unsigned", sign]);
    check(&session, "render notes/index --input folder=notes", 3, &["unsigned", sign]);
    check(&session, "lock notes/index", 3, &["unsigned"]);
    check(
        &session,
        &format!("{RUN} --allow-unsigned"),
        0,
        &["UNVERIFIED: knowledge `file:AGENTS.md` is not signed by anybody"],
    );
    fine(&session, "sign AGENTS.md --at 2026-11-20T18:00:00Z");
    fine(&session, RUN);
    session.put("AGENTS.md", "Use spaces.\n");
    check(&session, RUN, 3, &["tampered", sign]);
    // Of a file that was signed, no switch helps.
    check(&session, &format!("{RUN} --allow-unsigned"), 3, &["tampered"]);
    let draft =
        "DRAFT: knowledge `file:AGENTS.md` changed since you signed it at 2026-11-20T18:00:00Z";
    check(&session, "render notes/index --input folder=notes", 0, &[draft, "Use spaces."]);
    check(&session, "explain notes/index", 0, &[draft]);
    check(&session, "explain notes/index --json", 0, &["\"draft\": true"]);
}

#[test]
fn check_speaks_of_the_file_where_a_directive_names_it() {
    let session = signed_project();
    session.put("AGENTS.md", "Use tabs.\n");
    check(&session, "check", 0, &["0 errors, 0 warnings, 0 notes"]);
    let session = named();
    let names = "`<before>` names the file `AGENTS.md`";
    check(&session, "check", 0, &[&format!("☞ {names}, which a run refuses: it is unsigned")]);
    fine(&session, "sign AGENTS.md --at 2026-11-20T18:00:00Z");
    check(&session, "check", 0, &["0 errors, 0 warnings, 0 notes"]);
    session.put("AGENTS.md", "Use spaces.\n");
    let changed = format!(
        "{names}, which a run refuses: changed since you signed it at 2026-11-20T18:00:00Z"
    );
    check(&session, "check", 0, &[&format!("☞ {changed}")]);
    check(&session, "check --strict", 1, &[&format!("× {changed}")]);
    let said = session.rye_with("check", &[("CI", "true")]);
    assert!(said.ends_with("--- exit 1\n"), "{said}");
    fs::remove_file(session.project().join("AGENTS.md")).unwrap();
    check(&session, "check", 1, &[&format!("{names}, which the project does not have")]);
    fs::write(session.project().join("AGENTS.md"), vec![b'a'; 256 * 1024 + 1]).unwrap();
    check(&session, "check", 1, &["names a file that no run reads", "is longer than 262144 bytes"]);
    session.change(INDEX, "file=\"AGENTS.md\"", "file=\"../AGENTS.md\"");
    check(
        &session,
        "check",
        1,
        &["`file` is `../AGENTS.md`, not the path of a file in the project"],
    );
}

/// A directive and the file that it names are signed in one command, in any order.
#[test]
fn a_directive_and_its_file_are_signed_at_once() {
    let session = named();
    session.change(INDEX, "Writes an index", "Writes the index");
    let said = fine(&session, &format!("sign {INDEX} AGENTS.md"));
    assert!(said.contains("2 signed") && !said.contains("warning"), "{said}");
    fine(&session, RUN);
}

#[test]
fn a_missing_file_is_skipped_where_it_is_optional() {
    let session = named();
    fs::remove_file(session.project().join("AGENTS.md")).unwrap();
    let missing =
        "file `AGENTS.md`, wanted in `<before>` by directive `notes/index`, cannot be found";
    check(&session, RUN, 1, &[missing]);
    session.change(INDEX, "file=\"AGENTS.md\"", "file=\"AGENTS.md\" optional=\"true\"");
    fine(&session, &format!("sign {INDEX}"));
    check(&session, RUN, 0, &["optional file `AGENTS.md` was not found and is left out"]);
    check(&session, "explain notes/index", 0, &["before file:AGENTS.md asked by notes/index"]);
    // Optional is not unsigned.
    session.put("AGENTS.md", "Use tabs.\n");
    check(&session, RUN, 3, &["unsigned"]);
}

#[test]
fn a_file_is_suppressed_by_its_path() {
    for suppress in ["<suppress>AGENTS.md</suppress>", "<suppress file=\"AGENTS.md\" />"] {
        let session = signed();
        session.change(INDEX, "<before file=\"AGENTS.md\" />", "");
        session.change(
            ".ai/directives/notes/base.md",
            "<context>",
            "<context><before file=\"AGENTS.md\" />",
        );
        fine(&session, "sign ITEMS");
        let render = "render notes/index --input folder=notes";
        assert!(fine(&session, render).contains("Use tabs."));
        session.change(INDEX, "<context>", &format!("<context>{suppress}"));
        fine(&session, "sign ITEMS");
        assert!(!fine(&session, render).contains("Use tabs."), "{suppress}");
        check(&session, "check", 0, &["0 errors, 0 warnings"]);
        // So it needs no signature.
        session.put("AGENTS.md", "Use spaces.\n");
        fine(&session, RUN);
    }
}

#[test]
fn the_lock_has_the_file() {
    let session = signed();
    fine(&session, "lock");
    let lock = read(&session, ".ai/rye.lock");
    assert!(lock.contains("id = \"file:AGENTS.md\"\nspace = \"project\""), "{lock}");
    check(&session, "check --locked", 0, &["2 as locked"]);
    fine(&session, &format!("{RUN} --locked"));
    session.put("AGENTS.md", "Use spaces.\n");
    fine(&session, "sign AGENTS.md");
    check(&session, "check --locked", 1, &["knowledge `file:AGENTS.md` changed"]);
    check(&session, &format!("{RUN} --locked"), 3, &["knowledge `file:AGENTS.md` changed"]);
    // The first line of a file is content, whatever it looks like.
    session.put("AGENTS.md", "<!-- rye:unsigned -->\nUse tabs.\n");
    fine(&session, "sign AGENTS.md");
    check(&session, "check --locked", 1, &["knowledge `file:AGENTS.md` changed"]);
    session.put("AGENTS.md", "Use tabs.\r\n");
    fine(&session, "sign AGENTS.md");
    check(&session, "check --locked", 0, &["2 as locked"]);
}

#[test]
fn explain_and_diff_show_the_file() {
    let session = signed();
    let row = "before file:AGENTS.md 9 bytes asked by notes/index project AGENTS.md signed by";
    check(&session, "explain notes/index", 0, &[row]);
    let entries = json(&session, "explain notes/index --json");
    let entries = entries["directives"][0]["context"].as_array().unwrap();
    let file = entries.iter().find(|entry| entry["item"]["id"] == "file:AGENTS.md").unwrap();
    assert_eq!(file["position"], "before");
    check(&session, "diff notes/base notes/index", 0, &["file:AGENTS.md", "+Use tabs."]);
}

/// A thread records the file as it does knowledge, and goes on with the same text alone.
#[test]
fn a_thread_goes_on_with_the_same_file() {
    let session = signed();
    session.put(
        ".ai/config/agent/approval.yaml",
        "ask:\n  - rye.execute.tool.rye.file-system.write\n",
    );
    fine(&session, "sign .ai/config/agent/approval.yaml");
    check(&session, RUN, 4, &["waits"]);
    let thread = session.thread();
    let record = read(&session, &format!(".ai/threads/{thread}/transcript.jsonl"));
    assert!(record.contains("\"id\":\"file:AGENTS.md\""), "{record}");
    fine(&session, &format!("approve {thread}"));
    let resume = format!("resume {thread}");
    session.put("AGENTS.md", "Use spaces.\n");
    check(&session, &resume, 3, &["AGENTS.md"]);
    fine(&session, "sign AGENTS.md");
    check(&session, &resume, 3, &["knowledge `file:AGENTS.md`"]);
    session.put("AGENTS.md", "Use tabs.\n");
    fine(&session, "sign AGENTS.md");
    fine(&session, &resume);
    fine(&session, &format!("replay {thread}"));
    fine(&session, "threads verify");
}

/// What a step brings into the thread has its file along, and the record has that, too.
#[test]
fn an_executed_directive_brings_its_file() {
    let session = signed();
    let index = read(&session, INDEX);
    let ruled = "# Ruled\n\n```xml\n<directive name=\"ruled\" version=\"1.0.0\">\n  <metadata>\n    <description>Has rules.</description>\n    \
         <category>notes</category>\n    <author>example</author>\n    <context><after file=\"AGENTS.md\" /></context>\n  </metadata>\n</directive>\n```\n";
    session.put(".ai/directives/notes/ruled.md", ruled);
    let index = index.replace("<before file=\"AGENTS.md\" />", "");
    let index = index.replace(
        "<process>",
        "<process>\n<step name=\"rules\"><execute item_type=\"directive\" item_id=\"notes/ruled\" /></step>",
    );
    let index = index.replace(
        "<permissions>",
        "<permissions><execute><directive>notes.ruled</directive></execute>",
    );
    session.put(INDEX, &index);
    session.put(
        ".ai/config/agent/approval.yaml",
        "ask:\n  - rye.execute.tool.rye.file-system.write\n",
    );
    fine(&session, "sign ITEMS");
    check(&session, RUN, 4, &["waits"]);
    let thread = session.thread();
    let record = read(&session, &format!(".ai/threads/{thread}/transcript.jsonl"));
    assert!(
        record.contains("Use tabs.") && record.contains("\"id\":\"file:AGENTS.md\""),
        "{record}"
    );
    fine(&session, &format!("approve {thread}"));
    session.put("AGENTS.md", "Use spaces.\n");
    fine(&session, "sign AGENTS.md");
    check(&session, &format!("resume {thread}"), 3, &["knowledge `file:AGENTS.md`"]);
    session.put("AGENTS.md", "Use tabs.\n");
    fine(&session, "sign AGENTS.md");
    fine(&session, &format!("resume {thread}"));
}

/// The signer of a file is a layer of the authority, as that of knowledge is.
#[test]
fn the_signer_may_grant_no_more_than_its_key() {
    let session = named();
    apply(&session, "trust-narrow [\"rye.execute.tool.rye.file-system.read\"]");
    let narrow = session.home().join("narrow.pem");
    fine(&session, &format!("sign AGENTS.md --key {}", narrow.display()));
    check(&session, "check", 1, &["which signed knowledge `file:AGENTS.md`, may not grant"]);
    check(&session, RUN, 3, &["rye.execute.tool.rye.file-system.ls"]);
    // A folder leaves alone what another key signed, and the path does not.
    check(&session, "sign .", 1, &["kept <DIR>/project/AGENTS.md"]);
    check(&session, "sign AGENTS.md", 0, &["in place of that of"]);
    fine(&session, RUN);
}

/// A directive of another space would take another file in each project.
#[test]
fn only_directives_of_the_project_take_its_files() {
    let session = signed();
    let user = session.home().join(".ai/directives/team/rules.md");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    let text = read(&session, INDEX).replace("name=\"index\"", "name=\"rules\"");
    let text = text.replace("<category>notes", "<category>team");
    fs::write(&user, text.split_once('\n').unwrap().1).unwrap();
    let refused =
        "directive `team/rules` of the user space takes the file `AGENTS.md` into its context";
    check(&session, &format!("check {}", user.display()), 1, &[refused]);
    check(&session, &format!("sign {}", user.display()), 1, &[refused]);
    apply(&session, "sign-as-it-is ~/.ai/directives/team/rules.md");
    check(&session, "run team/rules --provider steps --input folder=notes", 1, &[refused]);
    fs::remove_file(user).unwrap();
}

/// No command takes the file for an item.
#[test]
fn a_plain_file_is_nothing_but_context() {
    let session = signed();
    for command in [
        "load file:AGENTS.md",
        "load AGENTS --kind knowledge",
        "which AGENTS",
        "sign file:AGENTS.md",
    ] {
        let said = session.rye(command);
        assert!(!said.ends_with("--- exit 0\n"), "{command}: {said}");
    }
    let found = fine(&session, "search tabs");
    assert!(!found.contains("AGENTS"), "{found}");
    let listed = fine(&session, "list");
    assert!(!listed.contains("AGENTS"), "{listed}");
}

/// A revision has its own text of the file, and its own signature.
#[cfg(feature = "git")]
#[test]
fn a_revision_is_compared_with_its_own_file() {
    use crate::repository::commit_with;

    let session = signed();
    let project = session.project();
    fs::write(project.join("other.md"), "Other.\n").unwrap();
    commit_with(&project, "one", &["AGENTS.md", "other.md"]);
    check(&session, "diff notes/index --rev HEAD", 0, &["no difference"]);
    session.put("AGENTS.md", "Use spaces.\n");
    fine(&session, "sign AGENTS.md");
    check(
        &session,
        "diff notes/index --rev HEAD",
        0,
        &["file:AGENTS.md", "-Use tabs.", "+Use spaces."],
    );
    // Of a revision without it, the directive cannot be composed.
    commit_with(&project, "two", &[]);
    let said = session.rye("diff notes/index --rev HEAD");
    assert!(said.contains("AGENTS.md") && !said.contains("no difference"), "{said}");
}
