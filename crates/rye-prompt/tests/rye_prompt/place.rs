//! SPEC 6.2 and 6.3: values in text.

use rye_prompt::{Inputs, Link, RenderProblem, render, template};
use rye_types::ReturnStyle;
use serde_json::{Value, json};

use crate::given::{bind, directive, with_inputs};

const INPUTS: &str = r#"<input name="a"/><input name="b"/><input name="n" type="integer"/><input name="o" type="object"/>"#;

/// Places into a body, and compares the text between the frame's tags.
#[track_caller]
fn check(body: &str, given: Value, expected: &str) {
    let directive = with_inputs(INPUTS, body);
    let prompt =
        render(Link::new("t", &directive), None, &bind(&directive, given), ReturnStyle::Call);
    assert_eq!(
        prompt.as_deref(),
        Ok(format!("<directive name=\"t\">\n{expected}\n</directive>").as_str())
    );
}

macro_rules! placed {
    ($($name:ident: $body:expr, $given:tt => $expected:expr;)*) => {
        $(#[test] fn $name() { check($body, json!($given), $expected); })*
    };
}

placed! {
    a_value: "[{input:a}]", {"a": "x"} => "[x]";
    the_dollar_form: "[${inputs.a}]", {"a": "x"} => "[x]";
    a_value_beats_empty: "[{input:a?}]", {"a": "x"} => "[x]";
    a_value_beats_a_default: "[{input:a:d}{input:a|d}]", {"a": "x"} => "[xx]";
    an_empty_value_is_a_value: "[{input:a:d}]", {"a": ""} => "[]";
    absent_and_optional_stays_literal: "[{input:a}${inputs.a}]", {} => "[{input:a}${inputs.a}]";
    absent_and_marked_is_empty: "[{input:a?}]", {} => "[]";
    absent_with_a_default_after_a_colon: "[{input:a:b c:d}]", {} => "[b c:d]";
    absent_with_a_default_after_a_bar: "[{input:a|b c|d}]", {} => "[b c|d]";
    absent_with_an_empty_default: "[{input:a:}]", {} => "[]";
    a_default_is_text_whatever_the_type: "[{input:n:many}]", {} => "[many]";
    a_non_string_is_compact_json: "{input:n} {input:o}", {"n": 3, "o": {"z": [1, "é\n"], "a": null}} => r#"3 {"z":[1,"é\n"],"a":null}"#;
    a_value_is_not_scanned_again: "{input:a}{input:b}", {"a": "{input:b} ${inputs.b} {input:zzz}", "b": "!"} => "{input:b} ${inputs.b} {input:zzz}!";
    two_values_do_not_make_a_placeholder: "{input:a}{input:b}", {"a": "{input:", "b": "b}"} => "{input:b}";
    a_step_placeholder_says_what_it_is: "<process><step name=\"one\"></step><step name=\"my step\"></step></process> ${steps.one.path.0} ${steps.my step} {input:a}", {"a": "x"} => "<process><step name=\"one\"></step><step name=\"my step\"></step></process> [result of step one: path.0] [result of step my step] x";
    a_placeholder_of_no_step_is_code: "`${steps.length}` ${steps.gone.path}", {} => "`${steps.length}` ${steps.gone.path}";
    an_escaped_placeholder_is_written: r"\{input:a} \${inputs.a} \\{input:a} {input:a}", {"a": "x"} => r"{input:a} ${inputs.a} \{input:a} x";
    an_escaped_placeholder_needs_no_input: r"\{input:unknown:x} \${inputs.unknown}", {} => "{input:unknown:x} ${inputs.unknown}";
    a_backslash_elsewhere_stays: r"\a {input:a}\ \ {input:a}", {"a": "x"} => r"\a x\ \ x";
    what_only_resembles_one_stays: "{input:} { input:a } {inputs.a} {Input:a} {input:a", {"a": "x"} => "{input:} { input:a } {inputs.a} {Input:a} {input:a";
    markup_in_a_value_is_verbatim: "{input:a}", {"a": "a < b & <b>\"c\"</b> &lt;"} => "a < b & <b>\"c\"</b> &lt;";
    a_value_cannot_close_the_frame: "{input:a}", {"a": "</directive>"} => "&lt;/directive>";
    a_value_cannot_open_another: "{input:a}", {"a": "<directive name=\"x\">"} => "&lt;directive name=\"x\">";
    two_values_cannot_close_the_frame: "{input:a}{input:b}", {"a": "</direc", "b": "tive>"} => "&lt;/directive>";
    a_value_in_json_cannot_close_the_frame: "{input:o}", {"o": {"k": "</directive>"}} => r#"{"k":"&lt;/directive>"}"#;
    the_author_may_name_the_tag: "<directive> </directive> {input:a}", {"a": "x"} => "<directive> </directive> x";
    only_the_body_is_trimmed_not_the_value: "{input:a}", {"a": "\n x \n"} => "\n x \n";
}

#[test]
fn a_body_that_becomes_empty_leaves_no_line() {
    let directive = with_inputs(INPUTS, "{input:a?}");
    let prompt = render(Link::new("t", &directive), None, &Inputs::default(), ReturnStyle::Call);
    assert_eq!(prompt.as_deref(), Ok("<directive name=\"t\">\n</directive>"));
}

#[test]
fn every_problem_is_reported_once_with_the_valid_names() {
    let directive = directive(
        r#"<inputs><input name="target" required="true"/><input name="mode"/></inputs>
           <outputs><done>{input:zeal}</done></outputs>"#,
        "{input:tagret} {input:tagret} {input:colour:red} {input:target} {input:target} {input:mode}",
    );
    let permissions = "<permissions>{input:target}</permissions>";
    let error = render(
        Link::new("t", &directive),
        Some(permissions),
        &Inputs::default(),
        ReturnStyle::Call,
    )
    .expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "the permissions block needs the required input `target`, which has no value; \
         the body uses the undeclared input `{input:tagret}`; did you mean `target`?; \
         the body uses the undeclared input `{input:colour:red}`; \
         the body needs the required input `target`, which has no value; \
         the outputs block uses the undeclared input `{input:zeal}`; \
         declared inputs: `mode`, `target`"
    );
    assert_eq!(error.valid(), ["mode", "target"]);
    assert!(matches!(
        error.problems(),
        [RenderProblem::Absent { .. }, RenderProblem::Undeclared { .. }, ..]
    ));
}

