//! JSON schemas of arguments, compiled within bounds (SPEC 5.3).

mod bound;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{FancyRegex, PatternOptions, ValidationError, Validator};
use rye_transcript::{count_values, nests_deeper};
use serde_json::Value;

use self::bound::Bound;

/// The most problems that are reported of one value.
const MAX_PROBLEMS: usize = 20;

/// The most checks of a value, each of one value in it against one part of the schema.
const MAX_CHECKS: u64 = 100_000_000;

/// The most checks of a value whose problems are told apart. The library keeps all problems before it returns the first one.
const MAX_TOLD_CHECKS: u64 = 100_000;

/// The most memory that a compiled pattern may take, in bytes.
const MAX_PATTERN_MEMORY: usize = 256 * 1024;

/// The most steps back of one match.
const MAX_BACKTRACKS: usize = 100_000;

/// The longest message, so that a large value is not quoted back to the model in full.
const MAX_MESSAGE_CHARS: usize = 300;

/// The compiled JSON schema of a tool's arguments.
///
/// Schemas come from manifests and MCP servers of others. A few kilobytes of references can describe more checks than any
/// machine finishes, so that such a schema is refused before it is compiled. References lead to the schema itself only:
/// nothing is fetched.
#[derive(Debug)]
pub struct ArgumentSchema {
    validator: Validator,
    /// The deepest nesting of a value that is checked; `None` where the schema bounds the work by itself.
    depth: Option<usize>,
    /// The number of its parts with all references written out.
    parts: u64,
    /// The names of the arguments.
    names: Vec<String>,
}

/// The reason why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct SchemaError {
    /// The place in the schema, as a JSON pointer (RFC 6901); empty for the schema as a whole.
    pub path: String,
    /// The reason in words.
    pub reason: String,
}

/// One reason why a value does not fit a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// The place in the value, as a JSON pointer (RFC 6901); empty for the value as a whole.
    pub path: String,
    /// The rule that the value breaks.
    pub kind: SchemaProblemKind,
    /// The reason in words, at most 300 characters.
    pub message: String,
}

/// The rule of a schema that a value breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaProblemKind {
    /// A required argument is missing: its name.
    Missing(String),
    /// Arguments that the schema does not allow: their names.
    Unknown(Vec<String>),
    /// Any other rule.
    Unfit,
}

impl ArgumentSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// The function fails if `schema` is no JSON schema, or if a reference leads out of it or to itself. It fails too if checking a
    /// value would take work out of all proportion to the size of the schema.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let whole = |reason| SchemaError { path: String::new(), reason };
        let bound = Bound::of(schema).map_err(whole)?;
        #[expect(clippy::disallowed_methods, reason = "the schema is bounded")]
        let validator =
            jsonschema::options().offline().with_pattern_options(pattern_options()).build(schema);
        let validator = validator.map_err(|error| {
            let path = error.instance_path().to_string();
            SchemaError { path, reason: error.to_string() }
        })?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(|it| it.keys().cloned()).collect();
        Ok(Self { validator, depth: bound.depth, parts: bound.parts, names })
    }

    /// Returns at most 20 reasons why `value` does not fit the schema; none when it fits. For a large value, it is one reason
    /// without a place.
    #[must_use]
    pub fn problems(&self, value: &Value) -> Vec<SchemaProblem> {
        if let Some(limit) = self.depth.filter(|limit| nests_deeper(value, *limit)) {
            return vec![SchemaProblem::too_deep(limit)];
        }
        let values = count_values(value);
        let checks = u64::try_from(values).unwrap_or(u64::MAX).saturating_mul(self.parts);
        if MAX_CHECKS < checks {
            return vec![SchemaProblem::whole(format!(
                "has {values} values, which are too many to check by a schema of {} parts",
                self.parts
            ))];
        }
        if MAX_TOLD_CHECKS < checks {
            let unfit = (!self.validator.is_valid(value)).then(|| {
                SchemaProblem::whole(format!(
                    "does not fit the schema, and has too many values ({values}) to tell where"
                ))
            });
            return unfit.into_iter().collect();
        }
        let errors = self.validator.iter_errors(value).take(MAX_PROBLEMS);
        errors.map(|error| self.problem(&error)).collect()
    }
}

impl ArgumentSchema {
    fn problem(&self, error: &ValidationError<'_>) -> SchemaProblem {
        let path = error.instance_path().to_string();
        let (kind, message) = match error.kind() {
            ValidationErrorKind::Required { property: Value::String(name) } if path.is_empty() => {
                let message = format!("the argument `{name}` is missing");
                (SchemaProblemKind::Missing(name.clone()), message)
            }
            ValidationErrorKind::AdditionalProperties { unexpected } if path.is_empty() => {
                (SchemaProblemKind::Unknown(unexpected.clone()), self.unknown(unexpected))
            }
            _ => (SchemaProblemKind::Unfit, format!("{error}{}", as_json(error))),
        };
        let message = message.chars().take(MAX_MESSAGE_CHARS).collect();
        SchemaProblem { path, kind, message }
    }

    /// The sentence about arguments that the schema does not have.
    fn unknown(&self, unexpected: &[String]) -> String {
        let quoted = |names: &[String]| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let takes = if self.names.is_empty() { "none".to_owned() } else { quoted(&self.names) };
        format!("there is no argument {}; it takes {takes}", quoted(unexpected))
    }
}

/// The bounds of each pattern's compiled form, and of the steps of one match.
fn pattern_options() -> PatternOptions<FancyRegex> {
    let options = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
    options.size_limit(MAX_PATTERN_MEMORY).dfa_size_limit(MAX_PATTERN_MEMORY)
}

/// The end of the message about a text where a list or an object is wanted: people write one item without its brackets.
fn as_json(error: &ValidationError<'_>) -> &'static str {
    let message = error.to_string();
    match error.instance().as_ref() {
        Value::String(_) if message.ends_with("\"array\"") => {
            "; write a list as JSON, such as `[\"a\", \"b\"]`"
        }
        Value::String(_) if message.ends_with("\"object\"") => {
            "; write an object as JSON, such as `{\"a\": 1}`"
        }
        _ => "",
    }
}

impl SchemaProblem {
    fn too_deep(limit: usize) -> Self {
        Self::whole(format!(
            "is nested deeper than {limit} levels, which its recursive schema does not allow"
        ))
    }

    fn whole(message: String) -> Self {
        Self { path: String::new(), kind: SchemaProblemKind::Unfit, message }
    }

    /// Returns the place and the reason in one text.
    #[must_use]
    pub fn text(&self) -> String {
        match self.path.as_str() {
            "" => self.message.clone(),
            path => format!("at `{path}`: {}", self.message),
        }
    }
}
