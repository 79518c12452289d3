//! `rye keys`: made or imported once, shown, handed on, and never seen by accident.

use std::fs;
use std::path::PathBuf;

use crate::session::Session;

const SIGNING: &str = ".ai/config/keys/signing";

fn example_key() -> String {
    fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/keys/example-signing-key.pem"
    ))
    .unwrap()
}

fn private(session: &Session) -> PathBuf {
    session.home().join(SIGNING).join("private_key.pem")
}

#[test]
fn a_key_is_imported_once_and_trusted() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("keys import KEY --owner example"));
    insta::assert_snapshot!(session.rye("keys import KEY"));
    assert!(session.rye("verify .ai").ends_with("--- exit 0\n"));
    let shown = session.rye("keys show");
    assert!(shown.contains("key id       56dbf7b2d9ce86ed"), "{shown}");
    assert!(shown.contains("fingerprint  ca42e4682097f974"), "{shown}");
}

/// What the operator said of a key before it was moved here holds on, under whichever of its names.
#[test]
fn a_key_that_is_imported_again_has_the_limits_that_it_had() {
    for name in ["56dbf7b2d9ce86ed", FINGERPRINT] {
        let session = Session::new();
        let folder = session.home().join(".ai/config/keys/trusted");
        session.rye("trust add TRUST --yes --grants rye.load.*");
        session.rye("trust revoke 56dbf7b2d9ce86ed");
        let path = folder.join(format!("{name}.toml"));
        fs::rename(folder.join("56dbf7b2d9ce86ed.toml"), &path).unwrap();
        let output = session.rye("keys import KEY");
        assert!(output.contains(&format!("trusted/{name}.toml\n")), "{output}");
        let warning = "warning: the key `56dbf7b2d9ce86ed` was revoked at ";
        assert!(output.contains(warning) && output.ends_with("--- exit 0\n"), "{output}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(session.rye("trust list").contains("may grant    rye.load.*"));
    }
}

const FINGERPRINT: &str = "ca42e4682097f974a5070f2dd88fd4df092502d87c5e67e1f7ef49afab031276";

#[test]
fn a_key_comes_from_a_variable_and_is_not_shown() {
    let session = Session::new();
    let key = example_key();
    let imported = session.rye_with("keys import --from-env SIGNING", &[("SIGNING", &key)]);
    assert!(imported.ends_with("--- exit 0\n"), "{imported}");
    assert_eq!(fs::read_to_string(private(&session)).unwrap(), key);
    let secret = key.lines().nth(1).unwrap();
    for command in ["keys show", "keys show --json", "keys export", "keys export --json"] {
        let output = session.rye(command);
        assert!(output.ends_with("--- exit 0\n") && !output.contains(secret), "{output}");
    }
}

/// A secret that is wrong is still a secret.
#[test]
fn what_is_no_key_is_not_repeated() {
    let session = Session::new();
    let secret = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n";
    session.put("wrong.pem", secret);
    insta::assert_snapshot!(session.rye("keys import wrong.pem"));
    insta::assert_snapshot!(
        session.rye_with("keys import --from-env SIGNING", &[("SIGNING", secret)])
    );
    insta::assert_snapshot!(session.rye("keys import --from-env SIGNING"));
    insta::assert_snapshot!(session.rye("keys import"));
    assert!(!private(&session).exists());
}

#[test]
fn a_document_that_limits_the_key_stays() {
    let session = Session::new();
    assert!(session.rye("trust add TRUST --yes").ends_with("--- exit 0\n"));
    assert!(session.rye("keys import KEY --owner me").ends_with("--- exit 0\n"));
    let listed = session.rye("trust list");
    assert!(listed.contains("rye.execute.tool.rye.file-system.*"), "{listed}");
}

#[test]
fn the_public_key_is_what_leaves() {
    let session = Session::new();
    session.rye("keys import KEY");
    insta::assert_snapshot!(session.rye("keys export"));
    insta::assert_snapshot!(session.rye("keys export --json"));
    assert!(session.rye("keys export --output mine.pem").ends_with("--- exit 0\n"));
    insta::assert_snapshot!(session.rye("keys export --output mine.pem"));
    let pem = fs::read_to_string(session.project().join("mine.pem")).unwrap();
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"), "{pem}");
}

#[test]
fn the_private_key_leaves_only_when_told_to() {
    let session = Session::new();
    session.rye("keys import KEY");
    assert!(session.rye("keys export --private --output key.pem").ends_with("--- exit 0\n"));
    assert_eq!(fs::read_to_string(session.project().join("key.pem")).unwrap(), example_key());
    assert!(session.rye("keys export --private").contains(example_key().trim_end()));
    insta::assert_snapshot!(session.rye("keys export --private --json"));
    insta::assert_snapshot!(session.rye("keys export --private --output key.pem"));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_private_keys() {
    use std::os::unix::fs::PermissionsExt as _;
    for made in ["keys generate", "keys import KEY"] {
        let session = Session::new();
        session.rye(made);
        session.rye("keys export --private --output key.pem");
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let signing = session.home().join(SIGNING);
        assert_eq!(mode(signing.clone()), 0o700, "{made}");
        assert_eq!(mode(signing.join("private_key.pem")), 0o600, "{made}");
        assert_eq!(mode(signing.join("public_key.pem")), 0o644, "{made}");
        assert_eq!(mode(session.project().join("key.pem")), 0o600, "{made}");
    }
}

#[test]
fn half_a_key_store_is_not_completed() {
    let session = Session::new();
    fs::create_dir_all(session.home().join(SIGNING)).unwrap();
    fs::write(session.home().join(SIGNING).join("public_key.pem"), "somebody's").unwrap();
    let output = session.rye("keys generate");
    assert!(output.contains("exists and is not replaced"), "{output}");
    assert!(!private(&session).exists());
    assert!(session.rye("trust list").starts_with("$ rye trust list\n0 trust documents"));
}

/// Build machines change the line ends of a variable, and repeat a build with the same key.
#[test]
fn a_key_in_a_variable_is_read_in_its_forms() {
    let pem = std::fs::read_to_string(crate::session::example_key()).unwrap();
    let lines: Vec<&str> = pem.lines().collect();
    for text in [pem.clone(), lines.join("\\n"), lines.join(" "), lines.join("\\r\\n") + "\\n"] {
        let session = Session::new();
        let import = "keys import --from-env KEY_OF_BUILD";
        for round in 0..2 {
            let told = session.rye_with(import, &[("KEY_OF_BUILD", &text)]);
            assert!(told.ends_with("exit 0\n"), "{round}: {told}");
            assert!(told.contains("key id       56dbf7b2d9ce86ed"), "{told}");
        }
        let other = session.rye_with(import, &[("KEY_OF_BUILD", OTHER_KEY)]);
        assert!(other.contains("exists and is not replaced"), "{other}");
    }
}

/// Another key than that of the examples.
const OTHER_KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
