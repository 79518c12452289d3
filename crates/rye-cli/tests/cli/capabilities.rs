//! `rye caps`, and what `rye check` says of permissions.

use std::fs;

use crate::session::{Session, example_key};

const INDEX: &str = ".ai/directives/notes/index.md";

/// A directive that grants more than it needs, in every way, and needs something that it does not grant.
const WIDE: &str = r#"# Wide

```xml
<directive name="wide" version="1.0.0">
  <metadata>
    <description>Reads notes, and might do much more.</description>
    <permissions>
      <acknowledge risk="elevated">It signs &lt;nothing&gt; but drafts.</acknowledge>
      <execute>
        <tool>rye.file-system.*</tool>
        <tool>rye.file-system.read</tool>
        <tool>rye.bash.*</tool>
        <tool>rye.bash.bash</tool>
        <tool>w[ae]b.?*</tool>
      </execute>
      <search><knowledge>notes.*</knowledge></search>
      <fetch><knowledge>notes/*</knowledge></fetch>
      <sign><knowledge>drafts.*</knowledge></sign>
    </permissions>
  </metadata>
  <inputs><input name="note" type="string" required="true">The note</input></inputs>
</directive>
```

<process>
  <step name="list"><execute item_type="tool" item_id="fs_read"><param name="path" value="a" /></execute></step>
  <step name="find"><search item_type="knowledge" query="notes" /></step>
  <step name="read"><load item_type="knowledge" item_id="notes/{input:note}" /></step>
  <step name="spawn"><execute item_type="directive" item_id="notes/index" /></step>
  <step name="think"><description>Think about it.</description></step>
</process>
"#;

/// The step that leaves it to a model what it calls.
const THINK: &str = "  <step name=\"think\"><description>Think about it.</description></step>\n";

fn wide() -> Session {
    let session = Session::new();
    session.put(".ai/directives/notes/wide.md", WIDE);
    // The example key may grant file tools alone, which is another test.
    exits(&session.rye("keys generate"), 0);
    session.sign_as_it_is(&session.home().join(".ai/config/keys/signing/private_key.pem"));
    session
}

/// Signs everything again with the example key, after a change.
fn sign(session: &Session) {
    session.sign_as_it_is(&example_key());
}

#[track_caller]
fn exits(output: &str, code: u8) {
    assert!(output.ends_with(&format!("--- exit {code}\n")), "{output}");
}

const READ: &str = "rye.execute.tool.rye.file-system.read";

#[test]
fn something_that_every_layer_allows() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye(&format!("caps check notes/index {READ} --trust TRUST")));
    insta::assert_snapshot!(
        session.rye(&format!("caps check {INDEX} {READ} --trust TRUST --json"))
    );
}

#[test]
fn something_that_layers_deny() {
    let session = Session::new();
    let bash = "rye.execute.tool.rye.bash.bash";
    insta::assert_snapshot!(session.rye(&format!("caps check notes/index {bash} --trust TRUST")));
    insta::assert_snapshot!(
        session.rye(&format!("caps check notes/index {bash} --trust TRUST --json"))
    );
    // A directive that declares nothing may do nothing.
    insta::assert_snapshot!(session.rye(&format!("caps check notes/base {READ} --trust TRUST")));
}

#[test]
fn outputs_grant_returning_them() {
    let output = Session::new().rye(
        "caps check notes/index rye.execute.tool.rye.agent.threads.directive_return --trust TRUST",
    );
    exits(&output, 0);
}

/// What is said here is what a run does: the same call, denied to the same steps by the same layer.
#[test]
fn what_is_denied_here_is_denied_in_a_run() {
    let session = Session::new();
    session.change(INDEX, "        <tool>rye.file-system.write</tool>\n", "");
    sign(&session);
    let write = "rye.execute.tool.rye.file-system.write";
    let checked = session.rye(&format!("caps check notes/index {write} --trust TRUST"));
    exits(&checked, 3);
    session.rye("run notes/index --trust TRUST --provider steps");
    let shown = session.rye("threads show --json");
    let denied = checked.lines().nth(1).unwrap().strip_prefix("denied: ").unwrap();
    assert!(shown.contains(denied), "{denied}\n{shown}");
}

#[test]
fn questions_that_make_no_sense() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("caps check notes/index rye.execute.tools.x"));
    insta::assert_snapshot!(session.rye("caps check notes/index rye.fetch.tool.x"));
    insta::assert_snapshot!(session.rye(&format!("caps check notes/absent {READ} --trust TRUST")));
    insta::assert_snapshot!(session.rye("caps explain ../escape"));
    insta::assert_snapshot!(session.rye("caps explain notes/absent --trust TRUST"));
}

