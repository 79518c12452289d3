//! `rye explain`, `rye diff`, `rye lock`, the first request of `rye render`, and what `rye check` prints for programs.

#[cfg(feature = "git")]
mod revisions;

use crate::session::{Session, example_key};

const INDEX: &str = ".ai/directives/notes/index.md";
const STYLE: &str = ".ai/knowledge/notes/index-style.md";

/// A directive that has nothing of the shipped space but a tool and the provider, so that its facts change with it alone.
const PLAIN: &str = r#"# Plain

```xml
<directive name="plain" version="1.0.0">
  <metadata>
    <description>Tells what is in a folder.</description>
    <permissions><execute><tool>rye.file-system.ls</tool></execute></permissions>
    <context>
      <system>Be brief.</system>
      <before>notes/index-style</before>
    </context>
  </metadata>
  <inputs><input name="folder" type="string" required="true" enum="notes,diary">The folder</input></inputs>
  <outputs><summary>What is there</summary></outputs>
</directive>
```

Tell what is in {input:folder}.
"#;

fn plain() -> Session {
    let session = Session::new();
    session.put(".ai/directives/notes/plain.md", PLAIN);
    sign(&session);
    session
}

/// Signs everything again with the example key, after a change.
fn sign(session: &Session) {
    session.sign_as_it_is(&example_key());
}

/// Nothing of the output but the exit code.
#[track_caller]
fn exits(output: &str, code: u8) {
    assert!(output.ends_with(&format!("--- exit {code}\n")), "{output}");
}

#[test]
fn where_each_part_comes_from() {
    let session = plain();
    insta::assert_snapshot!(session.rye("explain notes/index --trust TRUST"));
    insta::assert_snapshot!(
        session.rye("explain .ai/directives/notes/plain.md --trust TRUST --json")
    );
}

#[test]
fn what_keeps_a_directive_from_running_is_told() {
    let session = Session::new();
    session.change(INDEX, "<model tier=\"fast\" />", "<model provider=\"nowhere\" />");
    session.change(
        INDEX,
        "<context>",
        "<hooks><hook id=\"h\" event=\"limit\"><execute item_type=\"tool\">rye/file-system/ls</execute></hook></hooks>
    <context><suppress>rye/agent/core/Behavior</suppress><before optional=\"true\">notes/absent</before>",
    );
    session.put(".ai/config/agent/resilience.yaml", "limits:\n  depth: 1\n  spawns: 90\n");
    sign(&session);
    insta::assert_snapshot!(session.rye("explain notes/index --trust TRUST"));
}

#[test]
fn the_first_request_needs_no_key() {
    let session = plain();
    let render =
        "render notes/plain --trust TRUST --provider anthropic_messages --input folder=diary";
    insta::assert_snapshot!(session.rye(render));
    insta::assert_snapshot!(
        session.rye(&format!("{render} --returns tool --model claude-haiku-4-5 --json"))
    );
    let unknown = session.rye(&format!("{render} --model claude"));
    assert!(unknown.contains("has no model `claude`"), "{unknown}");
    exits(&unknown, 1);
}

/// Each vendor's own form, of the same directive.
#[test]
fn each_provider_that_comes_along_has_its_request() {
    let session = plain();
    for provider in ["gemini", "openai_chat", "openai_responses"] {
        let render = "render notes/plain --trust TRUST --input folder=diary --provider";
        insta::assert_snapshot!(provider, session.rye(&format!("{render} {provider}")));
    }
}

#[test]
fn steps_send_no_request() {
    insta::assert_snapshot!(
        Session::new().rye("render notes/index --trust TRUST --provider steps")
    );
}

#[test]
fn a_run_that_would_end_at_once_sends_no_request() {
    let session = Session::new();
    session.change(INDEX, "spend=\"0.10\"", "spend=\"0.000001\"");
    sign(&session);
    insta::assert_snapshot!(
        session.rye("render notes/index --trust TRUST --provider anthropic_messages")
    );
}

#[test]
fn two_directives() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("diff notes/base notes/index --trust TRUST"));
    let same = session.rye("diff notes/index notes/index --exit-code --trust TRUST");
    insta::assert_snapshot!(same);
    exits(&session.rye("diff notes/base notes/index --exit-code --trust TRUST"), 2);
}

