//! The operands of operators.

use std::ops::Range;

use serde_json::{Number, Value};

use super::Operator;
use super::pattern::PatternBudget;
use crate::{
    Problem, ProblemKind, Spanned,
    problem::Report,
    suggest::{quoted, suggestion},
    xml::expect::shorten,
};

/// The most alternatives of an `in`.
const MOST_CHOICES: usize = 256;

/// The reason why a value does not fit its operator.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// The form that the operator needs.
    pub(crate) expected: &'static str,
    /// The details, if known.
    pub(crate) why: Option<String>,
}

/// Parses the name of an operator, and reports an unknown one.
pub(crate) fn operator(report: &mut Report<'_>, word: &Spanned<String>) -> Option<Operator> {
    let operator = word.value.parse().ok();
    if operator.is_none() {
        report.error(unknown_operator(&word.value, word.span.clone()));
    }
    operator
}

/// Returns the problem of an unknown operator, with the operator that was probably meant.
pub(crate) fn unknown_operator(word: &str, place: Range<usize>) -> Problem {
    let kind = ProblemKind::UnknownValue { what: "operator".to_owned(), value: shorten(word) };
    let meant = of_symbol(word).or(match word {
        "=" | "===" | "is" | "equals" => Some(Operator::Eq),
        "~" | "=~" | "matches" => Some(Operator::Regex),
        "has" | "includes" => Some(Operator::Contains),
        _ => None,
    });
    Problem::new(kind, place, "not a known operator").help(match meant {
        Some(operator) => {
            format!("did you mean `{operator}`? valid: {}", quoted(Operator::NAMES.iter().copied()))
        }
        None => suggestion(word, Operator::NAMES),
    })
}

/// Returns the operator of a symbol that expressions may use instead of its name.
pub(crate) fn of_symbol(symbol: &str) -> Option<Operator> {
    match symbol {
        "==" => Some(Operator::Eq),
        "!=" => Some(Operator::Ne),
        ">" => Some(Operator::Gt),
        ">=" => Some(Operator::Gte),
        "<" => Some(Operator::Lt),
        "<=" => Some(Operator::Lte),
        _ => None,
    }
}

/// Converts the text of an XML attribute to an operand.
pub(crate) fn of_text(
    patterns: &mut PatternBudget,
    operator: Operator,
    text: &str,
) -> Result<Value, Unfit> {
    match operator {
        Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
            number(text).map(Value::Number).ok_or(Unfit { expected: NUMBER, why: None })
        }
        Operator::In => {
            let choices = text.split(',').map(|choice| Value::from(choice.trim())).collect();
            of_value(patterns, operator, &Value::Array(choices))
        }
        _ => of_value(patterns, operator, &Value::from(text)),
    }
}

/// Returns the operand if the operator can be compared with it.
pub(crate) fn of_value(
    patterns: &mut PatternBudget,
    operator: Operator,
    value: &Value,
) -> Result<Value, Unfit> {
    let unfit = |expected| Err(Unfit { expected, why: None });
    match (operator, value) {
        (Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte, Value::Number(_)) => {}
        (Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte, _) => return unfit(NUMBER),
        (Operator::In, Value::Array(choices)) => {
            let fits = (1..=MOST_CHOICES).contains(&choices.len())
                && choices.iter().all(|choice| is_scalar(choice) && choice != "");
            if !fits {
                return unfit(CHOICES);
            }
        }
        (Operator::In, _) => return unfit(CHOICES),
        (Operator::Regex, Value::String(text)) => {
            patterns.admit(text).map_err(|why| Unfit { expected: PATTERN, why: Some(why) })?;
        }
        (Operator::Regex, _) => return unfit(PATTERN),
        (_, value) if is_scalar(value) => {}
        (_, _) => return unfit(SCALAR),
    }
    Ok(value.clone())
}

/// Parses a JSON number, with or without white space around it.
pub(crate) fn number(text: &str) -> Option<Number> {
    serde_json::from_str(text.trim()).ok()
}

const NUMBER: &str = "a number such as `0.9`";
const CHOICES: &str = "a list such as `a, b`";
const PATTERN: &str = "a regular expression";
const SCALAR: &str = "text, a number or a boolean";

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}
