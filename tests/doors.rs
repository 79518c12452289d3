//! What must not compile: a way around verifying, asking or opening that the facade would re-export.

#[test]
fn the_facade_has_no_other_door() {
    trybuild::TestCases::new().compile_fail("compile-fail/*.rs");
}
