//! `rye diff` of projects whose servers, or their lock, differ between revisions.

use std::fs;

use super::{SERVERS, contains, servers, session};
use crate::repository::commit;
use crate::session::Session;

/// A project that was a repository before its server starts: what becomes one while a program runs is put aside.
fn of_repository() -> Session {
    let session = session();
    commit(&session.project(), "before");
    session
}

/// The lock of a revision is read with it, so that the servers that it accepts are compared.
#[test]
fn a_server_that_changed_between_revisions_widens() {
    let session = of_repository();
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    commit(&session.project(), "one");
    let diff = "diff --exit-code --trust TRUST --allow-unsigned";
    contains(&session.rye(diff), 0, &["0 changed"]);
    let other = servers(&session, "").replace("own:\n", "own:\n    network: true\n");
    session.put(SERVERS, &other);
    commit(&session.project(), "two");
    let between = format!("{diff} --rev HEAD~1 --rev HEAD");
    contains(&session.rye(&between), 2, &["config `mcp/servers` of the project changed"]);
    session.change(".ai/tools/mcp/own/rye_load.yaml", "tool: \"rye_load\"", "tool: \"rye_search\"");
    commit(&session.project(), "three");
    contains(&session.rye(&between), 2, &["stands for `rye.execute.tool.mcp.own.rye_search`"]);
}

/// A server that offers something else is refused until its lock is renewed. So the lock decides on what a directive does.
#[test]
fn what_is_accepted_of_a_server_widens_by_the_lock_alone() {
    let session = of_repository();
    session.put(SERVERS, &servers(&session, ", --allow, rye.execute.directive.notes.index"));
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    let wider = fs::read_to_string(session.project().join(".ai/rye.lock")).unwrap();
    session.put(SERVERS, &servers(&session, ""));
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    commit(&session.project(), "one");
    let diff = "diff --exit-code --trust TRUST --allow-unsigned";
    contains(&session.rye(diff), 0, &["0 changed"]);
    session.put(".ai/rye.lock", &wider);
    contains(&session.rye(diff), 2, &["what is accepted of the server of `", "changed"]);
}
