//! Slips that a newcomer makes, and what is said of each: a name that is nearly right, and a text that nothing carries out.

use crate::session::Session;

const FILE: &str = ".ai/directives/notes/new.md";

fn directive(metadata: &str, outputs: &str, body: &str) -> String {
    format!(
        "# New\n\n```xml\n<directive name=\"new\" version=\"1.0.0\"><metadata><description>New.</description><category>notes</category>\
         <author>ada</author>{metadata}<limits turns=\"2\" /><permissions /></metadata>{outputs}</directive>\n```\n\n{body}\n"
    )
}

/// What `rye check` says of a directive with this model, these outputs and this body.
fn checked(session: &Session, metadata: &str, outputs: &str, body: &str) -> String {
    session.put(FILE, &directive(metadata, outputs, body));
    let told = session.rye(&format!("check {FILE}"));
    // Long messages are folded.
    let words: Vec<&str> = told.split_whitespace().filter(|word| *word != "│").collect();
    words.join(" ")
}

#[test]
fn a_tier_that_no_provider_has_is_a_warning() {
    let session = Session::new();
    session.rye("keys generate");
    for (model, is_told) in [
        ("tier=\"fsat\"", true),
        ("tier=\"fsat\" provider=\"gemini\"", true),
        ("tier=\"fast\"", false),
        ("tier=\"fsat\" provider=\"steps\"", false),
    ] {
        let told = checked(&session, &format!("<model {model} />"), "", "Say so.");
        let is_there = told.contains("unknown-tier") && told.contains("did you mean `fast`?");
        assert_eq!(is_there, is_told, "{model}: {told}");
    }
    checked(&session, "<model tier=\"fsat\" />", "", "Say so.");
    let signed = session.rye(&format!("sign {FILE}"));
    assert!(signed.contains("1 warning: `rye check"), "{signed}");
}

const FAST: &str = "<model tier=\"fast\" />";
const ANSWER: &str =
    "<outputs><output name=\"answer\" type=\"string\" required=\"true\">x</output></outputs>";

#[test]
fn the_tool_that_returns_outputs_is_suggested_by_its_whole_id() {
    let session = Session::new();
    let step = |inside: &str| format!("<process><step name=\"end\">{inside}</step></process>");
    let called = step(
        "<execute item_type=\"tool\" item_id=\"directive_return\"><param name=\"answer\" value=\"x\" /></execute>",
    );
    let told = checked(&session, FAST, ANSWER, &called);
    assert!(told.contains("did you mean `rye/agent/threads/directive_return`?"), "{told}");
    let whole = called.replace("\"directive_return\"", "\"rye/agent/threads/directive_return\"");
    let told = checked(&session, FAST, ANSWER, &whole);
    assert!(told.contains("0 errors, 0 warnings"), "{told}");
    let told = checked(&session, FAST, ANSWER, &step("<directive_return answer=\"x\" />"));
    assert!(told.contains("`<directive_return>` is no call, and nothing carries it out"), "{told}");
    assert!(told.contains("1 warning"), "{told}");
}

#[test]
fn a_thread_whose_file_was_edited_goes_on_only_with_the_text_that_it_began_with() {
    let session = Session::new();
    session.asks_before_it_writes();
    let ran = session.rye("run notes/index --provider steps --trust TRUST");
    assert!(ran.ends_with("--- exit 4\n"), "{ran}");
    session.change(".ai/directives/notes/index.md", "List the notes", "List all notes");
    let told = session.rye("resume THREAD --trust TRUST");
    assert!(
        told.contains("notes/index.md` was changed since it was signed; restore the file, because")
            && told.contains("or start the directive again"),
        "{told}"
    );
    assert!(!told.contains("rye sign") && told.ends_with("--- exit 3\n"), "{told}");
}

#[test]
fn a_receipt_is_verified_by_a_command_of_its_own() {
    let session = Session::new();
    session.rye("keys generate");
    session.rye("run notes/index --provider steps --trust TRUST");
    let made = session.rye("threads export THREAD --format receipt --output r.json --trust TRUST");
    assert!(made.ends_with("--- exit 0\n"), "{made}");
    let told = session.rye("verify r.json");
    let note = "note: it is the receipt of a thread, which `rye verify receipt FILE` verifies";
    assert!(told.contains(note) && told.ends_with("--- exit 3\n"), "{told}");
    session.put("other.json", "{}");
    assert!(!session.rye("verify other.json").contains("receipt"));
}

/// Each row is a command with the name of a file, and the id to write.
#[test]
fn the_name_of_a_file_is_no_id() {
    let session = Session::new();
    for (command, id) in [
        ("new directive notes/tidy.md", "notes/tidy"),
        ("new knowledge tidy.md", "tidy"),
        ("new tool count.py --script py", "count"),
        ("new tool count.yaml", "count"),
        ("new provider local.yaml", "local"),
    ] {
        let told = session.rye(command);
        let expected = format!("an id has no extension; write `{id}`");
        assert!(told.contains(&expected) && told.ends_with("--- exit 2\n"), "{told}");
    }
    assert!(!session.project().join(".ai/directives/notes/tidy.md.md").exists());
}

#[test]
fn a_misspelt_default_does_not_mean_steps() {
    let session = Session::new();
    session.rye("keys generate");
    let file = "../home/.ai/config/agent/providers.yaml";
    for (name, near) in [("stepps", None), ("gemni", Some("did you mean `gemini`?"))] {
        session.put(file, &format!("default: {name}\n"));
        session.rye(&format!("sign {file}"));
        let told = session.rye("run notes/index --trust TRUST");
        assert!(told.contains(&format!("there is no provider `{name}`; ")), "{told}");
        assert!(!told.contains("`steps`"), "{told}");
        assert!(near.is_none_or(|near| told.contains(near)), "{told}");
    }
}

#[cfg(feature = "mcp")]
#[test]
fn a_misspelt_server_is_suggested() {
    let session = Session::new();
    session.rye("keys generate");
    let file = ".ai/config/mcp/servers.yaml";
    session.put(file, "servers:\n  name: {command: \"true\"}\n");
    let signed = session.rye(&format!("sign {file}"));
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    let told = session.rye("mcp discover nme");
    assert!(told.contains("did you mean `name`?"), "{told}");
}
