//! Checks of a tool's manifest whose keys are all valid (SPEC 5.1, 5.3).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rye_parse::{Executor, PlacedTool, ToolManifest, did_you_mean, nearest_name, quoted};
use rye_resolve::ItemId;
use rye_thread::{ArgumentSchema, count_values};
use rye_types::ItemKind;
use rye_web::HttpToolError;
use serde_json::Value;

use super::Finding;
use super::catalog::Catalog;
#[cfg(feature = "mcp")]
use crate::config::{SERVERS_FILE, policy_layers};
#[cfg(feature = "mcp")]
use crate::plan::{ServerFault, Servers};
use crate::plan::{namesake, parameters, request_of, template};
use crate::shipped::shipped_files;

/// Finds problems in the text alone.
pub(super) fn findings(tool: &PlacedTool) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tool.manifest.notes.iter().map(Finding::note).collect();
    findings.extend(schema_findings(tool, "input_schema", Some(&tool.manifest.input_schema)));
    findings.extend(schema_findings(tool, "output_schema", tool.manifest.output_schema.as_ref()));
    findings.extend(undeclared_requirements(tool));
    let misplaced = misplaced_arguments(tool);
    let is_placed = misplaced.is_empty();
    findings.extend(misplaced);
    findings.extend(unknown_function(tool));
    findings.extend(request(tool).filter(|_| is_placed));
    findings
}

/// Finds the problem that the configuration around the file causes.
pub(super) fn around(catalog: &Catalog<'_>, tool: &PlacedTool) -> Option<Finding> {
    let Executor::Mcp { server, tool: name, .. } = &tool.manifest.executor else { return None };
    let servers = catalog.servers.as_ref()?;
    if !servers.contains(server) {
        let near = did_you_mean(nearest_name(server, servers.iter().map(String::as_str)));
        let message = format!("no configuration has an MCP server `{server}`{near}");
        let finding = Finding::error("unknown-server", &message, tool.place(&["server"]));
        let help = "name a server of `.ai/config/mcp/servers.yaml`, or add it there";
        return Some(finding.with_label("no such server").with_help(help));
    }
    lock_finding(catalog, server, name, tool)
}

/// A tool that could not be granted apart from another one, because its id has dots where the other's has slashes.
pub(super) fn namesake_finding(
    catalog: &Catalog<'_>,
    id: &ItemId,
    tool: &PlacedTool,
) -> Option<Finding> {
    // Only an id with a dot has one, so that the ids are seldom gathered.
    let other = id.as_str().contains('.').then(|| catalog.ids(ItemKind::Tool))?;
    let other = namesake(id, other.into_iter())?;
    let message = format!("the capability of tool `{id}` is the one of `{other}`");
    let finding = Finding::error("one-capability", &message, tool.place(&["description"]));
    Some(finding.with_label("not offered to threads").with_help("rename the file"))
}

/// A server whose tools no thread is offered, in words.
pub(super) struct UnusableServer {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) help: String,
}

/// Returns the server of a tool if no thread is offered the tool: the project's lock does not have the server, or the policy or
/// the signer of its configuration does not allow to start or ask it.
#[cfg(feature = "mcp")]
pub(super) fn unusable_server(
    catalog: &Catalog<'_>,
    tool: &ToolManifest,
) -> Option<UnusableServer> {
    let Executor::Mcp { server, .. } = &tool.executor else { return None };
    if !catalog.servers.as_ref()?.contains(server) {
        return None;
    }
    if catalog.lock.as_ref()?.server(server).is_none() {
        return Some(UnusableServer {
            code: "unlocked-server",
            message: format!("what the MCP server `{server}` offers is not locked yet"),
            help: format!(
                "look at it with `rye mcp discover {server}`, then `rye lock --server {server}`"
            ),
        });
    }
    // Configuration that is unsigned or broken is told at its file.
    let servers = Servers::of(catalog.project, None).ok()?;
    let policy = policy_layers(catalog.project.trust_config.as_ref()).unwrap_or_default();
    match servers.server(server, &policy) {
        Err(ServerFault::Refused(message)) => Some(UnusableServer {
            code: "refused-server",
            message,
            help: format!(
                "read `{server}` in `.ai/config/{SERVERS_FILE}.yaml`, and have it signed by a key that may, or allow it to that key"
            ),
        }),
        _ => None,
    }
}

#[cfg(not(feature = "mcp"))]
pub(super) fn unusable_server(_: &Catalog<'_>, _: &ToolManifest) -> Option<UnusableServer> {
    None
}

