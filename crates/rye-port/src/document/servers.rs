//! The file `config/mcp/servers.yaml` with further servers (SPEC 5.1).

use serde_json::{Map, Value, json};

use super::manifest::yaml;

/// A file of servers that further ones cannot be written into.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServersError {
    /// The file has other servers of the same names.
    #[error("it has another {} already; rename one of each, or take the old ones out", names.join(", "))]
    Taken {
        /// The names, in backticks.
        names: Vec<String>,
    },
    /// The form of the file leaves no place for more.
    #[error("no entry can be added to it as it is written; add these by hand:\n{entries}")]
    NoPlace {
        /// The entries, as YAML.
        entries: String,
    },
}

/// Writes servers into the text of `config/mcp/servers.yaml`, behind those that it has. Without a text, the file is new.
///
/// The text keeps its comments and its signature line, which does not hold any more.
///
/// # Errors
///
/// When a name is taken, or when the text is no block mapping whose last member is `servers`.
pub fn with_servers(
    existing: Option<&str>,
    servers: &Map<String, Value>,
) -> Result<String, ServersError> {
    let Some(existing) = existing else {
        return Ok(yaml(&json!({ "servers": servers }), 0));
    };
    let no_place = || ServersError::NoPlace { entries: yaml(&Value::Object(servers.clone()), 2) };
    let Ok(Value::Object(mut expected)) = rye_parse::config(existing, "yaml") else {
        return Err(no_place());
    };
    let known = expected.get("servers").and_then(Value::as_object);
    let other = |(name, server): &(&String, &Value)| {
        known.and_then(|known| known.get(*name)).is_some_and(|known| known != *server)
    };
    let names: Vec<String> =
        servers.iter().filter(other).map(|(name, _)| format!("`{name}`")).collect();
    if !names.is_empty() {
        return Err(ServersError::Taken { names });
    }
    let is_new = |name: &str| known.is_none_or(|known| !known.contains_key(name));
    let mut servers = servers.clone();
    servers.retain(|name, _| is_new(name));
    if servers.is_empty() {
        return Ok(existing.to_owned());
    }
    let is_empty = known.is_none_or(Map::is_empty);
    let mut text = existing.trim_end().to_owned();
    text.push('\n');
    if is_empty {
        let line = |line: &&str| !line.trim_start().starts_with("servers:");
        text = existing.split_inclusive('\n').filter(line).collect();
        text += &yaml(&json!({ "servers": servers }), 0);
    } else {
        let inside = existing.lines().skip_while(|line| !line.starts_with("servers:")).skip(1);
        let indent = inside
            .map(|line| (line.trim_start(), line))
            .find(|(words, _)| !words.is_empty() && !words.starts_with('#'))
            .map_or(2, |(words, line)| line.len() - words.len());
        text += &yaml(&Value::Object(servers.clone()), indent);
    }
    match expected.entry("servers").or_insert_with(|| json!({})) {
        Value::Object(known) => known.extend(servers.clone()),
        _ => return Err(no_place()),
    }
    match rye_parse::config(&text, "yaml") {
        Ok(read) if read == Value::Object(expected) => Ok(text),
        _ => Err(no_place()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_added() {
        let Value::Object(servers) = json!({ "b": { "command": "y" } }) else { unreachable!() };
        let of = |existing| with_servers(existing, &servers);
        assert_eq!(of(None).unwrap(), "servers:\n  b:\n    command: \"y\"\n");
        let existing = "# Ours\nservers:\n    a:\n        command: x  # as is\n";
        let expected = format!("{existing}    b:\n      command: \"y\"\n");
        assert_eq!(of(Some(existing)).unwrap(), expected);
        assert_eq!(of(Some("servers: {}\n")).unwrap(), "servers:\n  b:\n    command: \"y\"\n");
        let taken = of(Some("servers:\n  b: {command: z}\n")).unwrap_err();
        assert_eq!(taken, ServersError::Taken { names: vec!["`b`".to_owned()] });
        for existing in
            ["servers: {a: {command: x}}\n", "servers:\n  a: {command: x}\nother: 1\n", "- a"]
        {
            assert!(matches!(of(Some(existing)), Err(ServersError::NoPlace { .. })), "{existing}");
        }
    }
}
