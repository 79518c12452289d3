//! Skills and plugins that were made of directives.

use rye_port::{Import, ImportOptions, Source, SourceFile, import};

const DIRECTIVE: &str = "<!-- rye:signed:2026-01-01T00:00:00Z:00:00:00 -->
# Index

```xml
<directive name=\"index\" version=\"1.0.0\" extends=\"team/base\">
  <metadata>
    <description>Writes an index.</description>
    <permissions><execute><tool>rye.file-system.*</tool></execute></permissions>
  </metadata>
</directive>
```

Write it.
";

const DOOR: &str = "---\nname: notes-index\ndescription: x\nmetadata:\n  rye-directive: notes/index\n---\n\nCall the tool.\n";

fn of(files: &[(&str, &str)]) -> Import {
    let files = files.iter().map(|(path, text)| SourceFile::new(*path, *text));
    import(&Source::new("x", files), &ImportOptions::new("Ada", "fast", Vec::new())).unwrap()
}

/// The draft has the text of the directive, and grants nothing.
#[test]
fn a_skill_with_its_directive_gives_it_back() {
    let import = of(&[("SKILL.md", DOOR), ("directive.md", DIRECTIVE)]);
    insta::assert_snapshot!(import.drafts[0].text);
    assert_eq!(import.drafts[0].path, "directives/notes/index.md");
    let left: Vec<&str> = import.left_out.iter().map(|row| row.field.as_str()).collect();
    assert_eq!(left, ["", "the signature", "<permissions>"]);
    assert_eq!(
        import.decisions[0].what,
        "it needs directive `team/base`, unless the project has that"
    );
}

#[test]
fn a_skill_that_only_calls_a_directive_gives_nothing() {
    let import = of(&[("SKILL.md", DOOR)]);
    assert!(import.drafts.is_empty());
    insta::assert_snapshot!(import.left_out[0].reason);
}

#[test]
fn a_plugin_gives_back_the_items_of_its_folder() {
    let import = of(&[
        ("plugin.json", r#"{"name":"notes"}"#),
        ("skills/notes-index/SKILL.md", DOOR),
        ("io.github.rye-os.rye/.ai/directives/notes/index.md", DIRECTIVE),
        (
            "io.github.rye-os.rye/.ai/knowledge/notes/style.md",
            "```yaml\nname: style\n```\n\nShort.\n",
        ),
        ("io.github.rye-os.rye/.ai/config/agent/hooks.yaml", "hooks: []\n"),
        ("io.github.rye-os.rye/trust/0123456789abcdef.toml", "version = \"1\"\n"),
        ("mcp.json", r#"{"mcpServers":{"rye":{"command":"rye","args":["mcp"]}}}"#),
    ]);
    let paths: Vec<&str> = import.drafts.iter().map(|draft| draft.path.as_str()).collect();
    assert_eq!(paths, ["directives/notes/index.md", "knowledge/notes/style.md"]);
    assert!(import.servers.is_empty(), "Rye needs no server of its own");
    for file in ["hooks.yaml", ".toml", "mcp.json"] {
        assert!(import.left_out.iter().any(|row| row.file.ends_with(file)), "{file}");
    }
}

/// A directive without permissions would have those of what it extends.
#[test]
fn no_directive_inherits_a_grant() {
    let evil = DIRECTIVE.replace(
        "<permissions><execute><tool>rye.file-system.*</tool></execute></permissions>",
        "",
    );
    let risky = DIRECTIVE.replace(
        "<execute><tool>rye.file-system.*</tool></execute>",
        "<acknowledge risk=\"elevated\">Yes.</acknowledge>",
    );
    for text in [
        evil,
        risky,
        "```xml\n<directive name=\"index\" version=\"1.0.0\"></directive>\n```\n\nx\n".to_owned(),
    ] {
        let import = of(&[("SKILL.md", DOOR), ("directive.md", &text)]);
        let draft = rye_parse::directive(&import.drafts[0].text);
        let permissions = draft.unwrap().permissions.unwrap().value;
        assert!(permissions.entries.is_empty() && permissions.acknowledged.is_empty());
    }
}

#[test]
fn nothing_that_comes_with_rye_is_replaced() {
    let door = DOOR.replace("notes/index", "rye/agent/core/base");
    assert!(of(&[("SKILL.md", &door), ("directive.md", DIRECTIVE)]).drafts.is_empty());
    let import = of(&[
        ("plugin.json", r#"{"name":"notes"}"#),
        ("io.github.rye-os.rye/.ai/tools/rye/agent/providers/x.yaml", "protocol: x\n"),
    ]);
    assert!(import.drafts.is_empty(), "{:?}", import.drafts);
}
