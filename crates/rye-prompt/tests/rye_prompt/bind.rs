//! SPEC 6.1: given values and declared inputs.

use rye_prompt::{BindProblem, Inputs};
use serde_json::{Value, json};

use crate::given::{values, with_inputs};

/// Binds `given` and compares all values.
#[track_caller]
fn check(inputs: &str, given: Value, expected: Value) {
    let directive = with_inputs(inputs, "x");
    let bound =
        Inputs::bind(&directive.inputs, &values(given)).map(|inputs| inputs.values().clone());
    assert_eq!(bound, Ok(values(expected)));
}

/// Binds `given`, and compares the whole message.
#[track_caller]
fn refuse(inputs: &str, given: Value, message: &str) {
    let directive = with_inputs(inputs, "x");
    let error = Inputs::bind(&directive.inputs, &values(given)).expect_err("must be refused");
    assert_eq!(error.to_string(), message);
}

macro_rules! accepted {
    ($($name:ident: $inputs:expr, $given:tt => $expected:tt;)*) => {
        $(#[test] fn $name() { check($inputs, json!($given), json!($expected)); })*
    };
}

macro_rules! refused {
    ($($name:ident: $inputs:expr, $given:tt => $message:expr;)*) => {
        $(#[test] fn $name() { refuse($inputs, json!($given), $message); })*
    };
}

accepted! {
    no_inputs_and_none_given: "", {} => {};
    a_string: r#"<input name="a"/>"#, {"a": "x"} => {"a": "x"};
    a_string_that_looks_like_a_number: r#"<input name="a"/>"#, {"a": "007"} => {"a": "007"};
    an_empty_string: r#"<input name="a" required="true"/>"#, {"a": ""} => {"a": ""};
    a_number_as_text: r#"<input name="a"/>"#, {"a": 3} => {"a": "3"};
    a_boolean_as_text: r#"<input name="a"/>"#, {"a": true} => {"a": "true"};
    an_integer: r#"<input name="a" type="integer"/>"#, {"a": 3} => {"a": 3};
    an_integer_from_text: r#"<input name="a" type="integer"/>"#, {"a": "-3"} => {"a": -3};
    the_largest_integer: r#"<input name="a" type="integer"/>"#, {"a": "18446744073709551615"} => {"a": 18_446_744_073_709_551_615_u64};
    a_whole_float_is_an_integer: r#"<input name="a" type="integer"/>"#, {"a": 3.0} => {"a": 3};
    a_number: r#"<input name="a" type="number"/>"#, {"a": 2.5} => {"a": 2.5};
    a_number_from_text: r#"<input name="a" type="number"/>"#, {"a": "2.50"} => {"a": 2.5};
    a_whole_number_from_text_stays_whole: r#"<input name="a" type="number"/>"#, {"a": "3"} => {"a": 3};
    a_boolean: r#"<input name="a" type="boolean"/>"#, {"a": false} => {"a": false};
    a_boolean_from_text: r#"<input name="a" type="boolean"/>"#, {"a": "true"} => {"a": true};
    an_array: r#"<input name="a" type="array"/>"#, {"a": [1]} => {"a": [1]};
    an_array_from_text: r#"<input name="a" type="array"/>"#, {"a": "[1, \"b\"]"} => {"a": [1, "b"]};
    an_object: r#"<input name="a" type="object"/>"#, {"a": {"b": 1}} => {"a": {"b": 1}};
    an_object_from_text: r#"<input name="a" type="object"/>"#, {"a": "{\"b\": null}"} => {"a": {"b": null}};
    an_optional_input_may_be_absent: r#"<input name="a"/><input name="b"/>"#, {"b": "x"} => {"b": "x"};
    a_default_fills_in: r#"<input name="a" default="x"/>"#, {} => {"a": "x"};
    a_default_makes_a_required_input_present: r#"<input name="a" required="true" default="x"/>"#, {} => {"a": "x"};
    a_default_gives_way: r#"<input name="a" default="x"/>"#, {"a": "y"} => {"a": "y"};
    a_default_coerces: r#"<input name="a" type="integer" default="120"/>"#, {} => {"a": 120};
    a_default_that_is_not_used_is_not_judged: r#"<input name="a" type="integer" default="7"/>"#, {"a": 1} => {"a": 1};
    a_choice: r#"<input name="a" enum="x,y"/>"#, {"a": "y"} => {"a": "y"};
    a_choice_of_a_type: r#"<input name="a" type="integer" enum="1,2"/>"#, {"a": "2"} => {"a": 2};
    a_choice_of_equal_numbers: r#"<input name="a" type="number" enum="1,2"/>"#, {"a": 1.0} => {"a": 1.0};
}

refused! {
    an_array_is_no_string: r#"<input name="a"/>"#, {"a": [3]}
        => "`a` must be of type string, not the array `[3]`; valid inputs: `a`";
    a_directive_without_inputs_accepts_none: "", {"a": 1}
        => "unknown input `a`; the directive accepts no inputs";
    an_unknown_name: r#"<input name="target"/>"#, {"colour": "x"}
        => "unknown input `colour`; valid inputs: `target`";
    an_unknown_name_with_a_neighbour: r#"<input name="target"/><input name="mode"/>"#, {"tagret": "x"}
        => "unknown input `tagret`; did you mean `target`?; valid inputs: `target`, `mode`";
    a_missing_required_input: r#"<input name="target" required="true"/>"#, {}
        => "missing required input `target`; valid inputs: `target`";
    null_is_no_value: r#"<input name="a"/>"#, {"a": null}
        => "`a` must be of type string, not null; valid inputs: `a`";
    a_word_is_no_integer: r#"<input name="a" type="integer"/>"#, {"a": "three"}
        => "`a` must be of type integer, such as `3`, not the text `three`; valid inputs: `a`";
    a_fraction_is_no_integer: r#"<input name="a" type="integer"/>"#, {"a": 2.5}
        => "`a` must be of type integer, such as `3`, not the number `2.5`; valid inputs: `a`";
    an_inexact_float_is_no_integer: r#"<input name="a" type="integer"/>"#, {"a": 1e300}
        => "`a` must be of type integer, such as `3`, not the number `1e+300`; valid inputs: `a`";
    infinity_is_no_number: r#"<input name="a" type="number"/>"#, {"a": "inf"}
        => "`a` must be of type number, such as `1.5`, not the text `inf`; valid inputs: `a`";
    an_overflow_is_no_number: r#"<input name="a" type="number"/>"#, {"a": "1e999"}
        => "`a` must be of type number, such as `1.5`, not the text `1e999`; valid inputs: `a`";
    yes_is_no_boolean: r#"<input name="a" type="boolean"/>"#, {"a": "yes"}
        => "`a` must be of type boolean, which is `true` or `false`, not the text `yes`; valid inputs: `a`";
    a_boolean_is_no_number: r#"<input name="a" type="number"/>"#, {"a": true}
        => "`a` must be of type number, such as `1.5`, not the boolean `true`; valid inputs: `a`";
    an_object_is_no_array: r#"<input name="a" type="array"/>"#, {"a": "{}"}
        => "`a` must be of type array, such as `[\"a\", \"b\"]`, not the text `{}`; valid inputs: `a`";
    an_array_is_no_object: r#"<input name="a" type="object"/>"#, {"a": [1, 2]}
        => "`a` must be of type object, such as `{\"key\": \"value\"}`, not the array `[1,2]`; valid inputs: `a`";
    json_with_a_tail_is_no_array: r#"<input name="a" type="array"/>"#, {"a": "[1] 2"}
        => "`a` must be of type array, such as `[\"a\", \"b\"]`, not the text `[1] 2`; valid inputs: `a`";
    a_long_value_is_shortened: r#"<input name="a" type="boolean"/>"#, {"a": "äääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää"}
        => "`a` must be of type boolean, which is `true` or `false`, not the text `ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää…`; valid inputs: `a`";
    not_a_choice: r#"<input name="a" enum="x,y"/>"#, {"a": "z"}
        => "`a` must be one of `x`, `y`, not the text `z`; valid inputs: `a`";
    everything_at_once: r#"<input name="a" required="true"/><input name="b" type="integer"/><input name="c" enum="x"/>"#,
        {"z": 1, "b": "two", "c": "y", "q": null}
        => "unknown input `q`; unknown input `z`; missing required input `a`; `b` must be of type integer, such as `3`, not the text `two`; \
            `c` must be one of `x`, not the text `y`; valid inputs: `a`, `b`, `c`";
}

#[test]
fn an_unsuitable_default_is_the_authors_fault() {
    // The file is corrected in memory, so that it does not matter whether the parser refuses it.
    let mut directive = with_inputs(
        r#"<input name="a" type="integer" default="1"/><input name="b" enum="x" default="x"/>"#,
        "x",
    );
    for input in &mut directive.inputs {
        input.value.default.as_mut().expect("because both declare one").value = "soon".to_owned();
    }
    let error = Inputs::bind(&directive.inputs, &values(json!({}))).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "the declared default of `a` must be of type integer, such as `3`, not the text `soon`; \
         the declared default of `b` must be one of `x`, not the text `soon`; valid inputs: `a`, `b`"
    );
    assert!(Inputs::bind(&directive.inputs, &values(json!({"a": 1, "b": "x"}))).is_ok());
}

#[test]
fn problems_are_data() {
    let directive = with_inputs(r#"<input name="mode" required="true"/>"#, "x");
    let error =
        Inputs::bind(&directive.inputs, &values(json!({"mood": 1}))).expect_err("must be refused");
    assert_eq!(
        error.problems(),
        [
            BindProblem::Unknown { name: "mood".to_owned(), suggestion: Some("mode".to_owned()) },
            BindProblem::Missing { name: "mode".to_owned() }
        ]
    );
    assert_eq!(error.valid(), ["mode"]);
}

#[test]
fn an_absent_input_has_no_value() {
    let directive = with_inputs(r#"<input name="a"/><input name="b" default="x"/>"#, "x");
    let inputs = Inputs::bind(&directive.inputs, &values(json!({}))).expect("must fit");
    assert_eq!(
        (inputs.get("a"), inputs.get("b"), inputs.get("c")),
        (None, Some(&json!("x")), None)
    );
}
