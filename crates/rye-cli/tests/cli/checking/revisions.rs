//! `rye diff --exit-code` of a project with a revision: a directive that may do more is told apart.

use std::fs;

use super::{FILE, INDEX, LIST, MAY_LIST, directive, ends, holding};
use crate::repository::commit;
use crate::session::Session;

#[test]
fn a_whole_project_is_compared_and_a_widening_is_told_apart() {
    let session = Session::new();
    commit(&session.project(), "before");
    let diff = "diff --exit-code --trust TRUST --allow-unsigned";
    ends(&session.rye(diff), 0);
    session.change(INDEX, "turns=\"8\"", "turns=\"7\"");
    ends(&session.rye("sign .ai --key KEY"), 0);
    let narrower = session.rye(diff);
    assert!(narrower.contains("directive notes/index changed\n"), "{narrower}");
    assert!(narrower.contains("2 directives compared with HEAD: 1 changed"), "{narrower}");
    ends(&narrower, 1);
    session.change(INDEX, "turns=\"7\"", "turns=\"9\"");
    ends(&session.rye("sign .ai --key KEY"), 0);
    ends(&session.rye(diff), 2);
    session.change(INDEX, "turns=\"9\"", "turns=\"8\"");
    session.put(FILE, &directive("work", MAY_LIST, LIST));
    ends(&session.rye("sign .ai --key KEY"), 0);
    let new = session.rye(diff);
    assert!(new.contains("directive work new\ncapabilities gained\n"), "{new}");
    ends(&new, 2);
    fs::remove_file(session.project().join(FILE)).unwrap();
    session.change(INDEX, "turns=\"8\"", "turns=\"3\"");
    let tampered = session.rye(diff);
    assert!(tampered.contains("cannot be compared"), "{tampered}");
    ends(&tampered, 3);
}

const WRITER: &str =
    "description: T.\nexecutor: builtin\nbuiltin: file-system/read\ninput_schema: {type: object}\n";
const PROGRAM: &str =
    "description: T.\nexecutor: command\ncommand: ls\ninput_schema: {type: object}\n";

/// What changes in a project whose directive grants and calls the tool `ops/t`: the file, its text before and after, what is
/// told, and the exit code.
const CHANGES: [(&str, &str, &str, &str, u8); 10] = [
    (
        ".ai/tools/ops/t.yaml",
        "description: T.\nexecutor: builtin\nbuiltin: file-system/read\ninput_schema: {type: object, properties: {path: {enum: [a]}}}\n",
        WRITER,
        "+ the input schema of `rye.execute.tool.ops.t` changed\n",
        2,
    ),
    (
        ".ai/tools/ops/t.yaml",
        WRITER,
        "description: T.\nexecutor: builtin\nbuiltin: bash/bash\ninput_schema: {type: object}\n",
        "+ `rye.execute.tool.ops.t` stands for `rye.execute.tool.rye.bash.bash`\n",
        2,
    ),
    (
        ".ai/tools/ops/t.yaml",
        PROGRAM,
        "description: T.\nexecutor: command\ncommand: ls\nnetwork: true\ninput_schema: {type: object}\n",
        "+ the file of `rye.execute.tool.ops.t` says what is started or asked, and changed\n",
        2,
    ),
    (
        ".ai/tools/ops/t.yaml",
        WRITER,
        "description: Told otherwise.\nexecutor: builtin\nbuiltin: file-system/read\ninput_schema: {type: object}\n",
        "",
        1,
    ),
    (
        ".ai/config/agent/approval.yaml",
        "ask: [rye.execute.tool.ops.t]\n",
        "ask: []\n",
        "+ calls of `rye.execute.tool.ops.t` wait for no decision any more\n",
        2,
    ),
    (".ai/config/agent/approval.yaml", "ask: []\n", "ask: [rye.execute.tool.ops.t]\n", "", 1),
    (
        ".ai/config/agent/capability_risk.yaml",
        "classifications:\n  - {risk: unrestricted, patterns: [rye.execute.tool.ops.*]}\n",
        "classifications: []\n",
        "+ the risk of `rye.execute.tool.ops.t` is refused or warned of no more\n",
        2,
    ),
    (
        ".ai/config/trust.yaml",
        "grants: [rye.execute.tool.ops.*]\n",
        "grants: [rye.*]\n",
        " bounds less than it did\n",
        2,
    ),
    (".ai/knowledge/notes/index-style.md", "", "Otherwise.\n", "", 1),
    (".ai/config/agent/resilience.yaml", "limits: {turns: 3}\n", "limits: {turns: 2}\n", "", 1),
];

