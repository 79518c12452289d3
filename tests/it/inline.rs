//! Directives and knowledge that a call returns into the same thread (SPEC D16).

mod narrowing;
mod wires;

use rye::types::ThreadState;
use rye::{Explained, Lock, PlanRequest};
use rye_tests::Scratch;
use serde_json::{Value, json};

const DIRECTIVES: &str = "<execute><directive>test.*</directive><knowledge>test.*</knowledge><tool>rye.file-system.*</tool><tool>rye.agent.threads.*</tool></execute>";

/// A directive with a step for each action.
fn directive(name: &str, permissions: &str, actions: &[&str], inner: &str) -> String {
    let step = |(place, action): (usize, &&str)| {
        format!(
            "  <step name=\"s{place}\">\n    <description>Do.</description>\n    {action}\n  </step>\n"
        )
    };
    let steps: String = actions.iter().enumerate().map(step).collect();
    format!(
        "# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata>\n    <description>For a \
         test.</description>\n    <permissions>{permissions}</permissions>\n  </metadata>\n  {inner}\n</directive>\n```\n\n\
         Do it for {name}.\n\n<process>\n{steps}</process>\n"
    )
}

fn action(kind: &str, id: &str, parameters: &[(&str, &str)]) -> String {
    let given: String = parameters
        .iter()
        .map(|(name, value)| format!("<param name=\"{name}\">{value}</param>"))
        .collect();
    format!("<execute item_type=\"{kind}\" item_id=\"{id}\">{given}</execute>")
}

fn write(path: &str) -> String {
    action("tool", "rye/file-system/write", &[("path", path), ("content", "x")])
}

fn knowledge(text: &str) -> String {
    format!("```yaml\nname: advice\ntitle: Advice\n```\n\n{text}\n")
}

fn put(scratch: &Scratch, name: &str, text: &str) {
    scratch.sign(&format!(".ai/directives/test/{name}.md"), text);
}

fn results(events: &[(String, Value)]) -> Vec<&Value> {
    let found = events.iter().filter(|(name, _)| name == "tool_call_result");
    found.map(|(_, payload)| payload).collect()
}

