//! SPEC 8.4: system templates.

use std::error::Error as _;

use rye_prompt::{Inputs, Link, SystemFacts, TemplateError, system};
use serde_json::json;

use crate::given::{bind, directive};

const CHILDREN: &str = r#"<metadata><description>Does {tool_names}</description></metadata>
    <inputs><input name="b"/><input name="a" type="integer"/></inputs>"#;

const BODY: &str = r#"<process>
  <step name="first"><description>Look.</description><search item_type="knowledge" query="{input:b}"/></step>
  <step><description>Think.</description></step>
  <step name="last"><execute item_type="tool" item_id="x/y"><param name="n" value="{input:a}"/><param name="m" value="v"/></execute></step>
</process>"#;

fn filled(template: &str) -> Result<String, TemplateError> {
    let directive = directive(CHILDREN, BODY);
    let inputs = bind(&directive, json!({"b": "{directive_name}", "a": 1}));
    let tool_names = ["rye_execute".to_owned(), "rye_search".to_owned()];
    system(
        template,
        &SystemFacts { leaf: Link::new("t", &directive), inputs: &inputs, tool_names: &tool_names },
    )
}

#[track_caller]
fn check(template: &str, expected: &str) {
    assert_eq!(filled(template).as_deref(), Ok(expected));
}

#[test]
fn the_five_placeholders() {
    check("{directive_name}", "t");
    check("{directive_description}", "Does {tool_names}");
    check("{directive_inputs}", r#"{"a":1,"b":"{directive_name}"}"#);
    check("{tool_names}", "rye_execute, rye_search");
    check(
        "{directive_steps}",
        r#"1. first: Look.
{"arguments":{"item_type":"knowledge","query":"{directive_name}"},"name":"rye_search"}
2. Think.
3. last
{"arguments":{"item_id":"x/y","item_type":"tool","parameters":{"m":"v","n":1}},"name":"rye_execute"}"#,
    );
}

#[test]
fn a_call_shows_every_argument() {
    let load = r#"<load item_type="directive" item_id="a/b" destination="project"/>"#;
    let directive = directive("", &format!("<process><step name=\"a\">{load}</step></process>"));
    let facts = SystemFacts {
        leaf: Link::new("t", &directive),
        inputs: &Inputs::default(),
        tool_names: &[],
    };
    let call = r#"{"arguments":{"destination":"project","item_id":"a/b","item_type":"directive"},"name":"rye_load"}"#;
    assert_eq!(system("{directive_steps}", &facts), Ok(format!("1. a\n{call}")));
}

#[test]
fn other_braces_are_text() {
    for template in [
        "",
        "{",
        "}",
        "{}",
        "{{}}",
        r#"{"name": 1}"#,
        "{like_this}",
        "{input:a}",
        "${steps.a}",
        "{ directive_name }",
        "é{",
    ] {
        check(template, template);
    }
}

#[test]
fn a_brace_before_a_placeholder_hides_nothing() {
    check("{{directive_name}} {a{tool_names}", "{t} {arye_execute, rye_search");
}

#[test]
fn a_slip_is_an_error_that_names_all_of_them() {
    let error = filled("{directive_nmae} {tool_name} {directive_name} {tool_name}")
        .expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "the system template has unknown placeholders: `{directive_nmae}`, `{tool_name}`; valid: `{directive_name}`, \
         `{directive_description}`, `{directive_steps}`, `{directive_inputs}`, `{tool_names}`"
    );
}

#[test]
fn steps_that_cannot_be_filled_are_an_error_only_where_they_are_shown() {
    let directive = directive(
        "",
        r#"<process><step name="a"><execute item_type="tool" item_id="{input:x}"/></step></process>"#,
    );
    let facts = SystemFacts {
        leaf: Link::new("t", &directive),
        inputs: &Inputs::default(),
        tool_names: &[],
    };
    assert_eq!(system("{directive_name}{tool_names}", &facts).as_deref(), Ok("t"));
    let error = system("{directive_steps}", &facts).expect_err("must be refused");
    assert_eq!(error.to_string(), "the system template shows steps that cannot be filled in");
    let source = error.source().expect("because the placeholder is the cause");
    assert_eq!(
        source.to_string(),
        "step 1 uses the undeclared input `{input:x}`; the directive declares no inputs"
    );
}
