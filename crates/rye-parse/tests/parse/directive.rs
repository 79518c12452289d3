//! The root element, its inputs and outputs, and the body.

use rye_parse::{Outputs, position};
use rye_types::ValueType;

use crate::{directive_refused, file, noted, read, rows};

#[track_caller]
fn inside_refused(marked: &str, messages: &[&str]) {
    directive_refused(&file(marked), messages);
}

rows! { directive_refused;
    no_name: "```xml\n<«directive»/>\n```\n", &["`<directive>` has no `name`; add `name=\"…\"`"];
    empty_name: "```xml\n<«directive» name=\" \"/>\n```\n", &["`name` of `<directive>` is empty"];
    unknown_root_attribute: "```xml\n<directive name=\"a\" «extend»=\"b\"/>\n```\n", &[
        "unknown attribute `extend` of `<directive>`; did you mean `extends`? valid: `name`, `version`, `extends`",
    ];
    bad_extends: "```xml\n<directive name=\"a\" extends=\"«../b»\"/>\n```\n", &[
        "`extends` is `../b`, not an item id such as `project/rules`",
    ];
    everything_at_once: "<!-- rye:unsigned -->\n# T\n\n```xml\n<directive name=\"a\" «x»=\"1\">\n<metadata><limits «turn»=\"1\"/></metadata>\n<inputs><input name=\"«a b»\" type=\"«int»\"/></inputs>\n</directive>\n```\n", &[
        "unknown attribute `x` of `<directive>`; valid: `name`, `version`, `extends`",
        "unknown limit `turn`; did you mean `turns`? valid: `turns`, `tokens`, `spend`, `duration_seconds`, `spawns`, `depth`, `spend_currency`",
        "`name` is `a b`, not letters, digits, `_` and `-`",
        "unknown type `int`; did you mean `integer`? valid: `string`, `integer`, `number`, `boolean`, `array`, `object`",
    ];
}

rows! { inside_refused;
    unknown_child: "<«input»/>", &[
        "unknown element `<input>` in `<directive>`; did you mean `inputs`? valid: `metadata`, `inputs`, `outputs`, `permissions`, `description`, `process`, `success_criteria`",
    ];
    text_in_root: "«do this»", &["text in `<directive>`"];
    permissions_twice: "<metadata><permissions/></metadata><«permissions»/>", &["`<permissions>` is declared twice; keep one of them"];
    inputs_twice: "<inputs/><«inputs»/>", &["`<inputs>` is declared twice; keep one of them"];
    input_without_name: "<inputs><«input»/></inputs>", &["`<input>` has no `name`; add `name=\"…\"`"];
    same_input_twice: "<inputs><input name=\"a\"/><input name=\"«a»\"/></inputs>", &[
        "input `a` is declared twice; rename or remove one of them",
    ];
    unknown_input_child: "<inputs><«param» name=\"a\"/></inputs>", &["unknown element `<param>` in `<inputs>`; valid: `input`"];
    required_word: "<inputs><input name=\"a\" required=\"«1»\"/></inputs>", &["`required` is `1`, not `true` or `false`"];
    hole_in_enum: "<inputs><input name=\"a\" enum=\"«x,,y»\"/></inputs>", &["`enum` is `x,,y`, not a list such as `a,b`"];
    mixed_outputs: "<outputs><output name=\"a\"/><«success»/></outputs>", &[
        "`<outputs>` mixes `<output>` and `<success>`; write `<output name=\"…\">` for each, or none",
    ];
    output_in_dict: "<outputs><success/><«output» name=\"a\"/></outputs>", &[
        "`<outputs>` mixes `<output>` and `<success>`; write `<output name=\"…\">` for each, or none",
    ];
    same_output_twice: "<outputs><a/><«a»/></outputs>", &["output `a` is declared twice; rename or remove one of them"];
}