#[test]
fn sides_that_make_no_sense() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("diff notes/index --trust TRUST"));
    insta::assert_snapshot!(session.rye("diff --rev HEAD notes/index notes/base --trust TRUST"));
}

/// The message names the feature and the command that adds it.
#[cfg(not(feature = "git"))]
#[test]
fn a_program_without_git_reads_no_revision() {
    let session = Session::new();
    let index = format!("diff HEAD:{INDEX} {INDEX}");
    for command in ["diff", "diff --rev HEAD notes/index", &index] {
        let output = session.rye(&format!("{command} --trust TRUST"));
        let told = "error: cannot read revision `HEAD`: this program was built without the feature `git`; \
                    `cargo install --path crates/rye-cli` in its repository installs one with it\n";
        assert!(output.contains(told), "{output}");
        exits(&output, 2);
    }
}

#[test]
fn a_lock_holds() {
    let session = plain();
    insta::assert_snapshot!(session.rye("check --locked --trust TRUST"));
    exits(&session.rye("lock notes/plain --trust TRUST"), 0);
    let lock = std::fs::read_to_string(session.project().join(".ai/rye.lock")).unwrap();
    insta::assert_snapshot!(lock);
    insta::assert_snapshot!(session.rye("check --locked --trust TRUST"));
    exits(&session.rye("lock .ai/directives/notes/plain.md --trust TRUST"), 0);
    let again = std::fs::read_to_string(session.project().join(".ai/rye.lock")).unwrap();
    assert_eq!(again, lock);
    // What is signed again without a change is as it was.
    let signed = session.rye("sign .ai --key KEY --at 2026-11-20T18:00:01Z");
    exits(&signed, 0);
    exits(&session.rye("check --locked --trust TRUST"), 0);
}

/// What differs from the lock begins no thread, by the option and by the operator's configuration, which a project cannot lift.
#[test]
fn a_run_that_has_to_be_as_locked() {
    let session = Session::new();
    session.rye("keys import KEY");
    session.rye("trust add TRUST --yes");
    let run = "run notes/index --provider steps";
    let none = session.rye(&format!("{run} --locked"));
    assert!(none.contains("there is no lock; `rye lock` writes it"), "{none}");
    exits(&none, 3);
    exits(&session.rye("lock"), 0);
    exits(&session.rye(&format!("{run} --locked")), 0);
    session.put("../home/.ai/config/trust.yaml", "require_lock: true\n");
    exits(&session.rye("sign ../home/.ai/config/trust.yaml"), 0);
    exits(&session.rye(run), 0);
    let style = ".ai/knowledge/notes/index-style.md";
    session.change(style, "one Markdown file", "two Markdown files");
    exits(&session.rye(&format!("sign {style}")), 0);
    session.put(".ai/config/trust.yaml", "require_lock: false\n");
    exits(&session.rye("sign .ai/config/trust.yaml"), 0);
    let threads =
        || std::fs::read_dir(session.project().join(".ai/threads")).map_or(0, Iterator::count);
    for command in [run.to_owned(), format!("{run} --locked")] {
        let refused = session.rye(&command);
        assert!(refused.contains("knowledge `notes/index-style` changed: sha256"), "{refused}");
        exits(&refused, 3);
    }
    // A tool that is called by its name has no directive.
    exits(&session.rye("call rye/file-system/ls"), 0);
    assert!(threads() > 0);
    exits(&session.rye("lock"), 0);
    exits(&session.rye(run), 0);
}

/// A directive that executes what its input names.
const EXECUTING: &str = r#"# Execute

```xml
<directive name="KIND" version="1.0.0">
  <metadata>
    <description>Takes in what is named.</description>
    <category>notes</category>
    <author>example</author>
    <model provider="steps" />
    <limits turns="4" tokens="1000" spend="0" />
    <permissions><execute><KIND>*</KIND></execute></permissions>
  </metadata>
  <inputs><input name="id" type="string" required="true">The item</input></inputs>
  <process><step name="take"><execute item_type="KIND" item_id="{input:id}" /></step></process>
</directive>
```
"#;

