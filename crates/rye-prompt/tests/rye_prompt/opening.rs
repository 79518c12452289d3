//! SPEC 8.4, 8.5, 8.6 and D13: the first messages.

use std::collections::BTreeMap;

use rye_prompt::{Context, HookEntry, Link, Wrap, compose, opening};
use rye_types::Position;

use crate::given::directive;

/// Makes a context of inline texts.
fn context(children: &str) -> Context {
    let directive = directive(&format!("<metadata><context>{children}</context></metadata>"), "x");
    compose(&[Link::new("t", &directive)], &BTreeMap::new()).expect("must compose")
}

fn bare(position: Position, content: &str) -> HookEntry {
    HookEntry {
        position,
        id: "h".to_owned(),
        name: "h".to_owned(),
        content: content.to_owned(),
        wrap: Wrap::Bare,
    }
}

/// Opens with the prompt `P`, and compares both messages.
#[track_caller]
fn check(
    context: &Context,
    template: Option<&str>,
    system: Option<&str>,
    first_user_message: &str,
) {
    let opening = opening(context, "P", template);
    assert_eq!(opening.system.as_deref(), system, "system");
    assert_eq!(opening.first_user_message, first_user_message, "first user message");
}

#[test]
fn nothing_but_the_prompt() {
    check(&context(""), None, None, "P");
}

#[test]
fn entries_join_with_a_newline_and_sections_with_an_empty_line() {
    let context = context(
        "<before>b 1</before><before>b 2</before><after>a 1</after><after>a 2</after><system>s 1</system><system>s 2</system>",
    );
    check(&context, None, Some("s 1\ns 2"), "b 1\nb 2\n\nP\n\na 1\na 2");
}

#[test]
fn the_template_comes_first_in_the_system_message() {
    check(&context("<system>s 1</system>"), Some("T\n"), Some("T\n\ns 1"), "P");
}

#[test]
fn an_empty_template_is_no_system_message() {
    check(&context(""), Some("  \n"), None, "P");
}

#[test]
fn hook_context_is_outside_of_the_chains() {
    let context =
        context("<before>b 1</before><after>a 1</after><system>s 1</system>").with_hooks(&[
            bare(Position::After, "ha 1"),
            bare(Position::Before, "hb 1"),
            bare(Position::Before, "hb 2"),
            bare(Position::System, "hs 1"),
        ]);
    check(&context, Some("T"), Some("T\nhs 1\ns 1"), "hb 1\nhb 2\n\nb 1\n\nP\n\na 1\n\nha 1");
}

#[test]
fn empty_entries_leave_no_gap() {
    let context = context("").with_hooks(&[
        bare(Position::Before, ""),
        bare(Position::Before, " \n"),
        bare(Position::After, "x"),
        bare(Position::System, ""),
    ]);
    check(&context, None, None, "P\n\nx");
}

#[test]
fn a_suppressed_id_is_kept_out_of_hook_context_too() {
    let context = context("<suppress>h</suppress>")
        .with_hooks(&[bare(Position::Before, "x"), bare(Position::System, "y")]);
    check(&context, None, None, "P");
}

/// Wraps one entry before the prompt, and compares the element.
#[track_caller]
fn wraps(id: &str, name: &str, expected: &str) {
    let entry = HookEntry {
        position: Position::Before,
        id: id.to_owned(),
        name: name.to_owned(),
        content: "c\nd".to_owned(),
        wrap: Wrap::Element,
    };
    check(&context("").with_hooks(&[entry]), None, None, &format!("{expected}\n\nP"));
}

#[test]
fn wrapping_names_the_element_after_the_item() {
    wraps(
        "a/Identity",
        "Identity",
        "<Identity id=\"a/Identity\" type=\"knowledge\">\nc\nd\n</Identity>",
    );
}

#[test]
fn wrapping_turns_any_case_into_pascal_case() {
    for name in [
        "directive-instruction",
        "directive_instruction",
        "directive instruction",
        "DirectiveInstruction",
    ] {
        wraps(
            "a",
            name,
            "<DirectiveInstruction id=\"a\" type=\"knowledge\">\nc\nd\n</DirectiveInstruction>",
        );
    }
}

#[test]
fn wrapping_falls_back_on_the_id() {
    wraps(
        "a/house-rules",
        "",
        "<HouseRules id=\"a/house-rules\" type=\"knowledge\">\nc\nd\n</HouseRules>",
    );
}
