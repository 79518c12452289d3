//! Placement of values in text, once (SPEC 6.2 and 6.3).

mod error;
mod frame;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use rye_parse::{Directive, Fallback, Input, Placeholder, Spanned, nearest_name, placeholders};
use rye_types::ValueType;
use serde_json::Value;

pub use self::error::{Part, RenderError, RenderProblem};
pub(crate) use self::frame::Placed;
use self::shown::shown_result;
pub(crate) use self::shown::shown_results;
use crate::inputs::{Inputs, coerce};
use crate::json::compact;

/// The number of problems that are reported one by one, because a prompt can have nearly as many as it has bytes.
const TOLD: usize = 200;

/// The most text of values that one prompt has, in bytes. A small file can name a large value many thousand times.
const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;

/// Places the bound values of one directive, and collects problems with its placeholders.
#[derive(Debug)]
pub(crate) struct Placer<'a> {
    declared: BTreeMap<&'a str, &'a Input>,
    /// The names of the directive's steps.
    steps: BTreeSet<&'a str>,
    inputs: &'a Inputs,
    problems: Vec<RenderProblem>,
    /// The parts and texts with problems. One text in one part is one problem, however often it occurs.
    blamed: BTreeSet<(Part, String)>,
    /// The bytes of values that may still be placed; `None` after a value did not fit.
    room: Option<usize>,
}

/// The replacement of a placeholder.
enum Filling<'a> {
    Value(&'a Value),
    Default(String, ValueType),
    /// Text of the author's.
    Literal(String),
    AsWritten,
}

impl<'a> Placer<'a> {
    pub(crate) fn new(directive: &'a Directive, inputs: &'a Inputs) -> Self {
        let declared = directive
            .inputs
            .iter()
            .map(|input| (input.value.name.value.as_str(), &input.value))
            .collect();
        let steps = directive.steps.iter().filter_map(|step| step.value.name.as_deref()).collect();
        Self {
            declared,
            steps,
            inputs,
            problems: Vec::new(),
            blamed: BTreeSet::new(),
            room: Some(MAX_VALUE_BYTES),
        }
    }

    /// Replaces the placeholders of `text` in one pass. A reference to the result of a step of the directive says in the body that it
    /// is one, because a model has that result in its conversation. Another one, and one in another part, stays as written: it
    /// may be code.
    pub(crate) fn place(&mut self, text: &str, part: &Part) -> Placed {
        let mut placed = Placed::with_capacity(text.len());
        let slice =
            |range| text.get(range).expect("because the scanner's spans lie in its text, in order");
        let mut end = 0;
        for Spanned { value: placeholder, span } in placeholders(text) {
            placed.push_literal(slice(end..span.start));
            let written = slice(span.clone());
            match self.fill(&placeholder, written, part) {
                Filling::Value(Value::String(value)) => self.push(&mut placed, value, part),
                Filling::Value(value) => self.push(&mut placed, &compact(value), part),
                Filling::Default(default, _) => self.push(&mut placed, &default, part),
                Filling::Literal(text) => placed.push_literal(&text),
                Filling::AsWritten => placed.push_literal(written),
            }
            end = span.end;
        }
        placed.push_literal(slice(end..text.len()));
        placed
    }

    /// Replaces the placeholders in every text of a JSON value, but not in its keys. A text that consists of one
    /// placeholder becomes the value itself, with its own type.
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

    pub(crate) fn finish(mut self) -> Result<(), RenderError> {
        if self.problems.is_empty() {
            return Ok(());
        }
        let told = self.problems.len() - usize::from(self.room.is_none());
        if let count @ 1.. = self.blamed.len() - told {
            self.problems.push(RenderProblem::More { count });
        }
        Err(RenderError::new(self.problems, self.declared.into_keys()))
    }

    fn place_whole(&mut self, text: &str, part: &Part) -> Option<Value> {
        let [Spanned { value: placeholder, span }] = <[_; 1]>::try_from(placeholders(text)).ok()?;
        if span != (0..text.len()) {
            return None;
        }
        Some(match self.fill(&placeholder, text, part) {
            Filling::Value(value) if self.fits(&compact(value), part) => value.clone(),
            Filling::Value(_) => text.into(),
            // A default that does not fit the declared type stays the author's text. The schema of the tool will check
            // it.
            Filling::Default(default, declared) => {
                coerce(&Value::from(default.as_str()), declared).unwrap_or(default.into())
            }
            Filling::Literal(text) => text.into(),
            Filling::AsWritten => text.into(),
        })
    }

    fn fill(&mut self, placeholder: &Placeholder, written: &str, part: &Part) -> Filling<'a> {
        let (name, fallback) = match placeholder {
            Placeholder::Input { name, fallback } => (name, fallback),
            Placeholder::Escaped { text } => return Filling::Literal(text.clone()),
            Placeholder::Step(reference)
                if *part == Part::Body && self.steps.contains(reference.name.as_str()) =>
            {
                return Filling::Literal(shown_result(reference));
            }
            Placeholder::Step(_) => return Filling::AsWritten,
        };
        let Some(input) = self.declared.get(name.as_str()).copied() else {
            if self.blames(part, written) {
                let suggestion =
                    nearest_name(name, self.declared.keys().copied()).map(str::to_owned);
                let part = part.clone();
                let written = written.to_owned();
                self.problems.push(RenderProblem::Undeclared { part, written, suggestion });
            }
            return Filling::AsWritten;
        };
        match (self.inputs.get(name), fallback) {
            (Some(value), _) => Filling::Value(value),
            (None, Fallback::Empty) => Filling::Default(String::new(), ValueType::String),
            (None, Fallback::Default(default)) => {
                Filling::Default(default.clone(), input.value_type)
            }
            (None, Fallback::None) if input.required => {
                if self.blames(part, name) {
                    let part = part.clone();
                    let name = name.clone();
                    self.problems.push(RenderProblem::Absent { part, name });
                }
                Filling::AsWritten
            }
            (None, Fallback::None) => Filling::AsWritten,
        }
    }

    fn push(&mut self, placed: &mut Placed, value: &str, part: &Part) {
        if self.fits(value, part) {
            placed.push_value(value);
        }
    }

    /// Returns `true` if the prompt has room for one more value. The first value that does not fit is a problem.
    fn fits(&mut self, value: &str, part: &Part) -> bool {
        let Some(room) = self.room else { return false };
        self.room = room.checked_sub(value.len());
        if self.room.is_none() {
            let part = part.clone();
            let limit = MAX_VALUE_BYTES;
            self.problems.push(RenderProblem::TooLarge { part, limit });
        }
        self.room.is_some()
    }

    /// Returns `true` if a problem with `text` in `part` is new and must be reported on its own.
    fn blames(&mut self, part: &Part, text: &str) -> bool {
        self.blamed.insert((part.clone(), text.to_owned())) && self.problems.len() < TOLD
    }
}
