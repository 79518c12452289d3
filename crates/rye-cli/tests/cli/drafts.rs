//! Files that the operator signed and changed since (SPEC D20): who shows them, who refuses them, and which files are none.

use std::fs;

use crate::session::Session;

const INDEX: &str = ".ai/directives/notes/index.md";

/// The quick start, all of it signed by the operator's own key and locked, with a change to the directive since.
fn drafted() -> Session {
    let session = signed();
    session.put(INDEX, &(read(&session, INDEX) + "\nKeep it short.\n"));
    session
}

fn signed() -> Session {
    let session = Session::new();
    session.rye("keys generate");
    let signed = session.rye("sign ITEMS --at 2026-11-20T18:00:00Z --re-sign");
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    let locked = session.rye("lock");
    assert!(locked.ends_with("--- exit 0\n"), "{locked}");
    session
}

fn read(session: &Session, path: &str) -> String {
    fs::read_to_string(session.project().join(path)).unwrap()
}

const WARNED: &str =
    "warning: DRAFT: directive `notes/index` changed since you signed it at 2026-11-20T18:00:00Z";
const NOTED: &str = "☞ changed since you signed it at 2026-11-20T18:00:00Z";
const REFUSED: &str = "tampered";

/// Each command with its exit code and words that it says.
const GATES: [(&str, i32, &[&str]); 21] = [
    ("render notes/index --input folder=notes", 0, &[WARNED, "Keep it short."]),
    ("render notes/index --input folder=notes --json", 0, &[WARNED, "\"draft\": true"]),
    ("render notes/index --template", 0, &[WARNED, "Keep it short."]),
    ("render notes/index --template --json", 0, &[WARNED, "\"draft\": true"]),
    (
        "render notes/index --input folder=notes --provider anthropic_messages --json",
        0,
        &[WARNED, "\"draft\": true"],
    ),
    ("render .ai/directives/notes/index.md --template", 0, &[WARNED]),
    ("explain notes/index", 0, &[WARNED, "DRAFT: changed since you signed it"]),
    (
        "explain notes/index --json",
        0,
        &[WARNED, "\"draft\": true", "\"changed_since\": \"2026-11-20T18:00:00Z\""],
    ),
    ("caps explain notes/index", 0, &[WARNED]),
    ("caps explain notes/index --json", 0, &[WARNED, "\"draft\": true"]),
    ("diff notes/base notes/index", 0, &["DRAFT: directive `notes/index`"]),
    ("diff notes/base notes/index --json", 0, &["\"draft\": true"]),
    ("check", 0, &[NOTED, "0 errors"]),
    ("check --strict", 1, &["× changed since you signed it at"]),
    ("check --locked", 1, &["× changed since you signed it at"]),
    ("verify .ai", 3, &[REFUSED]),
    ("lock", 3, &[REFUSED]),
    ("run notes/index --provider steps --input folder=notes", 3, &[REFUSED]),
    ("render notes/index --input folder=notes --strict", 3, &[REFUSED]),
    ("caps check notes/index rye.execute.tool.rye.file-system.read", 3, &[REFUSED]),
    ("caps tighten notes/index", 3, &[REFUSED]),
];

#[test]
fn a_person_is_shown_a_draft_and_nothing_else_is() {
    let session = drafted();
    for (command, code, words) in GATES {
        let said = session.rye(command);
        let is_so = said.ends_with(&format!("--- exit {code}\n"));
        let lacking = words.iter().find(|word| !said.contains(**word));
        assert!(is_so && lacking.is_none(), "{command} lacks {lacking:?}:\n{said}");
    }
    assert!(!session.project().join("INDEX.md").exists());
}

#[test]
fn the_prompt_of_a_draft_is_the_one_of_the_signed_file() {
    let session = drafted();
    let shown = session.raw("render notes/index --input folder=notes").stdout;
    session.rye("sign .ai/directives/notes/index.md");
    assert_eq!(shown, session.raw("render notes/index --input folder=notes").stdout);
}

#[test]
fn a_draft_is_an_error_where_ci_is_set() {
    let session = drafted();
    let said = session.rye_with("check", &[("CI", "true")]);
    assert!(said.contains("× changed since you signed it at"), "{said}");
    assert!(said.ends_with("--- exit 1\n"), "{said}");
    for no in ["", "0", "False"] {
        let said = session.rye_with("check", &[("CI", no)]);
        assert!(said.ends_with("--- exit 0\n"), "CI={no}: {said}");
    }
}

