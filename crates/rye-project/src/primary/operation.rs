//! The operations on items as tools that a model can call, on every surface with the same names and arguments.

use rye_caps::{Authority, Primary};
use rye_resolve::{ItemId, SearchQuery};
use rye_types::ItemKind;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use strum::{IntoStaticStr, VariantArray};

use super::error::PrimaryError;
use super::{Destination, FetchRequest, LoadRequest, SignRequest};

/// An operation on items that runs nothing, as models and clients name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", prefix = "rye_")]
#[expect(clippy::exhaustive_enums, reason = "a surface has to describe each of them")]
pub enum Operation {
    /// Loads or searches.
    Fetch,
    /// Reads an item.
    Load,
    /// Finds items.
    Search,
    /// Signs an item.
    Sign,
}

/// The kinds that have a capability. A caller other than the operator can be granted these.
pub const KINDS: [ItemKind; 3] = [ItemKind::Directive, ItemKind::Knowledge, ItemKind::Tool];

const MOST_RESULTS: usize = 100;

impl Operation {
    /// All of them, sorted by name.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name of the tool, such as `rye_load`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the primaries of the operation. A grant of any of them permits a use of it.
    #[must_use]
    pub fn primaries(self) -> &'static [Primary] {
        match self {
            Self::Fetch => &[Primary::Load, Primary::Search],
            Self::Load => &[Primary::Load],
            Self::Search => &[Primary::Search],
            Self::Sign => &[Primary::Sign],
        }
    }

    /// Returns the description of the tool for a model.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Fetch => {
                "Reads an item, when `item_id` is given, or finds items, when `query` is given."
            }
            Self::Load => {
                "Reads an item as it is written, signature line included, with what it says of itself."
            }
            Self::Search => {
                "Finds directives, knowledge and tools by what they say, the best first. A phrase stands between double \
                 quotes; `word*` asks for the start of a word."
            }
            Self::Sign => {
                "Checks an item of the project or of the user space and signs it with the operator's key, which makes it \
                 count. Sign only what you were asked to sign."
            }
        }
    }

    /// Returns the schema of the arguments for a caller with this authority. The user space is a destination only where the
    /// caller may write there.
    #[must_use]
    pub fn schema_for(self, authority: &Authority) -> Value {
        let mut schema = self.input_schema();
        if self == Self::Load && !authority.allows(&Destination::User.capability()) {
            schema["properties"]["destination"] = destination(&[Destination::Project]);
        }
        schema
    }

    /// Returns the schema of the arguments. It is plain for every client: no references, no types that are lists.
    #[must_use]
    pub fn input_schema(self) -> Value {
        let id = item_id_schema();
        let kind = item_type_schema();
        let query = json!({ "type": "string", "minLength": 1, "maxLength": 4096, "description": "What to look for." });
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "description": "The most results; 20 when it is left out." });
        match self {
            Self::Fetch => object_schema(
                &json!({ "item_type": kind, "scope": scope(), "item_id": id, "query": query, "limit": limit }),
                &[],
            ),
            Self::Load => object_schema(
                &json!({ "item_type": kind, "item_id": id, "destination": destination(&[Destination::Project, Destination::User]) }),
                &["item_type", "item_id"],
            ),
            Self::Sign => object_schema(
                &json!({
                    "item_type": kind,
                    "item_id": id,
                    "sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$", "description": "Which text is meant, by the SHA-256 of the file as it lies there. Another text is not signed." },
                }),
                &["item_type", "item_id"],
            ),
            Self::Search => object_schema(
                &json!({
                    "query": query,
                    "item_type": kind,
                    "scope": scope(),
                    "tags": { "type": "array", "items": { "type": "string" }, "description": "Only items that have all of these tags." },
                    "limit": limit,
                }),
                &["query"],
            ),
        }
    }
}

/// Returns the schema of the argument `item_id`.
#[must_use]
pub fn item_id_schema() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": ItemId::MAX_BYTES, "description": "The item's id, such as `notes/index`." })
}

/// Returns the schema of the argument `item_type`, for the kinds that have a capability.
#[must_use]
pub fn item_type_schema() -> Value {
    json!({ "type": "string", "enum": KINDS.map(ItemKind::as_str), "description": "The sort of item." })
}

fn scope() -> Value {
    let kinds: Vec<&str> = KINDS.into_iter().map(ItemKind::as_str).chain([ALL_KINDS]).collect();
    json!({ "type": "string", "enum": kinds, "description": "Another name of `item_type`." })
}

/// The `scope` of a search that looks for items of every kind.
const ALL_KINDS: &str = "all";

/// Returns the schema of the destination, one of these.
fn destination(spaces: &[Destination]) -> Value {
    let description = match spaces {
        [Destination::Project] => "Copy the file into the project, with its signature.",
        _ => "Copy the file into this space, with its signature.",
    };
    let spaces: Vec<&str> = spaces.iter().map(|space| space.as_str()).collect();
    json!({ "type": "string", "enum": spaces, "description": description })
}