/// Also where no permission and no limit of a directive changes, it may do more.
#[test]
fn a_directive_may_do_more_by_what_is_around_it() {
    let grants = "<permissions><execute><tool>ops.t</tool></execute></permissions>";
    let step = "<execute item_type=\"tool\" item_id=\"ops/t\" />";
    for (path, before, after, told, code) in CHANGES {
        let text = directive("work", grants, step).replace("<limits turns=\"4\" />", "");
        let session = holding(&text);
        session.put(".ai/tools/ops/t.yaml", WRITER);
        if !before.is_empty() {
            session.put(path, before);
        }
        commit(&session.project(), "before");
        session.put(path, after);
        let diff = session.rye("diff --exit-code --trust TRUST --allow-unsigned");
        assert!(diff.contains(told), "{path}: {diff}");
        assert_eq!(diff.contains("may do more\n"), code == 2, "{path}: {diff}");
        ends(&diff, code);
    }
}

const BASH: &str = "<permissions><execute><tool>rye.bash.*</tool></execute></permissions>";
const ACKNOWLEDGED: &str = "<permissions><execute><tool>rye.bash.bash</tool></execute><acknowledge risk=\"elevated\">x</acknowledge></permissions>";
const LISTS_LESS: &str = "<permissions><execute><tool>rye.bash.bash</tool></execute></permissions>";
const ASKS: &str = "<hooks><hook id=\"ask\" event=\"after_step\" effect=\"escalate\"><when>cost.turns gt 1</when></hook></hooks>";
const ASKS_LATER: &str = "<hooks><hook id=\"ask\" event=\"after_step\" effect=\"escalate\"><when>cost.turns gt 9</when></hook></hooks>";
const ASKS_SECOND: &str = "<hooks><hook id=\"on\" event=\"after_step\" effect=\"continue\" /><hook id=\"ask\" event=\"after_step\" effect=\"escalate\"><when>cost.turns gt 1</when></hook></hooks>";
const ASKS_FIRST: &str = "<hooks><hook id=\"ask\" event=\"after_step\" effect=\"escalate\"><when>cost.turns gt 1</when></hook><hook id=\"on\" event=\"after_step\" effect=\"continue\" /></hooks>";

/// What changes in the metadata of a directive: before, after, what is told, and the exit code.
const METADATA: [(&str, &str, &str, u8); 8] = [
    (
        BASH,
        ACKNOWLEDGED,
        "the risk of `rye.execute.tool.rye.bash.bash` is refused or warned of no more",
        2,
    ),
    (BASH, LISTS_LESS, "", 1),
    (ACKNOWLEDGED, LISTS_LESS, "", 1),
    (ASKS, "", "the hook `ask`, which may stop the thread, is gone, differs or acts later", 2),
    (
        ASKS,
        ASKS_LATER,
        "the hook `ask`, which may stop the thread, is gone, differs or acts later",
        2,
    ),
    (
        ASKS,
        ASKS_SECOND,
        "the hook `ask`, which may stop the thread, is gone, differs or acts later",
        2,
    ),
    (ASKS, ASKS_FIRST, "", 1),
    ("", ASKS, "", 1),
];

#[test]
fn a_directive_may_do_more_by_its_metadata() {
    for (before, after, told, code) in METADATA {
        let session = holding(&directive("work", before, "Do it."));
        commit(&session.project(), "before");
        session.put(FILE, &directive("work", after, "Do it."));
        let diff = session.rye("diff --exit-code --trust TRUST --allow-unsigned");
        assert!(diff.contains(told), "{before} {after}: {diff}");
        ends(&diff, code);
    }
}

/// A tool that its signer kept from being offered is offered with another signer.
#[test]
fn a_directive_may_do_more_by_another_signer_of_its_tool() {
    let grants = "<permissions><execute><tool>ops.t</tool></execute><acknowledge risk=\"elevated\">x</acknowledge></permissions>";
    let session = holding(&directive("work", grants, "Do it."));
    session.put(".ai/tools/ops/t.yaml", PROGRAM);
    ends(&session.rye("keys generate"), 0);
    ends(&session.rye("sign .ai/directives/work.md .ai/tools/ops/t.yaml"), 0);
    // The example key may not sign what starts programs.
    ends(&session.rye("sign .ai/tools/ops/t.yaml --re-sign --key KEY"), 0);
    commit(&session.project(), "before");
    ends(&session.rye("sign .ai/tools/ops/t.yaml --re-sign"), 0);
    let diff = session.rye("diff --exit-code --trust TRUST");
    assert!(diff.contains("`rye.execute.tool.ops.t` is offered, which it was not"), "{diff}");
    ends(&diff, 2);
}

/// With --exit-code nothing that keeps sides from being compared is told as an answer.
#[test]
fn what_cannot_be_compared_is_no_widening() {
    let session = Session::new();
    let diff = "diff --exit-code --trust TRUST";
    ends(&session.rye(diff), 3);
    commit(&session.project(), "before");
    for options in ["--rev HEAD --rev HEAD --rev HEAD", "README.md notes/index", "--rev nowhere"] {
        ends(&session.rye(&format!("{diff} {options}")), 3);
    }
    ends(&session.rye(&format!("{diff} --project ../home")), 3);
    ends(&session.rye(&format!("{diff} --unknown")), 2);
    let absent = session.rye(&format!("{diff} --rev HEAD notes/absent"));
    assert!(absent.contains("looked in `HEAD/.ai/directives`"), "{absent}");
    ends(&absent, 3);
}
