//! SPEC 7.2, D7 and D14: context over a chain.

use std::collections::BTreeMap;

use rye_parse::Directive;
use rye_prompt::{ComposeError, Context, Link, Origin, Piece, compose, context_references};
use rye_types::Position;

use crate::given::directive;

/// Makes directives by id, root first, each with the children of its `<context>`.
fn chain(contexts: &[(&'static str, &str)]) -> Vec<(&'static str, Directive)> {
    contexts
        .iter()
        .map(|(id, context)| {
            (*id, directive(&format!("<metadata><context>{context}</context></metadata>"), "x"))
        })
        .collect()
}

fn links<'a>(chain: &'a [(&'static str, Directive)]) -> Vec<Link<'a>> {
    chain.iter().map(|(id, directive)| Link::new(id, directive)).collect()
}

/// Composes with the given knowledge, whose text is its id in capitals.
fn composed(
    contexts: &[(&'static str, &str)],
    knowledge: &[&str],
) -> Result<Context, ComposeError> {
    let chain = chain(contexts);
    let knowledge: BTreeMap<String, String> =
        knowledge.iter().map(|id| ((*id).to_owned(), id.to_uppercase())).collect();
    compose(&links(&chain), &knowledge)
}

fn texts(pieces: &[Piece]) -> Vec<&str> {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

/// Composes, and compares the texts of the three positions.
#[track_caller]
fn check(
    contexts: &[(&'static str, &str)],
    knowledge: &[&str],
    [system, before, after]: [&[&str]; 3],
) {
    let context = composed(contexts, knowledge).expect("must compose");
    assert_eq!(texts(&context.system), system, "system");
    assert_eq!(texts(&context.before), before, "before");
    assert_eq!(texts(&context.after), after, "after");
}

#[test]
fn no_context() {
    check(&[("leaf", "")], &["a"], [&[], &[], &[]]);
}

#[test]
fn root_comes_first_at_every_position() {
    check(
        &[
            ("root", "<system>one two</system><before>a</before>"),
            ("mid", "<after>b</after>"),
            ("leaf", "<system>three four</system><before>five six</before>"),
        ],
        &["a", "b"],
        [&["one two", "three four"], &["A", "five six"], &["B"]],
    );
}

#[test]
fn one_element_mixes_text_and_references_in_order() {
    check(
        &[(
            "leaf",
            "<before>First of all <knowledge>a</knowledge> and then <knowledge>b</knowledge></before>",
        )],
        &["a", "b"],
        [&[], &["First of all", "A", "and then", "B"], &[]],
    );
}

#[test]
fn a_reference_is_used_at_its_first_occurrence_of_a_position() {
    check(
        &[
            ("root", "<before>a</before><before>b</before>"),
            ("leaf", "<before>b</before><before>c</before><before>a</before>"),
        ],
        &["a", "b", "c"],
        [&[], &["A", "B", "C"], &[]],
    );
}

#[test]
fn an_id_at_two_positions_appears_in_both() {
    check(
        &[("leaf", "<system>a</system><before>a</before><after>a</after>")],
        &["a"],
        [&["A"], &["A"], &["A"]],
    );
}

#[test]
fn equal_inline_texts_are_not_deduplicated() {
    check(
        &[("root", "<after>Be brief.</after>"), ("leaf", "<after>Be brief.</after>")],
        &[],
        [&[], &[], &["Be brief.", "Be brief."]],
    );
}

#[test]
fn a_leaf_suppresses_what_the_root_wants() {
    check(
        &[
            ("root", "<system>a/b</system><before>a/b</before><after>c</after>"),
            ("leaf", "<suppress>a/b</suppress>"),
        ],
        &["a/b", "c"],
        [&[], &[], &["C"]],
    );
}

#[test]
fn a_root_suppresses_what_the_leaf_wants() {
    check(
        &[("root", "<suppress>a</suppress>"), ("leaf", "<system>a</system>")],
        &["a"],
        [&[], &[], &[]],
    );
}

#[test]
fn suppressions_are_united() {
    check(
        &[
            ("root", "<suppress>a</suppress><before>b</before>"),
            ("leaf", "<suppress>b</suppress><before>a</before><before>c</before>"),
        ],
        &["a", "b", "c"],
        [&[], &["C"], &[]],
    );
}

#[test]
fn a_base_name_suppresses_nothing() {
    check(
        &[
            ("root", "<system>rye/agent/core/Identity</system>"),
            ("leaf", "<suppress>Identity</suppress>"),
        ],
        &["rye/agent/core/Identity"],
        [&["RYE/AGENT/CORE/IDENTITY"], &[], &[]],
    );
}

#[test]
fn a_suppressed_item_need_not_exist() {
    check(
        &[("root", "<system>gone</system>"), ("leaf", "<suppress>gone</suppress>")],
        &[],
        [&[], &[], &[]],
    );
}

#[test]
fn pieces_and_suppressions_name_the_directive_that_declares_them() {
    let context = composed(
        &[
            ("root", "<before>a</before><suppress>z</suppress>"),
            ("leaf", "<before>some text</before><suppress>z</suppress>"),
        ],
        &["a"],
    )
    .expect("must compose");
    let origins: Vec<_> = context
        .before
        .iter()
        .map(|piece| (piece.asked_by.as_str(), piece.origin.clone()))
        .collect();
    assert_eq!(origins, [("root", Origin::Knowledge("a".to_owned())), ("leaf", Origin::Inline)]);
    let suppressed: Vec<_> = context
        .suppressed
        .iter()
        .map(|item| (item.id.as_str(), item.declared_by.as_str()))
        .collect();
    assert_eq!(suppressed, [("z", "root")]);
    assert!(context.suppresses("z") && !context.suppresses("a"));
}

#[test]
fn an_optional_item_that_is_missing_is_recorded() {
    let context =
        composed(&[("leaf", r#"<system optional="true">gone</system><system>a</system>"#)], &["a"])
            .expect("must compose");
    assert_eq!(texts(&context.system), ["A"]);
    let skipped: Vec<_> = context
        .skipped
        .iter()
        .map(|item| (item.id.as_str(), item.position, item.asked_by.as_str()))
        .collect();
    assert_eq!(skipped, [("gone", Position::System, "leaf")]);
}

#[test]
fn every_missing_item_is_named_with_the_directive_that_asks() {
    let error = composed(
        &[
            ("root", "<system>gone/one</system>"),
            ("leaf", r#"<after>gone/two</after><before optional="true">gone/three</before>"#),
        ],
        &[],
    )
    .expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "knowledge `gone/one`, wanted in `<system>` by directive `root`, cannot be found; \
         knowledge `gone/two`, wanted in `<after>` by directive `leaf`, cannot be found; \
         create what is missing, or write `optional=\"true\"` on an element that can do without"
    );
}

#[test]
fn one_link_that_needs_an_item_is_enough() {
    let contexts =
        [("root", r#"<before optional="true">a</before>"#), ("leaf", "<before>a</before>")];
    let error = composed(&contexts, &[]).expect_err("must be refused");
    let ComposeError::Missing { missing } = error else { panic!("{error}") };
    assert_eq!(missing.iter().map(|item| item.asked_by.as_str()).collect::<Vec<_>>(), ["leaf"]);
    // The position is still that of the first occurrence.
    check(
        &[
            ("root", r#"<before optional="true">a</before><before>b</before>"#),
            ("leaf", "<before>a</before>"),
        ],
        &["a", "b"],
        [&[], &["A", "B"], &[]],
    );
}

#[test]
fn wanted_lists_what_is_to_be_loaded() {
    let chain = chain(&[
        (
            "root",
            r#"<system>a</system><before optional="true">b</before><after>text of its own</after>"#,
        ),
        ("leaf", "<system>a</system><after>a</after><before>c</before><suppress>c</suppress>"),
    ]);
    let wanted: Vec<_> = context_references(&links(&chain))
        .into_iter()
        .map(|item| (item.id, item.position.as_str(), item.optional, item.asked_by))
        .collect();
    let row = |id: &str, position, optional, asked_by: &str| {
        (id.to_owned(), position, optional, asked_by.to_owned())
    };
    assert_eq!(
        wanted,
        [
            row("a", "system", false, "root"),
            row("b", "before", true, "root"),
            row("a", "after", false, "leaf")
        ]
    );
}

#[test]
fn knowledge_without_a_reference_is_left_out() {
    check(&[("leaf", "<before>a</before>")], &["a", "b"], [&[], &["A"], &[]]);
}

#[test]
fn a_file_is_context_like_knowledge() {
    let file = r#"<before file="AGENTS.md"/>"#;
    check(
        &[
            ("root", &format!("<before>k</before>{file}")),
            ("leaf", &format!("{file}<after file=\"AGENTS.md\"/>")),
        ],
        &["k", "file:AGENTS.md"],
        [&[], &["K", "FILE:AGENTS.MD"], &["FILE:AGENTS.MD"]],
    );
    // Knowledge of the same name is another piece.
    check(
        &[("leaf", &format!("<before>AGENTS.md</before>{file}"))],
        &["AGENTS.md", "file:AGENTS.md"],
        [&[], &["AGENTS.MD", "FILE:AGENTS.MD"], &[]],
    );
}

#[test]
fn a_file_is_suppressed_by_its_path() {
    let file = r#"<before file="AGENTS.md"/>"#;
    for suppress in [r#"<suppress file="AGENTS.md"/>"#, "<suppress>AGENTS.md</suppress>"] {
        let contexts = [("root", file), ("leaf", suppress)];
        check(&contexts, &["file:AGENTS.md"], [&[], &[], &[]]);
        let context = composed(&contexts, &[]).expect("must compose");
        assert!(context.suppresses("file:AGENTS.md"), "{suppress}");
    }
    // Neither does it by another path, nor is knowledge suppressed by the path of a file.
    check(
        &[(
            "leaf",
            &format!("{file}<before>AGENTS.md</before><suppress file=\"docs/AGENTS.md\"/>"),
        )],
        &["AGENTS.md", "file:AGENTS.md"],
        [&[], &["FILE:AGENTS.MD", "AGENTS.MD"], &[]],
    );
    check(
        &[("leaf", "<before>AGENTS.md</before><suppress file=\"AGENTS.md\"/>")],
        &["AGENTS.md"],
        [&[], &["AGENTS.MD"], &[]],
    );
}

#[test]
fn a_missing_file_is_named_by_its_path() {
    let contexts = [("leaf", r#"<after file="docs/a.md"/><before file="b.md" optional="true"/>"#)];
    let error = composed(&contexts, &[]).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "file `docs/a.md`, wanted in `<after>` by directive `leaf`, cannot be found; \
         create what is missing, or write `optional=\"true\"` on an element that can do without"
    );
    let context = composed(&contexts, &["file:docs/a.md"]).expect("must compose");
    assert_eq!(
        context.skipped.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["file `b.md`"]
    );
}