/// What a call returns into the thread is held by the lock as well, where an input names it.
#[test]
fn what_an_input_names_runs_as_it_was_locked() {
    let session = Session::new();
    let sign = || exits(&session.rye("sign ITEMS --re-sign --at 2026-11-20T18:00:00Z"), 0);
    exits(&session.rye("keys generate"), 0);
    for kind in ["directive", "knowledge"] {
        let text = EXECUTING.replace("KIND", kind);
        session.put(&format!(".ai/directives/notes/{kind}.md"), &text);
    }
    let other = ".ai/directives/notes/other.md";
    session.put(
        other,
        &PLAIN
            .replace("\"plain\"", "\"other\"")
            .replace(" required=\"true\"", " default=\"notes\""),
    );
    session.put(".ai/knowledge/notes/apart.md", "---\nid: notes/apart\ntitle: Apart\nversion: 1.0.0\ncategory: notes\n---\n\nNobody names it.\n");
    sign();
    exits(&session.rye("lock"), 0);
    let run = |kind: &str, item: &str, more: &str| {
        session.rye(&format!("run notes/{kind} --input id=notes/{item} --provider steps {more}"))
    };
    // Other directives record them.
    exits(&run("directive", "other", "--locked"), 0);
    exits(&run("knowledge", "index-style", "--locked"), 0);
    let unnamed = run("knowledge", "apart", "--locked");
    assert!(unnamed.contains("knowledge `notes/apart` is not in the lock"), "{unnamed}");
    exits(&unnamed, 3);
    exits(&run("knowledge", "apart", ""), 0);
    session.change(STYLE, "one Markdown file", "two Markdown files");
    session.change(other, "Tell what is in", "Say what is in");
    sign();
    for (kind, item, changed) in [
        ("directive", "other", "directive `notes/other` changed: sha256"),
        ("directive", "other", "knowledge `notes/index-style` changed: sha256"),
        ("directive", "other", "`rye lock notes/other` accepts it after a review"),
        ("knowledge", "index-style", "knowledge `notes/index-style` changed: sha256"),
    ] {
        let refused = run(kind, item, "--locked");
        assert!(refused.contains(changed), "{refused}");
        exits(&refused, 3);
        exits(&run(kind, item, ""), 0);
    }
    exits(&session.rye("lock notes/other"), 0);
    exits(&run("directive", "other", "--locked"), 0);
    exits(&run("knowledge", "index-style", "--locked"), 0);
}

#[test]
fn a_directive_that_is_not_in_the_lock() {
    let session = plain();
    exits(&session.rye("lock --trust TRUST"), 0);
    exits(&session.rye("new directive notes/news"), 0);
    insta::assert_snapshot!(session.rye("check --locked --trust TRUST"));
    exits(&session.rye("check --locked --trust TRUST --json"), 1);
    sign(&session);
    exits(&session.rye("lock notes/news --trust TRUST"), 0);
    exits(&session.rye("check --locked --trust TRUST"), 0);
}

#[test]
fn a_locked_directive_with_other_limits() {
    let session = plain();
    exits(&session.rye("lock notes/plain --trust TRUST"), 0);
    session.put(".ai/config/agent/resilience.yaml", "limits:\n  turns: 1\n");
    sign(&session);
    insta::assert_snapshot!(session.rye("check --locked --trust TRUST"));
}

#[test]
fn what_hooks_put_at_the_start_is_rendered() {
    let session = Session::new();
    session.put(
        ".ai/config/agent/hooks.yaml",
        "hooks:\n  - id: greet\n    event: thread_started\n    action: { primary: load, item_type: knowledge, item_id: notes/index-style }\n",
    );
    sign(&session);
    insta::assert_snapshot!(session.rye("render notes/base --trust TRUST --json"));
    insta::assert_snapshot!(session.rye("explain notes/base --trust TRUST"));
}

#[test]
fn one_character_of_one_item() {
    let session = Session::new();
    session.rye("lock --trust TRUST");
    session.change(STYLE, "one Markdown file", "one Markdown pile");
    sign(&session);
    insta::assert_snapshot!(session.rye("check --locked --trust TRUST"));
    insta::assert_snapshot!(session.rye("check --locked --trust TRUST --json"));
    // With an id, the others stay as they were locked.
    exits(&session.rye("lock notes/base --trust TRUST"), 0);
    exits(&session.rye("check --locked --trust TRUST"), 1);
    exits(&session.rye("lock notes/index --trust TRUST"), 0);
    exits(&session.rye("check --locked --trust TRUST"), 0);
}

