//! One verified layer of configuration, checked against its schema before it is read.

use jsonschema::{ValidationError, error::ValidationErrorKind};
use rye_resolve::Item;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{approval, patterns::bad_patterns, risk, schema::schema, servers, trust, web};

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
    let problems = problems(name, value);
    if !problems.is_empty() {
        return Err(failed(problems));
    }
    serde_json::from_value(value.clone()).map_err(|error| failed(vec![error.to_string()]))
}

/// Everything in `value` that the file called `name` may not hold: what its schema does not allow and, where the form is
/// right, what is no pattern, which no schema can tell.
pub(crate) fn problems(name: &'static str, value: &Value) -> Vec<String> {
    let problems = against_schema(name, value);
    match name {
        _ if !problems.is_empty() => problems,
        approval::APPROVAL => bad_patterns(value, "ask"),
        trust::TRUST => bad_patterns(value, "grants"),
        risk::CAPABILITY_RISK => risk::bad_patterns(value),
        _ => problems,
    }
}

fn against_schema(name: &'static str, value: &Value) -> Vec<String> {
    let schema =
        schema(name).expect("because every configuration file has its schema in the table");
    let validator = jsonschema::options().offline().build(&schema.value);
    let validator = validator.expect("because a test builds every schema of the table");
    let quoting = if is_secretive(name) { Quoting::Never } else { Quoting::Values };
    validator.iter_errors(value).map(|error| sentence(&error, &schema.value, quoting)).collect()
}

/// The files that say where secrets are, and in which a person who misread that puts the secret itself.
const SECRETIVE: [&str; 2] = [servers::SERVERS, web::WEB];

/// Whether a person may have put a secret into the file called `name`, so that no message repeats what it says.
pub(crate) fn is_secretive(name: &str) -> bool {
    SECRETIVE.contains(&name)
}

/// Whether what stands at a wrong place is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Values,
    Never,
}

/// What a message calls a value that it does not tell.
const UNTOLD: &str = "what stands there";

fn sentence(error: &ValidationError<'_>, schema: &Value, quoting: Quoting) -> String {
    let problem = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let keys = unexpected.iter().map(|key| unknown(key, error, schema, quoting));
            keys.collect::<Vec<_>>().join("; ")
        }
        _ if quoting == Quoting::Values => error.to_string(),
        ValidationErrorKind::PropertyNames { error } => error.masked_with("a name").to_string(),
        _ => error.masked_with(UNTOLD).to_string(),
    };
    let path = place(&error.instance_path().to_string(), quoting);
    if path.is_empty() { problem } else { format!("at `{path}`: {problem}") }
}

/// The place, where it tells nothing, without names that are none: in a mapping on one line, `{key sk-1}` is a name.
fn place(path: &str, quoting: Quoting) -> String {
    let is_told =
        |name: &str| quoting == Quoting::Values || !name.contains(|c: char| " :=".contains(c));
    let names = path.split('/').map(|name| if is_told(name) { name } else { "…" });
    names.collect::<Vec<_>>().join("/")
}

/// What a person may try as a key, and what is no secret.
const USUAL: [&str; 8] = ["bearer", "key", "name", "password", "secret", "token", "type", "value"];

/// The sentence about a key that the file may not have, with the key that was probably meant.
fn unknown(key: &str, error: &ValidationError<'_>, schema: &Value, quoting: Quoting) -> String {
    let place = error.schema_path().to_string();
    let object = place.strip_suffix("/additionalProperties").unwrap_or(&place);
    let properties = schema.pointer(&format!("{object}/properties")).and_then(Value::as_object);
    let valid: Vec<&str> =
        properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let near = valid
        .iter()
        .filter(|name| strsim::damerau_levenshtein(name, key) <= 2)
        .min_by_key(|name| strsim::damerau_levenshtein(name, key));
    let meant = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let is_told = quoting == Quoting::Values || near.is_some() || USUAL.contains(&key);
    let key = if is_told { format!("unknown key `{key}`") } else { "a key that is none".into() };
    format!("{key}{meant}; valid: `{}`", valid.join("`, `"))
}
