//! `rye check`, `rye which` and `rye schema`.

use crate::session::Session;

const FAULTY: &str = "# Faulty

```xml
<directive name=\"faulty\" version=\"1\">
  <metadata>
    <limits turn=\"3\" />
    <permissions><execute><tool>a[^b]</tool></execute></permissions>
  </metadata>
</directive>
```

Say {input:wrod}.
";

#[test]
fn a_whole_project_is_fine() {
    insta::assert_snapshot!(Session::new().rye("check"));
}

#[test]
fn a_problem_is_shown_at_its_place() {
    let session = Session::new();
    session.put(".ai/directives/notes/faulty.md", FAULTY);
    insta::assert_snapshot!(session.rye("check .ai/directives/notes/faulty.md"));
}

#[test]
fn what_only_meaning_shows_is_reported_together() {
    let session = Session::new();
    session.put(".ai/directives/notes/other.md", &FAULTY.replace("<limits turn=\"3\" />", ""));
    insta::assert_snapshot!(session.rye("check .ai/directives/notes/other.md"));
    insta::assert_snapshot!(session.rye("check .ai/directives/notes/other.md --json"));
}

#[test]
fn configuration_is_held_against_its_schema() {
    let session = Session::new();
    session.put(".ai/config/agent/resilience.yaml", "limits:\n  turn: 3\n  spend: lots\n");
    insta::assert_snapshot!(session.rye("check .ai/config"));
}

#[test]
fn a_path_that_is_not_there() {
    insta::assert_snapshot!(Session::new().rye("check nowhere.md"));
}

#[test]
fn the_winner_and_what_it_shadows() {
    let session = Session::new();
    session
        .put(".ai/knowledge/rye/agent/core/Identity.md", "```yaml\nname: Identity\n```\n\nMine.\n");
    insta::assert_snapshot!(session.rye("which rye/agent/core/Identity"));
    insta::assert_snapshot!(session.rye("which rye/agent/core/Identity --json"));
}

#[test]
fn an_id_that_nothing_has() {
    insta::assert_snapshot!(Session::new().rye("which rye/agent/core/Identiti --kind knowledge"));
}

#[test]
fn new_items_pass_their_check_and_replace_nothing() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("new directive notes/tidy"));
    for kind in ["directive", "knowledge", "tool"] {
        session.rye(&format!("new {kind} fresh/item"));
    }
    let checked = session.rye("check");
    assert!(checked.contains("7 checked: 0 errors, 0 warnings, 0 notes"), "{checked}");
    session.put(".ai/tools/fresh/other.sh", "");
    insta::assert_snapshot!(session.rye("new tool fresh/other"));
}

#[test]
fn schemas() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("schema"));
    insta::assert_snapshot!(session.rye("schema trust"));
    insta::assert_snapshot!(session.rye("schema resilence"));
}
