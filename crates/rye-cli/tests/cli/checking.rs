//! `rye check` as a check of a project, and the commands that refuse what it calls an error.

mod bodies;
#[cfg(feature = "git")]
mod revisions;

use std::fs;

use serde_json::Value;

use crate::gates;
use crate::session::Session;

const FILE: &str = ".ai/directives/work.md";
const INDEX: &str = ".ai/directives/notes/index.md";

/// A directive with these elements of its metadata and this step.
fn directive(name: &str, metadata: &str, step: &str) -> String {
    format!(
        "# Work\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata>\n    \
         <description>Works.</description>\n    <author>ada</author>\n    <model tier=\"fast\" />\n    \
         <limits turns=\"4\" />\n    {metadata}\n  </metadata>\n</directive>\n```\n\n<process>\n  \
         <step name=\"one\">{step}</step>\n</process>\n"
    )
}

const LIST: &str = "<execute item_type=\"tool\" item_id=\"rye/file-system/ls\" />";
const MAY_LIST: &str =
    "<permissions><execute><tool>rye.file-system.ls</tool></execute></permissions>";

fn holding(text: &str) -> Session {
    let session = Session::new();
    session.put(FILE, text);
    session
}

/// The codes of the findings of the whole project, with their severity and line.
fn codes(session: &Session, options: &str) -> Vec<String> {
    let output = session.raw(&format!("check --json --trust TRUST {options}"));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = found["files"].as_array().unwrap().iter();
    let problems = files.flat_map(|file| file["problems"].as_array().unwrap());
    let shown = |row: &Value| {
        format!(
            "{} {}:{}",
            row["severity"].as_str().unwrap(),
            row["code"].as_str().unwrap(),
            row["line"]
        )
    };
    problems.map(shown).filter(|row| !row.contains("unsigned:")).collect()
}

#[track_caller]
fn check(metadata: &str, step: &str, expected: &[&str]) {
    assert_eq!(codes(&holding(&directive("work", metadata, step)), ""), expected);
}

#[track_caller]
fn ends(output: &str, code: u8) {
    assert!(output.ends_with(&format!("--- exit {code}\n")), "{output}");
}

#[test]
fn a_project_without_problems_has_none() {
    assert_eq!(codes(&Session::new(), "--strict"), [""; 0]);
    check(MAY_LIST, LIST, &[]);
}

#[test]
fn references_of_steps_hooks_and_context_are_resolved() {
    let step = |primary: &str, kind: &str| {
        format!("<{primary} item_type=\"{kind}\" item_id=\"nowhere\" />")
    };
    check(MAY_LIST, &step("execute", "tool"), &["error unknown-tool:16"]);
    check(MAY_LIST, &step("execute", "directive"), &["error unknown-directive:16"]);
    check(MAY_LIST, &step("load", "knowledge"), &["error unknown-knowledge:16"]);
    let hook = "<hooks><hook id=\"h\" event=\"limit\"><action primary=\"execute\" item_type=\"tool\" item_id=\"nowhere\" /></hook></hooks>";
    check(&format!("{MAY_LIST}{hook}"), LIST, &["error unknown-tool:10"]);
    let context =
        "<context><before optional=\"true\">nowhere</before><suppress>nothing</suppress></context>";
    let expected = ["note missing-optional:10", "warning unknown-suppress:10"];
    check(&format!("{MAY_LIST}{context}"), LIST, &expected);
    let hooks = "hooks:\n  - id: a\n    event: limit\n    action: {primary: execute, item_type: tool, item_id: nowhere}\n";
    let session = Session::new();
    session.put(".ai/config/agent/hooks.yaml", hooks);
    assert_eq!(codes(&session, ""), ["error unknown-tool:4"]);
}

