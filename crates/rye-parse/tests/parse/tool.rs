//! Tool manifests and script headers.

use rye_parse::{Executor, ToolManifest, tool};

use crate::{refused, rows};

const SCHEMA: &str = "description: d\ninput_schema: {type: object}\n";

#[track_caller]
fn executed(yaml: &str) -> Executor {
    tool(&format!("{SCHEMA}{yaml}"), "yaml").expect("readable").executor
}

#[test]
fn builtin() {
    let Executor::Builtin { function, .. } =
        executed("executor: builtin\nbuiltin: file-system/read\n")
    else {
        panic!()
    };
    assert_eq!(function, "file-system/read");
}

#[test]
fn command() {
    let executor = executed("executor: command\ncommand: git\nargs: [log, -1]\ncwd: src\nenv: {A: b}\nnetwork: true\ntimeout_seconds: 5\n".replace("-1", "\"-1\"").as_str());
    let Executor::Command { command, args, cwd, env, network, timeout_seconds, .. } = executor
    else {
        panic!()
    };
    assert_eq!(
        (command.as_str(), args.join(" "), cwd.as_deref()),
        ("git", "log -1".to_owned(), Some("src"))
    );
    assert_eq!(
        (env.get("A").map(String::as_str), network, timeout_seconds),
        (Some("b"), true, Some(5))
    );
}

