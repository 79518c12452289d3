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
    told_of(&session, "")
}

/// Everything that is said of these paths of a project.
fn told_of(session: &Session, paths: &str) -> String {
    let output = session.raw(&format!("check --json --trust TRUST {paths}"));
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

/// Definitions that each refer to the next one twice.
fn tower(levels: usize) -> String {
    let level = |level| {
        let next = format!("{{$ref: \"#/$defs/a{}\"}}", level + 1);
        format!("    a{level}: {{anyOf: [{next}, {next}], unevaluatedProperties: false}}\n")
    };
    let levels_of_it: String = (0..levels).map(level).collect();
    format!(
        "  properties: {{p: {{type: string}}}}\n  allOf: [{{$ref: \"#/$defs/a0\"}}]\n  $defs:\n\
         {levels_of_it}    a{levels}: {{type: object}}"
    )
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
        ("too costly", TOOL, command(&tower(24))),
        ("endless", TOOL, command("  properties: {p: {type: string}}\n  allOf: [{$ref: \"#\"}]")),
        (
            "capability of another tool",
            ".ai/tools/rye.file-system.read.yaml",
            command("  properties: {p: {type: string}}"),
        ),
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
    // A run refuses the directive before its first request, so that the step is an error.
    let calling = directive("", "", &step("call", &call("my/t", &[])));
    let calling = calling.replace("rye.file-system.*", "my.t");
    let called =
        told(&[(TOOL, &tool.replace("nots", "notes")), (SERVERS, servers), (FILE, &calling)]);
    insta::assert_snapshot!(format!(
        "unknown\n{unknown}not locked\n{unlocked}nowhere\n{}called\n{called}",
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

/// A path that an event does not have is never there, so that a hook with it does nothing, or always fails.
const HOOKS: &str = ".ai/config/agent/hooks.yaml";

/// A directive with a hook that writes a file.
fn hook_of_directive(event: &str, when: &str, content: &str) -> String {
    let call = call("rye/file-system/write", &[("path", "a.txt"), ("content", content)]);
    let hook =
        format!("<hooks><hook id=\"h\" event=\"{event}\"><when>{when}</when>{call}</hook></hooks>");
    directive(&hook, "<inputs><input name=\"folder\">x</input></inputs>", &list())
}

/// A hooks file with a hook that writes a file.
fn hook_of_file(event: &str, rest: &str) -> String {
    format!(
        "hooks:\n  - id: h\n    event: {event}\n    {rest}\n    action: {{primary: execute, item_type: tool, item_id: rye/file-system/write, params: {{path: a, content: b}}}}\n"
    )
}

#[test]
fn items_that_conditions_compare() {
    let (xml, yaml) = (hook_of_directive, hook_of_file);
    insta::assert_snapshot!(
        "called_items",
        all(&[
            (
                "misspelt",
                FILE,
                xml("after_step", "called_items contains \"rye/file-system/sl\"", "x")
            ),
            (
                "as a pattern",
                FILE,
                xml("after_step", "called_items contains \"rye.file-system.ls\"", "x")
            ),
            ("equal", FILE, xml("after_step", "called_items eq \"rye/file-system/ls\"", "x")),
            (
                "one call",
                FILE,
                xml("after_step", "calls.0.item_id eq \"rye.file-system.lss\"", "x")
            ),
            (
                "nested",
                HOOKS,
                yaml(
                    "after_step",
                    "condition: {not: {path: called_items, op: contains, value: nothing/like}}"
                )
            ),
        ])
    );
}

#[test]
fn data_of_events() {
    let (xml, yaml) = (hook_of_directive, hook_of_file);
    insta::assert_snapshot!(all(&[
        ("condition", FILE, xml("limit", "limit.nmae eq \"turns\"", "x")),
        ("action", FILE, xml("limit", "limit.final eq true", "${limit.nmae} of ${limit.maximum}")),
        ("of another event", FILE, xml("after_step", "state eq \"completed\"", "x")),
        ("without an index", FILE, xml("after_step", "calls.name eq \"a\"", "x")),
        ("input", FILE, xml("after_step", "cost.turns gt 1", "${inputs.foldr}")),
        ("nested", HOOKS, yaml("error", "condition: {any: [{path: error.tpye, op: eq, value: auth}]}")),
        ("opening", HOOKS, yaml("thread_started", "when: cost.turns gt 1").replace("execute, item_type: tool, item_id: rye/file-system/write, params: {path: a, content: b}", "load, item_type: knowledge, item_id: notes/index-style")),
        ("chain", HOOKS, "hooks:\n  - {id: h, event: resolve_extends, extends: notes/base, when: directive.nam eq \"a\"}\n".to_owned()),
    ]));
    let good = [
        xml(
            "after_step",
            "called_items contains \"rye/file-system/ls\" and calls.0.item_id exists",
            "${text}",
        ),
        xml(
            "after_complete",
            "error.type eq \"auth\" or state eq \"completed\"",
            "${inputs.folder} ${cost}",
        ),
        xml("directive_return", "outputs.any.thing exists", "${outputs}"),
    ];
    for text in good {
        assert_eq!(all(&[("", FILE, text)]), "\n");
    }
}

/// The first of the directives that a hook of the project acts in tells what all of them lack.
#[test]
fn permissions_that_hooks_of_the_project_lack() {
    let text = directive("", "", &list());
    let hooks = "hooks:\n  - id: h\n    event: after_step\n    action: {primary: execute, item_type: tool, item_id: rye/bash/bash, params: {command: ls}}\n";
    let other = text.replace("name=\"try\"", "name=\"other\"");
    let session = Session::new();
    session.put(FILE, &text);
    session.put(".ai/directives/other.md", &other);
    session.put(".ai/config/agent/hooks.yaml", hooks);
    session.rye("keys generate");
    session.rye("sign .ai");
    insta::assert_snapshot!(told_of(&session, ""));
}

#[test]
fn calls_of_hooks_files() {
    let hooks = |action: &str| {
        format!("hooks:\n  - id: h\n    event: after_step\n    action: {{{action}}}\n")
    };
    let write = "primary: execute, item_type: tool, item_id: rye/file-system/write";
    insta::assert_snapshot!(all(&[
        ("missing", HOOKS, hooks(&format!("{write}, params: {{path: a}}"))),
        ("option", HOOKS, hooks(&format!("{write}, params: {{path: a, content: b}}, async: true"))),
    ]));
}

#[test]
fn permissions_for_items_that_are_not_there() {
    let granting = |tools: &str| {
        directive("", "", &list()).replace(
            "<tool>rye.file-system.*</tool>",
            &format!("<tool>rye.file-system.ls</tool>{tools}"),
        )
    };
    insta::assert_snapshot!(all(&[
        ("near", FILE, granting("<tool>rye.file-system.wirte</tool>")),
        ("far", FILE, granting("<tool>zzz.yyy</tool>")),
        ("wildcard", FILE, granting("<tool>rye.file-systen.*</tool>")),
    ]));
}

/// A call of a directive is judged by what its tool's file says, which no run would use before it is signed.
#[test]
fn items_that_are_not_verified() {
    let session = Session::new();
    let context = "<context><before>notes/index-style</before></context>";
    let text =
        directive(context, "", &step("a", &call("my/t", &[]))).replace("rye.file-system.*", "my.t");
    session.put(FILE, &text);
    session.put(TOOL, &manifest("executor: command\ncommand: ls\ninput_schema: {type: object}"));
    session.change(".ai/knowledge/notes/index-style.md", "index", "list");
    let alone = told_of(&session, FILE);
    let with_its_tool = told_of(&session, &format!("{FILE} {TOOL} .ai/knowledge"));
    insta::assert_snapshot!(format!("alone\n{alone}with its tool\n{with_its_tool}"));
}

/// A signed file can still be one that no run accepts.
#[test]
fn a_risk_table_that_no_run_accepts_is_an_error_at_its_file() {
    let session = Session::new();
    session.rye("keys generate");
    let file = ".ai/config/agent/capability_risk.yaml";
    session.put(
        file,
        "classifications:\n  - { patterns: [rye.execute.tool.rye.bash.*], risk: safe, description: mine }\n",
    );
    let signed = session.rye(&format!("sign {file}"));
    assert!(signed.ends_with("--- exit 0\n"), "{signed}");
    let checked = session.rye(&format!("check {file} --json"));
    assert!(checked.contains("\"code\": \"unusable-risk\""), "{checked}");
    assert!(
        checked.contains("a project may not lower the risk") && checked.ends_with("--- exit 1\n")
    );
}
