//! `rye run`, `rye threads` and `rye render`.

use serde_json::{Value, json};

use crate::session::{Session, example_key};

#[test]
fn the_quick_start() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("run notes/index --trust TRUST --provider steps"));
    assert!(session.project().join("INDEX.md").is_file());
}

#[test]
fn the_quick_start_as_data() {
    insta::assert_snapshot!(
        Session::new().rye("run notes/index --trust TRUST --provider steps --json --quiet")
    );
}

#[test]
fn a_thread_is_shown() {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps --input index=LIST.md");
    insta::assert_snapshot!(session.rye("threads show"));
    let list = session.rye("threads list");
    assert!(list.contains("completed"), "{list}");
}

/// The operator's next look into the folder may start what a tool wrote, so every report of the run names it.
#[test]
fn files_that_start_by_themselves_are_named() {
    let session = Session::new();
    let run = "run notes/index --trust TRUST --provider steps --input index=";
    let told = session.rye(&format!("{run}.husky/pre-commit"));
    assert!(told.contains("read it first: .husky/pre-commit\n"), "{told}");
    let shown = session.rye("threads show");
    assert!(shown.contains("changed    .husky/pre-commit, which starts by itself"), "{shown}");
    let shown: Value = serde_json::from_slice(&session.raw("threads show --json").stdout).unwrap();
    assert_eq!(shown["threads"][0]["self_starting"], json!([".husky/pre-commit"]));
    let told = session.raw(&format!("{run}sub/.envrc --json --quiet"));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["threads"][0]["self_starting"], json!(["sub/.envrc"]));
    let told = session.raw(&format!("{run}LIST.md --json --quiet"));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["threads"][0].get("self_starting"), None);
}

#[test]
fn a_changed_thread_is_refused() {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    let threads = std::fs::read_dir(session.project().join(".ai/threads")).unwrap();
    let folder = threads.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let path = folder.join("transcript.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("bread.md", "brood.md", 1)).unwrap();
    let shown = session.rye("threads show");
    assert!(
        shown.contains("is not as a run wrote it") && shown.ends_with("--- exit 3\n"),
        "{shown}"
    );
}

#[test]
fn no_thread_yet() {
    insta::assert_snapshot!(Session::new().rye("threads show"));
}

#[test]
fn without_trust_nothing_runs() {
    insta::assert_snapshot!(Session::new().rye("run notes/index --provider steps"));
}

#[test]
fn a_changed_directive_does_not_run() {
    let session = Session::new();
    session.change(".ai/directives/notes/index.md", "List the notes", "Delete the notes");
    insta::assert_snapshot!(session.rye("run notes/index --trust TRUST --provider steps"));
}

#[test]
fn a_changed_context_item_does_not_run() {
    let session = Session::new();
    session.change(".ai/knowledge/notes/index-style.md", "one Markdown file", "two Markdown files");
    let output = session.rye("run notes/index --trust TRUST --provider steps");
    assert!(
        output.contains("index-style.md` is not verified") && output.ends_with("--- exit 3\n"),
        "{output}"
    );
}

#[test]
fn a_call_that_the_grant_does_not_cover() {
    let session = Session::new();
    session.change(
        ".ai/directives/notes/index.md",
        "        <tool>rye.file-system.write</tool>\n",
        "",
    );
    session.sign_as_it_is(&example_key());
    insta::assert_snapshot!(session.rye("run notes/index --trust TRUST --provider steps"));
    assert!(!session.project().join("INDEX.md").exists());
    let shown = session.rye("threads show");
    assert!(shown.contains("tool_call_result   refused"), "{shown}");
}

#[test]
fn a_limit_is_reached() {
    insta::assert_snapshot!(
        Session::new().rye("run notes/index --trust TRUST --provider steps --turns 2")
    );
}

#[test]
fn inputs_that_do_not_fit() {
    insta::assert_snapshot!(
        Session::new().rye("run notes/index --trust TRUST --provider steps --input foldr=x")
    );
}

#[test]
fn an_input_that_is_missing_is_asked_for() {
    let session = Session::new();
    session.rye("new directive notes/tidy");
    let told = session.rye("run notes/tidy --allow-unsigned --provider steps");
    assert!(told.contains("\n  to do: add `--input path=VALUE`\n"), "{told}");
}

#[test]
fn a_directive_that_is_not_there() {
    insta::assert_snapshot!(Session::new().rye("run notes/indx --trust TRUST --provider steps"));
}

#[test]
fn a_model_without_a_key() {
    insta::assert_snapshot!(Session::new().rye("run notes/index --trust TRUST"));
}

#[test]
fn a_prompt() {
    insta::assert_snapshot!(
        Session::new().rye("render notes/index --trust TRUST --input folder=diary")
    );
}

#[test]
fn a_template_by_file() {
    insta::assert_snapshot!(
        Session::new()
            .rye("render .ai/directives/notes/index.md --template --returns block --trust TRUST")
    );
}

#[test]
fn a_prompt_of_a_file_elsewhere() {
    let session = Session::new();
    session.put("index.md", "# Not in a space\n");
    insta::assert_snapshot!(session.rye("render index.md --trust TRUST"));
}

/// What keeps the spaces from being opened is a failure before the loop like any other (SPEC 10.1).
#[test]
fn a_refused_trust_policy_leaves_a_failed_thread() {
    let session = Session::new();
    session.put(".ai/config/trust.yaml", "content_only: deny\n");
    insta::assert_snapshot!(session.rye("run notes/index --provider steps"));
    std::fs::remove_file(session.project().join(".ai/config/trust.yaml")).unwrap();
    let shown = session.rye("threads show");
    assert!(
        shown.contains("state      error") && shown.contains("trust.yaml` is not verified"),
        "{shown}"
    );
}

#[test]
fn a_folder_that_is_no_project_is_left_alone() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("run notes/index --project elsewhere"));
    assert!(!session.project().join("elsewhere").exists());
}

