//! `rye search` and `rye list`.

use crate::session::Session;

/// The quick start with one item of each sort of fault.
fn with_faults() -> Session {
    let session = Session::new();
    session.put(".ai/knowledge/notes/unsigned.md", "Notes that nobody signed.\n");
    session.change(".ai/knowledge/notes/index-style.md", "one Markdown file", "two Markdown files");
    session.put(".ai/tools/two.sh", "");
    session.put(".ai/tools/two.py", "");
    session
}

#[test]
fn results_with_their_lines() {
    insta::assert_snapshot!(Session::new().rye("search index notes --trust TRUST --limit 3"));
}

#[test]
fn results_as_data() {
    insta::assert_snapshot!(
        Session::new().rye("search style --kind knowledge --limit 1 --trust TRUST --json")
    );
}

#[test]
fn a_second_search_tells_the_same() {
    let session = Session::new();
    let first = session.rye("search index --trust TRUST");
    assert_eq!(session.rye("search index --trust TRUST"), first);
    let cache = session.home().join(".ai/cache/search");
    assert_eq!(std::fs::read_dir(cache).unwrap().count(), 1);
}

#[test]
fn what_is_refused_is_told_and_not_found() {
    let session = with_faults();
    insta::assert_snapshot!(session.rye("search notes --kind knowledge --kind tool --trust TRUST"));
    insta::assert_snapshot!(session.rye("search unsigned --kind knowledge --trust TRUST --json"));
}

#[test]
fn a_trust_that_is_not_given_again_is_not_remembered() {
    let session = Session::new();
    assert!(session.rye("search style --trust TRUST").contains("notes/index-style"));
    let without = session.rye("search style --kind knowledge");
    assert!(!without.contains("knowledge  notes/index-style"), "{without}");
    assert!(without.contains("is not searched"), "{without}");
}

#[test]
fn an_unsigned_item_is_marked() {
    let session = Session::new();
    session.put(".ai/knowledge/notes/draft.md", "A walrus that nobody signed.\n");
    insta::assert_snapshot!(session.rye("search walrus --trust TRUST --allow-unsigned"));
}

#[test]
fn nothing_answers() {
    insta::assert_snapshot!(Session::new().rye("search kubernetes --trust TRUST"));
}

#[test]
fn a_phrase_without_an_end() {
    insta::assert_snapshot!(Session::new().rye("search \"one line"));
}

#[test]
fn a_kind_that_there_is_not() {
    insta::assert_snapshot!(Session::new().rye("search notes --kind note"));
}

#[test]
fn a_list_of_all_items() {
    insta::assert_snapshot!(Session::new().rye("list --trust TRUST"));
}

#[test]
fn a_list_with_faults() {
    let session = with_faults();
    insta::assert_snapshot!(session.rye("list --kind knowledge --kind tool --trust TRUST"));
    insta::assert_snapshot!(session.rye("list --kind knowledge --trust TRUST --json"));
}
