//! One mistake each, as a newcomer makes it, and all that `rye check` says of it: where, what, and what to do.

use serde_json::Value;

use crate::session::Session;

const FILE: &str = ".ai/directives/try.md";
const TOOL: &str = ".ai/tools/my/t.yaml";

/// A directive with these steps, and something in the places that a newcomer gets wrong.
fn directive(metadata: &str, ports: &str, steps: &str) -> String {
    let limits = if metadata.contains("<limits") { "" } else { "<limits turns=\"4\" />" };
    format!(
        "# Try\n\n```xml\n<directive name=\"try\" version=\"1.0.0\">\n<metadata>\n<description>Tries.</description>\n\
         <author>ada</author>\n<model tier=\"fast\" />\n{limits}\n<permissions><execute><tool>rye.file-system.*</tool>\
         </execute></permissions>\n{metadata}\n</metadata>\n{ports}\n</directive>\n```\n\n<process>\n{steps}\n</process>\n"
    )
}

fn step(name: &str, calls: &str) -> String {
    format!("<step name=\"{name}\">{calls}</step>\n")
}

fn call(tool: &str, parameters: &[(&str, &str)]) -> String {
    let parameter =
        |(name, value): &(&str, &str)| format!("<param name=\"{name}\" value=\"{value}\" />");
    let parameters: String = parameters.iter().map(parameter).collect();
    format!("<execute item_type=\"tool\" item_id=\"{tool}\">{parameters}</execute>")
}

const LS: &str = "rye/file-system/ls";
const READ: &str = "rye/file-system/read";
const RETURN: &str = "rye/agent/threads/directive_return";

fn list() -> String {
    step("list", &call(LS, &[("path", ".")]))
}

fn hook(call: &str) -> String {
    format!("<hooks><hook id=\"h\" event=\"after_step\">{call}</hook></hooks>")
}

fn manifest(rest: &str) -> String {
    format!("description: T.\n{rest}\n")
}

/// Everything that is said of a project with these files beside the notes that they are unsigned.
fn told(files: &[(&str, &str)]) -> String {
    let session = Session::new();
    files.iter().for_each(|(path, text)| session.put(path, text));
    let output = session.raw("check --json --trust TRUST");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = found["files"].as_array().unwrap().iter();
    let problems = files.flat_map(|file| file["problems"].as_array().unwrap());
    let mut told = String::new();
    for row in problems.filter(|row| row["code"] != "unsigned") {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let place = format!("{}:{}", row["line"], row["column"]);
        told += &format!("  {} {} {place}: {}\n", text("severity"), text("code"), text("message"));
        if !text("help").is_empty() {
            told += &format!("    help: {}\n", text("help"));
        }
    }
    session.steady(&told)
}

/// What is said of each of these mistakes.
fn all(mistakes: &[(&str, &str, String)]) -> String {
    let shown =
        mistakes.iter().map(|(name, path, text)| format!("{name}\n{}", told(&[(path, text)])));
    shown.collect()
}

#[test]
fn parameters_of_calls() {
    let of_steps = |steps: &str| directive("", "", steps);
    let of_hook = |parameters: &[(&str, &str)]| {
        directive(&hook(&call("rye/file-system/write", parameters)), "", &list())
    };
    insta::assert_snapshot!(all(&[
        ("unknown", FILE, of_steps(&step("a", &call(LS, &[("pth", ".")])))),
        ("missing", FILE, of_steps(&step("a", &call("rye/file-system/write", &[])))),
        ("missing one", FILE, of_steps(&step("a", &call(READ, &[("limit", "3")])))),
        ("unfit", FILE, of_steps(&step("a", &call(READ, &[("path", "a"), ("limit", "three")])))),
        ("of an alias", FILE, of_steps(&step("a", &call("fs_read", &[("file", "a")])))),
        ("attribute", FILE, of_steps(&step("a", "<execute item_type=\"tool\" item_id=\"rye/file-system/ls\" path=\".\" />"))),
        ("without a type", FILE, of_steps(&step("a", "<execute item_id=\"rye/file-system/ls\"><param name=\"path\" value=\".\" /></execute>"))),
        ("search", FILE, of_steps(&step("a", "<search item_type=\"tool\" quer=\"x\" />"))),
        ("markdown", FILE, of_steps("").replace("<process>\n\n</process>", "## Look\n\n`rye_execute(item_type=\"tool\", item_id=\"rye/file-system/read\", parameters={\"path\": \"a\", \"limit\": 0})`")),
        ("hook", FILE, of_hook(&[("pth", "x"), ("content", "${cost.turns}")])),
        ("returned", FILE, directive("", "<outputs><output name=\"n\" type=\"integer\" required=\"true\">x</output></outputs>", &step("a", &call(RETURN, &[("m", "3")])))),
    ]));
}

