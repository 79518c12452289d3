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
    let load = "load notes/index-style --kind knowledge --to user --trust TRUST";
    check(load, "home/.ai/knowledge");
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