#[test]
fn what_hooks_need_is_granted_used_and_kept() {
    let hook = "<hooks><hook id=\"h\" event=\"limit\"><action primary=\"execute\" item_type=\"tool\" item_id=\"rye/file-system/read\"><param name=\"path\" value=\"a\" /></action></hook></hooks>";
    check(&format!("{MAY_LIST}{hook}"), LIST, &["error missing-permission:10"]);
    let both = MAY_LIST.replace("</tool>", "</tool><tool>rye.file-system.read</tool>");
    let session = holding(&directive("work", &format!("{both}{hook}"), LIST));
    assert_eq!(codes(&session, ""), [""; 0]);
    let tightened = session.rye("caps tighten work --allow-unsigned");
    assert!(tightened.contains("<tool>rye.file-system.read</tool>"), "{tightened}");
    let explained = session.rye("caps explain work --allow-unsigned");
    assert!(explained.contains("used by hook `h`"), "{explained}");
}

/// Metadata that is inherited counts as present. A limit of a base that allows more than the default is named until the leaf or the
/// operator states one (SPEC D19).
#[test]
fn limits_and_model_of_a_base() {
    let base = |limits: &str| {
        directive("base", MAY_LIST, LIST)
            .replace("<limits turns=\"4\" />", &format!("<limits {limits} />"))
    };
    let leaf = |own: &str| {
        let leaf = directive("work", own, LIST).replace("version", "extends=\"base\" version");
        leaf.replace("<model tier=\"fast\" />", "").replace("<limits turns=\"4\" />", "")
    };
    let check = |limits: &str, own: &str, operator: &str, expected: &[&str]| {
        let session = holding(&leaf(own));
        session.put(".ai/directives/base.md", &base(limits));
        if !operator.is_empty() {
            let path = session.home().join(".ai/config/agent/resilience.yaml");
            let path = path.to_str().unwrap();
            session.put(path, &format!("limits: {{ {operator} }}\n"));
            session.sign_file_as_it_is(path, &crate::session::example_key());
        }
        assert_eq!(codes(&session, ""), expected, "{limits} {own} {operator}");
    };
    check("turns=\"4\" spend=\"0.50\"", "", "", &[]);
    check("turns=\"4\" spend=\"0.50\"", MAY_LIST, "", &[]);
    check("spend=\"unlimited\"", "", "", &[]);
    let twice = ["warning inherited-limit:4", "warning inherited-limit:4"];
    check("turns=\"11\" spend=\"0.501\" depth=\"5\"", "", "", &twice);
    check("turns=\"11\" spend=\"0.501\"", "<limits spend=\"0.501\" />", "", &twice[..1]);
    check("turns=\"11\" spend=\"0.501\"", "", "turns: 5", &twice[..1]);
    check("turns=\"11\" spend=\"0.501\"", "", "turns: 5, spend: '0.10'", &[]);

    let session = holding(&leaf(""));
    session.put(".ai/directives/base.md", &base("spend=\"0.75\""));
    let found = session.rye("check --trust TRUST");
    let message =
        "`spend` is 0.75, inherited from `base`, and above the configured default of 0.50";
    assert!(found.contains(message), "{found}");
    assert!(found.contains("accept it with `spend=\"0.75\"` in `<limits>`"), "{found}");
}

/// Without permissions in the chain nothing is allowed, so that no step could be followed.
#[test]
fn steps_without_any_permissions_are_denied() {
    check("", LIST, &["error missing-permission:16"]);
    let bare = directive("work", "", LIST);
    let bare = bare.replace("<model tier=\"fast\" />", "").replace("<limits turns=\"4\" />", "");
    let session = holding(&bare);
    assert_eq!(codes(&session, ""), ["error missing-permission:16"]);
    let ran = session.rye("run work --provider steps --allow-unsigned");
    assert!(ran.ends_with("--- exit 3\n"), "{ran}");
    // A hook may say that it extends a directive with permissions.
    let hook = "hooks:\n  - {id: a, event: resolve_extends, extends: notes/base}\n";
    session.put(".ai/config/agent/hooks.yaml", hook);
    assert_eq!(codes(&session, ""), [""; 0]);
}

