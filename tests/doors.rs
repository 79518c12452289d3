//! Code that must not compile, because it would bypass verification, authorization or opening a root. It uses
//! the crates that do these checks, or the facade that re-exports them.
//!
//! All such tests are here, because each package with such tests builds all of its dependencies again.

#[test]
#[ignore = "checks all dependencies once more, for minutes; `cargo xtask ci` runs it"]
fn there_is_no_other_door() {
    let cases = trybuild::TestCases::new();
    // No other crate can make a permit without asking, an authority without a layer (SPEC 9.4), a `Verified`
    // without verification (SPEC 2.10), or access files outside an opened folder.
    for keeper in ["caps", "facade", "sign", "tools"] {
        cases.compile_fail(format!("compile-fail/{keeper}/*.rs"));
    }
}
