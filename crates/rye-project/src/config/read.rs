//! One verified layer of configuration, checked against its schema before it is read.

use std::fmt;

use jsonschema::{ValidationError, error::ValidationErrorKind};
use rye_parse::{did_you_mean, nearest_name};
use rye_resolve::{Item, Space};
use rye_thread::count_values;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A configuration file whose text says something that it may not say.
#[derive(Debug, thiserror::Error)]
#[error("`{location}` is not a valid {schema} file: {}; `rye schema {schema}` prints what it may hold", problems.join("; "))]
#[non_exhaustive]
pub struct ConfigError {
    /// The file.
    pub location: String,
    /// The schema that it breaks.
    pub schema: &'static str,
    /// Every problem, each with its place in the file.
    pub problems: Vec<String>,
}

/// A configuration file that has a schema.
pub(super) trait ConfigFile: DeserializeOwned + JsonSchema {
    /// The file as an id below `config`, such as `agent/approval`.
    const FILE: &'static str;

    /// The name of the schema.
    const SCHEMA: &'static str;

    /// `true` if the file names the places of secrets. An author may have put a secret itself there, so that no
    /// message repeats the text of the file.
    const IS_SECRETIVE: bool = false;

    /// Returns the texts in `value` that are no patterns. `value` satisfies the schema.
    fn problems_of_patterns(_value: &Value) -> Vec<ConfigProblem> {
        Vec::new()
    }

    /// Returns the keys in `value` that a project may not set because they are the operator's (SPEC 4.3). `value`
    /// satisfies the schema.
    fn problems_of_project(_value: &Value) -> Vec<ConfigProblem> {
        Vec::new()
    }

    /// Returns the values that mean nothing in any space, such as a server that cannot be reached. `value`
    /// satisfies the schema. No message repeats the value, because it may be a secret.
    fn problems_of_meaning(_value: &Value) -> Vec<ConfigProblem> {
        Vec::new()
    }
}

/// Reads a layer as the file `T`.
pub(super) fn read<T: ConfigFile>(item: &Item<Value>) -> Result<T, ConfigError> {
    let location = item.location.to_string();
    let value = item.content.value();
    let failed = |problems| ConfigError { location: location.clone(), schema: T::SCHEMA, problems };
    let mut problems = problems::<T>(value);
    if problems.is_empty() && item.location.space == Space::Project {
        problems = T::problems_of_project(value);
    }
    if !problems.is_empty() {
        return Err(failed(problems.iter().map(ToString::to_string).collect()));
    }
    serde_json::from_value(value.clone()).map_err(|error| failed(vec![error.to_string()]))
}

/// Refuses a layer that has problems.
pub(super) fn refuse<T: ConfigFile>(
    layer: &Item<Value>,
    problems: Vec<String>,
) -> Result<(), ConfigError> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(ConfigError { location: layer.location.to_string(), schema: T::SCHEMA, problems })
}

/// One thing that a configuration file may not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigProblem {
    /// The keys and places in lists that lead to it, from the root of the file.
    pub(crate) path: Vec<String>,
    /// The problem of the value there.
    pub(crate) message: String,
    /// The path as the message tells it.
    told: String,
}

/// The message behind its path.
impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.told.as_str() {
            "" => f.write_str(&self.message),
            told => write!(f, "at `{told}`: {}", self.message),
        }
    }
}

impl ConfigProblem {
    /// A problem of what the JSON pointer `path` leads to.
    pub(super) fn new(path: &str, message: String) -> Self {
        Self { path: keys(path), message, told: path.to_owned() }
    }

    /// The keys and places that lead to the value, as a JSON pointer; empty for the whole file and where the message tells them.
    pub(crate) fn pointer(&self) -> &str {
        &self.told
    }

    /// The same for a message that tells its path itself.
    pub(super) fn told_by_message(self) -> Self {
        Self { told: String::new(), ..self }
    }
}

/// The keys of a JSON pointer.
fn keys(pointer: &str) -> Vec<String> {
    let keys = pointer.split('/').skip(1);
    keys.map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
}

/// Returns all problems of `value` as the file `T`. The schema finds most of them. A text that is no pattern is
/// found in a second step, if the schema allows the form.
pub(super) fn problems<T: ConfigFile>(value: &Value) -> Vec<ConfigProblem> {
    let schema = schemars::schema_for!(T).to_value();
    let quoting = if T::IS_SECRETIVE { Quoting::Never } else { Quoting::Values };
    let problems = problems_of_schema(&schema, value, quoting);
    if problems.is_empty() { T::problems_of_patterns(value) } else { problems }
}

/// The problem of each of these keys that `value` has. An empty list counts too, because the key itself is the operator's.
pub(super) fn forbidden(value: &Value, keys: &[(&str, &str)]) -> Vec<ConfigProblem> {
    let is_said = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
    let said = keys.iter().filter(|(key, _)| is_said(key));
    said.map(|(key, message)| {
        ConfigProblem::new(&format!("/{key}"), (*message).to_owned()).told_by_message()
    })
    .collect()
}

