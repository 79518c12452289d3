//! Help, completions, and command lines that make no sense.

use crate::session::Session;

#[test]
fn every_command_has_help_with_an_example() {
    let session = Session::new();
    for command in [
        "run",
        "render",
        "explain",
        "diff",
        "lock",
        "check",
        "caps check",
        "caps explain",
        "caps tighten",
        "verify",
        "sign",
        "keys generate",
        "keys show",
        "search",
        "list",
        "which",
        "new directive",
        "new knowledge",
        "new tool",
        "threads list",
        "threads show",
        "schema",
        "completions",
        "help",
    ] {
        let help = session.rye(&format!("{command} --help"));
        assert!(help.contains("Example") && help.ends_with("--- exit 0\n"), "{help}");
    }
}

#[test]
fn help() {
    insta::assert_snapshot!(Session::new().rye("--help"));
}

/// What a session shows, without the command.
fn shown(session: &Session, arguments: &str) -> String {
    session.rye(arguments).split_once('\n').unwrap().1.to_owned()
}

#[test]
fn help_of_a_command_is_its_own() {
    let session = Session::new();
    for command in ["check", "keys generate"] {
        let own = shown(&session, &format!("{command} --help"));
        assert_eq!(shown(&session, &format!("help {command}")), own);
    }
    assert_eq!(shown(&session, "help"), shown(&session, "--help"));
}

#[test]
fn help_of_the_format_is_the_manual() {
    let manual = rye::parse::FORMAT_REFERENCE;
    let page = shown(&Session::new(), "help format");
    assert_eq!(page, format!("{manual}--- standard error\n--- exit 0\n"));
}

#[test]
fn help_of_what_is_not_there() {
    let session = Session::new();
    assert_eq!(
        shown(&session, "help keys make"),
        "--- standard error\nerror: there is no help on `keys make`; there is on `generate`, `show`, `import`, `export`\n--- exit 2\n"
    );
    assert_eq!(
        shown(&session, "help schema trust"),
        "--- standard error\nerror: there is no help on `schema trust`; leave `trust` out\n--- exit 2\n"
    );
    assert!(shown(&session, "help formats").contains("`help`, `format`\n"));
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
