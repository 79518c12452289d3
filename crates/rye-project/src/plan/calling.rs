//! One call of a tool as a thread of its own, with the operator's own grants (SPEC 12.1).

use std::collections::BTreeMap;

use rye_caps::{Capability, Grant, Kind, Pattern, Primary};
use rye_parse::nearest_name;
use rye_providers::{PlannedCall, PlannedStep, StepsProvider};
use rye_resolve::{ExtendsChain, ItemId, Location, ResolveError, Space};
use rye_thread::{ArgumentSchema, SchemaProblem};
use rye_types::ItemKind;
use serde_json::{Map, Value};

use super::error::PrepareError;
use super::prompting::Composed;
use super::typing::typed_by;
use crate::aliases::{chain_grant, tool_id};
use crate::outcome::Class;
use crate::project::Project;

/// The shipped directive of a thread that calls one tool for the operator. By itself it grants nothing.
pub const CALLING_DIRECTIVE: &str = "rye/core/call";

/// One call of a tool, as the inputs of the shipped directive that makes it by its steps.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The shipped directive, [`CALLING_DIRECTIVE`].
    pub directive: ItemId,
    /// The tool and its arguments, as inputs of the directive.
    pub inputs: BTreeMap<String, Value>,
    /// The tool, which is all that the thread declares.
    pub tool: ItemId,
}

/// The reason why a tool is not called.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Another space has a directive in the place of the shipped one.
    #[error(
        "`{location}` hides the shipped directive `{CALLING_DIRECTIVE}`, which calls tools; rename that file"
    )]
    Hidden {
        /// The file.
        location: Location,
    },
    /// The arguments do not fit the tool's input schema.
    #[error("the arguments do not fit tool `{id}`: {}", problems.join("; "))]
    Misfit {
        /// The tool.
        id: ItemId,
        /// Every problem.
        problems: Vec<String>,
    },
    /// The tool cannot be found, verified or parsed.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl CallError {
    /// Returns the class of the error, which decides the exit code.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Misfit { .. } => Class::Usage,
            Self::Resolve(error) if error.is_unverified() => Class::Refused,
            Self::Hidden { .. } | Self::Resolve(_) => Class::Failed,
        }
    }
}

impl Project {
    /// Returns the request for a thread that calls this tool once, whose steps need no model. The authority of the thread is the
    /// operator's policy and the tool itself. Texts among the arguments become what the tool's schema declares.
    ///
    /// # Errors
    ///
    /// When the tool cannot be had, or the arguments do not fit its schema, with every problem.
    pub fn tool_call(
        &self,
        tool: &ItemId,
        arguments: Map<String, Value>,
    ) -> Result<ToolCall, CallError> {
        let tool: ItemId = tool_id(tool.as_str()).parse().unwrap_or_else(|_| tool.clone());
        let manifest = self.library.tool(&tool)?;
        let schema = &manifest.content.value().input_schema;
        let arguments = Value::Object(typed_by(schema, arguments));
        let mut problems: Vec<String> = match ArgumentSchema::new(schema) {
            Ok(schema) => schema.problems(&arguments).iter().map(SchemaProblem::text).collect(),
            Err(reason) => vec![format!("the schema of the tool cannot be used: {reason}")],
        };
        if !problems.is_empty() {
            problems.extend(suggestions(schema, &arguments));
        }
        if !problems.is_empty() {
            return Err(CallError::Misfit { id: tool, problems });
        }
        let directive: ItemId = CALLING_DIRECTIVE
            .parse()
            .expect("because the id of the shipped directive is a valid id");
        let winner = self.library.locate(ItemKind::Directive, &directive)?.winner;
        if winner.space != Space::Builtin {
            return Err(CallError::Hidden { location: winner });
        }
        let inputs = [("tool", Value::from(tool.as_str())), ("arguments", arguments)];
        let inputs = inputs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(ToolCall { directive, inputs, tool })
    }
}

/// The arguments that names without a place in the schema were probably meant to be.
fn suggestions(schema: &Value, arguments: &Value) -> Vec<String> {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let given = arguments.as_object().into_iter().flat_map(Map::keys);
    let unknown = given.filter(|name| !known.contains_key(*name));
    let near = |name: &String| {
        let near = nearest_name(name, known.keys().map(String::as_str))?;
        Some(format!("did you mean `{near}` by `{name}`?"))
    };
    unknown.filter_map(near).collect()
}

/// Returns the grant that a thread declares: that of its chain, or of the one tool that the
/// operator calls. Only the shipped directive for that declares a tool beside its text.
pub(super) fn declared_grant(
    chain: &ExtendsChain,
    tool: Option<&ItemId>,
) -> Result<Grant, PrepareError> {
    let Some(tool) = tool else { return Ok(chain_grant(chain)?) };
    let leaf = chain.leaf();
    if leaf.id.as_str() != CALLING_DIRECTIVE || leaf.location.space != Space::Builtin {
        return Err(PrepareError::Tool { id: leaf.id.clone() });
    }
    Ok(std::iter::once(Pattern::exactly(&capability(tool))).collect())
}

fn capability(tool: &ItemId) -> Capability {
    Capability::new(Primary::Execute, Kind::Tool, tool.as_str())
        .expect("because every item id is one of a capability")
}

/// The one step of a thread that calls a tool.
pub(super) fn one_call(tool: &ItemId, composed: &Composed) -> StepsProvider {
    let arguments = composed.inputs.values().get("arguments").and_then(Value::as_object);
    let arguments = arguments.cloned().unwrap_or_default();
    let call = PlannedCall::new("execute", Some("tool"), Some(tool.as_str()), arguments);
    StepsProvider::new(vec![PlannedStep::new("call", "", vec![call])], Vec::new())
}

#[cfg(test)]
mod tests {
    use rye_resolve::Spaces;

    use super::super::request::PlanRequest;
    use super::*;
    use crate::project::Setup;
    use crate::shipped::shipped_files;

    #[test]
    fn only_the_shipped_directive_takes_a_tool_of_the_request() {
        let folder = tempfile::tempdir().unwrap();
        let spaces = Spaces::new().with_project(folder.path()).with_shipped(shipped_files());
        let now = "2026-11-20T18:00:00Z".parse().unwrap();
        let project = Project::open(&Setup::new(spaces, now)).unwrap();
        let refusal = |directive: &str| {
            let mut request = PlanRequest::new(directive.parse().unwrap());
            request.tool = Some("rye/file-system/read".parse().unwrap());
            project.plan(&request).err().map(|error| error.to_string())
        };
        assert_eq!(refusal(CALLING_DIRECTIVE), None);
        assert_eq!(
            refusal("rye/core/list_folder").as_deref(),
            Some(
                "directive `rye/core/list_folder` declares its tools itself; only the shipped directive for the operator's calls takes another one"
            )
        );
    }
}