/// A run warns of such an action and goes on without it.
#[test]
fn what_hooks_of_other_files_need_is_held_against_the_leaf() {
    const HOOK: &str = "<hooks><hook id=\"hk\" event=\"after_step\"><execute item_type=\"tool\">rye/file-system/write<param name=\"path\" value=\"a\" /><param name=\"content\" value=\"b\" /></execute></hook></hooks>";
    let both = MAY_LIST.replace("</tool>", "</tool><tool>rye.file-system.write</tool>");
    let leaf = directive("work", MAY_LIST, LIST)
        .replace("version=\"1.0.0\"", "version=\"1.0.0\" extends=\"base\"");
    let session = holding(&leaf);
    let base = directive("base", &format!("{both}{HOOK}"), LIST);
    session.put(".ai/directives/base.md", &base);
    assert_eq!(codes(&session, ""), ["warning missing-permission:4"]);
    let told = session.rye(&format!("check {FILE}"));
    let expected = "hook `hk` of directive `base` needs `rye.execute.tool.rye.file-system.write`";
    assert!(told.contains(expected), "{told}");
    let ran = session.rye("run work --provider steps --allow-unsigned");
    assert!(ran.contains("an action of hook `hk` was refused"), "{ran}");

    let session = holding(&directive("work", MAY_LIST, LIST));
    let hooks = "hooks:\n  - id: a\n    event: limit\n    action: {primary: execute, item_type: tool, item_id: rye/file-system/write, params: {path: a, content: b}}\n";
    session.put(".ai/config/agent/hooks.yaml", hooks);
    assert_eq!(codes(&session, "--allow-unsigned"), ["warning missing-permission:4"]);
    let told = session.rye(&format!("check {FILE} --allow-unsigned"));
    assert!(told.contains("hook `a` of the hooks file `"), "{told}");
}

/// Other items without a signature are as good as absent; these stop runs.
#[test]
fn configuration_without_a_signature_stops_runs() {
    let rows = [
        (".ai/config/agent/approval.yaml", "ask: []\n", "runs of this project are refused"),
        (".ai/config/agent/hooks.yaml", "hooks: []\n", "runs of this project are refused"),
        (
            ".ai/config/agent/providers.yaml",
            "default: gemini\n",
            "runs that name no provider are refused",
        ),
        (
            ".ai/tools/rye/agent/providers/mine.yaml",
            "protocol: anthropic_messages\nbase_url: https://example.org\nmodels:\n  m: { context_window: 1000, max_output: 10 }\n",
            "runs with this provider are refused",
        ),
    ];
    for (path, text, expected) in rows {
        let session = Session::new();
        session.put(path, text);
        let told = session.rye(&format!("check {path} --trust TRUST"));
        assert!(told.contains(&format!("unsigned: {expected} until ")), "{told}");
        ends(&told, 0);
    }
}

#[test]
fn a_permission_is_as_risky_as_the_function_behind_its_tool() {
    let may_deploy = "<permissions><execute><tool>ops.deploy</tool></execute></permissions>";
    let step = "<execute item_type=\"tool\" item_id=\"ops/deploy\" />";
    let session = holding(&directive("work", may_deploy, step));
    let tool = "description: Deploys.\ninput_schema: {type: object}\nexecutor: command\ncommand: \"true\"\n";
    session.put(".ai/tools/ops/deploy.yaml", tool);
    assert_eq!(codes(&session, "--allow-unsigned"), ["warning unacknowledged-risk:10"]);
    let row = "{risk: unrestricted, patterns: [rye.execute.tool.rye.bash.*]}";
    let risk = format!("classifications:\n  - {row}\n");
    session.put(".ai/config/agent/capability_risk.yaml", &risk);
    assert_eq!(codes(&session, "--allow-unsigned"), ["error blocked-risk:10"]);
}

