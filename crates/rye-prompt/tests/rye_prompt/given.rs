//! Short forms of directives and values for tests.

use std::collections::BTreeMap;

use rye_parse::Directive;
use rye_prompt::Inputs;
use serde_json::Value;

/// Parses a directive `t` with these children, and with this body below the fence.
#[track_caller]
pub(crate) fn directive(children: &str, body: &str) -> Directive {
    parse(&format!(
        "```xml\n<directive name=\"t\" version=\"1.0.0\">\n{children}\n</directive>\n```\n\n{body}\n"
    ))
}

/// Parses a directive that declares these inputs.
#[track_caller]
pub(crate) fn with_inputs(inputs: &str, body: &str) -> Directive {
    directive(&format!("<inputs>{inputs}</inputs>"), body)
}

/// Parses a whole file, which must be valid.
#[track_caller]
pub(crate) fn parse(source: &str) -> Directive {
    match rye_parse::directive(source) {
        Ok(directive) => directive,
        Err(error) => panic!("{error}: {:#?}", error.problems()),
    }
}

/// Returns the fields of a JSON object as values.
#[track_caller]
pub(crate) fn values(object: Value) -> BTreeMap<String, Value> {
    match object {
        Value::Object(fields) => fields.into_iter().collect(),
        other => panic!("not an object: {other}"),
    }
}

/// Binds the directive's inputs, which must fit.
#[track_caller]
pub(crate) fn bind(directive: &Directive, object: Value) -> Inputs {
    match Inputs::bind(&directive.inputs, &values(object)) {
        Ok(inputs) => inputs,
        Err(error) => panic!("{error}"),
    }
}
