//! What a newcomer breaks: the message of `rye check` and of `rye run` for each, which says what, where and how to mend it.

use crate::session::Session;

const FILE: &str = ".ai/directives/try.md";

/// A directive that lists folders by itself, with something in the places that a newcomer gets wrong.
fn directive(attributes: &str, metadata: &str, inputs: &str, steps: &str) -> String {
    format!(
        "# Try\n\n```xml\n<directive name=\"try\" version=\"1.0.0\"{attributes}>\n  <metadata>\n    \
         <description>Lists a folder.</description>\n    <author>ada</author>\n    <model tier=\"fast\" />\n    \
         {metadata}\n    <permissions><execute><tool>rye.file-system.ls</tool></execute></permissions>\n  \
         </metadata>\n{inputs}</directive>\n```\n\n<process>\n{steps}</process>\n"
    )
}

const LIMITS: &str = "<limits turns=\"4\" tokens=\"20000\" spend=\"0.05\" />";

fn step(name: &str, tool: &str) -> String {
    format!(
        "  <step name=\"{name}\">\n    <execute item_type=\"tool\" item_id=\"{tool}\"><param name=\"path\" value=\".\" /></execute>\n  </step>\n"
    )
}

fn list() -> String {
    step("list", "rye/file-system/ls")
}

/// Writes the directive, and shows what both commands say of it.
fn show(name: &str, session: &Session, run: &str) {
    insta::assert_snapshot!(format!("{name}_check"), session.rye("check .ai --trust TRUST"));
    insta::assert_snapshot!(
        format!("{name}_run"),
        session.rye(&format!("run {run} --provider steps --trust TRUST"))
    );
}

fn broken(text: &str) -> Session {
    let session = Session::new();
    session.put(FILE, text);
    session
}

#[test]
fn bad_xml() {
    let text = directive("", LIMITS, "", &list()).replace("  </metadata>\n", "");
    show("bad_xml", &broken(&text), "try --allow-unsigned");
}

/// A file that is unsigned and broken says both at once, and one that is unsigned alone says nothing else.
#[test]
fn unsigned_and_broken() {
    let steps = list() + &step("look", "rye/file-system/lst");
    let session = broken(&directive("", LIMITS, "", &steps));
    insta::assert_snapshot!(session.rye("render try --trust TRUST"));
    let text = directive("", LIMITS, "", &list()).replace("</permissions>", "</permisions>");
    let session = broken(&text);
    insta::assert_snapshot!(session.rye("run try --provider steps --trust TRUST"));
    session.put(".ai/tools/notes/count.yaml", "description: d\nexecutor: [command\n");
    insta::assert_snapshot!(session.rye("call notes/count"));
}

#[test]
fn wrong_input_type() {
    let inputs = "  <inputs><input name=\"depth\" type=\"integer\" default=\"two\">How deep</input></inputs>\n";
    let text = directive("", LIMITS, inputs, &list());
    show("wrong_input_type", &broken(&text), "try --allow-unsigned --input depth=three");
}

#[test]
fn unsigned() {
    show("unsigned", &broken(&directive("", LIMITS, "", &list())), "try");
}

#[test]
fn tampered() {
    let session = Session::new();
    session.change(".ai/directives/notes/index.md", "Writes an index", "Writes the index");
    show("tampered", &session, "notes/index");
}

#[test]
fn missing_permission() {
    let steps = list() + &step("look", "rye/file-system/read");
    show("missing_permission", &broken(&directive("", LIMITS, "", &steps)), "try --allow-unsigned");
}

#[test]
fn unknown_tool() {
    let steps = list() + &step("look", "rye/file-system/lst");
    show("unknown_tool", &broken(&directive("", LIMITS, "", &steps)), "try --allow-unsigned");
}

#[test]
fn unknown_context_item() {
    let context = format!("{LIMITS}\n    <context><before>notes/index-stile</before></context>");
    let text = directive("", &context, "", &list());
    show("unknown_context_item", &broken(&text), "try --allow-unsigned");
}

#[test]
fn extends_cycle() {
    let session = broken(&directive(" extends=\"again\"", LIMITS, "", &list()));
    let again = directive(" extends=\"try\"", LIMITS, "", &list());
    session.put(".ai/directives/again.md", &again.replace("name=\"try\"", "name=\"again\""));
    show("extends_cycle", &session, "try --allow-unsigned");
}

#[test]
fn over_budget() {
    let limits = "<limits turns=\"1\" tokens=\"20000\" spend=\"0.05\" />";
    let steps = list() + &step("once_more", "rye/file-system/ls");
    show("over_budget", &broken(&directive("", limits, "", &steps)), "try --allow-unsigned");
}

#[test]
fn bad_yaml() {
    let session = broken(&directive("", LIMITS, "", &list()));
    session.put(".ai/config/agent/resilience.yaml", "limits:\n  turns: 3\n tokens: 5\n");
    show("bad_yaml", &session, "try --allow-unsigned");
}

/// An unknown key of a manifest is an error with its place, although the signature may have a remark of a similar name.
#[test]
fn unknown_key() {
    let session = Session::new();
    let tool = "description: Counts.\nexecutor: command\ncommand: wc\ntimeout_second: 5\ninput_schema: { type: object }\n";
    session.put(".ai/tools/notes/count.yaml", tool);
    insta::assert_snapshot!(session.rye("check .ai/tools"));
}