#[test]
fn http() {
    let executor = executed(
        "executor: http\nurl: https://x\nmethod: post\nheaders: {A: b}\nbody: {a: [1]}\ncredential: c\n",
    );
    let Executor::Http { url, method, headers, body, credential, .. } = executor else { panic!() };
    assert_eq!((url.as_str(), method.as_str(), headers.len()), ("https://x", "POST", 1));
    assert_eq!(body.expect("given").to_string(), r#"{"a":[1]}"#);
    assert_eq!(credential.as_deref(), Some("c"));
}

#[test]
fn mcp() {
    let executor = executed(
        "executor: mcp\nserver: s\ntool: t\nfixed_params: {action: create}\nparams_key: params\n",
    );
    let Executor::Mcp { server, tool, fixed_params, params_key, .. } = executor else { panic!() };
    assert_eq!((server.as_str(), tool.as_str(), params_key.as_deref()), ("s", "t", Some("params")));
    assert_eq!(fixed_params["action"], "create");
}

#[test]
fn both_names_of_the_schema() {
    let manifest = tool("description: d\nconfig_schema: {properties: {a: {type: string}}}\noutput_schema: {type: object}\nexecutor: builtin\nbuiltin: x\nversion: \"1\"\n", "yml").expect("readable");
    assert_eq!(manifest.input_schema.to_string(), r#"{"properties":{"a":{"type":"string"}}}"#);
    assert_eq!(manifest.output_schema.expect("given").to_string(), r#"{"type":"object"}"#);
    assert_eq!(manifest.version.as_deref(), Some("1"));
}

#[track_caller]
fn yaml_refused(marked: &str, messages: &[&str]) {
    refused(|source| tool(source, "yaml"), marked, messages);
}

rows! { yaml_refused;
    nothing_given: "«««name: x»»»\n", &[
        "no `description` is given; add `description: …`",
        "no `input_schema` is given; for a tool without arguments, add `input_schema: {type: object}`",
        "no `executor` is given; add `executor: …`",
    ];
    unknown_executor: "description: d\ninput_schema: {}\n«executor»: comand\n", &[
        "unknown executor `comand`; did you mean `command`? valid: `builtin`, `command`, `http`, `mcp`",
    ];
    foreign_key: "description: d\ninput_schema: {}\nexecutor: command\ncommand: x\n«url»: y\n", &[
        "`url` does not belong to executor `command`; remove it; `command` takes `command`, `args`, `cwd`, `env`, `network`, `timeout_seconds`",
    ];
    unknown_key: "description: d\ninput_schema: {}\nexecutor: builtin\nbuiltin: x\n«descripton»: y\n", &[
        "unknown key `descripton`; did you mean `description`? valid: `builtin`, `description`, `version`, `executor`, `input_schema`, `config_schema`, `output_schema`, `name`, `title`, `category`, `author`, `tags`",
    ];
    wrong_types: "«description»: [d]\n«input_schema»: x\nexecutor: command\n«command»: 1\n«args»: {}\nenv: {«A»: 1}\n«network»: yes\n«timeout_seconds»: 1.5\n", &[
        "`description` is a list, not text",
        "`input_schema` is text, not a mapping",
        "`command` is a number, not text; quote it: `\"1\"`",
        "`args` is a mapping, not a list of texts",
        "`env.A` is a number, not text; quote it: `\"1\"`",
        "`network` is text, not `true` or `false`",
        "`timeout_seconds` is a number, not a whole number",
    ];
    schema_of_text: "description: d\ninput_schema:\n  «type»: string\nexecutor: builtin\nbuiltin: x\n", &["`input_schema.type` is `string`, not `object`"];
    both_schemas: "description: d\ninput_schema: {}\n«config_schema»: {}\nexecutor: builtin\nbuiltin: x\n", &[
        "the input schema is declared twice; keep `input_schema`",
    ];
    no_time: "description: d\ninput_schema: {}\nexecutor: command\ncommand: x\n«timeout_seconds»: 0\n", &[
        "`timeout_seconds` is `0`, not at least one second",
    ];
    fixed_argument: "description: d\ninput_schema: {properties: {id: {}, action: {}}}\nexecutor: mcp\nserver: s\ntool: t\nfixed_params: {«action»: create}\n", &[
        "argument `action` is declared twice; take it out of `fixed_params` or out of `properties` of `input_schema`",
    ];
    fixed_params_key: "description: d\nconfig_schema: {properties: {action: {}}}\nexecutor: mcp\nserver: s\ntool: t\nparams_key: all\nfixed_params: {action: create, «all»: 1}\n", &[
        "argument `all` is declared twice; take it out of `fixed_params` or out of `params_key`",
    ];
    unknown_method: "description: d\ninput_schema: {}\nexecutor: http\nurl: x\n«method»: fetch\n", &[
        "unknown method `FETCH`; did you mean `PATCH`? valid: `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`, `OPTIONS`",
    ];
}

#[track_caller]
fn script(source: &str, extension: &str) -> ToolManifest {
    tool(source, extension).expect("readable")
}

#[test]
fn scripts_in_both_comment_styles() {
    let manifest = script(
        "#!/usr/bin/env python3\n# rye:signed:x\n\n# /// rye\n# description: |\n#   one\n#\n#   two\n# input_schema:\n#   type: object\n# network: true\n# ///\nprint()\n",
        "py",
    );
    assert_eq!(manifest.description, "one\n\ntwo");
    let Executor::Script { extension, network, .. } = manifest.executor else { panic!() };
    assert_eq!((extension.as_str(), network), ("py", true));
    let manifest = script(
        "// /// rye\r\n// language: ts\r\n// description: d\r\n// input_schema: {}\r\n// timeout_seconds: 9\r\n// ///\r\n",
        "ts",
    );
    let Executor::Script { timeout_seconds, .. } = manifest.executor else { panic!() };
    assert_eq!(timeout_seconds, Some(9));
}

#[track_caller]
fn script_refused(marked: &str, extension: &str, messages: &[&str]) {
    refused(|source| tool(source, extension), marked, messages);
}

rows! { script_refused;
    no_header: "«»echo\n", "sh", &["no `/// rye` header found; start it with the lines `# /// rye`, YAML, `# ///`"];
    wrong_comment: "«»# /// rye\n# a: b\n# ///\n", "js", &["no `/// rye` header found; start it with the lines `// /// rye`, YAML, `// ///`"];
    unclosed: "«# /// rye»\n# description: d\n", "rb", &["the `/// rye` header is not closed; start each line with `# ` and end the header with `# ///`"];
    broken_off: "# /// rye\n# description: d\n«code()»\n# ///\n", "py", &["the `/// rye` header is not closed; start each line with `# ` and end the header with `# ///`"];
    no_space: "# /// rye\n«#description: d»\n# ///\n", "py", &["the `/// rye` header is not closed; start each line with `# ` and end the header with `# ///`"];
    foreign_in_script: "#!/bin/sh\n# /// rye\n# description: d\n# input_schema: {}\n# «executor»: command\n# «command»: x\n# ///\n", "sh", &[
        "`executor` does not belong to executor `script`; remove it; `script` takes `language`, `args`, `network`, `timeout_seconds`",
        "`command` does not belong to executor `script`; remove it; `script` takes `language`, `args`, `network`, `timeout_seconds`",
    ];
    unknown_in_script: "#!/bin/sh\n# /// rye\n# description: d\n# input_schema: {}\n# «network2»: true\n# ///\n", "sh", &[
        "unknown key `network2`; did you mean `network`? valid: `language`, `args`, `network`, `timeout_seconds`, `description`, `version`, `input_schema`, `config_schema`, `output_schema`, `name`, `title`, `category`, `author`, `tags`",
    ];
    no_language: "«»# /// rye\n# description: d\n# input_schema: {}\n# ///\n", "py", &[
        "nothing in the script says that it is a `.py`; begin it with a line such as `#!/usr/bin/env python3`, or add `language: py` to the header",
    ];
    other_language: "# /// rye\n# «language»: py\n# description: d\n# input_schema: {}\n# ///\n", "sh", &[
        "the header says `language: py`, and the file is a `.sh`; write `language: sh`, or give the file the extension `.py`",
    ];
    unknown_extension: "«»x", "exe", &["unknown extension `exe`; valid: `yaml`, `yml`, `py`, `sh`, `rb`, `js`, `ts`"];
}