/// Returns the problems of `value` that a schema finds.
pub(super) fn problems_of_schema(
    schema: &Value,
    value: &Value,
    quoting: Quoting,
) -> Vec<ConfigProblem> {
    #[expect(clippy::disallowed_methods, reason = "the schema is this crate's own")]
    let validator = jsonschema::options().offline().build(schema);
    let validator = validator.expect("because a test builds every schema of the table");
    let values = count_values(value);
    if MOST_VALUES < values {
        let message = format!(
            "it does not have the form of such a file, and has too many values ({values}) to tell where"
        );
        let unfit = (!validator.is_valid(value)).then(|| ConfigProblem::new("", message));
        return unfit.into_iter().collect();
    }
    let errors = validator.iter_errors(value);
    errors.flat_map(|error| of_error(&error, schema, quoting)).take(MOST_PROBLEMS).collect()
}

/// The most values of a file whose problems are told apart. The library keeps all problems before it returns the first one.
const MOST_VALUES: usize = 10_000;

/// The most problems of a file that are told.
const MOST_PROBLEMS: usize = 100;

/// The choice to quote a wrong value or not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Values,
    Never,
}

/// The name for a value that a message does not quote.
const UNTOLD: &str = "what stands there";

/// The problems that an error of the validator stands for: one for each key that may not be there.
fn of_error(error: &ValidationError<'_>, schema: &Value, quoting: Quoting) -> Vec<ConfigProblem> {
    let pointer = error.instance_path().to_string();
    let path = keys(&pointer);
    let told = place(&pointer, quoting);
    let problem = |path, message| ConfigProblem { path, message, told: told.clone() };
    let message = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let at = |key: &String| path.iter().chain([key]).cloned().collect();
            let of_key = |key| problem(at(key), unknown(key, error, schema, quoting));
            return unexpected.iter().map(of_key).collect();
        }
        ValidationErrorKind::Type { .. } if quoting == Quoting::Values => wrong_type(error),
        _ if quoting == Quoting::Values => error.to_string(),
        ValidationErrorKind::PropertyNames { error } => error.masked_with("a name").to_string(),
        _ => error.masked_with(UNTOLD).to_string(),
    };
    vec![problem(path, message)]
}

/// The sentence about a value of another type. A number in the place of a text only lacks its quotes.
fn wrong_type(error: &ValidationError<'_>) -> String {
    let message = error.to_string();
    let value = error.instance();
    match message.ends_with("is not of type \"string\"") && value.is_number() {
        true => format!("{value} is a number, and this is a text; write `\"{value}\"` with quotes"),
        false => message,
    }
}

/// The place, where it tells nothing, without names that are none: in a mapping on one line, `{key sk-1}` is a name.
fn place(path: &str, quoting: Quoting) -> String {
    let is_told =
        |name: &str| quoting == Quoting::Values || !name.contains(|c: char| " :=".contains(c));
    let names = path.split('/').map(|name| if is_told(name) { name } else { "…" });
    names.collect::<Vec<_>>().join("/")
}

/// Words that a person may try as a key, and that are no secrets.
const USUAL: [&str; 8] = ["bearer", "key", "name", "password", "secret", "token", "type", "value"];

/// The sentence about a key that the file may not have, with the key that was probably meant.
fn unknown(key: &str, error: &ValidationError<'_>, schema: &Value, quoting: Quoting) -> String {
    let place = error.schema_path().to_string();
    let object = place.strip_suffix("/additionalProperties").unwrap_or(&place);
    let properties = schema.pointer(&format!("{object}/properties")).and_then(Value::as_object);
    let valid: Vec<&str> =
        properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let near = nearest_name(key, valid.iter().copied());
    let meant = did_you_mean(near);
    let is_told = quoting == Quoting::Values || near.is_some() || USUAL.contains(&key);
    let key = if is_told { format!("unknown key `{key}`") } else { "a key that is none".into() };
    format!("{key}{meant}; valid: `{}`", valid.join("`, `"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn so_many_problems_are_told_apart() {
        let schema = json!({ "additionalProperties": { "type": "string" } });
        let told = |count: usize, value: Value| -> Vec<String> {
            let value = (0..count).map(|number| (number.to_string(), value.clone()));
            let problems =
                problems_of_schema(&schema, &Value::Object(value.collect()), Quoting::Values);
            problems.into_iter().map(|problem| problem.message).collect()
        };
        assert_eq!(told(MOST_PROBLEMS, json!(1)).len(), MOST_PROBLEMS);
        assert_eq!(told(MOST_VALUES - 1, json!(1)).len(), MOST_PROBLEMS);
        let message = "it does not have the form of such a file, and has too many values (10001) to tell where";
        assert_eq!(told(MOST_VALUES, json!(1)), [message]);
        assert_eq!(told(MOST_VALUES, json!("a")), [""; 0]);
    }
}