/// Returns the schema of arguments with these members and no others.
#[must_use]
pub fn object_schema(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A parsed request of a caller.
#[derive(Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a surface has to carry out each of them")]
pub enum Asked {
    /// Loading, searching, or either: a fetch is one of the two.
    Read(FetchRequest),
    /// Signing.
    Sign(SignRequest),
}

impl Asked {
    /// Reads arguments that satisfy the operation's input schema.
    ///
    /// # Errors
    ///
    /// [`PrimaryError::Usage`] for arguments that contradict each other, and for words that name no kind, id or query.
    pub fn of(operation: Operation, arguments: Value) -> Result<Self, PrimaryError> {
        match operation {
            Operation::Fetch => fetch(read_arguments(arguments)?).map(Self::Read),
            Operation::Load => {
                let Load { item_type, item_id, destination } = read_arguments(arguments)?;
                let mut request = LoadRequest::new(kind(&item_type)?, id(&item_id)?);
                let destination = destination.map(|space| space.parse::<Destination>());
                request.destination = destination.transpose().map_err(|error| usage(&error))?;
                Ok(Self::Read(FetchRequest::Load(request)))
            }
            Operation::Search => {
                let Search { query, item_type, scope, tags, limit } = read_arguments(arguments)?;
                let kind = one_kind(item_type, scope)?;
                let query = search_query(&query, kind.as_deref(), limit)?;
                let query = tags.iter().fold(query, |query, tag| query.with_tag(tag));
                Ok(Self::Read(FetchRequest::Search(query)))
            }
            Operation::Sign => {
                let Signed { item_type, item_id, sha256 } = read_arguments(arguments)?;
                let request = SignRequest::new(kind(&item_type)?, id(&item_id)?);
                let sha256 = sha256.map(|text| text.parse().map_err(|error| usage(&error)));
                Ok(Self::Sign(SignRequest { sha256: sha256.transpose()?, ..request }))
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fetch {
    item_type: Option<String>,
    scope: Option<String>,
    item_id: Option<String>,
    query: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    item_type: String,
    item_id: String,
    destination: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    item_type: String,
    item_id: String,
    sha256: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    item_type: Option<String>,
    scope: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    limit: Option<usize>,
}

fn fetch(arguments: Fetch) -> Result<FetchRequest, PrimaryError> {
    let Fetch { item_type, scope, item_id, query, limit } = arguments;
    let item_type = one_kind(item_type, scope)?;
    match (item_id, query, limit) {
        (Some(item_id), None, None) => {
            let item_type = item_type.ok_or_else(|| {
                PrimaryError::usage("say what kind of item `item_id` is, as `item_type`")
            })?;
            Ok(FetchRequest::Load(LoadRequest::new(kind(&item_type)?, id(&item_id)?)))
        }
        (None, Some(query), limit) => {
            search_query(&query, item_type.as_deref(), limit).map(FetchRequest::Search)
        }
        (Some(_), None, Some(_)) => {
            Err(PrimaryError::usage("`limit` is for searching; leave it out beside `item_id`"))
        }
        _ => Err(PrimaryError::usage("give either `item_id` or `query`")),
    }
}

/// Returns the inputs of a directive, under either of the two names that they have on every surface (SPEC 12.4).
///
/// # Errors
///
/// Advice, if both names are given.
pub fn inputs_by_either_name<T: Default>(
    parameters: Option<T>,
    inputs: Option<T>,
) -> Result<T, &'static str> {
    match (parameters, inputs) {
        (Some(_), Some(_)) => Err("`inputs` is another name of `parameters`; give one of the two"),
        (given, other) => Ok(given.or(other).unwrap_or_default()),
    }
}

/// The kind that a call names, under either of the two names (SPEC D4); `None` where every kind is meant.
fn one_kind(
    item_type: Option<String>,
    scope: Option<String>,
) -> Result<Option<String>, PrimaryError> {
    match (item_type, scope) {
        (Some(kind), Some(scope)) if kind != scope => Err(PrimaryError::usage(format!(
            "`scope` is another name of `item_type`, and they say `{scope}` and `{kind}`; give one of the two"
        ))),
        (kind, scope) => Ok(kind.or(scope).filter(|kind| kind != ALL_KINDS)),
    }
}

/// Parses the arguments of a search. Without a kind, the query keeps all the kinds of a default query.
fn search_query(
    query: &str,
    item_type: Option<&str>,
    limit: Option<usize>,
) -> Result<SearchQuery, PrimaryError> {
    let query: SearchQuery = query.parse().map_err(|error| usage(&error))?;
    let query = limit.map_or(query.clone(), |limit| query.with_limit(limit));
    match item_type {
        Some(name) => Ok(query.with_kind(kind(name)?)),
        None => Ok(query),
    }
}

pub(crate) fn kind(name: &str) -> Result<ItemKind, PrimaryError> {
    name.parse().map_err(|error| usage(&error))
}

pub(crate) fn id(text: &str) -> Result<ItemId, PrimaryError> {
    text.parse().map_err(|error| usage(&error))
}

/// Reads the arguments of an operation. A whole number may be written with a fraction of zero, as its schema allows.
///
/// # Errors
///
/// [`PrimaryError::Usage`] if they do not have the members of `T`.
pub fn read_arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, PrimaryError> {
    serde_json::from_value(with_whole_numbers(arguments)).map_err(|error| usage(&error))
}

/// Returns the arguments with each member such as `3.0` as `3`. Members of members are not the operation's own.
fn with_whole_numbers(mut arguments: Value) -> Value {
    for value in arguments.as_object_mut().into_iter().flat_map(|members| members.values_mut()) {
        let number = value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0);
        if let Some(number) = number.and_then(|number| format!("{number}").parse::<i64>().ok()) {
            *value = number.into();
        }
    }
    arguments
}

pub(crate) fn usage(error: &dyn std::error::Error) -> PrimaryError {
    PrimaryError::usage(error.to_string())
}