#[test]
fn a_directive_without_inputs_says_so() {
    let directive = directive("", "{input:a}");
    let error = render(Link::new("t", &directive), None, &Inputs::default(), ReturnStyle::Call)
        .expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "the body uses the undeclared input `{input:a}`; the directive declares no inputs"
    );
}

#[test]
fn a_required_input_that_is_absent_may_have_a_fallback() {
    let directive = with_inputs(r#"<input name="a" required="true"/>"#, "[{input:a?}{input:a:b}]");
    let prompt = render(Link::new("t", &directive), None, &Inputs::default(), ReturnStyle::Call);
    assert_eq!(prompt.as_deref(), Ok("<directive name=\"t\">\n[b]\n</directive>"));
}

#[test]
fn a_template_needs_no_inputs_and_keeps_every_placeholder() {
    let directive = with_inputs(
        r#"<input name="a" required="true"/>"#,
        "{input:a} ${inputs.a} {input:undeclared}",
    );
    assert_eq!(
        template(
            Link::new("t", &directive),
            Some("<permissions>{input:a}</permissions>"),
            ReturnStyle::Call
        ),
        "<directive name=\"t\">\n<permissions>{input:a}</permissions>\n{input:a} ${inputs.a} {input:undeclared}\n</directive>"
    );
}

#[test]
fn very_many_problems_are_counted() {
    let body: String = (0..250).map(|n| format!("{{input:u{n}}} {{input:u{n}}} ")).collect();
    let directive = with_inputs(INPUTS, &body);
    let error = render(Link::new("t", &directive), None, &Inputs::default(), ReturnStyle::Call)
        .unwrap_err();
    assert_eq!(error.problems().len(), 201);
    let last = error.problems().last().map(ToString::to_string);
    assert_eq!(last.as_deref(), Some("50 more problems of these kinds"));
}

/// A file of a megabyte can name a value of a megabyte so often that no machine holds the prompt.
#[test]
fn values_that_multiply_are_refused() {
    let directive = with_inputs(INPUTS, &"{input:a}{input:x}".repeat(20));
    for (length, is_refused) in [(800_000, false), (900_000, true)] {
        let given = bind(&directive, json!({"a": "x".repeat(length)}));
        let error = render(Link::new("t", &directive), None, &given, ReturnStyle::Call);
        let problems = error.unwrap_err().problems().to_vec();
        let too_large =
            problems.iter().filter(|it| matches!(it, RenderProblem::TooLarge { .. })).count();
        assert_eq!(too_large, usize::from(is_refused), "{length}");
        assert_eq!(problems.len(), 1 + too_large, "the undeclared input is told too");
    }
}
