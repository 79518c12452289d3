//! What must not compile: files outside of a folder that was opened.

#[test]
fn no_root_but_an_opened_one() {
    trybuild::TestCases::new().compile_fail("tests/compile-fail/*.rs");
}
