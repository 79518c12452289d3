//! The expressions of `<when>`: `path op literal`, joined by `and` and `or` (SPEC 10.3).
//!
//! `and` binds more tightly than `or`. There are no parentheses, calls or variables; use `any`, `all` and `not` for
//! such conditions.

use std::ops::Range;

use serde_json::Value;

use super::{Condition, Operator, all, is_path, operand};
use crate::{Problem, ProblemKind, Spanned, problem::Report, xml::expect};

mod lex;

use lex::{Kind, Token, tokens};

/// The longest expression, in bytes.
const LONGEST: usize = 4096;

/// Parses an expression. `place` converts a byte range of the expression to one of the file.
///
/// Each clause is parsed separately, so that every wrong one is reported.
pub(crate) fn read(
    report: &mut Report<'_>,
    text: &str,
    place: &dyn Fn(Range<usize>) -> Range<usize>,
) -> Option<Spanned<Condition>> {
    let whole = place(0..text.len());
    report.check_size("condition", text.len(), LONGEST, whole.clone(), "this condition")?;
    let mut reader = Reader { report, text, place, sound: true };
    let tokens = tokens(text);
    let mut alternatives = Vec::new();
    for alternative in tokens.split(|token| token.is_word("or")) {
        let clauses: Vec<_> = alternative
            .split(|token| token.is_word("and"))
            .filter_map(|clause| reader.clause(clause, alternative))
            .collect();
        alternatives.extend(all(clauses));
    }
    if !reader.sound {
        return None;
    }
    match <[_; 1]>::try_from(alternatives) {
        Ok([only]) => Some(only),
        Err(alternatives) => Some(Spanned::new(Condition::Any(alternatives), whole)),
    }
}

struct Reader<'r, 's, 't> {
    report: &'r mut Report<'s>,
    text: &'t str,
    place: &'r dyn Fn(Range<usize>) -> Range<usize>,
    /// `true` if no problem was found so far.
    sound: bool,
}

impl<'t> Reader<'_, '_, 't> {
    /// Parses `path op literal`. `beside` is the place for reporting an empty clause.
    fn clause(&mut self, clause: &[Token<'t>], beside: &[Token<'t>]) -> Option<Spanned<Condition>> {
        if let Some(wrong) = clause.iter().find(|token| token.is_foreign()) {
            self.foreign(wrong);
            return None;
        }
        let Some((path, rest)) = clause.split_first() else {
            let end = beside.last().map_or(self.text.len(), |token| token.span.end);
            let from = beside.first().map_or(0, |token| token.span.start);
            self.report_expected("a path is expected", from..end, "a comparison is missing");
            return None;
        };
        let is_path = matches!(path.kind, Kind::Word(word) if is_path(word));
        if !is_path {
            self.report_expected("a path is expected", path.span.clone(), "not a path");
            return None;
        }
        let Some((operator, rest)) = rest.split_first() else {
            self.report_expected(
                "an operator is expected",
                path.span.clone(),
                "compared with nothing",
            );
            return None;
        };
        let word = self.slice(operator);
        let Some(parsed) = lex::operator(word) else {
            self.unknown_operator(operator);
            return None;
        };
        let value = self.literal(parsed, operator, rest)?;
        let end = rest.last().unwrap_or(operator).span.end;
        let span = (self.place)(path.span.start..end);
        let path = self.slice(path).to_owned();
        Some(Spanned::new(Condition::Compare { path, operator: parsed, value }, span))
    }

    /// Says what to write in place of a word behind an operator. A word with a dot is probably meant as a path of the data, which stands
    /// before an operator only.
    fn literal_help(&mut self, operator: Operator, word: &str) -> String {
        let is_path = word.contains('.') && !word.starts_with(['"', '\'', '[']);
        match operand::of_value(&mut self.report.patterns, operator, &Value::from(word)) {
            Ok(_) if is_path => {
                "a path of the data stands before the operator; behind it, write a value".to_owned()
            }
            Ok(_) => format!("quote a text: `\"{word}\"`"),
            Err(unfit) => format!("write {}", unfit.expected.replace("`a, b`", "`[\"a\", \"b\"]`")),
        }
    }

    /// Parses the literal after an operator. The outer `None` is a reported problem.
    fn literal(
        &mut self,
        operator: Operator,
        token: &Token<'t>,
        rest: &[Token<'t>],
    ) -> Option<Option<Value>> {
        let (literal, more) = match (operator, rest.split_first()) {
            (Operator::Exists, None) => return Some(None),
            (Operator::Exists, Some((more, _))) => (None, Some(more)),
            (_, None) => {
                let what = format!("a value is expected after `{}`", self.slice(token));
                self.report_expected(&what, token.span.clone(), "compared with nothing");
                return None;
            }
            (_, Some((literal, more))) => (Some(literal), more.first()),
        };
        if let Some(more) = more {
            self.report_expected(
                "`and` or `or` is expected",
                more.span.clone(),
                "not expected here",
            );
            return None;
        }
        let literal = literal?;
        let Some(value) = lex::literal(literal) else {
            let what = "a text, number, boolean or list is expected";
            let help = self.literal_help(operator, self.slice(literal));
            self.problem(what, literal.span.clone(), "not a value", Some(help));
            return None;
        };
        match operand::of_value(&mut self.report.patterns, operator, &value) {
            Ok(value) => Some(Some(value)),
            Err(unfit) => {
                let kind = ProblemKind::BadValue {
                    what: format!("the value of `{operator}`"),
                    value: expect::shorten(self.slice(literal)),
                    expected: unfit.expected.replace("`a, b`", "`[\"a\", \"b\"]`"),
                };
                self.report_as(kind, literal.span.clone(), "does not fit", unfit.why);
                None
            }
        }
    }

    fn foreign(&mut self, token: &Token<'t>) {
        match token.kind {
            Kind::Broken(what) => {
                let what = format!("a {what} cannot be read");
                let help = "write a text as `\"a\"` and a list as `[\"a\", \"b\"]`";
                self.problem(&what, token.span.clone(), "starts here", Some(help.to_owned()));
            }
            _ => {
                let what = format!("`{}` is not part of the language", self.slice(token));
                let help = "write `path op value`, joined by `and` and `or`; group with `any`, `all` and `not`";
                self.problem(&what, token.span.clone(), "not read", Some(help.to_owned()));
            }
        }
    }

    fn unknown_operator(&mut self, token: &Token<'t>) {
        self.sound = false;
        let place = (self.place)(token.span.clone());
        self.report.error(operand::unknown_operator(self.slice(token), place));
    }

    fn report_expected(&mut self, what: &str, span: Range<usize>, label: &str) {
        self.problem(what, span, label, None);
    }

    fn problem(&mut self, what: &str, span: Range<usize>, label: &str, help: Option<String>) {
        let help =
            help.or_else(|| Some("write `path op value`, such as `cost.turns gte 5`".to_owned()));
        self.report_as(
            ProblemKind::UnreadableCondition { why: what.to_owned() },
            span,
            label,
            help,
        );
    }

    fn report_as(
        &mut self,
        kind: ProblemKind,
        span: Range<usize>,
        label: &str,
        help: Option<String>,
    ) {
        self.sound = false;
        let problem = Problem::new(kind, (self.place)(span), label);
        self.report.error(Problem { help, ..problem });
    }

    fn slice(&self, token: &Token<'_>) -> &'t str {
        self.text.get(token.span.clone()).unwrap_or("")
    }
}
