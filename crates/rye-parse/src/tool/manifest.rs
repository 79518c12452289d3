//! Parsing of tool manifests.

use serde_json::{Map, Value};

use super::{Executor, ToolManifest, script};
use crate::{Problem, ProblemKind, problem::Report, strict::Document, suggest::suggestion};

/// The executors that a YAML manifest may name.
const EXECUTORS: [&str; 4] = ["builtin", "command", "http", "mcp"];

/// The keys of every manifest. The last five are only descriptive.
const COMMON: [&str; 11] = [
    "description",
    "version",
    "executor",
    "input_schema",
    "config_schema",
    "output_schema",
    "name",
    "title",
    "category",
    "author",
    "tags",
];

const BUILTIN: [&str; 1] = ["builtin"];
const COMMAND: [&str; 6] = ["command", "args", "cwd", "env", "network", "timeout_seconds"];
const HTTP: [&str; 6] = ["url", "method", "headers", "body", "credential", "timeout_seconds"];
const MCP: [&str; 5] = ["server", "tool", "fixed_params", "params_key", "timeout_seconds"];
const SCRIPT: [&str; 4] = ["language", "args", "network", "timeout_seconds"];

/// The methods of an HTTP tool.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Parses a manifest. `script` is the extension of the file if the manifest is the header of a script.
pub(super) fn read(
    report: &mut Report<'_>,
    document: &Document,
    extension: Option<&str>,
) -> Option<ToolManifest> {
    let description = document.required_text(report, "description");
    let version = document.text(report, "version");
    let input_schema = input_schema(report, document);
    let output_schema = schema(report, document, "output_schema");
    let executor = match extension {
        Some(extension) => {
            script::check_language(report, document, extension);
            check_keys(report, document, "script", &SCRIPT);
            Some(Executor::Script {
                extension: extension.to_owned(),
                args: document.texts(report, "args"),
                network: document.flag(report, "network"),
                timeout_seconds: timeout(report, document),
            })
        }
        None => executor(report, document),
    };
    Some(ToolManifest {
        description: description?,
        version,
        executor: executor?,
        input_schema: input_schema?,
        output_schema,
        notes: Vec::new(),
    })
}

fn executor(report: &mut Report<'_>, document: &Document) -> Option<Executor> {
    let name = document.required_text(report, "executor")?;
    let keys: &[&str] = match name.as_str() {
        "builtin" => &BUILTIN,
        "command" => &COMMAND,
        "http" => &HTTP,
        "mcp" => &MCP,
        _ => {
            let kind =
                ProblemKind::UnknownValue { what: "executor".to_owned(), value: name.clone() };
            let problem = Problem::new(kind, document.place(&["executor"]), "not a known executor");
            report.error(problem.help(suggestion(&name, &EXECUTORS)));
            return None;
        }
    };
    check_keys(report, document, &name, keys);
    match name.as_str() {
        "builtin" => {
            Some(Executor::Builtin { function: document.required_text(report, "builtin")? })
        }
        "command" => command(report, document),
        "http" => http(report, document),
        _ => mcp(report, document),
    }
}

fn command(report: &mut Report<'_>, document: &Document) -> Option<Executor> {
    let command = document.required_text(report, "command");
    let args = document.texts(report, "args");
    let cwd = document.text(report, "cwd");
    let env = document.text_map(report, "env");
    let network = document.flag(report, "network");
    let timeout_seconds = timeout(report, document);
    Some(Executor::Command { command: command?, args, cwd, env, network, timeout_seconds })
}

fn http(report: &mut Report<'_>, document: &Document) -> Option<Executor> {
    let url = document.required_text(report, "url");
    let method =
        document.text(report, "method").unwrap_or_else(|| "GET".to_owned()).to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        let kind = ProblemKind::UnknownValue { what: "method".to_owned(), value: method.clone() };
        let problem = Problem::new(kind, document.place(&["method"]), "not a known method");
        report.error(problem.help(suggestion(&method, &METHODS)));
    }
    let headers = document.text_map(report, "headers");
    let body = document.value.get("body").filter(|body| !body.is_null()).cloned();
    let credential = document.text(report, "credential");
    let timeout_seconds = timeout(report, document);
    Some(Executor::Http { url: url?, method, headers, body, credential, timeout_seconds })
}