/// A tool that the lock of its server does not have is not offered to a thread.
#[cfg(feature = "mcp")]
fn lock_finding(
    catalog: &Catalog<'_>,
    server: &str,
    name: &str,
    tool: &PlacedTool,
) -> Option<Finding> {
    if let Some(UnusableServer { code, message, help }) = unusable_server(catalog, &tool.manifest) {
        let finding = Finding::warning(code, &message, tool.place(&["server"]));
        return Some(finding.with_label("its tools are not offered").with_help(&help));
    }
    let locked = catalog.lock.as_ref()?.server(server)?;
    if locked.has(name) {
        return None;
    }
    let names: Vec<&str> = locked.tools().map(|(name, _)| name).take(super::LISTED).collect();
    let near = did_you_mean(nearest_name(name, names.iter().copied()));
    let message = format!("the MCP server `{server}` offers no tool `{name}`{near}");
    let finding = Finding::error("unknown-server-tool", &message, tool.place(&["tool"]));
    let help = format!(
        "it has {}; if it offers more by now, `rye lock --server {server}` accepts that",
        quoted(names.iter().copied())
    );
    Some(finding.with_label("not in `.ai/rye.lock`").with_help(&help))
}

#[cfg(not(feature = "mcp"))]
fn lock_finding(_: &Catalog<'_>, _: &str, _: &str, _: &PlacedTool) -> Option<Finding> {
    None
}

/// The most values of a schema whose errors are told apart, and the most of these errors.
const MOST_VALUES: usize = 10_000;
const MOST_PROBLEMS: usize = 100;

/// Finds the errors of a schema, each at its place.
fn schema_findings(tool: &PlacedTool, key: &str, schema: Option<&Value>) -> Vec<Finding> {
    let Some(schema) = schema else { return Vec::new() };
    let Err(unusable) = ArgumentSchema::new(schema) else { return Vec::new() };
    // The library keeps all problems before it returns the first one.
    let meta =
        (count_values(schema) <= MOST_VALUES).then(|| jsonschema::meta::validator_for(schema));
    let errors: Vec<_> = meta
        .iter()
        .flatten()
        .flat_map(|meta| meta.as_ref().iter_errors(schema).take(MOST_PROBLEMS))
        .map(|error| error.to_owned())
        .collect();
    if errors.is_empty() {
        // The form is right, and a part means nothing or costs too much, such as a pattern or a reference.
        let message = format!("`{key}` is no JSON schema that can be used: {unusable}");
        let path: Vec<&str> = unusable.path.split('/').skip(1).collect();
        let path: Vec<&str> = std::iter::once(key).chain(path).collect();
        let finding = Finding::error("bad-schema", &message, tool.place(&path));
        return vec![finding.with_label("no tool could use it")];
    }
    let finding = |error: &jsonschema::ValidationError<'_>| {
        let pointer = error.instance_path().to_string();
        let within: Vec<&str> = pointer.split('/').skip(1).collect();
        let path: Vec<&str> = std::iter::once(key).chain(within.iter().copied()).collect();
        let word = within.last().filter(|name| **name == "type").and(no_type(error.instance()));
        let message = match word {
            Some(word) => {
                let near = did_you_mean(nearest_name(word, TYPES));
                format!("`{word}` is no type of JSON schema; there are {}{near}", quoted(TYPES))
            }
            None => format!("`{key}` is no JSON schema: {error}"),
        };
        Finding::error("bad-schema", &message, tool.place(&path)).with_label("no tool could use it")
    };
    let mut findings: Vec<Finding> = errors.iter().map(finding).collect();
    // A part of a schema may be wrong by several rules of the same text.
    findings.dedup();
    findings
}

/// The word among the types that is none.
fn no_type(types: &Value) -> Option<&str> {
    let words = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
    words.iter().filter_map(Value::as_str).find(|word| !TYPES.contains(word))
}

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Arguments that are required and described nowhere: a caller cannot know them, and where no others are allowed, cannot give
/// them.
fn undeclared_requirements(tool: &PlacedTool) -> Vec<Finding> {
    let schema = &tool.manifest.input_schema;
    let (Some(properties), Some(required)) = (
        schema.get("properties").and_then(Value::as_object),
        schema.get("required").and_then(Value::as_array),
    ) else {
        return Vec::new();
    };
    let names = required.iter().enumerate().filter_map(|(at, name)| Some((at, name.as_str()?)));
    let undeclared = names.filter(|(_, name)| !properties.contains_key(*name));
    undeclared
        .map(|(at, name)| {
            let near = did_you_mean(nearest_name(name, properties.keys().map(String::as_str)));
            let message = format!("`{name}` is required and is no property{near}");
            let place = tool.place(&["input_schema", "required", &at.to_string()]);
            match schema.get("additionalProperties") == Some(&Value::Bool(false)) {
                true => Finding::error("undeclared-property", &message, place)
                    .with_label("no call fits the schema"),
                false => Finding::warning("undeclared-property", &message, place)
                    .with_label("not among `properties`"),
            }
        })
        .collect()
}

