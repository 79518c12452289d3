//! Conditions: parsing of `<when>`, its refusals, and evaluation.

use rye_parse::{Condition, Operator, Spanned};
use serde_json::{Value, json};

use crate::{metadata, metadata_refused, read, rows};

/// Returns the condition of a hook with this XML.
#[track_caller]
fn condition(inside: &str) -> Spanned<Condition> {
    let hook = format!(
        "<hooks><hook id=\"a\" event=\"limit\">{inside}<sign item_id=\"x\"/></hook></hooks>"
    );
    read(&metadata(&hook)).hooks[0].value.condition.clone().expect("given")
}

/// Writes a condition in a short notation for tests.
pub(crate) fn notation(condition: &Condition) -> String {
    let list = |conditions: &[Spanned<Condition>]| {
        conditions.iter().map(|condition| notation(&condition.value)).collect::<Vec<_>>().join(", ")
    };
    match condition {
        Condition::Compare { path, operator, value, .. } => match value {
            Some(value) => format!("{path} {operator} {value}"),
            None => format!("{path} {operator}"),
        },
        Condition::Any(conditions) => format!("any({})", list(conditions)),
        Condition::All(conditions) => format!("all({})", list(conditions)),
        Condition::Not(condition) => format!("not({})", notation(&condition.value)),
        _ => "unknown".to_owned(),
    }
}

#[track_caller]
fn reads(expression: &str, expected: &str) {
    let escaped = expression.replace('&', "&amp;").replace('<', "&lt;");
    assert_eq!(notation(&condition(&format!("<when>{escaped}</when>")).value), expected);
}

rows! { reads;
    one_comparison: "cost.spend gte 0.9", "cost.spend gte 0.9";
    symbols: "a == 1 and b < 2 or c >= 3 or d != \"x\"", "any(all(a eq 1, b lt 2), c gte 3, d ne \"x\")";
    and_binds_closer: "a eq 1 or b eq 2 and c eq 3", "any(a eq 1, all(b eq 2, c eq 3))";
    existence: "error exists and error.type eq 'auth'", "all(error exists, error.type eq \"auth\")";
    list_of_choices: "type in [\"a b\", 1, true]", "type in [\"a b\",1,true]";
    words_in_text: "a eq \"x and y or z\"", "a eq \"x and y or z\"";
    escapes_in_text: r#"a eq "\"é\"""#, r#"a eq "\"é\"""#;
    no_escapes_in_single_quotes: r"a regex '\d+'", r#"a regex "\\d+""#;
    booleans: "a eq true and b ne false", "all(a eq true, b ne false)";
    negative_and_float: "a gt -1.5e3", "a gt -1500.0";
    index_into_a_list: "calls.0.name eq \"x\"", "calls.0.name eq \"x\"";
    over_lines: "a eq 1\n  and\n  b eq 2", "all(a eq 1, b eq 2)";
    without_spaces: "a==1", "a eq 1";
}

#[track_caller]
fn when_refused(marked: &str, messages: &[&str]) {
    let hook = format!(
        "<hooks><hook id=\"a\" event=\"limit\"><when>{marked}</when><sign item_id=\"x\"/></hook></hooks>"
    );
    metadata_refused(&hook, messages);
}

