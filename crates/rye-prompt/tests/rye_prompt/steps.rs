//! SPEC 3.9 and 6.2: inputs in structured steps.

use rye_parse::Step;
use rye_prompt::{Inputs, known_steps, steps};
use serde_json::{Value, json};

use crate::given::{bind, with_inputs};

const INPUTS: &str =
    r#"<input name="text"/><input name="count" type="integer"/><input name="map" type="object"/>"#;

/// Returns a body of one step with one action.
fn body(action: &str) -> String {
    format!(
        "<process><step name=\"one\"><description>About {{input:text?}}</description>{action}</step></process>"
    )
}

#[track_caller]
fn placed(action: &str, given: Value) -> Vec<Step> {
    let directive = with_inputs(INPUTS, &body(action));
    steps(&directive, &bind(&directive, given)).expect("must be placed")
}

/// Places into one parameter `p`, and compares it as JSON.
#[track_caller]
fn check(written: &str, given: Value, expected: Value) {
    let steps = placed(
        &format!(
            r#"<execute item_type="tool" item_id="x/y"><param name="p">{written}</param></execute>"#
        ),
        given,
    );
    let parameter = steps
        .first()
        .and_then(|step| step.actions.first())
        .and_then(|action| action.value.parameters.get("p"));
    assert_eq!(parameter.cloned(), Some(expected));
}

#[test]
fn a_value_within_text() {
    check("a {input:text} {input:count}", json!({"text": "x", "count": 3}), json!("a x 3"));
}

#[test]
fn a_placeholder_alone_keeps_the_type() {
    check("{input:count}", json!({"count": 3}), json!(3));
    check("${inputs.map}", json!({"map": {"b": [1], "a": null}}), json!({"b": [1], "a": null}));
    check("{input:text}", json!({"text": "3"}), json!("3"));
}

#[test]
fn a_placeholder_alone_with_a_fallback_takes_the_declared_type() {
    check("{input:count:7}", json!({}), json!(7));
    check("{input:text:7}", json!({}), json!("7"));
    check("{input:count:many}", json!({}), json!("many"));
    check("{input:count?}", json!({}), json!(""));
}

#[test]
fn an_absent_optional_input_stays_as_written() {
    check("{input:text}", json!({}), json!("{input:text}"));
}

#[test]
fn an_earlier_result_stays_for_the_provider() {
    check("${steps.one.path} {input:text}", json!({"text": "x"}), json!("${steps.one.path} x"));
    check("${steps.one.path}", json!({}), json!("${steps.one.path}"));
    check(r"\{input:text}", json!({"text": "x"}), json!("{input:text}"));
    check(r"a \${inputs.text} {input:text}", json!({"text": "x"}), json!("a ${inputs.text} x"));
}

#[test]
fn data_is_not_escaped_and_not_scanned_again() {
    check(
        "{input:text}",
        json!({"text": "</directive>{input:count}", "count": 1}),
        json!("</directive>{input:count}"),
    );
    check(
        "a{input:text}",
        json!({"text": "</directive>{input:count}", "count": 1}),
        json!("a</directive>{input:count}"),
    );
}

#[test]
fn attributes_and_descriptions_are_placed() {
    let steps = placed(
        r#"<search item_type="knowledge" query="about {input:text}" scope="{input:text}"/>"#,
        json!({"text": "tides"}),
    );
    let [step] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(step.description, "About tides");
    let [action] = step.actions.as_slice() else { panic!("{step:?}") };
    assert_eq!(action.value.query.as_deref(), Some("about tides"));
    assert_eq!(action.value.scope.as_deref(), Some("tides"));
}

#[test]
fn other_arguments_of_the_operation_are_placed() {
    let load = r#"<load item_type="directive" item_id="a/b" destination="{input:text}"/>"#;
    let steps = placed(load, json!({"text": "project"}));
    let options =
        steps.first().and_then(|step| step.actions.first()).map(|action| &action.value.options);
    assert_eq!(options.cloned().map(Value::Object), Some(json!({"destination": "project"})));
}

#[test]
fn a_call_in_markdown_is_placed_at_any_depth_but_not_in_keys() {
    let call = r#"`rye_execute(item_type="tool", item_id="x/{input:text}", parameters={"{input:text}": [{"n": "{input:count}", "t": "<{input:text}>"}]})`"#;
    let directive = with_inputs(
        INPUTS,
        &format!("<process><step name=\"one\">Do it.\n{call}</step></process>"),
    );
    let steps = steps(&directive, &bind(&directive, json!({"text": "x", "count": 3})))
        .expect("must be placed");
    let [step] = steps.as_slice() else { panic!("{steps:?}") };
    let [action] = step.actions.as_slice() else { panic!("{step:?}") };
    assert_eq!(action.value.item_id.as_deref(), Some("x/x"));
    assert_eq!(
        Value::Object(action.value.parameters.clone()),
        json!({"{input:text}": [{"n": 3, "t": "<x>"}]})
    );
}

#[test]
fn every_problem_names_its_step() {
    let directive = with_inputs(
        r#"<input name="need" required="true"/>"#,
        r#"<process><step name="a"><execute item_type="tool" item_id="{input:tool}"/></step>
           <step name="b"><execute item_type="tool" item_id="x"><param name="p" value="{input:need}"/></execute></step></process>"#,
    );
    let error = steps(&directive, &Inputs::default()).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "step 1 uses the undeclared input `{input:tool}`; step 2 needs the required input `need`, which has no value; \
         declared inputs: `need`"
    );
}

/// What is known before a run: each row has the id of a call, the given inputs, and the id as it is then.
#[test]
fn an_id_takes_what_is_known() {
    let inputs = r#"<input name="must"/><input name="may" required="false"/><input name="set" required="false" default="a/b"/><input name="count" type="integer" required="false" default="many"/>"#;
    let rows = [
        ("{input:set}", json!({}), "a/b"),
        ("x/{input:set}", json!({"set": "c"}), "x/c"),
        ("{input:must}/y", json!({}), "{input:must}/y"),
        ("{input:must}/y", json!({"must": "z"}), "z/y"),
        ("{input:may}", json!({}), "{input:may}"),
        ("{input:may:d/e}", json!({}), "d/e"),
        // A value that is not known itself, and one that does not fit.
        ("{input:set}", json!({"set": "${steps.one.id}"}), "{input:set}"),
        ("{input:set}", json!({"set": "{input:other}"}), "{input:set}"),
        ("{input:may:d/e}", json!({"may": "{input:other}"}), "{input:may}"),
        ("{input:count}", json!({}), "{input:count}"),
    ];
    for (written, given, expected) in rows {
        let action = format!(r#"<execute item_type="knowledge" item_id="{written}"/>"#);
        let directive = with_inputs(inputs, &body(&action));
        let given = serde_json::from_value(given.clone()).unwrap();
        let steps = known_steps(&directive, &given);
        assert_eq!(
            steps[0].actions[0].value.item_id.as_deref(),
            Some(expected),
            "{written} {given:?}"
        );
    }
}