#[test]
fn nothing_is_said_of_what_is_not_verified() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("caps explain notes/index"));
    session.change(INDEX, "<tool>rye.file-system.ls</tool>", "<tool>rye.bash.*</tool>");
    insta::assert_snapshot!(
        session.rye("caps check notes/index rye.execute.tool.rye.bash --trust TRUST")
    );
    exits(&session.rye("caps explain notes/index --trust TRUST"), 3);
    exits(&session.rye("caps tighten notes/index --trust TRUST"), 3);
}

#[test]
fn each_layer_with_its_patterns() {
    insta::assert_snapshot!(Session::new().rye("caps explain notes/index --trust TRUST"));
}

#[test]
fn all_that_is_worth_a_second_look() {
    let session = wide();
    insta::assert_snapshot!(session.rye("caps explain notes/wide"));
    insta::assert_snapshot!(session.rye("caps explain notes/wide --json"));
}

/// Several findings are told together, by a refused run as well (SPEC 9.6).
#[test]
fn a_refused_grant_is_told_with_all_its_findings() {
    let session = wide();
    let risk = ".ai/config/agent/capability_risk.yaml";
    let row = "{risk: unrestricted, patterns: [rye.execute.tool.rye.bash.*]}";
    session.put(risk, &format!("classifications:\n  - {row}\n"));
    exits(&session.rye(&format!("sign {risk}")), 0);
    let output = session.rye("run notes/wide --input note=a --provider steps");
    exits(&output, 3);
    for pattern in ["rye.execute.tool.rye.bash.*", "rye.execute.tool.rye.bash.bash"] {
        assert!(output.contains(&format!("granting `{pattern}` is `unrestricted`")), "{output}");
    }
    let checked = session.rye(&format!("caps check notes/wide {READ}"));
    assert!(checked.contains("warning: `notes/wide` may not run: "), "{checked}");
    // What does not run does nothing, and scripts read the code alone.
    assert!(checked.contains(&format!("\nrefused: `{READ}` is granted, to")), "{checked}");
    exits(&checked, 3);
    let data = session.rye(&format!("caps check notes/wide {READ} --json"));
    assert!(data.contains("\"allowed\": false"), "{data}");
    exits(&data, 3);
}

#[test]
fn the_smaller_block() {
    let session = wide();
    // With a step that names no call, what a model needs is not known.
    insta::assert_snapshot!(
        "what_a_model_may_need_is_kept",
        session.rye("caps tighten notes/wide")
    );
    session.change(".ai/directives/notes/wide.md", THINK, "");
    session.sign_as_it_is(&session.home().join(".ai/config/keys/signing/private_key.pem"));
    insta::assert_snapshot!(session.rye("caps tighten notes/wide"));
    insta::assert_snapshot!(session.rye("caps tighten notes/wide --json"));
}

/// What is printed can be put in the place of the block, and then nothing more can be taken away.
#[test]
fn the_smaller_block_is_smallest() {
    let session = Session::new();
    session.change(INDEX, "<tool>rye.file-system.ls</tool>", "<tool>rye.file-system.*</tool>");
    sign(&session);
    let output = session.rye("caps tighten notes/index --trust TRUST");
    let start = output.find("<permissions>").unwrap();
    let end = output.find("</permissions>").unwrap();
    let block = &output[start..end];
    let path = session.project().join(INDEX);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<permissions>").unwrap();
    let (_, after) = rest.split_once("</permissions>").unwrap();
    fs::write(&path, format!("{before}{block}</permissions>{after}")).unwrap();
    sign(&session);
    let again = session.rye("caps tighten notes/index --trust TRUST");
    assert!(!again.contains("narrowed") && !again.contains("dropped"), "{again}");
    assert!(again.contains(block), "{again}");
    exits(&session.rye("run notes/index --trust TRUST --provider steps"), 0);
}

/// The id of the only thread of the project.
fn thread(session: &Session) -> String {
    let folders = fs::read_dir(session.project().join(".ai/threads")).unwrap().map(Result::unwrap);
    let folder = { folders }.find(|entry| entry.path().is_dir()).unwrap();
    folder.file_name().into_string().unwrap()
}

/// A session in which `notes/index` ran, and then lost the call of a step and gained a wildcard.
fn ran() -> (Session, String) {
    let session = Session::new();
    exits(&session.rye("run notes/index --trust TRUST --provider steps"), 0);
    let thread = thread(&session);
    session.change(INDEX, "<tool>rye.file-system.read</tool>", "<tool>rye.file-system.*</tool>");
    session.change(INDEX, "item_id=\"rye/file-system/read\"", "item_id=\"rye/file-system/ls\"");
    sign(&session);
    (session, thread)
}

