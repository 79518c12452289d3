//! Servers of MCP clients: the files of Claude, Cursor, VS Code, Codex, Gemini CLI and plugins, after their public documentation.

use serde_json::{Map, Value, json};

use super::{ImportError, Importer, unreadable};
use crate::fields::{Fields, scalar, shown};
use crate::format::{Format, SERVER_MEMBERS, json_value};
use crate::names;
use crate::report::Account as _;
use crate::report::Asked;
use crate::secrets;
use crate::source::SourceFile;

const FORMAT: Format = Format::McpServers;

/// The file that servers are written into.
const PATH: &str = "config/mcp/servers.yaml";

/// Imports the servers of a file.
pub(super) fn read(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let value = match file.path.ends_with(".toml") {
        true => {
            let text = importer.text(file, FORMAT)?;
            rye_parse::config(&text, "toml")
                .map_err(|error| unreadable(file, FORMAT, &error.to_string()))?
        }
        false => json_value(file).ok_or_else(|| unreadable(file, FORMAT, "it is no JSON"))?,
    };
    let Value::Object(members) = value else {
        return Err(unreadable(file, FORMAT, "it is no mapping"));
    };
    let mut fields = Fields::new(&file.path, members);
    if let Some(mut mcp) = fields.mapping("mcp") {
        if let Some(Value::Object(servers)) = mcp.take("servers") {
            all(importer, &file.path, "mcp.servers", servers);
        }
        mcp.finish(importer);
    }
    let member =
        SERVER_MEMBERS.into_iter().find(|member| fields.peek(member).is_some_and(Value::is_object));
    match member {
        Some(member) => {
            if let Some(Value::Object(servers)) = fields.take(member) {
                all(importer, &file.path, member, servers);
            }
            fields.leave(
                importer,
                "inputs",
                "the editor asks for them; Rye takes secrets from variables of the environment",
            );
            fields.finish(importer);
        }
        // The servers alone, as plugins may have them.
        None => {
            let names: Vec<String> = fields.names();
            for name in names {
                if let Some(server) = fields.mapping(&name) {
                    one(importer, server, &name);
                }
            }
            fields.finish(importer);
        }
    }
    Ok(())
}

/// Imports servers by their names.
pub(super) fn all(importer: &mut Importer, file: &str, member: &str, servers: Map<String, Value>) {
    for (name, server) in servers {
        match server {
            Value::Object(server) => {
                one(importer, Fields::inside(file, &format!("{member}.{name}"), server), &name);
            }
            _ => importer.leave(file, &format!("{member}.{name}"), "it is no mapping"),
        }
    }
}

/// Imports an extension of a goose recipe, whose members have other names.
pub(super) fn extension(importer: &mut Importer, fields: &mut Fields, name: &str) {
    let mut server = Map::new();
    for (from, to) in [
        ("cmd", "command"),
        ("args", "args"),
        ("uri", "url"),
        ("url", "url"),
        ("envs", "env"),
        ("env_keys", "variables"),
        ("headers", "headers"),
        ("timeout", "timeout_seconds"),
    ] {
        if let Some(value) = fields.take(from) {
            server.insert(to.to_owned(), value);
        }
    }
    if let Some(tools) = fields.words("available_tools") {
        server.insert("includeTools".to_owned(), tools.into());
    }
    for field in ["display_name", "description", "bundled"] {
        fields.leave(importer, field, "it describes a part of the other program");
    }
    let prefix = fields.name("server");
    one(importer, Fields::inside(fields.file(), &prefix, server), name);
}