#[test]
fn signing_and_locking_refuse_what_is_an_error() {
    let session =
        holding(&directive("work", MAY_LIST, "<execute item_type=\"tool\" item_id=\"nowhere\" />"));
    let signed = session.rye(&format!("sign {FILE} --key KEY"));
    assert!(signed.contains("names the tool `nowhere`"), "{signed}");
    ends(&signed, 1);
    let locked = session.rye("lock --trust TRUST --allow-unsigned");
    assert!(locked.contains("refused  work\n"), "{locked}");
    assert!(locked.contains("2 directives locked, 1 refused"), "{locked}");
    ends(&locked, 1);
}

#[test]
fn a_lock_without_directives_is_not_green() {
    let session = Session::new();
    session.put(".ai/rye.lock", "version = 1\nwhole_project = false\n");
    let checked = session.rye("check --locked --trust TRUST");
    assert!(checked.contains("no directive is locked"), "{checked}");
    ends(&checked, 1);
    nothing_is_locked(&session, "no directive is locked");
    session.put(".ai/rye.lock", "version = 1\nwhole_project = fal");
    nothing_is_locked(&session, "the lock cannot be read");
    fs::remove_file(session.project().join(".ai/rye.lock")).unwrap();
    nothing_is_locked(&session, "is not there; `rye lock` writes it");
    fs::remove_dir_all(session.project().join(".ai/directives")).unwrap();
    ends(&session.rye("lock --trust TRUST"), 1);
}

/// Each form says that nothing is held against the lock, and what else is wrong with the project.
#[track_caller]
fn nothing_is_locked(session: &Session, expected: &str) {
    let step = "<execute item_type=\"tool\" item_id=\"nowhere\" />";
    session.put(FILE, &directive("work", MAY_LIST, step));
    for (format, lock) in [
        ("--format github", "title=not-as-locked::"),
        ("--format sarif", "\"ruleId\": \"not-as-locked\""),
        ("--json", "\"locked\": ["),
        ("", ""),
    ] {
        let told = session.rye(&format!("check --locked --trust TRUST {format}"));
        assert!(told.contains(lock) && told.contains(expected), "{told}");
        assert!(told.contains("nowhere"), "what else is wrong is told too: {told}");
        ends(&told, 1);
    }
    fs::remove_file(session.project().join(FILE)).unwrap();
}

/// A directive that is refused stays as it was reviewed, so that the difference is told once it can be locked again.
#[test]
fn a_refused_directive_keeps_its_place_in_the_lock() {
    let session = Session::new();
    ends(&session.rye("lock --trust TRUST"), 0);
    let lock = fs::read_to_string(session.project().join(".ai/rye.lock")).unwrap();
    let style = ".ai/knowledge/notes/index-style.md";
    session.change(style, "one Markdown file", "two Markdown files");
    let refused = session.rye("lock --trust TRUST");
    assert!(refused.contains("refused  notes/index\n"), "{refused}");
    let now = fs::read_to_string(session.project().join(".ai/rye.lock")).unwrap();
    assert_eq!(now, lock);
    ends(&session.rye("sign .ai --key KEY --at 2026-11-20T18:00:00Z"), 0);
    let checked = session.rye("check --locked --trust TRUST");
    assert!(checked.contains("knowledge `notes/index-style` changed: "), "{checked}");
    ends(&checked, 1);
}

#[test]
fn the_forms_for_programs_hold_the_lock_too() {
    let session = Session::new();
    ends(&session.rye("lock --trust TRUST"), 0);
    session.change(INDEX, "turns=\"8\"", "turns=\"9\"");
    ends(&session.rye("sign .ai --key KEY --at 2026-11-20T18:00:00Z"), 0);
    let github = session.rye("check --locked --strict --format github --trust TRUST");
    assert!(github.contains("::error file=.ai/rye.lock,line="), "{github}");
    assert!(
        github.contains("title=not-as-locked::directive `notes/index` is not as locked"),
        "{github}"
    );
    ends(&github, 1);
    let sarif = session.raw("check --locked --strict --format sarif --trust TRUST");
    let sarif: Value = serde_json::from_slice(&sarif.stdout).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "not-as-locked");
    let result = &run["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"not-as-locked".into(), &"error".into()));
    assert!(result["message"]["text"].is_string());
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], ".ai/rye.lock");
    assert!(place["region"]["startLine"].as_u64().unwrap() > 1);
}

