use super::*;

fn contract() -> OutputContract {
    OutputContract::new(vec![
        OutputField::required("score", ValueType::Integer).with_description("0 to 100"),
        OutputField::optional("note", ValueType::String),
        OutputField::optional("extra", None),
    ])
    .unwrap()
}

#[track_caller]
fn check(value: &Value, expected: Result<(), &[&str]>) {
    let expected = expected
        .map(|()| value.as_object().unwrap().clone())
        .map_err(|problems| problems.iter().map(|problem| (*problem).to_owned()).collect());
    assert_eq!(contract().check(value), expected);
}

#[test]
fn complete_outputs_are_taken() {
    check(&json!({"score": 7, "note": "n", "extra": [null]}), Ok(()));
}

#[test]
fn optional_outputs_may_be_left_out() {
    check(&json!({"score": 7.0}), Ok(()));
}

#[test]
fn missing() {
    check(&json!({}), Err(&["`score` is missing; give integer"]));
}

#[test]
fn every_problem_is_reported() {
    check(
        &json!({"score": "7", "note": 1, "sore": true}),
        Err(&[
            "`score` must be integer, not string",
            "`note` must be string, not integer",
            "`sore` is not an output; the outputs are `score`, `note`, `extra`",
        ]),
    );
}

#[test]
fn a_fraction_is_no_integer() {
    check(&json!({"score": 7.5}), Err(&["`score` must be integer, not number"]));
}

#[test]
fn null_is_a_value_of_the_wrong_type() {
    check(&json!({"score": 7, "note": null}), Err(&["`note` must be string, not null"]));
}

#[test]
fn outputs_are_an_object() {
    check(&json!([1]), Err(&["outputs must be an object, not array"]));
}

#[test]
fn a_name_is_declared_once() {
    let fields =
        vec![OutputField::required("a", None), OutputField::optional("a", ValueType::String)];
    assert_eq!(
        OutputContract::new(fields).unwrap_err().to_string(),
        "output `a` is declared twice; give each output its own name"
    );
}

#[test]
fn the_schema_says_what_check_says() {
    let schema = contract().schema();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "score": {"type": "integer", "description": "0 to 100"},
                "note": {"type": "string"},
                "extra": {},
            },
            "required": ["score"],
            "additionalProperties": false,
        })
    );
    for value in [
        json!({}),
        json!({"score": 1}),
        json!({"score": 1.0}),
        json!({"score": 1.5}),
        json!({"score": "1"}),
        json!({"score": 1, "note": null}),
        json!({"score": 1, "more": 1}),
        json!(3),
    ] {
        assert_eq!(
            jsonschema::is_valid(&schema, &value),
            contract().check(&value).is_ok(),
            "schema and check differ on {value}"
        );
    }
}
