//! A folder of `fixtures` for each format, written after its public specification. The snapshot has all drafts and the whole account.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rye_port::{
    Format, Import, ImportOptions, Source, SourceFile, import, recognise, with_servers,
};

fn options() -> ImportOptions {
    let limits = [("turns", "15"), ("tokens", "200000"), ("spend", "0.50")];
    let limits = limits.map(|(name, value)| (name, value.to_owned())).into();
    ImportOptions::new("Ada", "standard", limits)
}

fn read(folder: &Path) -> Source {
    fn add(folder: &Path, below: &str, files: &mut Vec<SourceFile>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            if entry.file_type().unwrap().is_dir() {
                add(&entry.path(), &path, files);
            } else {
                files.push(SourceFile::new(path, fs::read(entry.path()).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    add(folder, "", &mut files);
    Source::new(folder.file_name().unwrap().to_str().unwrap(), files)
}

fn fixture(name: &str) -> Source {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

fn told(import: &Import) -> String {
    let mut text = String::new();
    for found in &import.found {
        writeln!(text, "found {} at `{}`", found.format, found.path).unwrap();
    }
    for draft in &import.drafts {
        writeln!(text, "\n=== {} (from {})\n{}∎", draft.path, draft.from, draft.text).unwrap();
    }
    if !import.servers.is_empty() {
        let servers = with_servers(None, &import.servers).unwrap();
        writeln!(text, "\n=== config/mcp/servers.yaml\n{servers}∎").unwrap();
    }
    text += "\ncarried\n";
    for row in &import.carried {
        writeln!(text, "  {} | {} → {}", row.file, row.field, row.to).unwrap();
    }
    text += "\nleft out\n";
    for row in &import.left_out {
        writeln!(text, "  {} | {}: {}", row.file, row.field, row.reason).unwrap();
    }
    text += "\nasked for\n";
    for row in &import.asked {
        writeln!(text, "  {} | {}: {} {}", row.file, row.asked, row.entries.join(" "), row.note)
            .unwrap();
    }
    text += "\nto decide\n";
    for row in &import.decisions {
        writeln!(text, "  {} | {}", row.path, row.what).unwrap();
    }
    text
}

#[test]
fn each_format_is_imported() {
    for format in Format::ALL {
        let import = import(&fixture(&format.to_string()), &options()).unwrap();
        assert!(import.found.iter().all(|found| found.format == *format), "{:?}", import.found);
        for draft in &import.drafts {
            let is_granting = draft.text.contains("<permissions></permissions>");
            assert_eq!(is_granting, draft.path.starts_with("directives/"), "{}", draft.path);
        }
        insta::assert_snapshot!(format.to_string(), told(&import));
    }
}

#[test]
fn servers_of_the_user_space_are_handed_variables() {
    let mut options = options();
    options.is_for_user = true;
    let import = import(&fixture("mcp-servers"), &options).unwrap();
    let text = with_servers(None, &import.servers).unwrap();
    assert!(!text.contains("sk-live"), "{text}");
    insta::assert_snapshot!(text);
}

/// Every file of a source is carried, left out, or the file of a draft.
#[test]
fn nothing_is_passed_over() {
    for format in Format::ALL {
        let source = fixture(&format.to_string());
        let import = import(&source, &options()).unwrap();
        for file in source.files() {
            let is_told = import.carried.iter().any(|row| row.file == file.path)
                || import.left_out.iter().any(|row| row.file == file.path)
                || import.drafts.iter().any(|draft| draft.from == file.path);
            assert!(is_told, "{}", file.path);
        }
    }
}

#[test]
fn a_source_without_a_form_is_refused() {
    let source = |path: &str, text: &str| Source::new(path, [SourceFile::new(path, text)]);
    let error = import(&source("notes.txt", "x"), &options()).unwrap_err();
    insta::assert_snapshot!(error);
    let mut directive = options();
    directive.target = Some(rye_port::Target::Directive);
    directive.to = Some("notes/one".parse().unwrap());
    let import_of = |text: &str| import(&source("notes.txt", text), &directive);
    let drafts = import_of("# A title\n\nDo it.").unwrap().drafts;
    assert_eq!(drafts[0].path, "directives/notes/one.md");
    let mut server = options();
    server.target = Some(rye_port::Target::Server);
    let error = import(&fixture("agent-skill"), &server).unwrap_err();
    insta::assert_snapshot!(error);
    let twins = Source::new(
        "x",
        [SourceFile::new("a/AGENTS.md", "x"), SourceFile::new("b/AGENTS.md", "y")],
    );
    let drafts = import(&twins, &options()).unwrap().drafts;
    let paths: Vec<&str> = drafts.iter().map(|draft| draft.path.as_str()).collect();
    assert_eq!(paths, ["knowledge/rules/AGENTS.md", "knowledge/rules/AGENTS-2.md"]);
}

/// Bytes around what the formats have.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "---\n",
        "name: a\n",
        "description: b: c\n",
        "tools: [Read, \"x\"]\n",
        "model: {a: [1]}\n",
        "on: push\n",
        "engine: x\n",
        "{{a}} {{#b}}",
        "$1 $ARGUMENTS[3]",
        "${input:a:b}",
        "${{ x.y }}",
        "{input:a}",
        "\\{input:b}",
        "```xml\n<directive name=\"x\">\n",
        "</directive>",
        "]]>",
        "--",
        "<!--",
        "\u{0}",
        "\u{feff}",
        "\r\n",
        "é",
        "\n",
        "[]",
        "{}",
        "null",
        "parameters:\n - key: x\n",
        "title: t\n",
        "instructions: i\n",
        "__tool_type__ = \"python\"\n",
        "CONFIG_SCHEMA = {\"a\": [1,",
        "prompt = \"x\"\n",
        "system:\n",
        "{{role \"user\"}}\n",
        "rye:signed:",
        "@docs/x.md",
        "!`ls`",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_source_panics_and_what_is_drafted_is_read(text in texts(), at in 0..NAMES.len()) {
        let name = NAMES[at];
        let source = Source::new("x", [SourceFile::new(name, text)]);
        prop_assert!(recognise(&source).len() <= 1);
        if let Ok(import) = import(&source, &options()) {
            for draft in &import.drafts {
                prop_assert!(draft.path.starts_with(draft.kind.folder()));
            }
        }
    }
}

const NAMES: [&str; 17] = [
    "SKILL.md",
    ".claude/agents/a.md",
    ".claude/commands/a.md",
    "AGENTS.md",
    "a.yaml",
    "a.toml",
    "a.md",
    "a.prompt",
    "a.prompty",
    "a.prompt.md",
    "mcp.json",
    "tools.json",
    "plugin.json",
    "tasks.yaml",
    "a.py",
    ".ai/directives/a.md",
    ".ai/knowledge/a.md",
];
