//! What no other crate can write: a `Verified` that no verification gave (SPEC 2.10).

#[test]
fn nothing_is_verified_without_a_verification() {
    trybuild::TestCases::new().compile_fail("tests/compile-fail/*.rs");
}