/// A directive that may do more than the one that it extends, with nothing else wrong.
fn widening() -> Session {
    let session = Session::new();
    session.put(".ai/directives/narrow.md", &directive("narrow", MAY_LIST, LIST));
    let wide = MAY_LIST.replace(".ls", ".*");
    let text = directive("wide", &wide, LIST).replace("1.0.0\">", "1.0.0\" extends=\"narrow\">");
    session.put(".ai/directives/wide.md", &text);
    session
}

#[test]
fn a_strict_chain_grants_no_more_toward_its_leaf() {
    let session = widening();
    let code = "error widened-extends:10".to_owned();
    assert!(!codes(&session, "").contains(&code));
    assert!(codes(&session, "--strict").contains(&code));
    session.put(".ai/config/trust.yaml", "strict_extends: true\n");
    assert!(codes(&session, "--allow-unsigned").contains(&code));
    let ran = session.rye("run wide --provider steps --allow-unsigned");
    let told = "`wide` grants `rye.execute.tool.rye.file-system.*`, which the permissions of `narrow`, which it extends, do not cover";
    assert!(ran.contains(told), "{ran}");
    ends(&ran, 3);
    ends(&session.rye("render wide --allow-unsigned"), 3);
}

#[test]
fn strict_runs_and_renders_refuse_a_widening() {
    let session = widening();
    ends(&session.rye("sign .ai --key KEY"), 0);
    ends(&session.rye("render wide --trust TRUST"), 0);
    ends(&session.rye("render wide --trust TRUST --strict"), 3);
    ends(&session.rye("run wide --provider steps --trust TRUST --strict"), 3);
}

#[test]
fn configuration_is_wrong_where_it_says_so() {
    let session = Session::new();
    session.put(".ai/config/agent/resilience.yaml", "limits:\n  turns: 3\n  tokenz: 5\n");
    session.put(".ai/config/agent/approval.yaml", "ask:\n  - rye.execute.*\n  - not a pattern\n");
    assert_eq!(codes(&session, "--allow-unsigned"), ["error schema:3", "error schema:3"]);
}

/// What `check` accepts, a run carries out.
#[test]
fn a_directive_names_its_steps_as_its_provider() {
    let text = directive("work", MAY_LIST, LIST).replace("\"fast\"", "\"fast\" provider=\"steps\"");
    let session = holding(&text);
    assert_eq!(codes(&session, "--allow-unsigned"), [""; 0]);
    ends(&session.rye("run work --allow-unsigned"), 0);
    let thread = session.rye("threads show --json");
    assert!(thread.contains("\"steps\""), "{thread}");
}

/// A key that may not be used any more is not one that nobody knows yet.
#[test]
fn a_revoked_key_is_an_error_and_an_unknown_one_a_note() {
    let session = Session::new();
    let check = format!("check {INDEX}");
    let unknown = session.rye(&check);
    assert!(unknown.contains("signed by the unknown key"), "{unknown}");
    ends(&unknown, 0);
    session.rye("trust add TRUST --yes");
    ends(&session.rye(&check), 0);
    session.rye("trust revoke 56dbf7b2d9ce86ed --at 2026-11-20T00:00:00Z");
    let revoked = session.rye(&check);
    assert!(revoked.contains("revoked") && revoked.contains("refused for use"), "{revoked}");
    ends(&revoked, 1);
    let signed = session.rye("keys generate") + &session.rye(&format!("sign {INDEX}"));
    assert!(signed.contains("1 signed, 0 not signed"), "{signed}");
}

