//! What a reviewer is told of a change, on real files: every kind of change is told, and nothing else.

use rye::{Difference, Explained, Lock, PlanRequest};
use rye_tests::Scratch;

const DIRECTIVE: &str = r#"# Leaf

```xml
<directive name="leaf" extends="test/root">
  <metadata>
    <description>Works.</description>
    <limits turns="3" />
    <permissions><execute><tool>rye.file-system.read</tool></execute></permissions>
    <context><before>test/style</before></context>
  </metadata>
  <inputs><input name="who" required="true">Whom</input></inputs>
  <outputs><output name="path" type="string" required="true">The file</output></outputs>
</directive>
```

Greet {input:who}.
"#;

const ROOT: &str = "# Root

```xml
<directive name=\"root\">
  <metadata>
    <description>Common ground.</description>
    <context><system>Be brief.</system></context>
  </metadata>
</directive>
```
";

const STYLE: &str = "```yaml\nname: Style\n```\n\nWrite plainly.\n";

const LEAF: &str = ".ai/directives/test/leaf.md";

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.sign(LEAF, DIRECTIVE);
    scratch.sign(".ai/directives/test/root.md", ROOT);
    scratch.sign(".ai/knowledge/test/style.md", STYLE);
    scratch
}

fn explained(scratch: &Scratch) -> Explained {
    scratch.rye().explain(&PlanRequest::new("test/leaf".parse().unwrap())).unwrap()
}

/// What `Difference` tells, as `section: name` lines, and what a lock tells, after one file changed.
#[track_caller]
fn check(path: &str, text: &str, difference: &[&str], lock: &[&str]) {
    let scratch = scratch();
    let before = explained(&scratch);
    let mut locked = Lock::default();
    locked.insert(&before).unwrap();
    scratch.sign(path, text);
    let after = explained(&scratch);
    assert_eq!(told(&Difference::between(&before, &after)), difference);
    let report = locked.check(&after).unwrap();
    let findings: Vec<&str> =
        report.findings.iter().map(|finding| finding.subject.as_str()).collect();
    assert_eq!(findings, lock);
    assert_eq!(locked.to_string().parse::<Lock>().unwrap(), locked);
}

fn told(difference: &Difference) -> Vec<String> {
    let gained = difference.gained.iter().map(|row| format!("gained: {}", row.pattern));
    let lost = difference.lost.iter().map(|row| format!("lost: {}", row.pattern));
    let sections = difference.sections.iter().flat_map(|section| {
        section.changes.iter().map(move |change| format!("{}: {}", section.name, change.name))
    });
    let prompt = difference.prompt.iter().map(|text| format!("prompt: {}", text.name));
    gained.chain(lost).chain(sections).chain(prompt).collect()
}

#[test]
fn nothing_changed() {
    check(LEAF, DIRECTIVE, &[], &[]);
}

#[test]
fn the_body() {
    check(
        LEAF,
        &DIRECTIVE.replace("Greet", "Meet"),
        &["items: directive `test/leaf`", "prompt: first user message"],
        &["directive `test/leaf`"],
    );
}

#[test]
fn one_character_of_knowledge() {
    check(
        ".ai/knowledge/test/style.md",
        &STYLE.replace("plainly", "plainlx"),
        &["items: knowledge `test/style`", "prompt: first user message"],
        &["knowledge `test/style`"],
    );
}

#[test]
fn knowledge_that_nobody_reads() {
    check(
        ".ai/knowledge/test/style.md",
        &STYLE.replace("Style", "Manner"),
        &["items: knowledge `test/style`"],
        &["knowledge `test/style`"],
    );
}

#[test]
fn a_limit() {
    check(
        LEAF,
        &DIRECTIVE.replace("turns=\"3\"", "turns=\"4\""),
        &["items: directive `test/leaf`", "limits: turns"],
        &["directive `test/leaf`"],
    );
}

#[test]
fn a_wider_permission() {
    check(
        LEAF,
        &DIRECTIVE.replace("file-system.read", "file-system.r*"),
        &[
            "gained: rye.execute.tool.rye.file-system.r*",
            "items: directive `test/leaf`",
            "prompt: first user message",
        ],
        &["directive `test/leaf`"],
    );
}

#[test]
fn a_narrower_permission() {
    check(
        LEAF,
        &DIRECTIVE.replace("<execute><tool>rye.file-system.read</tool></execute>", ""),
        &[
            "lost: rye.execute.tool.rye.file-system.read",
            "items: directive `test/leaf`",
            "items: tool `rye/file-system/read`",
            "signers: tool `rye/file-system/read`",
            "tools: rye_execute",
            "tools: rye_file_system_read",
            "prompt: first user message",
        ],
        &["directive `test/leaf`", "tool `rye/file-system/read`"],
    );
}

#[test]
fn an_input_and_an_output() {
    check(
        LEAF,
        &DIRECTIVE
            .replace("required=\"true\">Whom", "default=\"all\">Whom")
            .replace("string", "array"),
        &[
            "items: directive `test/leaf`",
            "tools: rye_agent_threads_directive_return",
            "inputs: who",
            "outputs: path",
            "prompt: first user message",
        ],
        &["directive `test/leaf`"],
    );
}

#[test]
fn context_of_a_parent() {
    check(
        ".ai/directives/test/root.md",
        &ROOT
            .replace("<context>", "<context><suppress>test/style</suppress>")
            .replace("brief", "terse"),
        &[
            "items: directive `test/root`",
            "items: knowledge `test/style`",
            "signers: knowledge `test/style`",
            "context: before test/style",
            "context: suppress test/style",
            "prompt: system message",
            "prompt: first user message",
        ],
        &["directive `test/root`", "knowledge `test/style`"],
    );
}

#[test]
fn a_tool_of_the_project_in_place_of_the_shipped_one() {
    let read = rye::shipped().iter().find(|file| file.path == "tools/rye/file-system/read.yaml");
    check(
        ".ai/tools/rye/file-system/read.yaml",
        &read.unwrap().text.replace("Reads a text file", "Reads any text file"),
        &[
            "items: tool `rye/file-system/read`",
            "signers: tool `rye/file-system/read`",
            "tools: rye_file_system_read",
        ],
        &["tool `rye/file-system/read`"],
    );
}

#[test]
fn what_is_explained_is_what_is_rendered() {
    let scratch = scratch();
    scratch.sign(
        LEAF,
        &DIRECTIVE
            .replace("Greet {input:who}", "Greet all")
            .replace("required=\"true\">Whom", ">Whom"),
    );
    let explained = explained(&scratch);
    let rendered =
        scratch.rye().render(&rye::RenderRequest::new("test/leaf".parse().unwrap())).unwrap();
    assert_eq!(explained.first_user_message, rendered.first_user_message);
    assert_eq!((explained.system, explained.digest), (rendered.system, rendered.digest));
}
