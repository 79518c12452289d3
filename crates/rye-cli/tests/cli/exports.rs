//! `rye export`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::session::Session;

/// All files of a folder with their texts, by path.
fn files(folder: &Path) -> String {
    let mut told = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            told.push(format!("--- {name}\n{}", fs::read_to_string(&path).unwrap()));
        }
    }
    told.sort();
    told.concat()
}

fn exports(session: &Session, line: &str) -> String {
    let shown = session.rye(&format!("export {line} --to out --trust TRUST"));
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    shown
}

#[test]
fn each_form_is_written() {
    for (line, name) in [
        ("skill notes/index rye/agent/core/base", "skill"),
        ("subagent notes/index rye/agent/core/base", "subagent"),
        ("agents-md notes/index rye/agent/core/base", "agents_md"),
        ("skill notes/index --text", "skill_text"),
        ("subagent notes/index --text", "subagent_text"),
    ] {
        let session = Session::new();
        let shown = exports(&session, line);
        insta::assert_snapshot!(name, shown + &files(&session.project().join("out")));
    }
}

/// The rows say the same, with the path of each file.
#[test]
fn what_is_left_out_is_data_too() {
    let session = Session::new();
    let line = "export skill notes/index --to out --trust TRUST --json";
    insta::assert_snapshot!("exported_as_data", session.rye(line));
}

#[test]
fn a_plugin_holds_what_its_directives_need() {
    let session = Session::new();
    session.rye("lock --trust TRUST");
    let shown = exports(&session, "plugin notes/index --name my.notes");
    let plugin = session.project().join("out/my.notes");
    let written = files(&plugin);
    let names: Vec<&str> = written.lines().filter_map(|line| line.strip_prefix("--- ")).collect();
    insta::assert_snapshot!("plugin", shown + &names.join("\n"));
    for (path, part) in [
        ("plugin.json", "\"name\": \"my.notes\""),
        ("plugin.json", "\"version\": \""),
        ("mcp.json", "${PLUGIN_ROOT}/io.github.rye-os.rye"),
        ("io.github.rye-os.rye/.ai/rye.lock", "notes/index"),
    ] {
        let text = fs::read_to_string(plugin.join(path)).unwrap();
        assert!(text.contains(part), "{part}: {text}");
        assert!(!text.contains("--trust") && !text.contains("--allow"), "{text}");
    }
}

/// The user of a plugin trusts the key of its author, and the server then serves the directive as it was signed. Before that, it is
/// refused.
#[test]
fn a_plugin_serves_its_directives_once_its_signer_is_trusted() {
    let session = Session::new();
    exports(&session, "plugin notes/index");
    let plugin = session.project().join("out/notes-index");
    let read = |path: &str| fs::read_to_string(plugin.join(path)).unwrap();
    let server: Value = serde_json::from_str(&read("mcp.json")).unwrap();
    let args = server["mcpServers"]["rye"]["args"].as_array().unwrap().iter();
    let args: Vec<&str> = args.map(|word| word.as_str().unwrap()).collect();
    let line = args.join(" ").replace("${PLUGIN_ROOT}", "out/notes-index");
    let skill = read("skills/notes-index/SKILL.md");
    let call = skill.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let arguments: Value = serde_json::from_str(call).unwrap();
    let asked = || {
        let client = json!({ "name": "lines", "version": "1" });
        let begin =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let messages = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "rye_execute", "arguments": arguments } }),
        ];
        let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
        session.rye_reading(&line, &lines)
    };
    let refused = asked();
    assert!(refused.contains("refused") && !refused.contains("your_directions\\"), "{refused}");
    let documents = fs::read_dir(plugin.join("io.github.rye-os.rye/trust")).unwrap();
    for document in documents {
        let added = session.rye(&format!("trust add {} --yes", document.unwrap().path().display()));
        assert!(added.ends_with("--- exit 0\n"), "{added}");
    }
    let answered = asked();
    assert!(answered.contains("\"your_directions\":"), "{answered}");
}

#[test]
fn what_is_not_verified_is_not_exported() {
    let session = Session::new();
    session.change(".ai/knowledge/notes/index-style.md", "one Markdown", "two Markdown");
    for (line, exit, part) in [
        ("skill notes/index", 3, "notes/index-style"),
        ("skill notes/indx", 1, "not found"),
        ("plugin notes/base --name My", 2, "is no name of a plugin"),
        ("skill notes/base --name x", 2, "`--name` is for `plugin`"),
        ("plugin notes/base --text", 2, "`--text` is for `skill` and `subagent`"),
    ] {
        let shown = session.rye(&format!("export {line} --to out --trust TRUST"));
        assert!(shown.ends_with(&format!("--- exit {exit}\n")) && shown.contains(part), "{shown}");
        assert!(!session.project().join("out").exists(), "{line}");
    }
    let session = Session::new();
    session.put(
        ".ai/directives/mine.md",
        "# Mine\n\n```xml\n<directive name=\"mine\" version=\"1.0.0\"/>\n```\n",
    );
    let shown = session.rye("export skill mine --to out --allow-unsigned");
    assert!(shown.ends_with("--- exit 3\n"), "{shown}");
    assert!(shown.contains("no key signed directive `mine`"), "{shown}");
}

#[test]
fn no_file_is_replaced() {
    let session = Session::new();
    session.put("out/notes-base.md", "mine");
    session.put("out/notes-index.md", "mine");
    let ids = "notes/index notes/base rye/agent/core/base";
    let shown = session.rye(&format!("export subagent {ids} --to out --trust TRUST"));
    assert!(shown.ends_with("--- exit 1\n"), "{shown}");
    let told = "`<DIR>/project/out/notes-base.md`, `<DIR>/project/out/notes-index.md` exist and are not replaced";
    assert!(shown.contains(told), "{shown}");
    assert_eq!(files(&session.project().join("out")).matches("mine").count(), 2);
    assert!(!session.project().join("out/rye-agent-core-base.md").exists());
}

/// What was exported comes back as drafts that a model is sent the same of, but for what they grant.
#[test]
fn a_round_trip_gives_the_same_prompt() {
    let without_grants = |prompt: String| {
        let (before, rest) = prompt.split_once("<permissions>").unwrap_or((&prompt, ""));
        let after = rest.split_once("</permissions>").map_or(rest, |(_, after)| after);
        let text = format!("{before}{after}");
        let text = text.split("--- standard error").next().unwrap_or_default();
        text.lines()
            .skip(1)
            .filter(|line| !line.trim().is_empty())
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    for (form, exported, ids) in [
        ("plugin notes/index", "out/notes-index", "notes/index"),
        ("skill notes/base --text", "out/notes-base", "notes/base"),
    ] {
        let session = Session::new();
        exports(&session, form);
        let render = format!("render {ids} --template");
        let before = without_grants(session.rye(&format!("{render} --trust TRUST")));
        fs::create_dir_all(session.project().join("other/.ai")).unwrap();
        let imported = session.rye(&format!("import {exported} --project other"));
        assert!(imported.ends_with("--- exit 0\n"), "{imported}");
        assert!(imported.contains("<permissions>") || form.contains("base"), "{imported}");
        let after = session.rye(&format!("{render} --project other --allow-unsigned"));
        assert_eq!(without_grants(after), before, "{form}");
        assert!(before.contains("<directive"), "{before}");
    }
}
