//! Reports of changes for reviewers, on real files: every kind of change is reported, and nothing else.

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

const STYLE: &str = "```yaml\nname: style\n```\n\nWrite plainly.\n";

const LEAF: &str = ".ai/directives/test/leaf.md";

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.sign(LEAF, DIRECTIVE);
    scratch.sign(".ai/directives/test/root.md", ROOT);
    scratch.sign(".ai/knowledge/test/style.md", STYLE);
    scratch
}

fn explain(scratch: &Scratch) -> Explained {
    Explained::of(&scratch.rye(), &PlanRequest::new("test/leaf".parse().unwrap())).unwrap()
}

/// Changes a file, and checks the rows of the difference (as `section: name`) and the findings of a lock.
#[track_caller]
fn check(path: &str, text: &str, difference: &[&str], lock: &[&str]) {
    let scratch = scratch();
    let before = explain(&scratch);
    let mut locked = Lock::default();
    locked.insert(before.id.clone(), before.to_locked().unwrap());
    scratch.sign(path, text);
    let after = explain(&scratch);
    assert_eq!(rows(&Difference::between(&before, &after)), difference);
    let report = after.compare_with(&locked).unwrap();
    let findings: Vec<&str> =
        report.findings.iter().map(|finding| finding.subject.as_str()).collect();
    assert_eq!(findings, lock);
    assert_eq!(locked.to_string().parse::<Lock>().unwrap(), locked);
}