/// What a model or an input fills in is not judged, and a call of the right form is not told of.
#[test]
fn parameters_that_fit_or_are_not_known_yet() {
    let inputs =
        "<inputs><input name=\"limit\" type=\"integer\" required=\"true\">x</input></inputs>";
    let steps = [
        step("list", &call(LS, &[("path", "."), ("hidden", "true")])),
        step("read", &call(READ, &[("path", "${steps.list.listing}"), ("limit", "{input:limit}")])),
    ];
    assert_eq!(all(&[("", FILE, directive("", inputs, &steps.concat()))]), "\n");
    let steps = "## Look\n\n`rye_execute(item_type=\"tool\", item_id=\"rye/file-system/read\", parameters={\"path\": \"<the file>\", \"limit\": \"<how many lines>\"})`";
    let text = directive("", "", "").replace("<process>\n\n</process>", steps);
    assert_eq!(all(&[("", FILE, text)]), "\n");
}

#[test]
fn inputs_of_a_directive_that_a_step_executes() {
    let sub = directive(
        "",
        "<inputs><input name=\"folder\" required=\"true\">x</input><input name=\"depth\" type=\"integer\">x</input></inputs>",
        &step("a", &call(LS, &[("path", "{input:folder}")])),
    );
    let execute = "<execute item_type=\"directive\" item_id=\"sub\"><param name=\"fodler\" value=\"x\" /><param name=\"depth\" value=\"two\" /></execute>";
    let granted = directive("", "", &step("a", execute))
        .replace("</execute></permissions>", "<directive>sub</directive></execute></permissions>");
    let files = [
        (FILE, granted.as_str()),
        (".ai/directives/sub.md", &sub.replace("name=\"try\"", "name=\"sub\"")),
    ];
    insta::assert_snapshot!(told(&files));
}

#[test]
fn results_of_steps() {
    let read = |path: &str| step("read", &call(READ, &[("path", path)]));
    let of_steps = |steps: &[String]| directive("", "", &steps.concat());
    let wanting =
        "<outputs><output name=\"summary\" type=\"string\" required=\"true\">x</output></outputs>";
    insta::assert_snapshot!(all(&[
        ("later", FILE, of_steps(&[read("${steps.list.listing}"), list()])),
        ("itself", FILE, of_steps(&[read("${steps.read.content}")])),
        ("nowhere", FILE, of_steps(&[list(), read("${steps.lists.listing}")])),
        ("without a call", FILE, of_steps(&[step("think", "Think."), read("${steps.think.path}")])),
        ("no such key", FILE, of_steps(&[list(), read("${steps.list.listin}")])),
        ("no such output", FILE, directive("", wanting, &list())),
    ]));
}

#[test]
fn limits_that_allow_nothing() {
    let limited = |limits: &str| directive(&format!("<limits {limits} />"), "", &list());
    insta::assert_snapshot!(all(&[
        ("turns", FILE, limited("turns=\"0\"")),
        ("tokens and duration", FILE, limited("max_tokens=\"0\" duration_seconds=\"0\"")),
        ("currency", FILE, limited("turns=\"1\" spend=\"1\" spend_currency=\"EUR\"")),
    ]));
    // A thread may start none, and steps cost nothing.
    assert_eq!(
        all(&[("", FILE, limited("turns=\"4\" spawns=\"0\" depth=\"0\" spend=\"0\""))]),
        "\n"
    );
}

#[test]
fn types_of_inputs_and_outputs() {
    let ports = |ports: &str| directive("", ports, &list());
    insta::assert_snapshot!(all(&[
        ("input", FILE, ports("<inputs><input name=\"n\" type=\"strng\">x</input></inputs>")),
        (
            "enum",
            FILE,
            ports("<inputs><input name=\"n\" type=\"integer\" enum=\"1,two\">x</input></inputs>")
        ),
        (
            "default",
            FILE,
            ports("<inputs><input name=\"n\" type=\"integer\" default=\"two\">x</input></inputs>")
        ),
        ("output", FILE, ports("<outputs><output name=\"n\" type=\"int\">x</output></outputs>")),
    ]));
}

#[test]
fn schemas_of_tools() {
    let command = |schema: &str| {
        manifest(&format!(
            "executor: command\ncommand: ls\nargs: [\"{{input:p}}\"]\ninput_schema:\n  type: object\n{schema}"
        ))
    };
    let script = "#!/usr/bin/env python3\n# /// rye\n# description: T.\n# input_schema:\n#   type: object\n#   properties:\n#     n: {type: intger}\n# ///\nprint(1)\n";
    insta::assert_snapshot!(all(&[
        (
            "type",
            TOOL,
            command("  properties:\n    p: {type: sting}\n    q: {type: [string, nul]}")
        ),
        ("required of one", TOOL, command("  properties:\n    p: {type: string, required: true}")),
        ("no schema", TOOL, command("  properties:\n    p: string")),
        ("pattern", TOOL, command("  properties:\n    p: {type: string, pattern: \"[\"}")),
        (
            "required",
            TOOL,
            command(
                "  properties:\n    p: {type: string}\n  required: [pp]\n  additionalProperties: false"
            )
        ),
        ("script", ".ai/tools/my/t.py", script.to_owned()),
        (
            "of results",
            TOOL,
            command(
                "  properties:\n    p: {type: string}\noutput_schema: {properties: {n: {type: number, minimum: low}}}"
            )
        ),
    ]));
}

