//! What `rye doctor` finds in a git repository.

use super::check;
use crate::repository::commit;
use crate::session::Session;

#[test]
fn what_should_not_be_in_git() {
    let session = Session::new();
    session.rye("keys import KEY");
    let clean = session.rye("doctor");
    assert!(!clean.contains("git"), "{clean}");
    commit(&session.home(), "keys");
    let found = [
        "wrong keys the private key is committed to git: `<DIR>/home/.ai/config/keys/signing/private_key.pem`",
        "make a new key, and `rye trust revoke` this one: to take the file out does not take it back",
    ];
    check(&session, &[], found, 1);
    session.rye("run notes/index --trust TRUST --provider steps");
    commit(&session.project(), "all");
    let found = [
        "note records threads are committed to git, with all that was said in them",
        "add `/threads/` to `.ai/.gitignore` and run `git rm -r --cached .ai/threads`",
    ];
    check(&session, &[], found, 1);
}