/// Places for arguments in texts that take none, or for arguments that the schema does not have.
fn misplaced_arguments(tool: &PlacedTool) -> Vec<Finding> {
    let parameters = parameters(&tool.manifest.input_schema);
    let mut findings = Vec::new();
    for (path, text) in texts(&tool.manifest.executor) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let fixed = path.first().filter(|key| ["command", "cwd"].contains(*key));
        let message = match fixed {
            Some(key) if !rye_parse::placeholders(text).is_empty() => {
                format!("`{key}` has a placeholder, which `command` and `cwd` may not have")
            }
            Some(_) => continue,
            None => match template(text, &parameters) {
                Ok(_) => continue,
                Err(reason) => format!("`{}`: {reason}", path.join(".")),
            },
        };
        let finding = Finding::error("misplaced-argument", &message, tool.place(&path));
        let help = match (fixed, parameters.as_slice()) {
            (Some(_), _) => "put it into `args` or `env`".to_owned(),
            (None, []) => "add it to `properties` of the input schema".to_owned(),
            (None, names) => format!(
                "add it to `properties` of the input schema, or use one of {}",
                quoted(names.iter().map(String::as_str))
            ),
        };
        findings.push(finding.with_label("no such argument").with_help(&help));
    }
    findings
}

/// The texts of an executor that arguments may be placed in, each with its keys.
fn texts(executor: &Executor) -> Vec<(Vec<String>, &str)> {
    let key = |key: &str| vec![key.to_owned()];
    let below = |above: &str, name: String| vec![above.to_owned(), name];
    let mut texts = Vec::new();
    match executor {
        Executor::Command { command, args, cwd, env, .. } => {
            texts.push((key("command"), command.as_str()));
            texts.extend(cwd.as_ref().map(|cwd| (key("cwd"), cwd.as_str())));
            let args = args.iter().enumerate();
            texts.extend(args.map(|(at, text)| (below("args", at.to_string()), text.as_str())));
            texts
                .extend(env.iter().map(|(name, text)| (below("env", name.clone()), text.as_str())));
        }
        Executor::Http { url, headers, body, .. } => {
            texts.push((key("url"), url.as_str()));
            let headers = headers.iter();
            texts.extend(
                headers.map(|(name, text)| (below("headers", name.clone()), text.as_str())),
            );
            body.iter().for_each(|body| add_texts(body, key("body"), &mut texts));
        }
        Executor::Script { args, .. } => {
            let args = args.iter().enumerate();
            texts.extend(args.map(|(at, text)| (below("args", at.to_string()), text.as_str())));
        }
        _ => {}
    }
    texts
}

fn add_texts<'v>(value: &'v Value, path: Vec<String>, texts: &mut Vec<(Vec<String>, &'v str)>) {
    let below = |name: String| path.iter().cloned().chain([name]).collect();
    match value {
        Value::String(text) => texts.push((path, text)),
        Value::Array(values) => {
            let values = values.iter().enumerate();
            values.for_each(|(at, value)| add_texts(value, below(at.to_string()), texts));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| add_texts(value, below(name.clone()), texts));
        }
        _ => {}
    }
}

/// A function that this program does not have.
fn unknown_function(tool: &PlacedTool) -> Option<Finding> {
    let Executor::Builtin { function, .. } = &tool.manifest.executor else { return None };
    if FUNCTIONS.contains(function) {
        return None;
    }
    let near = did_you_mean(nearest_name(function, FUNCTIONS.iter().map(String::as_str)));
    let message = format!("this version has no builtin function `{function}`{near}");
    let finding = Finding::error("unknown-function", &message, tool.place(&["builtin"]));
    let help = format!("name one of {}", quoted(FUNCTIONS.iter().map(String::as_str)));
    Some(finding.with_label("no such function").with_help(&help))
}

/// The functions of this program: each has a shipped tool.
static FUNCTIONS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let manifests = shipped_files().iter().filter(|file| file.path.starts_with("tools/"));
    let manifests = manifests.filter_map(|file| rye_parse::tool(file.text, "yaml").ok());
    manifests
        .filter_map(|manifest| match manifest.executor {
            Executor::Builtin { function, .. } => Some(function),
            _ => None,
        })
        .collect()
});

/// The reason why a manifest makes no request, whatever the operator allows.
fn request(tool: &PlacedTool) -> Option<Finding> {
    let error = http_problem(&tool.manifest)?;
    let path = match &error {
        HttpToolError::Method { .. } => ["method"].as_slice(),
        HttpToolError::Header { name } => &["headers", name.as_str()],
        HttpToolError::Body { .. } | HttpToolError::TextBody => &["body"],
        HttpToolError::Unplaced { name } => &["input_schema", "properties", name.as_str()],
        _ => &["url"],
    };
    let finding = Finding::error("bad-request", &error.to_string(), tool.place(path));
    Some(finding.with_label("no request can be made"))
}

fn http_problem(manifest: &ToolManifest) -> Option<HttpToolError> {
    let Executor::Http { .. } = &manifest.executor else { return None };
    request_of(manifest).ok()?.check().err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_shipped_tool() {
        assert!(rye_tools::builtins().all(|function| FUNCTIONS.contains(function)));
        for function in [rye_tools::BASH, rye_web::FETCH, "agent/threads/wait", "core/create_item"]
        {
            assert!(FUNCTIONS.contains(function), "{function}");
        }
    }
}