/// Nothing is written through a link that the project's author laid.
#[cfg(unix)]
#[test]
fn threads_are_not_written_out_of_the_space() {
    use std::os::unix::fs::symlink;
    let session = Session::new();
    let threads = session.project().join(".ai/threads");
    symlink(session.home(), &threads).unwrap();
    insta::assert_snapshot!(session.rye("run notes/index --trust TRUST --provider steps"));
    assert_eq!(std::fs::read_dir(session.home()).unwrap().count(), 0);
    std::fs::remove_file(&threads).unwrap();
    std::fs::create_dir(&threads).unwrap();
    symlink(session.home().join("db"), threads.join("registry.db")).unwrap();
    for command in ["run notes/index --trust TRUST --provider steps", "threads list"] {
        let output = session.rye(command);
        assert!(output.ends_with("--- exit 3\n"), "{output}");
    }
    assert!(!session.home().join("db").exists());
}

/// A key that was copied with something in its middle is there, and is no key.
#[test]
fn a_variable_that_holds_no_key_is_told() {
    let session = Session::new();
    let variables = [("ANTHROPIC_API_KEY", "sk-se cret")];
    let told = session.rye_with("run notes/index --trust TRUST", &variables);
    let warning = "warning: `ANTHROPIC_API_KEY` is set to something that is no key: the key has a character that is not \
                   visible ASCII; copy it again\n";
    assert!(told.contains(warning) && !told.contains("cret"), "{told}");
    assert!(!session.rye("run notes/index --trust TRUST").contains("warning"));
}

/// Who lacks a vendor's key hears of what could answer instead.
#[test]
fn without_a_key_another_provider_is_named() {
    let session = Session::new();
    let needs = "because: the provider `anthropic_messages` needs a key; set the environment variable `ANTHROPIC_API_KEY`";
    let told = session.rye("run notes/index --trust TRUST");
    let other = format!("{needs}, or take `--provider steps`, which needs no model\n");
    assert!(told.contains(&other), "{told}");
    let told = session.rye_with("run notes/index --trust TRUST", &[("GEMINI_API_KEY", "k")]);
    let other = format!("{needs}, or take `--provider gemini`, as `GEMINI_API_KEY` is set\n");
    assert!(told.contains(&other), "{told}");
}