/// Imports a server.
fn one(importer: &mut Importer, mut fields: Fields, name: &str) {
    let file = fields.file().to_owned();
    let place = fields.name("");
    let place = place.trim_end_matches('.').to_owned();
    if fields.take("disabled") == Some(Value::Bool(true))
        || fields.peek("enabled") == Some(&Value::Bool(false))
    {
        importer.leave(&file, &place, "it is switched off");
        return;
    }
    fields.take("enabled");
    let command = fields.peek("command").and_then(Value::as_str).unwrap_or_default();
    let called = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_own = called.trim_end_matches(".exe") == "rye"
        && fields.peek("args").is_some_and(|args| args[0] == "mcp");
    if is_own {
        importer.leave(&file, &place, "it is Rye itself, which needs no server of its own");
        return;
    }
    let name = server_name(importer, &file, &place, name);
    let mut server = Map::new();
    let kind =
        ["type", "transport", "transportType"].into_iter().find_map(|field| fields.text(field));
    if let Some(command) = fields.text("command") {
        program(importer, &mut fields, &name, &command, &mut server);
    } else if let Some(url) =
        ["url", "httpUrl", "serverUrl"].into_iter().find_map(|field| fields.text(field))
    {
        if kind.as_deref() == Some("sse") {
            importer.decide(PATH, &format!("server `{name}`: the source speaks to it by the older transport `sse`; give its address for streamable HTTP"));
        }
        address(importer, &mut fields, &name, &url, &mut server);
    } else {
        importer.leave(&file, &place, "it has neither a command nor an address");
        return;
    }
    timeouts(importer, &mut fields, &mut server);
    allowed(importer, &mut fields, &name);
    for field in [
        "description",
        "gallery",
        "version",
        "dev",
        "icon",
        "autoStart",
        "instructions",
        "alwaysAllow",
        "display_name",
    ] {
        fields.leave(importer, field, "it is about the other program");
    }
    fields.finish(importer);
    let numbered =
        |number: u32| if number == 1 { name.clone() } else { format!("{name}-{number}") };
    let servers = &importer.import.servers;
    let name =
        (1..=u32::MAX).map(numbered).find(|name| !servers.contains_key(name)).unwrap_or_default();
    importer.carry(&file, &place, &format!("server `{name}` of `{PATH}`"));
    importer.import.servers.insert(name, Value::Object(server));
}

/// A name that servers may have.
fn server_name(importer: &mut Importer, file: &str, place: &str, name: &str) -> String {
    let short: String = names::segment(name).replace('.', "-").chars().take(64).collect();
    let short = short.trim_matches('-').to_owned();
    if short != name {
        importer.leave(
            file,
            place,
            &format!("no server has the name `{name}`; it is `{short}` now"),
        );
    }
    short
}

fn program(
    importer: &mut Importer,
    fields: &mut Fields,
    name: &str,
    command: &str,
    server: &mut Map<String, Value>,
) {
    let file = fields.file().to_owned();
    server.insert("command".to_owned(), command.into());
    if command.contains("${") {
        let what = format!(
            "server `{name}`: its command `{command}` has a place of the other program; write the path"
        );
        importer.decide(PATH, &what);
    }
    match fields.take("args") {
        Some(Value::Array(args)) => {
            if args.iter().any(|word| scalar(word).is_none()) {
                let field = fields.name("args");
                importer.leave(&file, &field, "words that are no texts are left out");
            }
            let words = without_secrets(importer, fields, name, args.iter().filter_map(scalar));
            for word in words.iter().filter_map(Value::as_str).filter(|word| word.contains("${")) {
                let what = format!(
                    "server `{name}`: its argument `{word}` has a place of the other program; write the value"
                );
                importer.decide(PATH, &what);
            }
            server.insert("args".to_owned(), words.into());
        }
        Some(other) => importer.leave(
            &file,
            &fields.name("args"),
            &format!("it is no list; it says {}", shown("args", &other)),
        ),
        None => {}
    }
    if let Some(folder) = fields.text("cwd") {
        if folder == "." || folder == "${workspaceFolder}" {
            server.insert("cwd".to_owned(), ".".into());
        } else {
            importer.leave(
                &file,
                &fields.name("cwd"),
                "a server starts in the project or in a folder of its own",
            );
        }
    }
    let mut variables: Vec<String> = Vec::new();
    if let Some(names) = fields.words("variables") {
        variables.extend(names);
    }
    let mut literals = Map::new();
    match fields.take("env") {
        Some(Value::Object(env)) => {
            for (variable, value) in env {
                let field = fields.name(&format!("env.{variable}"));
                let value = scalar(&value).unwrap_or_default();
                match reference(&value) {
                    Some(named) if named == variable || named.is_empty() => {
                        variables.push(variable)
                    }
                    Some(named) => {
                        importer.leave(&file, &field, &format!("it takes the value of `{named}`, and a server gets a variable under its own name; set `{variable}` in the environment"));
                        variables.push(variable);
                    }
                    None if secrets::is_name(&variable)
                        || secrets::is_value(&value)
                        || value.is_empty() =>
                    {
                        importer.leave(&file, &field, &format!("its value looks like a secret and is copied nowhere; set `{variable}` in the environment"));
                        variables.push(variable);
                    }
                    None => {
                        literals.insert(variable, value.into());
                    }
                }
            }
        }
        Some(_) => importer.leave(&file, &fields.name("env"), "it is no mapping"),
        None => {}
    }
    fields.leave(importer, "envFile", "no file of variables is read; set them in the environment");
    if !literals.is_empty() {
        server.insert("env".to_owned(), Value::Object(literals));
    }
    if !variables.is_empty() {
        ask_for_variables(importer, &file, name, "variables", &json!(variables));
    }
    let what = format!(
        "server `{name}`: add `network: true` if it reaches other machines, as `npx`, `uvx` and `docker` do to fetch it"
    );
    importer.decide(PATH, &what);
}