rows! { when_refused;
    when_of_a_path: "«cost.spend»", &["the condition cannot be read: an operator is expected; write `path op value`, such as `cost.turns gte 5`"];
    when_without_a_value: "cost.spend «gte»", &["the condition cannot be read: a value is expected after `gte`; write `path op value`, such as `cost.turns gte 5`"];
    when_without_a_path: "«and a eq 1»", &["the condition cannot be read: a path is expected; write `path op value`, such as `cost.turns gte 5`"];
    when_that_goes_on: "«a eq 1 or»", &["the condition cannot be read: a path is expected; write `path op value`, such as `cost.turns gte 5`"];
    when_of_a_text: "«\"a\"» eq 1", &["the condition cannot be read: a path is expected; write `path op value`, such as `cost.turns gte 5`"];
    when_with_a_bad_path: "«a..b» eq 1", &["the condition cannot be read: a path is expected; write `path op value`, such as `cost.turns gte 5`"];
    when_with_a_bare_word: "error.type eq «auth»", &["the condition cannot be read: a text, number, boolean or list is expected; quote a text: `\"auth\"`"];
    when_with_null: "a eq «null»", &["the condition cannot be read: a text, number, boolean or list is expected; quote a text: `\"null\"`"];
    when_with_an_unknown_operator: "a «gtr» 1", &["unknown operator `gtr`; did you mean `gt`? valid: `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `contains`, `regex`, `exists`"];
    when_with_an_unknown_symbol: "a «=» 1", &["unknown operator `=`; did you mean `eq`? valid: `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `contains`, `regex`, `exists`"];
    when_with_parentheses: "«(»a eq 1)", &["the condition cannot be read: `(` is not part of the language; write `path op value`, joined by `and` and `or`; group with `any`, `all` and `not`"];
    when_with_an_open_text: "a eq «\"x»", &["the condition cannot be read: a text cannot be read; write a text as `\"a\"` and a list as `[\"a\", \"b\"]`"];
    when_with_an_open_quote: "a eq «'x»", &["the condition cannot be read: a text cannot be read; write a text as `\"a\"` and a list as `[\"a\", \"b\"]`"];
    when_with_a_list_of_words: "a in «[x, y]»", &["the condition cannot be read: a list cannot be read; write a text as `\"a\"` and a list as `[\"a\", \"b\"]`"];
    when_with_two_values: "a eq 1 «2»", &["the condition cannot be read: `and` or `or` is expected; write `path op value`, such as `cost.turns gte 5`"];
    when_exists_with_a_value: "a exists «true»", &["the condition cannot be read: `and` or `or` is expected; write `path op value`, such as `cost.turns gte 5`"];
    when_order_of_a_text: "a gt «\"x\"»", &["the value of `gt` is `\"x\"`, not a number such as `0.9`"];
    when_in_a_text: "a in «\"x\"»", &["the value of `in` is `\"x\"`, not a list such as `[\"a\", \"b\"]`"];
    when_regex_that_is_open: "a regex «\"(x\"»", &["the value of `regex` is `\"(x\"`, not a regular expression; unclosed group"];
    when_every_clause_is_told: "a «is» 1 and b eq «x»", &[
        "unknown operator `is`; did you mean `eq`? valid: `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `contains`, `regex`, `exists`",
        "the condition cannot be read: a text, number, boolean or list is expected; quote a text: `\"x\"`",
    ];
    when_with_entities_is_shown_whole: "«a &lt; x»", &["the condition cannot be read: a text, number, boolean or list is expected; write a number such as `0.9`"];
    when_of_two_paths: "cost.spend eq «limits.spend»", &["the condition cannot be read: a text, number, boolean or list is expected; a path of the data stands before the operator; behind it, write a value"];
    when_in_a_word: "a in «b»", &["the condition cannot be read: a text, number, boolean or list is expected; write a list such as `[\"a\", \"b\"]`"];
}

#[track_caller]
fn compare_refused(attributes: &str, message: &str) {
    metadata_refused(
        &format!(
            "<hooks><hook id=\"a\" event=\"limit\"><condition {attributes}/><sign item_id=\"x\"/></hook></hooks>"
        ),
        &[message],
    );
}

rows! { compare_refused;
    compare_with_a_bad_path: "path=\"«$.cost»\" op=\"eq\" value=\"1\"", "`path` is `$.cost`, not a dotted path such as `cost.spend`";
    compare_order_of_a_word: "path=\"a\" op=\"lt\" value=\"«high»\"", "`value` is `high`, not a number such as `0.9`";
    compare_in_nothing: "path=\"a\" op=\"in\" value=\"«a,,b»\"", "`value` is `a,,b`, not a list such as `a, b`";
    compare_with_a_bad_pattern: "path=\"a\" op=\"regex\" value=\"«[z-a]»\"", "`value` is `[z-a]`, not a regular expression; invalid character class range, the start must be <= the end";
    compare_with_a_huge_pattern: "path=\"a\" op=\"regex\" value=\"«(\\pL{999}){999}»\"", "`value` is `(\\pL{999}){999}`, not a regular expression; it takes too much memory";
    compare_exists_with_a_value: "path=\"a\" op=\"exists\" value=\"«true»\"", "`exists` takes no value; remove `value`; for the opposite, put it into `<not>`";
}

/// The data of an event, with every type of JSON.
fn event() -> Value {
    json!({
        "cost": {"spend": 0.9, "turns": 7, "big": 9_007_199_254_740_993_u64},
        "error": {"type": "rate_limited", "retry": true, "code": 429, "note": null, "text": "5"},
        "tags": ["slow", 3],
        "calls": [{"name": "read"}, {"name": "write"}],
    })
}

#[track_caller]
fn holds(inside: &str, expected: bool) {
    assert_eq!(condition(inside).value.holds(&event()), expected);
}

#[track_caller]
fn when_holds(expression: &str, expected: bool) {
    holds(&format!("<when>{}</when>", expression.replace('<', "&lt;")), expected);
}