#[test]
fn what_a_thread_called_counts_as_used() {
    let (session, thread) = ran();
    insta::assert_snapshot!(session.rye("caps tighten notes/index --trust TRUST"));
    let transcript = format!("--transcript {thread} --trust TRUST");
    insta::assert_snapshot!(session.rye(&format!("caps tighten notes/index {transcript}")));
    insta::assert_snapshot!(session.rye(&format!("caps explain notes/index {transcript}")));
}

#[test]
fn a_call_that_was_denied_is_no_use() {
    let session = Session::new();
    session.change(INDEX, "        <tool>rye.file-system.write</tool>\n", "");
    sign(&session);
    session.rye("run notes/index --trust TRUST --provider steps");
    let thread = thread(&session);
    let output = session
        .rye(&format!("caps explain notes/index --transcript {thread} --trust TRUST --json"));
    let json = output.split_once('\n').unwrap().1.split("--- standard error").next().unwrap();
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    let needs = value["directives"][0]["needs"].as_array().unwrap();
    let write =
        needs.iter().find(|need| need["pattern"] == "rye.execute.tool.rye.file-system.write");
    let threads = write.unwrap()["threads"].as_array().unwrap();
    assert!(threads.is_empty(), "{output}");
    let list = needs.iter().find(|need| need["pattern"] == "rye.execute.tool.rye.file-system.ls");
    assert_eq!(list.unwrap()["threads"].as_array().unwrap().len(), 1, "{output}");
}

#[test]
fn threads_that_tell_nothing() {
    let (session, thread) = ran();
    insta::assert_snapshot!(session.rye("caps tighten notes/base --trust TRUST"));
    insta::assert_snapshot!(
        session.rye(&format!("caps tighten notes/base --transcript {thread} --trust TRUST"))
    );
    insta::assert_snapshot!(session.rye(
        "caps tighten notes/index --transcript index-019a0000-0000-7000-8000-000000000000 --trust TRUST"
    ));
    insta::assert_snapshot!(
        session.rye("caps tighten notes/index --transcript ../x --trust TRUST")
    );
    let path = format!(".ai/threads/{thread}/transcript.jsonl");
    session.change(
        &path,
        "rye.execute.tool.rye.file-system.read",
        "rye.execute.tool.rye.bash.bash",
    );
    insta::assert_snapshot!(
        session.rye(&format!("caps tighten notes/index --transcript {thread} --trust TRUST"))
    );
}

#[test]
fn permissions_that_do_nothing_are_warned_of() {
    let session = Session::new();
    let judged = WIDE.replace(THINK, "").replace("risk=\"elevated\"", "risk=\"hgih\"");
    session.put(".ai/directives/notes/wide.md", &judged);
    insta::assert_snapshot!(session.rye("check .ai/directives/notes/wide.md"));
    // With a step that names no call, nobody knows what a model needs for it.
    session.put(".ai/directives/notes/wide.md", WIDE);
    let output = session.rye("check .ai/directives/notes/wide.md");
    assert!(
        !output.contains("no step or hook uses") && output.contains("is included in"),
        "{output}"
    );
    // A step that is denied fails a run.
    assert!(output.contains("step `spawn` needs"), "{output}");
    exits(&output, 1);
}

/// A directive with these permissions to execute tools, and a step that calls one.
fn calling(tools: &[&str], call: &str) -> String {
    let tools: String = tools.iter().map(|tool| format!("<tool>{tool}</tool>")).collect();
    format!(
        "# Aliased\n\n```xml\n<directive name=\"aliased\" version=\"1.0.0\"><metadata><description>Calls a tool.</description>\
         <category>notes</category><author>ada</author><permissions><execute>{tools}</execute><acknowledge risk=\"elevated\">For a \
         test.</acknowledge></permissions></metadata></directive>\n```\n\n<process><step name=\"one\"><execute item_type=\"tool\" \
         item_id=\"{call}\" /></step></process>\n"
    )
}