/// A file that can be read only by waiting for a writer is an error and stops nothing.
#[cfg(unix)]
#[test]
fn what_is_no_plain_file_is_an_error() {
    for path in ["config/trust.yaml", "directives/pipe.md", "tools/socket.yaml"] {
        let session = Session::new();
        let path = session.project().join(".ai").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        let checked = session.rye("check --trust TRUST");
        assert!(checked.contains("is not a plain file"), "{checked}");
        ends(&checked, 1);
    }
}

/// The signature of what a hook says a directive extends is judged where the directive or the hooks file is checked alone.
#[test]
fn what_a_directive_extends_by_a_hook_is_judged_too() {
    let session = crate::gates::signed_project();
    let hooks = "hooks:\n  - id: based\n    event: resolve_extends\n    extends: notes/other\n    when: directive.id eq \"notes/index\"\n";
    let other = ".ai/directives/notes/other.md";
    for change in [
        format!("copy .ai/directives/notes/base.md {other}"),
        format!("replace {other} name=\"base\" => name=\"other\""),
        format!("unsign {other}"),
        format!("write .ai/config/agent/hooks.yaml {hooks}"),
        "sign-as-it-is .ai/config/agent/hooks.yaml".to_owned(),
    ] {
        crate::gates::apply(&session, &change);
    }
    let told = "names the directive `notes/other`, which a run refuses: its file is unsigned";
    for file in ["notes/index", ".ai/config/agent/hooks.yaml"] {
        let checked = session.rye(&format!("check {file}"));
        let words: Vec<&str> = checked.split_whitespace().filter(|it| *it != "│").collect();
        assert!(words.join(" ").contains(told), "{file}: {checked}");
    }
    let run = session.rye("run notes/index --provider steps");
    assert!(run.ends_with("--- exit 3\n"), "{run}");
}

/// A file has one path, however its space or the file is named, so that nothing is missed about it.
#[test]
fn a_file_is_the_same_by_each_of_its_names() {
    let session = gates::signed_project();
    let style = ".ai/knowledge/notes/index-style";
    let twin = "name: index-style\ntitle: Style\ncategory: notes\nversion: 1.0.0\nauthor: a\n\
                entry_type: note\n";
    session.put(&format!("{style}.yaml"), twin);
    std::os::unix::fs::symlink(session.project(), session.project().join("../linked")).unwrap();
    for by in [
        "check",
        "--project . check",
        "--project ../project check",
        "--project ../linked check",
        "check ../project/.ai",
        "check ../linked",
        "check .ai/directives/../../.ai",
        &format!("check ../linked/{style}.yaml"),
        "check ../project/.ai/knowledge/**/*.yaml",
        &format!("--project . sign {style}.yaml"),
        &format!("sign ../linked/{style}.yaml"),
    ] {
        let said = session.rye(by);
        assert!(said.contains("ambiguous-id") && said.ends_with("--- exit 1\n"), "{by}: {said}");
        assert!(!said.contains("unverified-item"), "{by}: {said}");
    }
}

/// A run refuses unsigned knowledge that an extended directive puts before the model, and so a check of the one file tells it.
#[test]
fn what_a_directive_inherits_is_vouched_for() {
    let session = gates::signed_project();
    session.put(
        ".ai/knowledge/notes/told.md",
        "---\nname: told\ntitle: Told\ncategory: notes\nversion: 1.0.0\nauthor: a\n\
         entry_type: note\n---\n\nTold.\n",
    );
    let base = ".ai/directives/notes/base.md";
    gates::apply(
        &session,
        &format!("replace {base} <context> => <context><after>notes/told</after>"),
    );
    gates::apply(&session, &format!("sign {base}"));
    let index = ".ai/directives/notes/index.md";
    let told = "a directive that it extends names the knowledge `notes/told`";
    assert!(session.rye(&format!("check {index}")).contains(told));
    let all = session.rye("check");
    assert!(!all.contains(told) && all.contains("notes/told.md"), "{all}");
    assert!(session.rye("run notes/index --provider steps").contains("notes/told"));
}
