//! What no other crate can write: a permit that was not asked for, and an authority without a layer (`SPEC 9.4`).

#[test]
fn neither_a_permit_nor_an_open_authority_can_be_made_elsewhere() {
    trybuild::TestCases::new().compile_fail("tests/compile-fail/*.rs");
}