/// A fallback is used, so that nobody is told that it is not; what it is for is in the end why it did not help.
#[test]
fn a_fallback_is_no_warning() {
    let session = Session::new();
    session.put(
        ".ai/tools/rye/agent/providers/vendor.yaml",
        "name: vendor\nprotocol: openai_chat\nbase_url: http://127.0.0.1:1\ntiers: {fast: m}\nmodels:\n  \
         m: {context_window: 100000, max_output: 100, prices: {input: \"1\", output: \"1\"}}\n  \
         n: {context_window: 100000, max_output: 100, prices: {input: \"1\", output: \"1\"}}\n\
         retry: {attempts: 1, first_delay_ms: 1, max_delay_ms: 1, total_seconds: 30}\n",
    );
    session.put(
        ".ai/directives/ask.md",
        "# Ask\n\n```xml\n<directive name=\"ask\" version=\"1.0.0\">\n  <metadata><description>Asks.</description>\n    \
         <model tier=\"fast\" fallback=\"n\"/><permissions/></metadata>\n</directive>\n```\n\nSay hello.\n",
    );
    let shown = session.rye("run ask --provider vendor --allow-unsigned");
    assert!(shown.contains("cannot connect to `vendor`"), "{shown}");
    assert!(!shown.contains("fallback"), "{shown}");
}

/// A configuration that is refused leaves a thread for a directive that is there, and none for one that is misspelt.
#[test]
fn a_refused_configuration_records_no_thread_of_a_misspelt_directive() {
    let session = Session::new();
    session.put(".ai/config/trust.yaml", "grants: 3\n");
    let threads =
        || std::fs::read_dir(session.project().join(".ai/threads")).map_or(0, Iterator::count);
    for (id, records) in [("notes/indx", false), ("notes/index", true)] {
        let told = session.rye(&format!("run {id} --provider steps --trust TRUST"));
        assert!(!told.ends_with("--- exit 0\n"), "{told}");
        assert_eq!(told.contains("\nthread "), records, "{told}");
        assert_eq!(0 < threads(), records, "{id}");
    }
}

/// A directive that returns what it is given.
const ECHO: &str = "# Echo\n\n```xml\n<directive name=\"echo\" version=\"1.0.0\">\n  <metadata><description>Returns a word.</description>\n    \
     <permissions/></metadata>\n  <inputs><input name=\"word\" required=\"true\">It</input></inputs>\n  \
     <outputs><output name=\"said\" required=\"true\">It</output></outputs>\n</directive>\n```\n\n<process>\n  <step name=\"say\">\n    \
     <execute item_type=\"tool\" item_id=\"rye/agent/threads/directive_return\"><param name=\"said\" value=\"{input:word}\" />\n    \
     </execute>\n  </step>\n</process>\n";

#[test]
fn every_text_can_be_an_input() {
    let session = Session::new();
    session.put(".ai/directives/echo.md", ECHO);
    session.put("word.txt", "from a file");
    // Standard input is empty here.
    for (given, said) in [
        ("--input word=-", ""),
        ("--input word=@-", ""),
        ("--input word=@word.txt", " from a file"),
        ("--raw-input word=-", " -"),
        ("--raw-input word=@-", " @-"),
        ("--raw-input word=@word.txt", " @word.txt"),
        ("--raw-input word=@@a=b", " @@a=b"),
    ] {
        let told = session.rye(&format!("run echo --provider steps --allow-unsigned {given}"));
        assert!(told.contains(&format!("\nsaid:{said}\n")), "{told}");
        assert!(told.ends_with("--- exit 0\n"), "{told}");
    }
    for other in ["--input word=@nothing", "--raw-input word=a"] {
        let twice = format!("run echo --provider steps --allow-unsigned --input word=a {other}");
        let told = session.rye(&twice);
        assert!(told.contains("input `word` is given twice"), "{told}");
    }
}