#[test]
fn signing_lists_what_it_signs_over_another_content() {
    let session = drafted();
    let told = "over another content than the one that was signed at 2026-11-20T18:00:00Z";
    let tried = session.rye("sign .ai --dry-run");
    assert_eq!(tried.matches(told).count(), 1, "{tried}");
    let listed = session.rye("sign .ai --json --dry-run");
    assert_eq!(
        listed.matches("\"changed_since\": \"2026-11-20T18:00:00Z\"").count(),
        1,
        "{listed}"
    );
    assert_eq!(listed.matches("\"changed_since\": null").count(), 2, "{listed}");
    let signed = session.rye("sign .ai");
    assert_eq!(signed.matches(told).count(), 1, "{signed}");
    let again = session.rye("sign .ai --re-sign");
    assert_eq!(again.matches(told).count(), 0, "{again}");
}

#[test]
fn knowledge_and_configuration_are_drafts_too() {
    let session = signed();
    let style = ".ai/knowledge/notes/index-style.md";
    session.put(style, &(read(&session, style) + "\nOne line each.\n"));
    let said = session.rye("render notes/index --input folder=notes");
    assert!(said.contains("DRAFT: knowledge `notes/index-style` changed since"), "{said}");
    let approval = ".ai/config/agent/approval.yaml";
    session.put(approval, "ask:\n  - rye.execute.tool.rye.file-system.write\n");
    session.rye("sign .ai/config/agent/approval.yaml");
    session.put(approval, &(read(&session, approval) + "  - rye.execute.tool.rye.bash\n"));
    let said = session.rye("explain notes/index");
    assert!(said.contains("DRAFT: config `agent/approval` changed since"), "{said}");
    let said = session.rye("run notes/index --provider steps --input folder=notes");
    assert!(said.contains("tampered") && said.ends_with("--- exit 3\n"), "{said}");
}

/// Each file of configuration that a run refuses when it was changed is marked where a person is shown what the run would do.
#[test]
fn configuration_that_is_a_draft_is_marked_wherever_a_draft_is_shown() {
    let session = signed();
    let files = [
        ("agent/approval", "ask: [rye.execute.tool.rye.file-system.write]\n"),
        ("agent/capability_risk", "classifications: []\n"),
        ("agent/hooks", "hooks: []\n"),
        ("agent/processes", "{}\n"),
        ("agent/providers", "default: anthropic_messages\n"),
        ("agent/resilience", "limits: {turns: 5}\n"),
        ("agent/web", "hosts: [example.org]\n"),
        ("mcp/servers", "servers: {}\n"),
    ];
    for (id, text) in files {
        session.put(&format!(".ai/config/{id}.yaml"), text);
    }
    let said = session.rye("sign .ai/config");
    assert!(said.ends_with("--- exit 0\n"), "{said}");
    let shown = [
        "render notes/index --input folder=notes",
        "render notes/index --template",
        "explain notes/index",
        "caps explain notes/index",
        "diff notes/index notes/index",
    ];
    let mut lacking = Vec::new();
    for (id, _) in files {
        let path = format!(".ai/config/{id}.yaml");
        let text = read(&session, &path);
        session.put(&path, &(text.clone() + "# changed\n"));
        for command in shown {
            let said = session.rye(command);
            let mark = format!("DRAFT: config `{id}` changed since you signed it");
            if !said.contains(&mark) || !said.ends_with("--- exit 0\n") {
                lacking.push(format!("{id}: {command}: {said}"));
            }
        }
        session.put(&path, &text);
    }
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}

/// A tool of a step that is a draft is shown, marked, and no run offers it.
#[test]
fn a_tool_that_is_a_draft_is_shown_and_not_run() {
    let session = signed();
    let tool = ".ai/tools/notes/list.yaml";
    session.put(tool, "description: Lists.\nversion: \"1.0.0\"\nexecutor: builtin\nbuiltin: file-system/ls\ninput_schema: {type: object, properties: {path: {type: string}, first_lines: {type: boolean}}}\n");
    session.change(INDEX, "item_id=\"rye/file-system/ls\"", "item_id=\"notes/list\"");
    let granted = "<tool>rye.file-system.ls</tool><tool>notes.list</tool>";
    session.change(INDEX, "<tool>rye.file-system.ls</tool>", granted);
    let said = session.rye("sign .ai");
    assert!(said.ends_with("--- exit 0\n"), "{said}");
    session.put(tool, &read(&session, tool).replace("Lists.", "Lists all."));
    let mark = "DRAFT: tool `notes/list` changed since you signed it";
    for command in [
        "render notes/index --input folder=notes",
        "render notes/index --input folder=notes --provider anthropic_messages",
        "explain notes/index",
        "caps explain notes/index",
        "diff notes/base notes/index",
    ] {
        let said = session.rye(command);
        assert!(said.contains(mark) && said.ends_with("--- exit 0\n"), "{command}: {said}");
        assert!(!said.contains("not offered") && !said.contains("may not run"), "{said}");
    }
    let body = session.rye("render notes/index --input folder=notes --provider anthropic_messages");
    assert!(body.contains("Lists all."), "{body}");
    let said = session.rye("run notes/index --provider steps --input folder=notes");
    assert!(said.contains(REFUSED) && said.ends_with("--- exit 3\n"), "{said}");
}