/// The permissions, the call of the step, the lines of `caps tighten`, and the permissions that `check` finds unused.
type AliasRow =
    (&'static [&'static str], &'static str, &'static [&'static str], &'static [&'static str]);

/// A wildcard that matches an alias counts as its tool: in what a step uses, in what would do, and in what is told of it.
#[test]
fn a_wildcard_that_matches_an_alias_counts_as_its_tool() {
    const READ: &str = "narrowed fs_* to rye.file-system.read";
    let rows: [AliasRow; 8] = [
        (&["fs_*"], "fs_read", &[READ], &[]),
        (&["fs_*"], "rye/file-system/read", &[READ], &[]),
        (&["fs_*"], "rye/file-system/ls", &["dropped fs_*"], &["fs_*"]),
        (
            &["rye.file-system.fs_*"],
            "fs_write",
            &["narrowed rye.file-system.fs_* to rye.file-system.write"],
            &[],
        ),
        (&["rye.bas?"], "rye/bash/bash", &["narrowed rye.bas? to rye.bash.bash"], &[]),
        (
            &["rye.agent.threads.spawn_*"],
            "rye/agent/threads/thread_directive",
            // The call leaves it to a model what it starts.
            &["kept rye.agent.threads.spawn_*, which a model may need"],
            &[],
        ),
        (
            &["fs_*", "rye.file-system.read"],
            "fs_read",
            &["dropped fs_*", "kept rye.file-system.read"],
            &["fs_*"],
        ),
        (
            &["fs_*", "rye.file-system.*"],
            "fs_read",
            &[READ, "dropped rye.file-system.*"],
            &["rye.file-system.*"],
        ),
    ];
    for (tools, call, tightened, unused) in rows {
        let session = Session::new();
        let path = ".ai/directives/notes/aliased.md";
        session.put(path, &calling(tools, call));
        let of = |output: String, line: fn(&str) -> Option<String>| -> Vec<String> {
            output.lines().filter_map(line).map(|it| it.replace("rye.execute.tool.", "")).collect()
        };
        let told = session.rye("caps tighten notes/aliased --allow-unsigned");
        let line = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_use = ["kept", "narrowed", "dropped"].contains(words.first()?);
            (is_use && !line.contains("acknowledgement")).then(|| words.join(" "))
        };
        assert_eq!(of(told, line), tightened, "{tools:?} {call}");
        let checked = session.rye(&format!("check {path} --json"));
        let line = |line: &str| {
            let (_, message) = line.split_once("\"message\": \"no step or hook ")?;
            message.split('`').nth(1).map(str::to_owned)
        };
        assert_eq!(of(checked, line), unused, "{tools:?} {call}");
        let explained = session.rye("caps explain notes/aliased --allow-unsigned");
        assert_eq!(explained.contains("too wide: "), tightened.concat().contains("narrowed"));
        let remarks = explained.matches("nothing known ").count();
        assert_eq!(remarks, unused.len(), "{tools:?} {call}: {explained}");
    }
}

/// A call that would wait for a person is said to, by its own name and by that of the function behind it.
#[test]
fn calls_that_wait_for_a_decision_are_told() {
    let session = Session::new();
    session.rye("keys generate");
    session.put(
        ".ai/config/agent/approval.yaml",
        "ask: [rye.execute.tool.rye.file-system.write, rye.execute.tool.rye.agent.threads.thread_directive]\n",
    );
    session.put(
        ".ai/tools/notes/put.yaml",
        "description: Puts.\nversion: \"1.0.0\"\nexecutor: builtin\nbuiltin: file-system/write\ninput_schema: {type: object, properties: {path: {type: string}, content: {type: string}}}\n",
    );
    session.change(
        ".ai/directives/notes/index.md",
        "<permissions>",
        "<permissions><execute><tool>notes.*</tool><directive>notes.base</directive></execute><sign><knowledge>notes.x</knowledge></sign>",
    );
    let signed = session.rye("sign ITEMS --re-sign");
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    let rows = [
        (
            "rye.execute.tool.rye.file-system.write",
            "each",
            "waits for a person's decision at each call",
        ),
        ("rye.execute.tool.notes.put", "each", "waits for a person's decision at each call"),
        ("rye.sign.knowledge.notes.x", "each", "waits for a person's decision at each call"),
        (
            "rye.execute.directive.notes.base",
            "some",
            "waits for a person's decision where it starts a thread",
        ),
        ("rye.execute.tool.rye.file-system.read", "none", ""),
    ];
    for (capability, word, sentence) in rows {
        let said = session.rye(&format!("caps check notes/index {capability}"));
        assert!(said.contains(sentence) && said.ends_with("--- exit 0\n"), "{said}");
        assert_eq!(said.contains("waits for"), !sentence.is_empty(), "{said}");
        let said = session.rye(&format!("caps check notes/index {capability} --json"));
        assert!(said.contains(&format!("\"waits\": \"{word}\"")), "{said}");
    }
    let said = session.rye("caps explain notes/index");
    let row = |pattern: &str| said.lines().find(|line| line.contains(pattern)).unwrap();
    assert!(
        row("rye.execute.tool.rye.file-system.write").contains("each call waits for a decision")
    );
    assert!(row("rye.execute.tool.notes.*").contains("some calls wait for a decision"));
    assert!(row("rye.execute.directive.notes.base").contains("some calls wait for a decision"));
    assert!(!row("rye.execute.tool.rye.file-system.read").contains("wait"));
    let said = session.rye("caps explain notes/index --json");
    assert_eq!(said.matches("\"waits\": \"each\"").count(), 2, "{said}");
    assert_eq!(said.matches("\"waits\": \"some\"").count(), 2, "{said}");
}