fn rows(difference: &Difference) -> Vec<String> {
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
fn knowledge_that_is_not_in_the_prompt() {
    check(
        ".ai/knowledge/test/style.md",
        &STYLE.replace("name: style", "name: style\ntags: [manner]"),
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
        &["directive `test/leaf`", "limit `turns`"],
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
        &[
            "directive `test/leaf`",
            "permission `rye.execute.tool.rye.file-system.r*`",
            "permission `rye.execute.tool.rye.file-system.read`",
        ],
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
        &[
            "directive `test/leaf`",
            "tool `rye/file-system/read`",
            "permission `rye.execute.tool.rye.file-system.read`",
        ],
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
        &["directive `test/leaf`", "input `who`", "output `path`"],
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
    let read =
        rye::shipped_files().iter().find(|file| file.path == "tools/rye/file-system/read.yaml");
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
fn configuration_of_the_project() {
    check(
        ".ai/config/agent/resilience.yaml",
        "limits:\n  tokens: 5\n",
        &["limits: tokens", "configuration: config `agent/resilience` of the project space"],
        &["config `agent/resilience` of the project space"],
    );
    check(
        ".ai/config/agent/hooks.yaml",
        HOOKS,
        &[
            "hooks: `base` of config `agent/hooks` of the project space",
            "configuration: config `agent/hooks` of the project space",
        ],
        &["config `agent/hooks` of the project space"],
    );
}

/// A hook for another directive.
const HOOKS: &str = "hooks:
  - id: base
    event: resolve_extends
    when: directive eq 'test/other'
    extends: test/root
";

#[test]
fn what_a_hook_does() {
    let hooks = |tool: &str| {
        DIRECTIVE.replace(
            "<context>",
            &format!("<hooks><hook id=\"h\" event=\"limit\"><execute item_type=\"tool\">{tool}</execute></hook></hooks><context>"),
        )
    };
    let scratch = scratch();
    scratch.sign(LEAF, &hooks("rye/file-system/ls"));
    let before = explain(&scratch);
    scratch.sign(LEAF, &hooks("rye/file-system/write"));
    assert_eq!(
        rows(&Difference::between(&before, &explain(&scratch))),
        ["items: directive `test/leaf`", "hooks: `h` of directive `test/leaf`"]
    );
    // The place of a hook in the file is not a change of the hook.
    scratch.sign(LEAF, &hooks("rye/file-system/ls").replace("<limits", "\n\n<limits"));
    assert_eq!(
        rows(&Difference::between(&before, &explain(&scratch))),
        ["items: directive `test/leaf`"]
    );
}

#[test]
fn a_directive_that_came_after_the_lock() {
    let ids = ["test/leaf", "test/root"].map(|id| id.parse().unwrap());
    let lock = |mut lock: Lock| {
        let explained = explain(&scratch());
        lock.insert(explained.id.clone(), explained.to_locked().unwrap());
        lock.missing(&ids).into_iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(lock(Lock::of_project()), ["test/root"]);
    assert!(lock(Lock::default()).is_empty(), "only chosen directives are locked");
}

const PROVIDER: &str = ".ai/tools/rye/agent/providers/anthropic_messages.yaml";

/// Signs a copy of the shipped provider with its own prompt texts.
fn sign_templated(scratch: &Scratch) {
    let path = PROVIDER.trim_start_matches(".ai/");
    let shipped = rye::shipped_files().iter().find(|file| file.path == path).unwrap();
    let own =
        "prompts:\n  system_template: You run {directive_name} with {tool_names}.\nreturns: tool\n";
    scratch.sign(PROVIDER, &format!("{}{own}", shipped.text));
}

#[test]
fn what_is_rendered_is_what_the_provider_is_sent() {
    let scratch = scratch();
    sign_templated(&scratch);
    let who = std::collections::BTreeMap::from([("who".to_owned(), "all".into())]);
    let mut request = rye::RenderRequest::new("test/leaf".parse().unwrap());
    request.inputs = who.clone();
    let rendered = scratch.rye().render(&request).unwrap();
    let mut plan = PlanRequest::new("test/leaf".parse().unwrap());
    plan.inputs = rye::Placing::Values(who);
    let body = scratch.rye().first_request(&plan).unwrap().body;
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["system"].as_str(), rendered.system.as_deref());
    assert_eq!(body["messages"][0]["content"].as_str(), Some(rendered.first_user_message.as_str()));
    let system = rendered.system.unwrap();
    assert!(
        system.starts_with("You run leaf with rye_agent_threads_directive_return, "),
        "{system}"
    );
}

#[test]
fn the_pinned_prompts_are_what_the_provider_is_sent() {
    let scratch = scratch();
    sign_templated(&scratch);
    let explained = explain(&scratch);
    let prompts = scratch.rye().prompts().unwrap();
    let (_, prompt) = prompts.iter().find(|(id, _)| id.as_str() == "test/leaf").unwrap();
    assert_eq!(
        *prompt,
        format!(
            "--- system\n{}∎\n--- user\n{}∎",
            explained.system.unwrap(),
            explained.first_user_message
        )
    );
    scratch.sign(LEAF, &DIRECTIVE.replace("<limits", "<model provider=\"nowhere\" /><limits"));
    let error = scratch.rye().prompts().unwrap_err().to_string();
    assert_eq!(error, "no prompt of `test/leaf`; `rye check` says why");
}

#[test]
fn a_provider_that_cannot_be_had_is_told_when_rendering() {
    let scratch = scratch();
    scratch.sign(LEAF, &DIRECTIVE.replace("<limits", "<model provider=\"nowhere\" /><limits"));
    let mut request = rye::RenderRequest::new("test/leaf".parse().unwrap());
    request.inputs.insert("who".to_owned(), "all".into());
    let warnings = scratch.rye().render(&request).unwrap().warnings;
    assert!(
        warnings.iter().any(|warning| warning.starts_with(
            "rendered as for a provider without a system template, because nobody can answer: there \
             is no provider `nowhere`"
        )),
        "{warnings:?}"
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
    let explained = explain(&scratch);
    let rendered =
        scratch.rye().render(&rye::RenderRequest::new("test/leaf".parse().unwrap())).unwrap();
    assert_eq!(explained.first_user_message, rendered.first_user_message);
    assert_eq!((explained.system, explained.digest), (rendered.system, rendered.digest));
}