#[test]
fn a_tool_that_is_a_draft_and_that_a_model_may_use_is_marked() {
    let session = signed();
    let tool = ".ai/tools/notes/count.yaml";
    session.put(tool, "description: Counts\nexecutor: command\ncommand: wc\nargs: [\"-l\"]\ninput_schema: {type: object}\n");
    session.change(INDEX, "<execute>", "<execute>\n        <tool>notes.count</tool>");
    let signed = session.rye("sign .ai");
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    session.put(tool, &(read(&session, tool) + "# changed\n"));
    let said = session.rye("explain notes/index");
    assert!(said.contains("DRAFT: tool `notes/count` changed since you signed it"), "{said}");
}

#[test]
fn unsigned_files_are_marked_as_drafts_where_the_operator_allows_them() {
    let session = signed();
    let text = read(&session, INDEX);
    session.put(INDEX, text.split_once('\n').unwrap().1);
    for command in [
        "render notes/index --input folder=notes",
        "explain notes/index",
        "caps explain notes/index",
    ] {
        let said = session.rye(&format!("{command} --allow-unsigned --json"));
        assert!(said.contains("\"draft\": true"), "{said}");
        assert!(said.contains("warning: UNVERIFIED: directive `notes/index`"), "{said}");
        assert!(session.rye(command).ends_with("--- exit 3\n"));
    }
}

/// Changes a signed file so that it is refused and is no draft.
#[track_caller]
fn check_tampered(change: impl FnOnce(&Session)) {
    let session = signed();
    change(&session);
    for command in [
        "render notes/index --input folder=notes",
        "explain notes/index",
        "caps explain notes/index",
    ] {
        let said = session.rye(command);
        assert!(said.ends_with("--- exit 3\n") && !said.contains("DRAFT"), "{command}:\n{said}");
    }
    let said = session.rye("check");
    assert!(!said.contains("changed since you signed it"), "{said}");
}

#[test]
fn a_changed_line_is_no_draft() {
    let edit = |from: &'static str, to: &'static str| {
        check_tampered(move |session| {
            session.put(INDEX, &(read(session, INDEX).replacen(from, to, 1) + "\nMore.\n"));
        });
    };
    edit("2026-11-20T18:00:00Z", "2026-11-20T18:00:01Z");
    edit("-->", "x-->");
}

#[test]
fn a_line_with_another_hash_is_no_draft() {
    check_tampered(|session| {
        let text = read(session, INDEX);
        let hash = text.split(':').nth(5).unwrap().to_owned();
        assert_eq!(hash.len(), 64, "{text}");
        session.put(INDEX, &text.replacen(&hash, &"0".repeat(64), 1));
    });
}

#[test]
fn the_line_of_another_item_is_no_draft() {
    check_tampered(|session| {
        let base = read(session, ".ai/directives/notes/base.md");
        let line = base.lines().next().unwrap().to_owned();
        let text = read(session, INDEX);
        session.put(INDEX, &format!("{line}\n{}", text.split_once('\n').unwrap().1));
    });
}

#[test]
fn a_file_of_another_key_is_no_draft() {
    check_tampered(|session| {
        session.rye("sign .ai/directives/notes/index.md --key KEY --re-sign");
        session.put(INDEX, &(read(session, INDEX) + "\nMore.\n"));
    });
}

#[test]
fn a_file_of_a_former_key_is_no_draft() {
    check_tampered(|session| {
        session.put(INDEX, &(read(session, INDEX) + "\nMore.\n"));
        fs::remove_dir_all(session.home().join(".ai/config/keys/signing")).unwrap();
        session.rye("keys generate");
    });
}