rows! { when_holds;
    eq_of_text: "error.type eq \"rate_limited\"", true;
    eq_of_other_text: "error.type eq \"Rate_limited\"", false;
    eq_of_numbers: "cost.turns eq 7.0", true;
    eq_of_a_number_in_text: "cost.turns eq \"7\"", true;
    eq_of_text_and_number: "error.text eq 5", false;
    eq_of_a_boolean: "error.retry eq true", true;
    eq_of_a_boolean_in_text: "error.retry eq \"true\"", true;
    eq_of_text_and_boolean: "error.type eq true", false;
    eq_of_a_mapping: "cost eq \"x\"", false;
    eq_of_large_numbers_is_exact: "cost.big eq 9007199254740992", false;
    eq_of_what_is_absent: "error.nothing eq \"\"", false;
    ne_of_what_is_absent: "error.nothing ne 1", true;
    ne_of_null: "error.note ne 1", true;
    ne_of_equal: "cost.turns ne 7", false;
    gt_of_equal: "cost.turns gt 7", false;
    gte_of_equal: "cost.turns gte 7", true;
    lt_of_greater: "cost.turns lt 7.5", true;
    lte_of_lesser: "cost.turns lte 6.999", false;
    order_of_text: "error.text gt 1", false;
    order_of_what_is_absent: "cost.nothing lt 1", false;
    in_a_list: "error.code in [\"x\", 429]", true;
    in_a_list_of_texts: "error.code in [\"429\"]", true;
    not_in_a_list: "error.code in [428]", false;
    contains_a_part: "error.type contains \"limit\"", true;
    contains_no_part: "error.type contains \"limits\"", false;
    contains_a_member: "tags contains 3", true;
    contains_no_member: "tags contains \"slo\"", false;
    contains_a_key: "cost contains \"turns\"", true;
    contains_in_a_number: "cost.turns contains \"7\"", false;
    regex_anywhere: "error.type regex \"_lim\"", true;
    regex_anchored: "error.type regex \"^limited$\"", false;
    regex_of_a_number: "error.code regex \"4\"", false;
    exists_of_false_is_there: "error.retry exists", true;
    exists_of_null: "error.note exists", false;
    exists_of_nothing: "error.nothing exists", false;
    exists_below_a_text: "error.type.x exists", false;
    index: "calls.1.name eq \"write\"", true;
    index_past_the_end: "calls.2.name exists", false;
    index_that_is_no_number: "calls.x exists", false;
    both: "cost.turns gte 7 and error.retry eq true", true;
    only_one_of_both: "cost.turns gte 8 and error.retry eq true", false;
    either: "cost.turns gte 8 or error.retry eq true", true;
}

rows! { holds;
    several_in_a_row: "<condition path=\"cost.turns\" op=\"eq\" value=\"7\"/><condition path=\"cost.spend\" op=\"lt\" value=\"0.9\"/>", false;
    any_of_two: "<any><condition path=\"cost.turns\" op=\"eq\" value=\"8\"/><condition path=\"cost.spend\" op=\"gte\" value=\" 0.9 \"/></any>", true;
    not_of_one: "<not><condition path=\"cost.turns\" op=\"exists\"/></not>", false;
    not_of_several: "<not><condition path=\"cost.turns\" op=\"exists\"/><condition path=\"x\" op=\"exists\"/></not>", true;
    all_nested: "<all><not><when>x exists</when></not><condition path=\"error.code\" op=\"in\" value=\"1, 429\"/></all>", true;
}

/// Rows by the operator's name: an expression that holds for [`event`], and one that does not. If an operator has no
/// row, the tests do not compile.
macro_rules! operators {
    ($($operator:ident: $holds:literal, $fails:literal;)*) => {
        const OPERATORS: &[(Operator, &str, &str)] =
            &[$((Operator::$operator, $holds, $fails)),*];

        const fn has_a_row(operator: Operator) {
            match operator {
                $(Operator::$operator => (),)*
            }
        }
    };
}

operators! {
    Eq: "cost.turns eq 7", "cost.turns eq 8";
    Ne: "cost.turns ne 8", "cost.turns ne 7";
    Gt: "cost.turns gt 6", "cost.turns gt 7";
    Gte: "cost.turns gte 7", "cost.turns gte 8";
    Lt: "cost.turns lt 8", "cost.turns lt 7";
    Lte: "cost.turns lte 7", "cost.turns lte 6";
    In: "cost.turns in [6, 7]", "cost.turns in [6, 8]";
    Contains: "tags contains \"slow\"", "tags contains \"fast\"";
    Regex: "error.type regex \"^rate\"", "error.type regex \"^late\"";
    Exists: "cost.turns exists", "cost.rounds exists";
}

#[test]
fn each_operator_holds_and_does_not() {
    assert_eq!(OPERATORS.iter().map(|row| row.0).collect::<Vec<_>>(), Operator::ALL);
    for (operator, holding, failing) in OPERATORS {
        has_a_row(*operator);
        for (expression, expected) in [(holding, true), (failing, false)] {
            assert!(expression.contains(&format!(" {operator}")), "{expression}");
            when_holds(expression, expected);
        }
    }
}
