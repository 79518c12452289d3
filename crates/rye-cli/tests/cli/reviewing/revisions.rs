//! `rye diff` of one directive over git revisions.

use super::{INDEX, STYLE, exits, sign};
use crate::repository::{commit, commit_a_million_files};
use crate::session::Session;

#[test]
fn permissions_are_compared_by_what_they_cover() {
    let session = Session::new();
    commit(&session.project(), "before");
    // Written otherwise and in another order, the same is granted.
    session.change(INDEX, "        <tool>rye.file-system.ls</tool>\n", "");
    session.change(
        INDEX,
        "rye.file-system.write</tool>",
        "rye/file-system/write</tool>\n        <tool>rye.file-system.l[s]</tool>",
    );
    sign(&session);
    let output = session.rye("diff --rev HEAD notes/index --trust TRUST");
    assert!(!output.contains("capabilities"), "{output}");
    session.change(INDEX, "l[s]", "l?");
    sign(&session);
    insta::assert_snapshot!(session.rye("diff --rev HEAD notes/index --trust TRUST"));
}

#[test]
fn revisions_of_one_directive() {
    let session = Session::new();
    commit(&session.project(), "one");
    session.change(STYLE, "one Markdown file", "two Markdown files");
    session.change(INDEX, "turns=\"8\"", "turns=\"9\"");
    sign(&session);
    commit(&session.project(), "two");
    insta::assert_snapshot!(
        session.rye(&format!("diff HEAD~1:{INDEX} HEAD:{INDEX} --trust TRUST --json"))
    );
    let twice = session.rye("diff --rev HEAD~1 --rev HEAD notes/index --exit-code --trust TRUST");
    exits(&twice, 2);
    let now = session.rye("diff --rev HEAD notes/index --exit-code --trust TRUST");
    exits(&now, 0);
    insta::assert_snapshot!(session.rye("diff --rev HEAD~2 notes/index --trust TRUST"));
}

#[test]
fn a_revision_is_verified_as_the_files_are() {
    let session = Session::new();
    session.change(STYLE, "one Markdown file", "two Markdown files");
    commit(&session.project(), "tampered");
    session.change(STYLE, "two Markdown files", "one Markdown file");
    let output = session.rye("diff --rev HEAD notes/index --trust TRUST");
    assert!(output.contains("index-style.md` is not verified"), "{output}");
    exits(&output, 3);
}

#[test]
fn a_revision_that_would_fill_the_disk() {
    let session = Session::new();
    commit_a_million_files(&session.project());
    let output = session.rye("diff --rev HEAD notes/index --trust TRUST");
    assert!(
        output.contains(
            "error: cannot read revision `HEAD`: more than 50000 files and folders lie in its `.ai`\n"
        ),
        "{output}"
    );
    exits(&output, 1);
}

#[test]
fn a_project_in_no_repository_has_no_revision() {
    let session = Session::new();
    let output = session.rye("diff --rev HEAD notes/index --trust TRUST");
    assert!(output.contains("is in no git repository that can be read"), "{output}");
    exits(&output, 2);
}