#[test]
fn a_locked_directive_that_gained_a_tool() {
    let session = Session::new();
    session.change(INDEX, "        <tool>rye.file-system.write</tool>\n", "");
    sign(&session);
    session.rye("lock --trust TRUST");
    session.change(INDEX, "rye.file-system.read<", "rye.file-system.*<");
    sign(&session);
    insta::assert_snapshot!(session.rye("check --locked --trust TRUST"));
}

#[test]
fn a_locked_item_with_another_signer() {
    let session = Session::new();
    session.rye("lock --trust TRUST");
    session.rye("keys generate");
    exits(&session.rye("sign .ai/knowledge/notes/index-style.md"), 0);
    let output = session.rye("check --locked --trust TRUST");
    assert!(output.contains("  knowledge `notes/index-style` is signed by "), "{output}");
    assert!(
        output.contains(
            " instead of signed by 56dbf7b2d9ce86ed\n2 directives locked: 1 as locked, 1 changed\n"
        ),
        "{output}"
    );
}

#[test]
fn a_locked_item_that_was_tampered_with() {
    let session = Session::new();
    session.rye("lock --trust TRUST");
    session.change(STYLE, "one Markdown file", "one Markdown pile");
    let output = session.rye("check --locked --trust TRUST");
    assert!(output.contains("directive notes/index\n  cannot be read any more: "), "{output}");
    exits(&output, 1);
}

#[test]
fn a_lock_that_was_edited() {
    let session = Session::new();
    session.rye("lock --trust TRUST");
    session.change(".ai/rye.lock", "one Markdown file", "two Markdown files");
    insta::assert_snapshot!(session.rye("check --locked --trust TRUST"));
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_lock_is_not_followed() {
    let session = Session::new();
    let outside = session.home().join("outside");
    std::fs::write(&outside, "mine").unwrap();
    std::os::unix::fs::symlink(&outside, session.project().join(".ai/rye.lock")).unwrap();
    exits(&session.rye("lock --trust TRUST"), 0);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine");
}

const FAULTY: &str = "# Faulty

```xml
<directive name=\"faulty\">
  <metadata>
    <permissions><execute><tool>a[^b]</tool></execute></permissions>
  </metadata>
</directive>
```

Say {input:wrod}, 100 %.
";

#[test]
fn problems_for_other_programs() {
    let session = Session::new();
    session.put(".ai/directives/notes/faulty.md", FAULTY);
    insta::assert_snapshot!(session.rye("check --format github"));
    insta::assert_snapshot!(session.rye("check --format sarif"));
    exits(&session.rye("check --format gitlab"), 2);
}

#[test]
fn what_was_read_of_a_directive() {
    let session = Session::new();
    session.put(".ai/directives/notes/plain.md", PLAIN);
    insta::assert_snapshot!(session.rye("check .ai/directives/notes/plain.md --ast"));
    session.put(".ai/directives/notes/faulty.md", "# No fence\n");
    let output = session.rye("check .ai/directives/notes/faulty.md --ast");
    assert!(output.contains("\"directive\": null"), "{output}");
    exits(&output, 1);
}

/// Who answers is known before the inputs are.
#[test]
fn a_directive_of_steps_that_needs_an_input_is_explained_and_locked() {
    let session = Session::new();
    session.rye("keys generate");
    session.put(
        ".ai/directives/notes/show.md",
        "```xml\n<directive name=\"show\" version=\"1.0.0\"><metadata><description>Shows.</description>\
         <category>notes</category><author>a</author><model provider=\"steps\" tier=\"fast\" /><limits turns=\"3\" />\
         <permissions><execute><tool>rye.file-system.read</tool></execute></permissions></metadata>\
         <inputs><input name=\"path\" type=\"string\" required=\"true\">x</input></inputs></directive>\n```\n\n\
         <process><step name=\"read\"><execute item_type=\"tool\" item_id=\"rye/file-system/read\">\
         <param name=\"path\" value=\"{input:path}\" /></execute></step></process>\n",
    );
    session.rye("sign .ai/directives/notes/show.md");
    let explained = session.rye("explain notes/show");
    assert!(explained.contains("\nmodel\n  steps"), "{explained}");
    let locked = session.rye("lock notes/show");
    assert!(locked.contains("1 directive locked"), "{locked}");
    let run = session.rye("run notes/show --input path=README.md --locked");
    assert!(!run.contains("not as locked"), "{run}");
    assert!(session.rye("run notes/show --locked").contains("`path`"));
}
