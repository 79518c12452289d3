//! Values placed into text, once (SPEC 6.2 and 6.3).

mod error;
mod frame;

use std::collections::BTreeMap;

use rye_parse::{Directive, Fallback, Input, Placeholder, Spanned, ValueType, placeholders};
use serde_json::Value;

pub use self::error::{Part, RenderError, RenderProblem};
pub(crate) use self::frame::Placed;
use crate::inputs::{Inputs, coerce};
use crate::json::compact;
use crate::suggest::nearest;

/// Places one directive's bound values, and gathers what is wrong with its placeholders.
#[derive(Debug)]
pub(crate) struct Placer<'a> {
    declared: BTreeMap<&'a str, &'a Input>,
    inputs: &'a Inputs,
    problems: Vec<RenderProblem>,
}

/// What stands where a placeholder stood.
enum Filling<'a> {
    Value(&'a Value),
    Default(String, ValueType),
    AsWritten,
}

impl<'a> Placer<'a> {
    pub(crate) fn new(directive: &'a Directive, inputs: &'a Inputs) -> Self {
        let declared = directive
            .inputs
            .iter()
            .map(|input| (input.value.name.value.as_str(), &input.value))
            .collect();
        Self { declared, inputs, problems: Vec::new() }
    }

    /// One pass over `text`. Placeholders of earlier steps' results stay for whoever has the
    /// results.
    pub(crate) fn place(&mut self, text: &str, part: &Part) -> Placed {
        let mut placed = Placed::default();
        let slice =
            |range| text.get(range).expect("because the scanner's spans lie in its text, in order");
        let mut end = 0;
        for Spanned { value: placeholder, span } in placeholders(text) {
            placed.push_literal(slice(end..span.start));
            let written = slice(span.clone());
            match self.fill(&placeholder, written, part) {
                Filling::Value(Value::String(value)) => placed.push_value(value),
                Filling::Value(value) => placed.push_value(&compact(value)),
                Filling::Default(default, _) => placed.push_value(&default),
                Filling::AsWritten => placed.push_literal(written),
            }
            end = span.end;
        }
        placed.push_literal(slice(end..text.len()));
        placed
    }

    /// Places into every text of a JSON value, keys excepted. A text that is one placeholder and
    /// nothing else becomes the value itself, of its own type.
    pub(crate) fn place_json(&mut self, value: &Value, part: &Part) -> Value {
        match value {
            Value::String(text) => self
                .place_whole(text, part)
                .unwrap_or_else(|| self.place(text, part).verbatim().into()),
            Value::Array(items) => items.iter().map(|item| self.place_json(item, part)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| (key.clone(), self.place_json(value, part)))
                .collect(),
            scalar => scalar.clone(),
        }
    }

    pub(crate) fn finish(self) -> Result<(), RenderError> {
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(RenderError::new(self.problems, self.declared.into_keys()))
        }
    }

    fn place_whole(&mut self, text: &str, part: &Part) -> Option<Value> {
        let [Spanned { value: placeholder, span }] = <[_; 1]>::try_from(placeholders(text)).ok()?;
        if span != (0..text.len()) {
            return None;
        }
        Some(match self.fill(&placeholder, text, part) {
            Filling::Value(value) => value.clone(),
            // A default that does not read as the declared type is the author's text: the tool's
            // schema will judge it.
            Filling::Default(default, declared) => {
                coerce(&Value::from(default.as_str()), declared).unwrap_or(default.into())
            }
            Filling::AsWritten => text.into(),
        })
    }

    fn fill(&mut self, placeholder: &Placeholder, written: &str, part: &Part) -> Filling<'a> {
        let Placeholder::Input { name, fallback } = placeholder else { return Filling::AsWritten };
        let Some(input) = self.declared.get(name.as_str()).copied() else {
            let suggestion = nearest(name, self.declared.keys().copied());
            return self.problem(RenderProblem::Undeclared {
                part: part.clone(),
                written: written.to_owned(),
                suggestion,
            });
        };
        match (self.inputs.get(name), fallback) {
            (Some(value), _) => Filling::Value(value),
            (None, Fallback::Empty) => Filling::Default(String::new(), ValueType::String),
            (None, Fallback::Default(default)) => {
                Filling::Default(default.clone(), input.value_type)
            }
            (None, Fallback::None) if input.required => {
                self.problem(RenderProblem::Absent { part: part.clone(), name: name.clone() })
            }
            (None, Fallback::None) => Filling::AsWritten,
        }
    }

    fn problem(&mut self, problem: RenderProblem) -> Filling<'a> {
        // One name in one part is one problem, however often it is written.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
        Filling::AsWritten
    }
}
