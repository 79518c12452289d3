//! One verified layer of configuration, checked against its schema before it is read.

use std::fmt;

use jsonschema::{ValidationError, error::ValidationErrorKind};
use rye_parse::{did_you_mean, nearest_name};
use rye_resolve::{Item, Space};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    approval, patterns::bad_patterns, processes, providers, risk, schema::schema, servers, trust,
    web,
};

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

/// Reads `item` as `T`, whose schema is called `name`.
pub(crate) fn read<T: DeserializeOwned>(
    name: &'static str,
    item: &Item<Value>,
) -> Result<T, ConfigError> {
    let location = item.location.to_string();
    let value = item.content.value();
    let failed = |problems| ConfigError { location: location.clone(), schema: name, problems };
    let mut problems = problems(name, value);
    if problems.is_empty() && item.location.space == Space::Project {
        problems = problems_of_project(name, value);
    }
    if !problems.is_empty() {
        return Err(failed(problems.iter().map(ToString::to_string).collect()));
    }
    serde_json::from_value(value.clone()).map_err(|error| failed(vec![error.to_string()]))
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

/// Returns all problems of `value` as the file called `name`. The schema finds most of them. A text that is
/// no pattern is found in a second step, if the schema allows the form.
pub(crate) fn problems(name: &'static str, value: &Value) -> Vec<ConfigProblem> {
    let problems = against_schema(name, value);
    match name {
        _ if !problems.is_empty() => problems,
        approval::APPROVAL => bad_patterns(value, "ask"),
        trust::TRUST => bad_patterns(value, "grants"),
        risk::CAPABILITY_RISK => risk::bad_patterns(value),
        _ => problems,
    }
}

/// The keys in `value`, which has the right form, that a project may not set because they are the operator's (SPEC 4.3).
pub(crate) fn problems_of_project(name: &'static str, value: &Value) -> Vec<ConfigProblem> {
    match name {
        "engines" => forbidden(value, &[("engines", ENGINES_OF_PROJECT)]),
        processes::PROCESSES => processes::problems_of_project(value),
        providers::PROVIDERS_POLICY => providers::problems_of_project(value),
        servers::SERVERS => servers::problems_of_project(value),
        trust::TRUST => trust::problems_of_project(value),
        web::WEB => web::problems_of_project(value),
        _ => Vec::new(),
    }
}

/// The sentence about `config/agent/engines.yaml` of a project: it says where signed requests and tokens are sent.
const ENGINES_OF_PROJECT: &str =
    "a project may not say where threads run; `engines` is for the user space";

/// The values in `value`, which has the right form, that mean nothing in any space: text that is no host, a server that cannot
/// be reached. No message repeats the value, because it may be a secret.
pub(crate) fn problems_of_meaning(name: &'static str, value: &Value) -> Vec<ConfigProblem> {
    match name {
        servers::SERVERS => servers::problems_of_meaning(value),
        web::WEB => web::problems_of_meaning(value),
        _ => Vec::new(),
    }
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

fn against_schema(name: &'static str, value: &Value) -> Vec<ConfigProblem> {
    let schema =
        schema(name).expect("because every configuration file has its schema in the table");
    #[expect(clippy::disallowed_methods, reason = "the schema is this crate's own")]
    let validator = jsonschema::options().offline().build(&schema.value);
    let validator = validator.expect("because a test builds every schema of the table");
    let quoting = if is_secretive(name) { Quoting::Never } else { Quoting::Values };
    let errors = validator.iter_errors(value);
    errors.flat_map(|error| of_error(&error, &schema.value, quoting)).collect()
}

/// The files that say where secrets are. A reader may misread one and put the secret itself into it.
const SECRETIVE: [&str; 2] = [servers::SERVERS, web::WEB];

/// Returns `true` if a person may have put a secret into the file called `name`. No message repeats the text
/// of such a file.
pub(crate) fn is_secretive(name: &str) -> bool {
    SECRETIVE.contains(&name)
}

/// The choice to quote a wrong value or not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
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
