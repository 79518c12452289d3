//! What must not compile: a way around verifying, asking or opening, in the crates that keep those doors, or through the facade
//! that re-exports them. All of it is here, because each package with such tests builds all of its dependencies once more.

#[test]
fn there_is_no_other_door() {
    let cases = trybuild::TestCases::new();
    // What no other crate can write: a permit that was not asked for, and an authority without a layer (SPEC 9.4); a `Verified` that
    // no verification gave (SPEC 2.10); files outside of a folder that was opened.
    for keeper in ["caps", "facade", "sign", "tools"] {
        cases.compile_fail(format!("compile-fail/{keeper}/*.rs"));
    }
}