/// The words of a command line without those that look like secrets, each of which is told.
fn without_secrets(
    importer: &mut Importer,
    fields: &Fields,
    name: &str,
    args: impl Iterator<Item = String>,
) -> Vec<Value> {
    let mut words: Vec<Value> = Vec::new();
    let mut is_behind_option = false;
    for (place, word) in args.enumerate() {
        let is_option = word.starts_with('-') && !word.contains('=');
        let is_secret = secrets::is_value(&word)
            || secrets::is_assignment(&word)
            || (is_behind_option && !is_option && !word.starts_with('$'));
        is_behind_option = is_option && secrets::is_name(&word);
        if is_secret {
            let field = fields.name(&format!("args.{place}"));
            importer.leave(fields.file(), &field, "it looks like a secret and is copied nowhere; a server of the user space gets it by a variable of the environment");
            importer.decide(PATH, &format!("server `{name}`: word {} of its command line looks like a secret and is left out; let the program read it from a variable", place + 1));
        } else {
            words.push(word.into());
        }
    }
    words
}

fn address(
    importer: &mut Importer,
    fields: &mut Fields,
    name: &str,
    url: &str,
    server: &mut Map<String, Value>,
) {
    let file = fields.file().to_owned();
    let plain = secrets::without_parameters(url);
    if plain.is_some() || secrets::is_value(url) {
        let field = fields.name("url");
        importer.leave(&file, &field, "a part of it looks like a secret and is copied nowhere; send it by `auth` or `headers` of the user space, which name a variable");
        importer
            .decide(PATH, &format!("server `{name}`: write its address without a secret in it"));
    }
    let plain = plain.unwrap_or_else(|| url.to_owned());
    if !secrets::is_value(&plain) {
        server.insert("url".to_owned(), plain.into());
    }
    if url.contains(['$', '{', '<']) {
        importer.decide(PATH, &format!("server `{name}`: its address `{url}` has a place of the other program; write the address"));
    }
    let mut headers = Map::new();
    let mut given: Vec<(String, String)> = Vec::new();
    for field in ["headers", "http_headers", "requestInit"] {
        match fields.take(field) {
            Some(Value::Object(members)) => given.extend(
                members
                    .into_iter()
                    .map(|(header, value)| (header, scalar(&value).unwrap_or_default())),
            ),
            Some(_) => importer.leave(&file, &fields.name(field), "it is no mapping"),
            None => {}
        }
    }
    if let Some(variable) = fields.text("bearer_token_env_var") {
        given.push(("Authorization".to_owned(), format!("Bearer ${{{variable}}}")));
    }
    for (header, value) in given {
        let field = fields.name(&format!("headers.{header}"));
        let bearer = value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer "));
        let named = reference(bearer.unwrap_or(&value)).filter(|named| !named.is_empty());
        let Some(variable) = named else {
            importer.leave(&file, &field, "its value is copied nowhere: put it into a variable of the environment, and name that");
            continue;
        };
        if header.eq_ignore_ascii_case("authorization") && bearer.is_some() {
            ask_for_variables(importer, &file, name, "auth", &json!({ "env": variable }));
        } else {
            headers.insert(header, json!({ "env": variable }));
        }
    }
    if !headers.is_empty() {
        ask_for_variables(importer, &file, name, "headers", &Value::Object(headers));
    }
    for field in ["oauth", "authProviderType", "auth"] {
        fields.leave(
            importer,
            field,
            "there is no sign-in; `auth` of the user space names a variable with a credential",
        );
    }
}