fn mcp(report: &mut Report<'_>, document: &Document) -> Option<Executor> {
    let server = document.required_text(report, "server");
    let tool = document.required_text(report, "tool");
    let fixed_params = document.mapping(report, "fixed_params").cloned().unwrap_or_default();
    let params_key = document.text(report, "params_key");
    let timeout_seconds = timeout(report, document);
    refuse_fixed_arguments(report, document, &fixed_params, params_key.as_deref());
    Some(Executor::Mcp { server: server?, tool: tool?, fixed_params, params_key, timeout_seconds })
}

/// Refuses arguments that callers give although the manifest fixes them.
fn refuse_fixed_arguments(
    report: &mut Report<'_>,
    document: &Document,
    fixed: &Map<String, Value>,
    params_key: Option<&str>,
) {
    let schema = ["input_schema", "config_schema"].map(|key| document.value.get(key));
    let properties = schema.into_iter().flatten().find_map(|schema| schema.get("properties"));
    let arguments = properties.and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let sent: Vec<&str> = match params_key {
        Some(key) => vec![key],
        None => arguments.map(String::as_str).collect(),
    };
    for name in sent.into_iter().filter(|name| fixed.contains_key(*name)) {
        let kind = ProblemKind::Duplicate { what: format!("argument `{name}`") };
        let place = document.place(&["fixed_params", name]);
        let problem = Problem::new(kind, place, "callers give it too");
        let other = params_key.map_or("`properties` of `input_schema`", |_| "`params_key`");
        report.error(problem.help(format!("take it out of `fixed_params` or out of {other}")));
    }
}

/// Returns a time limit of at least one second.
fn timeout(report: &mut Report<'_>, document: &Document) -> Option<u64> {
    let seconds = document.number(report, "timeout_seconds")?;
    if seconds == 0 {
        let kind = ProblemKind::BadValue {
            what: "`timeout_seconds`".to_owned(),
            value: "0".to_owned(),
            expected: "at least one second".to_owned(),
        };
        report.error(Problem::new(kind, document.place(&["timeout_seconds"]), "no time at all"));
    }
    Some(seconds)
}

/// Returns the schema of the arguments, under one of its two names.
fn input_schema(report: &mut Report<'_>, document: &Document) -> Option<Value> {
    let given = |key: &str| document.value.contains_key(key);
    match (given("input_schema"), given("config_schema")) {
        (true, true) => {
            let kind = ProblemKind::Duplicate { what: "the input schema".to_owned() };
            let problem = Problem::new(
                kind,
                document.place(&["config_schema"]),
                "the same as `input_schema`",
            );
            report.error(problem.help("keep `input_schema`"));
            None
        }
        (false, true) => schema(report, document, "config_schema"),
        (true, false) => schema(report, document, "input_schema"),
        (false, false) => {
            let kind = ProblemKind::MissingKey { key: "input_schema".to_owned() };
            let problem = Problem::new(kind, document.place(&[]), "`input_schema` is missing");
            report.error(
                problem.help("for a tool without arguments, add `input_schema: {type: object}`"),
            );
            None
        }
    }
}

/// Returns a JSON schema: a mapping whose `type`, if present, is `object`.
fn schema(report: &mut Report<'_>, document: &Document, key: &str) -> Option<Value> {
    let value = document.value.get(key)?;
    let Some(schema) = value.as_object() else {
        document.wrong(report, &[key], value, "a mapping");
        return None;
    };
    if let Some(other) = schema.get("type").filter(|kind| *kind != "object") {
        let kind = ProblemKind::BadValue {
            what: format!("`{key}.type`"),
            value: other.as_str().map_or_else(|| other.to_string(), str::to_owned),
            expected: "`object`".to_owned(),
        };
        report.error(Problem::new(kind, document.place(&[key, "type"]), "not `object`"));
        return None;
    }
    Some(value.clone())
}

/// Reports keys of other executors and unknown keys.
fn check_keys(report: &mut Report<'_>, document: &Document, executor: &str, own: &[&str]) {
    let foreign = [&BUILTIN[..], &COMMAND, &HTTP, &MCP].concat();
    let mut known = [own, &COMMON].concat();
    if executor == "script" {
        known.retain(|key| *key != "executor");
    }
    for key in document.value.keys().map(String::as_str) {
        if known.contains(&key) {
            continue;
        }
        if key == "executor" || foreign.contains(&key) {
            let kind =
                ProblemKind::ForeignKey { key: key.to_owned(), executor: executor.to_owned() };
            let problem = Problem::new(kind, document.place(&[key]), "not used by this executor");
            report.error(problem.help(format!(
                "remove it; `{executor}` takes {}",
                crate::suggest::quoted(own.iter().copied())
            )));
        } else {
            document.unknown(report, key, &known);
        }
    }
}