rows! { noted;
    process_in_fence: "```xml\n<directive name=\"a\"><«process»><step name=\"s\">x</step></process></directive>\n```\n", &[
        "`<process>` stands inside the fence; move it behind the fence",
    ];
    quiet: "```xml\n<directive name=\"a\"/>\n```\n\nbody\n", &[];
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let fence = "```xml\n<directive name=\"a\"/>\n```\n\nbody\n";
    let bare = format!("\u{feff}{fence}");
    let directive = read(&bare);
    assert_eq!(directive.body.value, "body");
    assert_eq!(bare.get(directive.name.span), Some("a"));
    assert_eq!(bare.get(directive.body.span), Some("body"));
    let titled = format!("\u{feff}# Title\n{fence}");
    let title = read(&titled).title.expect("a title");
    assert_eq!((title.value.as_str(), titled.get(title.span)), ("Title", Some("Title")));
}

#[test]
fn a_whole_file() {
    let source = "<!-- rye:signed:2026-02-10T02:00:00Z:placeholder:unsigned:unsigned -->\n\n# Größe\n\nText.\n\n```xml\n<directive name=\"x/y\" version=\"1.0.0\" extends=\"b\">\n<description>d</description>\n</directive>\n```\n\n  do <it>\n\n";
    let directive = read(source);
    let title = directive.title.expect("found");
    assert_eq!((title.value.as_str(), &source[title.span]), ("Größe", "Größe"));
    assert_eq!(&source[directive.name.span], "x/y");
    assert_eq!(directive.version.expect("given").value, "1.0.0");
    assert_eq!(directive.extends.expect("given").value, "b");
    assert_eq!(directive.description.expect("given").value, "d");
    assert_eq!(directive.body.value, "do <it>");
    assert_eq!(&source[directive.body.span], "do <it>");
}

#[test]
fn inputs_with_everything() {
    let directive = read(&file(
        "<inputs><input name=\"n\" type=\"integer\" required=\"true\" default=\"3\" enum=\"1, 2,3\">\n How many \n</input><input name=\"s\"/></inputs>",
    ));
    let input = &directive.inputs[0].value;
    assert_eq!(
        (input.value_type, input.required, input.description.as_str()),
        (ValueType::Integer, true, "How many")
    );
    assert_eq!(input.choices, ["1", "2", "3"]);
    assert_eq!(input.default.as_ref().map(|default| default.value.as_str()), Some("3"));
    let input = &directive.inputs[1].value;
    assert_eq!(
        (input.value_type, input.required, input.default.is_none()),
        (ValueType::String, false, true)
    );
}

#[test]
fn outputs_in_both_forms() {
    let Outputs::List(outputs) = read(&file("<outputs><output name=\"a\" type=\"array\" required=\"true\">x</output><output name=\"b\"/></outputs>")).outputs else {
        panic!("a list");
    };
    assert_eq!((outputs[0].value.value_type, outputs[0].value.required), (ValueType::Array, true));
    assert_eq!((outputs[1].value.required, outputs[1].value.description.as_str()), (false, ""));
    let Outputs::Dict(outputs) =
        read(&file("<outputs><success>done &amp; well</success><failure/></outputs>")).outputs
    else {
        panic!("a dict");
    };
    let outputs: Vec<_> = outputs
        .iter()
        .map(|output| (output.value.name.as_str(), output.value.text.as_str()))
        .collect();
    assert_eq!(outputs, [("success", "done & well"), ("failure", "")]);
    assert_eq!(read(&file("<outputs/>")).outputs, Outputs::None);
}

#[test]
fn parts_in_the_fence_follow_the_body() {
    let source = "```xml\n<directive name=\"a\">\n  <process>\n    one\n  </process>\n  <success_criteria>two</success_criteria>\n</directive>\n```\n";
    let directive = read(source);
    assert_eq!(
        directive.body.value,
        "<process>\n    one\n  </process>\n<success_criteria>two</success_criteria>"
    );
    assert!(source[directive.body.span].starts_with("<process>"));
    let directive = read(&format!("{source}\nafter\n"));
    assert_eq!(
        directive.body.value,
        "after\n<process>\n    one\n  </process>\n<success_criteria>two</success_criteria>"
    );
}

#[test]
fn positions_count_characters() {
    let at = |offset| {
        let position = position("aé\nß€x", offset);
        (position.line, position.column)
    };
    assert_eq!(
        [0, 1, 2, 3, 4, 6, 9, 99].map(at),
        [(1, 1), (1, 2), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4)]
    );
}
