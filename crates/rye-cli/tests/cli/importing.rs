//! `rye import`: what other programs have becomes drafts, and nothing of it a grant.

use std::fs;

use serde_json::Value;

use crate::session::Session;

const SKILL: &str = "---
name: shouting
description: Says a text louder. Use when a text is too quiet.
allowed-tools: Bash(tr:*)
license: MIT
---

# Shouting

Run `scripts/shout.sh` with the words of the text.
";

const SCRIPT: &str = "#!/bin/sh
# Says its words louder.
printf '{\"output\": \"%s\"}' \"$(echo \"$@\" | tr a-z A-Z)\"
";

fn session() -> Session {
    let session = Session::new();
    session.put("skills/shouting/SKILL.md", SKILL);
    session.put("skills/shouting/scripts/shout.sh", SCRIPT);
    session
}

#[test]
fn a_skill_becomes_drafts() {
    let session = session();
    insta::assert_snapshot!(session.rye("import skills/shouting"));
    let drafts = ".ai/directives/skills .ai/tools/skills";
    insta::assert_snapshot!(session.rye(&format!("check {drafts}")));
    insta::assert_snapshot!(session.rye("import skills/shouting"));
}

/// The report names the permissions that the source asks for, and the tool that its text means.
#[test]
fn a_skill_runs_when_its_report_was_followed() {
    let session = session();
    session.rye("import skills/shouting");
    let path = ".ai/directives/skills/shouting.md";
    session.change(path, "<permissions></permissions>", "<permissions><execute><tool>skills.shouting.shout</tool></execute><acknowledge risk=\"elevated\">Starts a script that I read.</acknowledge></permissions>");
    session.change(
        path,
        "  </inputs>\n",
        "  </inputs>\n  <outputs><output name=\"output\" type=\"string\" required=\"true\">The louder text</output></outputs>\n",
    );
    session.change(
        path,
        "Run `scripts/shout.sh` with the words of the text.",
        "<process><step name=\"shout\"><execute item_type=\"tool\" item_id=\"skills/shouting/shout\">\
         <param name=\"args\">[\"--no\", \"quiet words\"]</param></execute></step></process>",
    );
    insta::assert_snapshot!(session.rye("run skills/shouting --allow-unsigned --provider steps"));
}

#[test]
fn a_dry_run_writes_nothing() {
    let session = session();
    let output = session.raw("import skills --dry-run --json");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = answer["drafts"][1]["text"].as_str().unwrap();
    assert!(text.contains("<permissions></permissions>"), "{text}");
    assert_eq!(answer["summary"]["written"], false);
    assert!(!session.project().join(".ai/directives/skills").exists());
}

/// A draft that cannot be written takes the others with it.
#[test]
fn nothing_is_half_imported() {
    let session = session();
    fs::create_dir_all(session.project().join(".ai/tools/skills")).unwrap();
    session.put(".ai/tools/skills/shouting", "a file in the place of a folder");
    insta::assert_snapshot!(session.rye("import skills/shouting"));
    assert!(!session.project().join(".ai/directives/skills/shouting.md").exists());
}

const CLIENT: &str = r#"{ "mcpServers": { "tickets": { "command": "tickets-mcp", "env": { "TICKETS_TOKEN": "abc-123" } } } }"#;

#[test]
fn servers_are_added_to_those_that_are_there() {
    let session = Session::new();
    session.put(".mcp.json", CLIENT);
    session.put("other.json", &CLIENT.replace("tickets\"", "board\""));
    insta::assert_snapshot!(session.rye("import .mcp.json"));
    insta::assert_snapshot!(session.rye("import other.json"));
    insta::assert_snapshot!(session.rye("import other.json"));
    let servers = session.project().join(".ai/config/mcp/servers.yaml");
    insta::assert_snapshot!(fs::read_to_string(servers).unwrap());
}

/// `--project ~` means the user space, and no server is handed a variable by an import.
#[test]
fn servers_of_the_user_space_ask_for_their_variables() {
    let session = Session::new();
    session.put("client.json", CLIENT);
    fs::create_dir(session.home().join(".ai")).unwrap();
    let told = session.rye("import client.json --project ../home");
    assert!(told.contains("variables: [\"TICKETS_TOKEN\"]"), "{told}");
    let servers = session.home().join(".ai/config/mcp/servers.yaml");
    assert_eq!(
        fs::read_to_string(&servers).unwrap(),
        "servers:\n  tickets:\n    command: tickets-mcp\n"
    );
    let with_variable =
        "servers:\n  tickets:\n    command: tickets-mcp\n    variables: [TICKETS_TOKEN]\n";
    fs::write(servers, with_variable).unwrap();
    let checked = session.rye("check --project ../home");
    assert!(checked.contains("0 errors"), "{checked}");
}

#[test]
fn a_file_of_another_program_is_named() {
    let session = session();
    session.put(".ai/directives/SKILL.md", SKILL);
    session.put(".ai/directives/extract.prompt", "---\nmodel: x\n---\nExtract {{x}}.\n");
    insta::assert_snapshot!(session.rye(
        "check .ai/directives/SKILL.md .ai/directives/extract.prompt skills/shouting/SKILL.md"
    ));
}

#[cfg(unix)]
#[test]
fn a_link_is_passed_over_and_told() {
    let session = session();
    let link = session.project().join("skills/shouting/secrets.md");
    std::os::unix::fs::symlink(session.home().join("secrets.md"), link).unwrap();
    let told = session.rye("import skills/shouting --dry-run");
    assert!(told.contains("secrets.md: it is a link"), "{told}");
}
