//! The parameters of a call, held against a schema.

use std::ops::Range;

use rye_parse::{did_you_mean, nearest_name, quoted};
use rye_thread::{ArgumentSchema, SchemaProblem, SchemaProblemKind};
use serde_json::Value;

use super::Notation;
use crate::check::Finding;

/// A parameter that does not fit what is called.
pub(super) struct Misfit {
    /// The parameter at whose place it is reported; `None` for the call as a whole.
    pub(super) name: Option<String>,
    kind: Kind,
    /// The end of the message.
    reason: String,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Missing,
    /// The schema does not allow it.
    Unknown,
    /// The schema does not describe it, and allows anything.
    Undescribed,
    Unfit,
}

/// The longest text of a schema's error that is repeated.
const LONGEST: usize = 200;

impl Misfit {
    /// Parameters that have to be given; none of no names.
    pub(super) fn missing<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let names: Vec<&str> = names.into_iter().collect();
        let name = (*names.first()?).to_owned();
        let reason = format!("lacks {}", quoted(names));
        Some(Self { name: Some(name), kind: Kind::Missing, reason })
    }

    pub(super) fn unknown(name: &str, near: Option<&str>) -> Self {
        let reason = format!("has `{name}`, which is no parameter of it{}", did_you_mean(near));
        Self { name: Some(name.to_owned()), kind: Kind::Unknown, reason }
    }

    pub(super) fn unfit(name: &str, problem: &str) -> Self {
        let problem: String = problem.chars().take(LONGEST).collect();
        let reason = format!("does not fit: {problem}");
        Self { name: Some(name.to_owned()), kind: Kind::Unfit, reason }
    }

    /// Returns the name that stands in the call, so that the finding can point at it.
    pub(super) fn given_name(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| !matches!(self.kind, Kind::Missing))
    }

    /// The finding about the call that `by` makes of `what`.
    pub(super) fn finding(
        self,
        by: &str,
        what: &str,
        place: Range<usize>,
        is_bare: bool,
        notation: Notation,
    ) -> Finding {
        let message = format!("{by}: the call of {what} {}", self.reason);
        match self.kind {
            Kind::Missing if is_bare => Finding::warning("missing-parameter", &message, place)
                .with_label("without a model, refused")
                .with_help("give what is missing, unless a model is to choose it"),
            Kind::Missing => {
                let name = self.name.as_deref().unwrap_or("NAME");
                let help = match notation {
                    Notation::Xml => format!(
                        "write `<param name=\"{name}\" value=\"…\" />`, or add it to `parameters`"
                    ),
                    Notation::Yaml => format!("write `{name}: …` in `params`"),
                    Notation::Inputs => {
                        format!(
                            "add it to `inputs`: `<param name=\"inputs\">{{\"{name}\": …}}</param>`"
                        )
                    }
                };
                Finding::error("missing-parameter", &message, place)
                    .with_label("would be refused")
                    .with_help(&help)
            }
            Kind::Unknown => {
                Finding::error("unknown-parameter", &message, place).with_label("would be refused")
            }
            Kind::Undescribed => Finding::warning("unknown-parameter", &message, place)
                .with_label("not in its input schema"),
            Kind::Unfit => {
                Finding::error("unfit-parameter", &message, place).with_label("would be refused")
            }
        }
    }
}

/// Everything in `given` that does not fit the schema, apart from the values of the parameters in `open`.
pub(super) fn misfits(
    schema: &Value,
    compiled: &ArgumentSchema,
    given: &Value,
    open: &[String],
) -> Vec<Misfit> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = || properties.into_iter().flatten().map(|(name, _)| name.as_str());
    let near = |name: &str| nearest_name(name, names()).map(str::to_owned);
    let mut misfits = Vec::new();
    let mut missing = Vec::new();
    for problem in compiled.problems(given) {
        let parameter = problem.path.split('/').nth(1);
        match (parameter, &problem.kind) {
            (None, SchemaProblemKind::Missing(name)) => missing.push(name.clone()),
            (None, SchemaProblemKind::Unknown(unexpected)) => {
                misfits.extend(
                    unexpected.iter().map(|name| Misfit::unknown(name, near(name).as_deref())),
                );
            }
            (None, _) if !open.is_empty() => {}
            (Some(name), _) if open.iter().any(|open| open == name) => {}
            (name, _) => misfits.push(unfit(name, &problem, near_choice(schema, given, name))),
        }
    }
    misfits.extend(Misfit::missing(missing.iter().map(String::as_str)));
    if names().next().is_some() && is_silent(schema) {
        let undescribed = given.as_object().into_iter().flat_map(|given| given.keys());
        let undescribed = undescribed.filter(|name| !names().any(|known| known == *name));
        misfits.extend(undescribed.map(|name| Misfit {
            kind: Kind::Undescribed,
            ..Misfit::unknown(name, near(name).as_deref())
        }));
    }
    misfits
}

/// The word that was probably meant, where a parameter has one of several.
fn near_choice<'s>(schema: &'s Value, given: &Value, name: Option<&str>) -> Option<&'s str> {
    let name = name?;
    let choices = schema.get("properties")?.get(name)?.get("enum")?.as_array()?;
    nearest_name(given.get(name)?.as_str()?, choices.iter().filter_map(Value::as_str))
}

fn unfit(name: Option<&str>, problem: &SchemaProblem, near: Option<&str>) -> Misfit {
    match name {
        Some(name) => {
            let misfit = Misfit::unfit(name, &problem.message);
            let near = did_you_mean(near);
            Misfit { reason: format!("has a `{name}` that {}{near}", misfit.reason), ..misfit }
        }
        None => Misfit { name: None, ..Misfit::unfit("", &problem.message) },
    }
}

/// Returns `true` if the schema says of no other properties than those that it describes whether they may be there.
fn is_silent(schema: &Value) -> bool {
    let words = [
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "propertyNames",
        "allOf",
        "anyOf",
        "oneOf",
        "$ref",
        "if",
    ];
    words.iter().all(|word| schema.get(word).is_none())
}