/// The steps of executed directives, including nested ones, run with the authority of the thread.
#[tokio::test]
async fn steps_of_an_executed_directive_are_carried_out() {
    let scratch = Scratch::new();
    let write_inner = write("{input:file}");
    let inner = "<inputs><input name=\"file\" type=\"string\" required=\"true\">File</input></inputs>\
        <outputs><output name=\"path\" type=\"string\">Where {input:file} is, not \\{input:file}</output></outputs>";
    let leaf = action("directive", "test/leaf", &[]);
    let advice = action("knowledge", "test/advice", &[]);
    put(&scratch, "leaf", &directive("leaf", "*", &[&write("leaf.txt")], ""));
    put(&scratch, "inner", &directive("inner", "", &[&write_inner, &leaf, &advice], inner));
    scratch.sign(".ai/knowledge/test/advice.md", &knowledge("Be brief."));
    let execute = action("directive", "test/inner", &[("file", "inner.txt")]);
    put(&scratch, "outer", &directive("outer", DIRECTIVES, &[&execute, &write("outer.txt")], ""));
    let report = scratch.run("test/outer", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    for file in ["inner.txt", "leaf.txt", "outer.txt"] {
        assert!(scratch.project().join(file).is_file(), "{file}");
    }
    let events = scratch.events(&report);
    let told = results(&events);
    assert_eq!(told[0]["content"]["inputs"], json!({"file": "inner.txt"}));
    let outputs = told[0]["content"]["outputs"].to_string();
    assert!(outputs.contains("Where inner.txt is, not {input:file}"), "{outputs}");
    let directions = told[0]["content"]["your_directions"].as_str().unwrap();
    assert!(directions.starts_with("Do it for inner."), "{directions}");
    assert_eq!(told[4]["content"]["content"], "Be brief.");
    let replayed = scratch.rye().replay(&report.thread).await.unwrap();
    assert_eq!(replayed.divergence, None);
}

/// The permissions of an executed directive add nothing to the thread.
#[tokio::test]
async fn what_an_executed_directive_declares_is_not_granted() {
    let scratch = Scratch::new();
    put(&scratch, "inner", &directive("inner", "*", &[&write("inner.txt")], ""));
    let execute = action("directive", "test/inner", &[]);
    let only = "<execute><directive>test.inner</directive></execute>";
    put(&scratch, "outer", &directive("outer", only, &[&execute], ""));
    let report = scratch.run("test/outer", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Error);
    assert!(!scratch.project().join("inner.txt").exists());
    let events = scratch.events(&report);
    let told = results(&events);
    assert_eq!(told[0]["content"]["permissions"], "<permissions>*</permissions>");
    let message = told[1]["content"]["error"].as_str().unwrap();
    assert!(message.contains("is not allowed by the directive `test/outer`"), "{message}");
}

/// Each refusal of an item is an error that the model can read, and the transcript has none of the item's
/// text.
#[tokio::test]
async fn an_item_that_is_refused_leaves_nothing_of_its_text() {
    const MARK: &str = "a-word-that-stands-nowhere-else";
    let text = directive("inner", "", &[], "").replace("Do it", MARK);
    let inputs = "<inputs><input name=\"n\" type=\"integer\" required=\"true\">N</input><input name=\"m\" required=\"true\">M</input></inputs>";
    let needing = directive("inner", "", &[], inputs).replace("Do it", MARK);
    let tampered = |scratch: &Scratch| {
        let path = scratch.sign(".ai/directives/test/inner.md", &text.replace(MARK, "Do it"));
        let signed = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, signed.replace("Do it", MARK)).unwrap();
    };
    let advised =
        |scratch: &Scratch| drop(scratch.put(".ai/knowledge/test/inner.md", &knowledge(MARK)));
    type Make<'a> = &'a dyn Fn(&Scratch);
    let rows: [(&str, &str, &str, Make<'_>, &[&str]); 7] = [
        (
            "unsigned",
            "directive",
            DIRECTIVES,
            &|it| drop(it.put(".ai/directives/test/inner.md", &text)),
            &["there is no signature"],
        ),
        ("unsigned knowledge", "knowledge", DIRECTIVES, &advised, &["there is no signature"]),
        ("tampered", "directive", DIRECTIVES, &tampered, &["tampered"]),
        ("missing", "directive", DIRECTIVES, &|_| {}, &["`test/inner`", "not found"]),
        (
            "not granted",
            "directive",
            "<execute><directive>other.*</directive></execute>",
            &|it| put(it, "inner", &text),
            &["is not allowed by"],
        ),
        (
            "load is not execute",
            "directive",
            "<load><directive>*</directive></load>",
            &|it| put(it, "inner", &text),
            &["is not allowed by"],
        ),
        (
            "inputs",
            "directive",
            DIRECTIVES,
            &|it| put(it, "inner", &needing),
            &["`n`", "`m`", "`x`"],
        ),
    ];
    for (name, kind, permissions, make, words) in rows {
        let scratch = Scratch::new();
        make(&scratch);
        let given: &[(&str, &str)] =
            if name == "inputs" { &[("n", "four"), ("x", "1")] } else { &[] };
        let execute = action(kind, "test/inner", given);
        put(&scratch, "outer", &directive("outer", permissions, &[&execute], ""));
        refuses(&scratch, name, words, MARK).await;
    }
}

/// Checks that the first call of `test/outer` fails with these words, and that `mark` is not in the
/// transcript.
async fn refuses(scratch: &Scratch, name: &str, words: &[&str], mark: &str) {
    let report = scratch.run("test/outer", &[]).await.unwrap();
    let events = scratch.events(&report);
    let told = results(&events);
    assert_eq!(told[0]["is_error"], true, "{name}");
    let message = told[0]["content"].to_string();
    for word in words {
        assert!(message.contains(word), "{name}: {message}");
    }
    let transcript = std::fs::read_to_string(report.folder.join("transcript.jsonl")).unwrap();
    assert!(!transcript.contains(mark), "{name}");
    assert!(told[0].get("added").is_none(), "{name}");
}

/// What steps execute by a literal id is in the lock, and what that directive executes in turn; a change of it is found.
#[test]
fn what_steps_execute_by_a_literal_id_is_locked() {
    let scratch = Scratch::new();
    let [inner, leaf, named] =
        ["test/inner", "test/leaf", "test/{input:n}"].map(|id| action("directive", id, &[]));
    let advice = action("knowledge", "test/advice", &[]);
    put(&scratch, "leaf", &directive("leaf", "", &[], ""));
    put(&scratch, "other", &directive("other", "", &[], ""));
    put(&scratch, "inner", &directive("inner", "", &[&leaf, &advice], ""));
    scratch.sign(".ai/knowledge/test/advice.md", &knowledge("Be brief."));
    let inputs = "<inputs><input name=\"n\" required=\"true\">N</input></inputs>";
    put(&scratch, "outer", &directive("outer", DIRECTIVES, &[&inner, &named], inputs));
    let explained =
        || Explained::of(&scratch.rye(), &PlanRequest::new("test/outer".parse().unwrap())).unwrap();
    let mut lock = Lock::default();
    lock.insert(explained().id, explained().to_locked().unwrap());
    let text = lock.to_string();
    for id in ["test/inner", "test/leaf", "test/advice"] {
        assert!(text.contains(&format!("\"{id}\"")), "{id}: {text}");
    }
    assert!(
        !text.contains("test/other"),
        "what an input names is known when the thread runs: {text}"
    );
    assert!(explained().compare_with(&lock).unwrap().findings.is_empty());
    for (path, text) in [
        (".ai/directives/test/leaf.md", directive("leaf", "", &[], "").replace("Do it", "Do more")),
        (".ai/knowledge/test/advice.md", knowledge("Be long.")),
    ] {
        scratch.sign(path, &text);
        let report = explained().compare_with(&lock).unwrap();
        assert!(!report.findings.is_empty(), "{path}");
    }
}

/// A directive that executes itself is stopped at a fixed depth.
#[tokio::test]
async fn a_directive_that_executes_itself_is_followed_so_far_and_no_further() {
    let scratch = Scratch::new();
    let execute = action("directive", "test/outer", &[]);
    let turns = "<limits turns=\"40\" />";
    let text = directive("outer", DIRECTIVES, &[&execute], "");
    put(&scratch, "outer", &text.replace("<permissions>", &format!("{turns}<permissions>")));
    let report = scratch.run("test/outer", &[]).await.unwrap();
    let failure = report.outcome.failure.unwrap().to_string();
    assert!(failure.contains("are followed 8 deep"), "{failure}");
}
