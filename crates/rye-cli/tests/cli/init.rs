//! `rye init`: a project in one command, whole or not at all.

use std::fs;
use std::path::PathBuf;

use crate::session::Session;

fn fresh(session: &Session) -> PathBuf {
    session.project().join("../fresh")
}

#[test]
fn a_project_begins_and_its_directive_runs() {
    let session = Session::new();
    session.rye("keys import KEY");
    insta::assert_snapshot!(session.rye("init ../fresh/"));
    insta::assert_snapshot!(session.rye("run project/hello --provider steps --project ../fresh"));
    assert_eq!(fs::read_to_string(fresh(&session).join("HELLO.md")).unwrap(), "Hello, world.\n");
    for command in ["verify", "check"] {
        let output = session.rye(&format!("{command} ../fresh/.ai"));
        assert!(output.ends_with("--- exit 0\n"), "{output}");
    }
}

#[test]
fn a_project_that_is_there_stays_as_it_is() {
    let session = Session::new();
    session.rye("keys import KEY");
    session.rye("init ../fresh");
    let about = fresh(&session).join(".ai/knowledge/project/about.md");
    fs::write(&about, "mine").unwrap();
    insta::assert_snapshot!(session.rye("init ../fresh"));
    assert_eq!(fs::read_to_string(&about).unwrap(), "mine");
}

#[test]
fn no_key_is_made_in_silence() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("init ../fresh"));
    assert!(!fresh(&session).exists());
    assert_eq!(fs::read_dir(session.home()).unwrap().count(), 0);
}

#[test]
fn a_key_is_made_on_request_and_trusted() {
    let session = Session::new();
    let made = session.rye("init ../fresh --new-key --owner ada@example.org --json");
    assert!(made.contains("\"new_key\": true"), "{made}");
    let verified = session.rye("verify ../fresh/.ai");
    assert!(verified.contains("by ada@example.org"), "{verified}");
    let again = session.rye("init ../other --new-key --json");
    assert!(again.contains("\"new_key\": false"), "{again}");
}

/// `--owner` is for a new key. Whoever names another owner than that of the present key reads whose key was used.
#[test]
fn an_owner_without_a_new_key_is_told() {
    let session = Session::new();
    session.rye("keys generate --owner ada@example.org");
    let told = "warning: your key of `ada@example.org` is used, so that `--owner` names nobody; it is for a new key\n";
    for (options, is_told) in [
        ("--owner bob@example.org", true),
        ("--new-key --owner bob@example.org --json", true),
        ("--owner ada@example.org", false),
        ("", false),
    ] {
        let made = session.rye(&format!("init ../fresh {options}"));
        assert!(made.ends_with("--- exit 0\n"), "{made}");
        assert_eq!(made.contains(told), is_told, "{made}");
        fs::remove_dir_all(fresh(&session)).unwrap();
    }
}

#[test]
fn the_user_space_is_no_project() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("init ../home --new-key"));
    assert_eq!(fs::read_dir(session.home()).unwrap().count(), 0);
}

/// Several programs that find no key make one, and all use it.
#[test]
#[expect(clippy::disallowed_methods, reason = "what runs at once has to be programs")]
fn a_key_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let start = |number: usize| {
        let project = folder.path().join(format!("project{number}"));
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rye"));
        command.arg("init").arg(project).arg("--new-key").current_dir(folder.path());
        command.env_clear().env("HOME", &home);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let running: Vec<_> = (0..6).map(start).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let keys = std::fs::read_dir(home.join(".ai/config/keys/trusted")).unwrap();
    assert_eq!(keys.count(), 1);
}

/// In the folder of the user space, the commands on items work on its items, and the others say what to do.
#[test]
fn the_items_of_the_user_space_are_worked_on_in_its_folder() {
    let session = Session::new();
    session.rye("keys import KEY");
    let at_home = |arguments: &str| session.rye_in(session.home(), arguments);
    let made = at_home("new knowledge notes/mine");
    assert!(made.ends_with("--- exit 0\n"), "{made}");
    assert!(session.home().join(".ai/knowledge/notes/mine.md").is_file());
    let checked = at_home("check");
    assert!(checked.contains("knowledge/notes/mine.md"), "{checked}");
    let run = at_home("run notes/mine --provider steps");
    assert!(
        run.contains("this is the user space, whose items count in every project, and no project"),
        "{run}"
    );
    assert!(run.ends_with("--- exit 2\n"), "{run}");
}
