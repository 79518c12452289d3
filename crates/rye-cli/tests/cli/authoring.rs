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

/// What is shown of it looks harmless; the last sentence is followed by three letters, and by text that needs its joiners.
const DECEPTIVE: &str = "# Deceptive

```xml
<directive name=\"deceptive\" version=\"1.0.0\">
  <metadata>
    <description>Tidies \u{2066}notes\u{2069} of ad\u{200b}min.</description>
  </metadata>
</directive>
```

Tidy the notes.\u{e0041}\u{e006c}\u{e006c} שלום 👩\u{200d}💻 می\u{200c}خواهم
";

#[test]
fn what_a_person_does_not_see_is_told_and_fails_nothing() {
    let session = Session::new();
    session.put(".ai/directives/deceptive.md", DECEPTIVE);
    insta::assert_snapshot!(session.rye("check .ai/directives/deceptive.md"));
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

/// Files, and ids that have one file, are named alike. An id of several items is not guessed at.
#[test]
fn an_id_names_its_file() {
    let session = Session::new();
    session.rye("keys generate");
    session.put(".ai/knowledge/notes/twice.md", "```yaml\nname: twice\n```\n\nA.\n");
    session.put(".ai/directives/notes/twice.md", "# Twice\n");
    let commands = [
        "check notes/index --trust TRUST",
        "sign notes/index --dry-run",
        "check notes/twice --trust TRUST",
        "sign rye/agent/core/base",
    ];
    insta::assert_snapshot!("named_by_id", commands.map(|command| session.rye(command)).concat());
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
    assert!(checked.contains("7 checked: 0 errors, 3 warnings, 7 notes"), "{checked}");
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

const PROMISING: &str = "```xml
<directive name=\"promising\" version=\"1.0.0\">
  <inputs>
    <input name=\"count\" type=\"integer\" default=\"many\">How many</input>
    <input name=\"mode\" enum=\"fast,slow\" default=\"slwo\">How</input>
    <input name=\"other\" type=\"integer\" default=\"3\"/>
  </inputs>
  <outputs>
    <output name=\"report\">Where the report on {input:cuont} is</output>
  </outputs>
</directive>
```

Count {input:count}.
";

#[test]
fn what_would_fail_when_rendered_fails_when_checked() {
    let session = Session::new();
    session.put(".ai/directives/promising.md", PROMISING);
    insta::assert_snapshot!(session.rye("check .ai/directives/promising.md"));
}

#[test]
fn very_many_problems_are_curtailed() {
    let session = Session::new();
    let body = "{input:x} ".repeat(10_000);
    let text = format!("```xml\n<directive name=\"many\" version=\"1.0.0\"/>\n```\n\n{body}");
    session.put(".ai/directives/many.md", &text);
    let shown = session.rye("check .ai/directives/many.md --json");
    assert_eq!(shown.matches("\"undeclared-input\"").count(), 200);
    assert_eq!(shown.matches("\"too-many\"").count(), 1);
    assert!(shown.contains("--- exit 1"), "{shown}");
}

#[test]
fn a_file_that_is_no_text_does_not_stop_the_others() {
    let session = Session::new();
    let folder = session.project().join(".ai/knowledge");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("latin.md"), b"# Caf\xe9\n").unwrap();
    insta::assert_snapshot!(session.rye("check"));
}
