//! Help, completions, and command lines that make no sense.

use crate::session::Session;

#[test]
fn every_command_has_help_with_an_example() {
    let session = Session::new();
    for command in [
        "run",
        "render",
        "check",
        "verify",
        "sign",
        "keys generate",
        "keys show",
        "which",
        "new directive",
        "new knowledge",
        "new tool",
        "threads list",
        "threads show",
        "schema",
        "completions",
    ] {
        let help = session.rye(&format!("{command} --help"));
        assert!(help.contains("Example") && help.ends_with("--- exit 0\n"), "{help}");
    }
}

#[test]
fn help() {
    insta::assert_snapshot!(Session::new().rye("--help"));
}

#[test]
fn completions() {
    let output = Session::new().rye("completions bash");
    assert!(output.contains("complete -F _rye") && output.ends_with("--- exit 0\n"), "{output}");
}

#[test]
fn an_id_that_breaks_the_grammar() {
    insta::assert_snapshot!(Session::new().rye("run ../escape"));
}

#[test]
fn an_input_without_a_value() {
    insta::assert_snapshot!(Session::new().rye("run notes/index --input folder"));
}

#[test]
fn no_project_here() {
    let session = Session::new();
    std::fs::remove_dir_all(session.project().join(".ai")).unwrap();
    insta::assert_snapshot!(session.rye("run notes/index --provider steps"));
}
