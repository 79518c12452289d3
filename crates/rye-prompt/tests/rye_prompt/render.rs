//! SPEC 8.2 and 8.3, for each part.

use rye_prompt::{Inputs, Link, render};
use rye_types::ReturnStyle;

use crate::given::directive;

const CALL: &str = "When you have completed all steps, return structured results:\n\
                    `rye_execute(item_type=\"tool\", item_id=\"rye/agent/threads/directive_return\", parameters=";

/// Renders in one style, and compares the returns.
#[track_caller]
fn check(outputs: &str, style: ReturnStyle, expected: &str) {
    let directive = directive(&format!("<outputs>{outputs}</outputs>"), "x");
    let prompt = render(Link::new("t", &directive), None, &Inputs::default(), style);
    let expected = if expected.is_empty() { String::new() } else { format!("{expected}\n") };
    assert_eq!(
        prompt.as_deref(),
        Ok(format!("<directive name=\"t\">\nx\n{expected}</directive>").as_str())
    );
}

#[track_caller]
fn calls(outputs: &str, parameters: &str) {
    check(outputs, ReturnStyle::Call, &format!("{CALL}{parameters})`"));
    check(
        outputs,
        ReturnStyle::Tool,
        &format!(
            "When you have completed all steps, call the `rye_agent_threads_directive_return` tool with `{parameters}`."
        ),
    );
}

macro_rules! labelled {
    ($($name:ident: $outputs:expr => $parameters:expr;)*) => {
        $(#[test] fn $name() { calls($outputs, $parameters); })*
    };
}

labelled! {
    a_description_with_its_type: r#"<output name="a">Some text</output>"# => r#"{"a": "<Some text (string)>"}"#;
    a_description_that_is_required: r#"<output name="a" type="integer" required="true">Some text</output>"# => r#"{"a": "<Some text (integer) [required]>"}"#;
    a_type_alone: r#"<output name="a" type="array"/>"# => r#"{"a": "<array>"}"#;
    a_type_alone_that_is_required: r#"<output name="a" required="true"/>"# => r#"{"a": "<string [required]>"}"#;
    several_in_document_order: r#"<output name="z">Z</output><output name="a">A</output>"# => r#"{"z": "<Z (string)>", "a": "<A (string)>"}"#;
    runs_of_white_space: "<output name=\"a\">one\n      two\t three</output>" => r#"{"a": "<one two three (string)>"}"#;
    characters_of_json: r#"<output name="a">say "x" \ y</output>"# => r#"{"a": "<say \"x\" \\ y (string)>"}"#;
    the_dict_form: "<ok>All is well</ok><bad>It broke</bad>" => r#"{"ok": "<All is well>", "bad": "<It broke>"}"#;
    the_dict_form_without_text: "<ok/><bad></bad>" => r#"{"ok": "<ok>", "bad": "<bad>"}"#;
}

#[test]
fn no_outputs_no_part() {
    for &style in ReturnStyle::ALL {
        check("", style, "");
    }
}

#[test]
fn a_block_has_descriptions_alone() {
    check(
        r#"<output name="a" type="integer" required="true">How many
           there are</output><output name="b" type="array"/><output name="c">a &lt; b</output>"#,
        ReturnStyle::Block,
        "<returns>\n  <output name=\"a\">How many there are</output>\n  <output name=\"b\" />\n  <output name=\"c\">a &lt; b</output>\n</returns>",
    );
}

#[test]
fn a_block_of_the_dict_form() {
    check(
        "<ok>All is well</ok><bad/>",
        ReturnStyle::Block,
        "<returns>\n  <output name=\"ok\">All is well</output>\n  <output name=\"bad\" />\n</returns>",
    );
}

/// Renders a directive whose name and description are set in memory, because a file cannot omit its name.
#[track_caller]
fn frames(name: &str, description: &str, expected: &str) {
    let mut directive = directive("<metadata><description>x</description></metadata>", "B");
    directive.name.value = name.to_owned();
    directive.description.as_mut().expect("because it is declared").value = description.to_owned();
    let prompt = render(Link::new("t", &directive), None, &Inputs::default(), ReturnStyle::Call);
    assert_eq!(prompt.as_deref(), Ok(expected));
}

#[test]
fn a_name_and_a_description() {
    frames("n", "d", "<directive name=\"n\">\n<description>d</description>\nB\n</directive>");
}

#[test]
fn a_name_alone() {
    frames("n", "", "<directive name=\"n\">\nB\n</directive>");
}

#[test]
fn a_description_alone() {
    frames("", "d", "<directive>\n<description>d</description>\nB\n</directive>");
}

#[test]
fn neither_opens_nothing_and_closes_nothing() {
    frames("", "", "B");
}

#[test]
fn quotes_in_a_name_and_brackets_in_a_description_are_escaped_and_nothing_else() {
    frames(
        "a \"b\" <c> & 'd'",
        "a \"b\" <c> & 'd'",
        "<directive name=\"a &quot;b&quot; <c> & 'd'\">\n<description>a \"b\" &lt;c&gt; & 'd'</description>\nB\n</directive>",
    );
}

#[test]
fn the_permissions_slice_is_verbatim_and_may_be_an_ancestors() {
    let leaf = directive("<metadata><permissions><search>*</search></permissions></metadata>", "B");
    let slice = "<permissions >\r\n\t<execute>*</execute> <!-- c -->\n\n</permissions>";
    let prompt = render(Link::new("t", &leaf), Some(slice), &Inputs::default(), ReturnStyle::Call);
    assert_eq!(
        prompt.as_deref(),
        Ok(format!("<directive name=\"t\">\n{slice}\nB\n</directive>").as_str())
    );
    let prompt = render(Link::new("t", &leaf), None, &Inputs::default(), ReturnStyle::Call);
    assert_eq!(prompt.as_deref(), Ok("<directive name=\"t\">\nB\n</directive>"));
}

#[test]
fn styles_have_names() {
    for &style in ReturnStyle::ALL {
        assert_eq!(style.to_string().parse(), Ok(style));
    }
    assert_eq!(ReturnStyle::default(), ReturnStyle::Call);
    let error = "xml".parse::<ReturnStyle>().expect_err("must be refused");
    assert_eq!(error.to_string(), "unknown return style `xml`; valid: `call`, `block`, `tool`");
}