/// Says which variables of the operator a source asks for. No server is handed one by an import.
fn ask_for_variables(importer: &mut Importer, file: &str, name: &str, key: &str, value: &Value) {
    importer.import.asked.push(Asked {
        file: file.to_owned(),
        asked: format!("{key} of server {name}"),
        entries: Vec::new(),
        note: format!(
            "it would be handed variables of your environment; if it may have them, write `{key}: {value}` into its entry in your user space"
        ),
    });
}

fn timeouts(importer: &mut Importer, fields: &mut Fields, server: &mut Map<String, Value>) {
    let file = fields.file().to_owned();
    for (field, key, is_millis) in [
        ("timeout", "timeout_seconds", true),
        ("timeout_seconds", "timeout_seconds", false),
        ("tool_timeout_sec", "timeout_seconds", false),
        ("startup_timeout_sec", "startup_seconds", false),
        ("startup_timeout_ms", "startup_seconds", true),
    ] {
        let Some(value) = fields.take(field) else { continue };
        let number = value.as_f64().filter(|number| *number > 0.0);
        // Clients count in milliseconds or in seconds; no call takes less than a second, and none a day.
        let seconds = number
            .map(|number| if is_millis && number >= 1000.0 { number / 1000.0 } else { number });
        match seconds.map(|seconds| seconds.ceil()).filter(|seconds| *seconds < 86_400.0) {
            Some(seconds) => {
                let text = format!("{seconds:.0}");
                let seconds = text.parse::<u64>().unwrap_or(1);
                server.insert(key.to_owned(), seconds.into());
            }
            None => importer.leave(&file, &fields.name(field), "it is no time"),
        }
    }
}

/// Tools that the other program may call without a question are what the source asks for.
fn allowed(importer: &mut Importer, fields: &mut Fields, name: &str) {
    let file = fields.file().to_owned();
    let mut ask = |asked: String, tools: &str| {
        let entries = vec![format!("<execute><tool>mcp.{name}.{tools}</tool></execute>")];
        let note = "a directive grants it, and `rye mcp discover NAME --write` writes the wrappers"
            .to_owned();
        importer.import.asked.push(Asked { file: file.clone(), asked, entries, note });
    };
    for field in ["autoApprove", "alwaysAllow", "includeTools", "enabled_tools", "tools"] {
        for tool in fields.words(field).unwrap_or_default() {
            let pattern = if tool == "*" { "*".to_owned() } else { names::segment(&tool) };
            ask(format!("{field}: {tool}"), &pattern);
        }
    }
    if fields.take("trust") == Some(Value::Bool(true)) {
        ask("trust".to_owned(), "*");
    }
    for field in ["excludeTools", "disabled_tools", "disabledTools"] {
        fields.leave(
            importer,
            field,
            "a tool without a grant is not called; write no wrapper for it",
        );
    }
}

/// The variable that a value takes the place of: `${X}`, `${env:X}`, `$X`; empty for one that an editor asks for.
fn reference(value: &str) -> Option<String> {
    let inside = match value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        Some(inside) => inside,
        None => value.strip_prefix('$').filter(|name| is_variable(name))?,
    };
    if inside.starts_with("input:") {
        return Some(String::new());
    }
    let name = inside.strip_prefix("env:").unwrap_or(inside);
    let name = name.split_once(":-").map_or(name, |(name, _)| name);
    is_variable(name).then(|| name.to_owned())
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::reference;

    #[test]
    fn variables_are_found() {
        for (value, expected) in [
            ("${TOKEN}", Some("TOKEN")),
            ("${env:TOKEN}", Some("TOKEN")),
            ("$TOKEN", Some("TOKEN")),
            ("${TOKEN:-x}", Some("TOKEN")),
            ("${input:token}", Some("")),
            ("abc", None),
            ("$5", None),
            ("a ${TOKEN}", None),
        ] {
            assert_eq!(reference(value).as_deref(), expected, "{value}");
        }
    }
}