#[test]
fn what_tools_run() {
    insta::assert_snapshot!(all(&[
        (
            "argument",
            TOOL,
            manifest(
                "executor: command\ncommand: ls\nargs: [-l, \"{input:path}\"]\nenv: {A: \"{input:b}\"}\ninput_schema: {type: object}"
            )
        ),
        (
            "program",
            TOOL,
            manifest(
                "executor: command\ncommand: \"{input:p}\"\ninput_schema: {type: object, properties: {p: {type: string}}}"
            )
        ),
        (
            "function",
            TOOL,
            manifest("executor: builtin\nbuiltin: file-system/reed\ninput_schema: {type: object}")
        ),
        (
            "body",
            TOOL,
            manifest(
                "executor: http\nurl: https://example.org/\nmethod: POST\nbody: {a: [\"{input:b}\"]}\ninput_schema: {type: object, properties: {c: {type: string}}}"
            )
        ),
        (
            "unplaced",
            TOOL,
            manifest(
                "executor: http\nurl: https://example.org/\ninput_schema:\n  type: object\n  properties:\n    c: {type: string}"
            )
        ),
        (
            "header",
            TOOL,
            manifest(
                "executor: http\nurl: https://example.org/\nheaders: {Host: a}\ninput_schema: {type: object}"
            )
        ),
    ]));
}

#[test]
fn inputs_where_no_value_is_placed() {
    let write = |content: &str| {
        hook(&call("rye/file-system/write", &[("path", "a.txt"), ("content", content)]))
    };
    let inputs = "<inputs><input name=\"folder\" required=\"true\">x</input></inputs>";
    let listed = step("list", &call(LS, &[("path", "{input:folder}")]));
    let with = |metadata: &str| directive(metadata, inputs, &listed);
    insta::assert_snapshot!(all(&[
        ("nowhere", FILE, directive("", "", &listed)),
        ("context", FILE, with("<context><before>Look in {input:folder}.</before></context>")),
        ("hook", FILE, with(&write("{input:folder}"))),
    ]));
    assert_eq!(all(&[("", FILE, with(&write("${inputs.folder}")))]), "\n");
}

#[test]
fn configuration_that_nothing_reads() {
    let said = |name: &str| {
        format!("{name}\n{}", told(&[(&format!(".ai/config/{name}.yaml"), "ask: []\n")]))
    };
    insta::assert_snapshot!(
        ["agent/aproval", "approval", "agent/trust", "agent/approval", "team/trust", "agent/x"]
            .map(said)
            .concat()
    );
}

#[cfg(feature = "mcp")]
#[test]
fn servers_of_tools() {
    let tool = manifest("executor: mcp\nserver: nots\ntool: create\ninput_schema: {type: object}");
    let servers = "servers:\n  notes: {command: notes-server}\n";
    const SERVERS: &str = ".ai/config/mcp/servers.yaml";
    let unknown = told(&[(TOOL, &tool), (SERVERS, servers)]);
    let unlocked = told(&[(TOOL, &tool.replace("nots", "notes")), (SERVERS, servers)]);
    insta::assert_snapshot!(format!(
        "unknown\n{unknown}not locked\n{unlocked}nowhere\n{}",
        told(&[(TOOL, &tool)])
    ));
}

/// A project's file is refused for what only the operator may say; each is told at its key.
#[test]
fn configuration_that_is_not_for_projects() {
    let config = |name: &'static str, text: &str| (name, text.to_owned());
    let mistakes = [
        config(
            "agent/web",
            "hosts: [example.org]\nprivate: [\"localhost:8080\"]\ncredentials: {bank: {env: BANK, origins: [\"https://bank.example\"]}}\n",
        ),
        config("agent/web", "hosts: [\"https://example.org/x\"]\n"),
        config("mcp/servers", "servers:\n  notes:\n    command: x\n    variables: [TOKEN]\n"),
        config(
            "mcp/servers",
            "servers:\n  notes: {command: x, url: \"https://e.org/mcp\"}\n  other: {}\n",
        ),
        config(
            "agent/processes",
            "memory_mib: 100\nruntimes: {py: [python3]}\nhome_visible: [.config/x]\n",
        ),
        config("providers", "variables: [MY_KEY]\n"),
        config("trust", "content_only: deny\nmetadata_only: allow\nsingle_host: true\n"),
    ];
    let shown = mistakes.iter().map(|(name, text)| {
        format!("{name}\n{}", told(&[(&format!(".ai/config/{name}.yaml"), text)]))
    });
    insta::assert_snapshot!(shown.collect::<String>());
}
