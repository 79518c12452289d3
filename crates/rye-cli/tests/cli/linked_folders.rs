//! Commands that make files make none through links, which a cloned project may bring along.

use std::fs;
use std::os::unix::fs::symlink;

use crate::session::Session;

/// Puts a link to a folder elsewhere in the place of `linked`, and runs `command`: nothing is made there.
#[track_caller]
fn check(command: &str, linked: &str) {
    let session = Session::new();
    let outside = session.home().join("outside");
    fs::create_dir_all(&outside).unwrap();
    for target in [outside.clone(), outside.join("not-there")] {
        let link = session.home().parent().unwrap().join(linked);
        drop(fs::remove_dir_all(&link));
        drop(fs::remove_file(&link));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&target, &link).unwrap();
        if command.contains("--to project") {
            session.rye("keys generate");
        }
        let told = session.rye(command);
        let is_refused = told.ends_with("--- exit 1\n") || told.ends_with("--- exit 3\n");
        assert!(
            is_refused && ["link", "leads", "exists"].iter().any(|word| told.contains(word)),
            "{told}"
        );
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{told}");
        assert!(link.is_symlink(), "{told}");
    }
}

#[test]
fn nothing_is_made_through_a_link() {
    check("new directive notes/tidy", "project/.ai/directives/notes");
    check("new directive a/b/tidy", "project/.ai/directives/a");
    check("new knowledge notes/tidy", "project/.ai/knowledge");
    check("new tool notes/tidy", "project/.ai/tools");
    check("new tool notes/tidy", "project/.ai/tools/notes/tidy.yaml");
    check("init . --new-key", "project/.ai");
    check("keys generate", "home/.ai/config");
    check("keys generate", "home/.ai/config/keys/signing");
    check("keys generate", "home/.ai/config/keys/signing/private_key.pem");
    check("trust add TRUST --yes", "home/.ai/config/keys");
    check("trust add TRUST --yes", "home/.ai/config/keys/trusted");
    for linked in ["project/.ai/config", "project/.ai/config/keys"] {
        check("trust add TRUST --yes --to project", linked);
        check("trust revoke 56dbf7b2d9ce86ed --to project", linked);
    }
    check("trust add TRUST --yes --to project", "project/.ai/config/keys/trusted");
    check("trust revoke 56dbf7b2d9ce86ed --to project", "project/.ai/config/keys/revoked.toml");
    let load = "load notes/index-style --kind knowledge --to user --trust TRUST";
    check(load, "home/.ai/knowledge");
}

/// What is meant for the project does not come to count in the user space.
#[test]
fn a_project_that_is_a_link_to_the_user_space_carries_no_trust() {
    let session = Session::new();
    session.rye("keys generate");
    let (ai, keys) = (session.project().join(".ai"), session.home().join(".ai/config/keys"));
    fs::remove_dir_all(&ai).unwrap();
    symlink(session.home().join(".ai"), &ai).unwrap();
    for command in
        ["trust add TRUST --yes --to project", "trust revoke 56dbf7b2d9ce86ed --to project"]
    {
        let told = session.rye(&format!("{command} --project ."));
        assert!(told.contains("is a link, through which nothing is written"), "{told}");
        assert!(!keys.join("trusted/56dbf7b2d9ce86ed.toml").exists());
        assert!(!keys.join("revoked.toml").exists());
    }
}

/// A link in the place of the lock is replaced, and what it leads to is left alone.
#[test]
fn the_lock_is_not_written_through_a_link() {
    let session = Session::new();
    let (lock, target) = (session.project().join(".ai/rye.lock"), session.home().join("mine"));
    fs::write(&target, "").unwrap();
    symlink(&target, &lock).unwrap();
    let told = session.rye("lock --trust TRUST");
    assert!(told.ends_with("--- exit 0\n") && !lock.is_symlink(), "{told}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "", "{told}");
}
