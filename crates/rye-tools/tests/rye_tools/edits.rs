//! What editing does, and what it says when it does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use rye_tools::fs::{Edit, edit};

use crate::project::Project;

#[track_caller]
fn check(before: &str, edits: &[Edit], expected: Result<(&str, &str), &str>) {
    let project = Project::new();
    project.file("project/a.md", before);
    let edited = edit(&project.root, "a.md", edits);
    let now = fs::read_to_string(project.outer().join("project/a.md")).unwrap();
    match expected {
        Ok((after, diff)) => {
            let edited = edited.unwrap();
            assert_eq!((now.as_str(), edited.diff.as_str()), (after, diff));
            assert_eq!(edited.bytes, after.len());
        }
        Err(message) => {
            assert_eq!(edited.unwrap_err().to_string(), message);
            assert_eq!(now, before);
        }
    }
    assert_eq!(fs::read_dir(project.outer().join("project")).unwrap().count(), 1);
}

const LIST: &str =
    "# List\n\n- flour\n- salt\n- oil\n- water\n- yeast\n- sugar\n- butter\n- eggs\n";

#[test]
fn one_piece_is_replaced() {
    let diff = "@@ -1,6 +1,6 @@\n # List\n \n-- flour\n+- rye\n - salt\n - oil\n - water\n";
    check(LIST, &[Edit::new("flour", "rye")], Ok((&LIST.replace("flour", "rye"), diff)));
    let diff = "@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file\n";
    check("a", &[Edit::new("a", "")], Ok(("", diff)));
    let diff = "@@ -1,2 +1,3 @@\n a\n+x\n b\n";
    check("a\nb\n", &[Edit::new("a\n", "a\nx\n")], Ok(("a\nx\nb\n", diff)));
    let diff = "@@ -1,2 +1,1 @@\n-a\n-b\n+ab\n";
    check("a\nb\n", &[Edit::new("a\nb", "ab")], Ok(("ab\n", diff)));
}

#[test]
fn several_pieces_are_replaced_in_any_order() {
    let edits = [Edit::new("eggs", "2 eggs"), Edit::new("# List\n", "# Shopping\n")];
    let diff = "@@ -1,4 +1,4 @@\n-# List\n+# Shopping\n \n - flour\n - salt\n\
                @@ -7,4 +7,4 @@\n - yeast\n - sugar\n - butter\n-- eggs\n+- 2 eggs\n";
    let after = LIST.replace("List", "Shopping").replace("eggs", "2 eggs");
    check(LIST, &edits, Ok((&after, diff)));
    // What one edit wrote is not what the other one finds.
    let edits = [Edit::new("b", "a"), Edit::new("a", "b")];
    check("a b\n", &edits, Ok(("b a\n", "@@ -1,1 +1,1 @@\n-a b\n+b a\n")));
}

#[test]
fn every_place_is_replaced_when_all_are_meant() {
    let diff = "@@ -1,3 +1,3 @@\n-a\n+x\n b\n-a a\n+x x\n";
    check("a\nb\na a\n", &[Edit::new("a", "x").everywhere()], Ok(("x\nb\nx x\n", diff)));
}

#[test]
fn line_ends_stay_as_they_are() {
    let diff = "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n";
    check("a\r\nb\r\n", &[Edit::new("a\nb", "a\nc\nd")], Ok(("a\r\nc\r\nd\r\n", diff)));
    check(
        "\u{feff}a\r\nb",
        &[Edit::new("b", "x\ny")],
        Ok((
            "\u{feff}a\r\nx\r\ny",
            "@@ -1,2 +1,3 @@\n \u{feff}a\n-b\n\\ No newline at end of file\n+x\n+y\n\\ No newline at end of file\n",
        )),
    );
    // Where line ends are mixed, they are taken as they are written.
    let missing = "nothing was written to `a.md`: edit 1: `old` is not in the file, but differs in white space alone \
                   from what begins in line 1; copy that exactly";
    check("a\r\nb\n", &[Edit::new("a\nb", "x")], Err(missing));
}

#[test]
fn what_does_not_fit_is_said_so_that_it_can_be_mended() {
    let fails = |before: &str, edit: Edit, why: &str| {
        check(before, &[edit], Err(&format!("nothing was written to `a.md`: edit 1: {why}")));
    };
    fails(LIST, Edit::new("", "x"), "`old` is empty; give the text to replace");
    fails(LIST, Edit::new("oil", "oil"), "`old` and `new` are the same");
    fails(
        LIST,
        Edit::new("honey", "x"),
        "`old` is not in the file; read it and copy the text exactly",
    );
    fails(
        "if x:\n    a\n    b\n",
        Edit::new("a\nb", "c"),
        "`old` is not in the file, but differs in white space alone from what begins in line 2; copy that exactly",
    );
    let ask = "add surrounding lines to say which, or `all: true` for all of them";
    fails(
        "a\nb\na\n\na\n",
        Edit::new("a", "c"),
        &format!("`old` occurs 3 times, at lines 1, 3 and 5; {ask}"),
    );
    fails("aaa", Edit::new("aa", "c"), &format!("`old` occurs 2 times, at lines 1 and 1; {ask}"));
    fails(
        &"a\n".repeat(12),
        Edit::new("a", "c"),
        &format!("`old` occurs 12 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more; {ask}"),
    );
    let many = "a".repeat(2_000);
    fails(
        &many,
        Edit::new("a", "c"),
        &format!(
            "`old` occurs at least 1000 times, at lines 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 and more; {ask}"
        ),
    );
    let many = "a".repeat(100_001);
    fails(
        &many,
        Edit::new("a", "c").everywhere(),
        "`old` occurs more than 100000 times, which is too many for one call",
    );
}

#[test]
fn every_edit_that_does_not_fit_is_named_and_none_is_made() {
    let edits = [
        Edit::new("flour", "x"),
        Edit::new("- salt\n- oil", "y"),
        Edit::new("oil\n", "z"),
        Edit::new("", ""),
    ];
    let message = "nothing was written to `a.md`: \
                   edit 3: it overlaps with edit 2 in line 5; make one edit of the two; \
                   edit 4: `old` is empty; give the text to replace";
    check(LIST, &edits, Err(message));
}

#[test]
fn sizes_are_bounded_before_anything_is_built() {
    let message = "`a.md` is too large: 40000000000 bytes, at most 16777216 are allowed";
    let edit = Edit::new("a", &"x".repeat(400_000)).everywhere();
    check(&"a".repeat(100_000), &[edit], Err(message));
    let edits: Vec<Edit> = (0..101).map(|n| Edit::new(&n.to_string(), "x")).collect();
    check("a", &edits, Err("the number of edits is 101, at most 100 is allowed"));
}

#[test]
fn a_long_difference_says_what_it_leaves_out() {
    let project = Project::new();
    let text: String = (0..2_000).map(|n| format!("line {n}\n\n\n\n\n\n\n\n")).collect();
    project.file("project/a.md", &text);
    let edited = edit(&project.root, "a.md", &[Edit::new("line", "row").everywhere()]).unwrap();
    assert_eq!(edited.replaced, 2_000);
    assert!(edited.diff.len() < 17 * 1024, "{}", edited.diff.len());
    let last = edited.diff.lines().last().unwrap();
    assert!(
        last.starts_with("… and 1") && last.ends_with(" more changed places, not shown"),
        "{last}"
    );
}

#[test]
fn mode_is_kept_and_privilege_is_not() {
    let project = Project::new();
    project.file("project/run.sh", "old");
    let path = project.outer().join("project/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4750)).unwrap();
    drop(edit(&project.root, "run.sh", &[Edit::new("old", "new")]).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
}

/// Whoever edits sees what others wrote in the meantime, or is told: no change is lost.
#[test]
fn edits_at_the_same_time_lose_nothing() {
    let project = Project::new();
    project.file("project/a.md", "end\n");
    let n_made: usize = std::thread::scope(|scope| {
        let editors: Vec<_> = (0..4)
            .map(|editor| {
                let root = &project.root;
                scope.spawn(move || {
                    let line = |n| Edit::new("end\n", &format!("{editor} {n}\nend\n"));
                    (0..50).filter(|n| edit(root, "a.md", &[line(*n)]).is_ok()).count()
                })
            })
            .collect();
        editors.into_iter().map(|editor| editor.join().unwrap()).sum()
    });
    let text = fs::read_to_string(project.outer().join("project/a.md")).unwrap();
    assert_eq!(text.lines().count(), n_made + 1);
}

proptest! {
    /// The difference that is told is the change that was made, and nothing else is.
    #[test]
    fn the_difference_makes_the_new_text_of_the_old(
        lines in prop::collection::vec("[abc]{0,3}", 0..40),
        end in prop::sample::select(vec!["", "\n"]),
        edits in prop::collection::vec(("[abc\n]{1,4}", "[abcx\n]{0,4}", any::<bool>()), 1..4),
    ) {
        let project = Project::new();
        let before = lines.join("\n") + end;
        project.file("project/a.md", &before);
        let edits: Vec<Edit> = edits
            .iter()
            .map(|(old, new, all)| if *all { Edit::new(old, new).everywhere() } else { Edit::new(old, new) })
            .collect();
        let made = edit(&project.root, "a.md", &edits);
        let now = fs::read_to_string(project.outer().join("project/a.md")).unwrap();
        match made {
            Ok(edited) => prop_assert_eq!(patched(&before, &edited.diff), now),
            Err(_) => prop_assert_eq!(before, now),
        }
    }
}

/// Applies a unified difference, strictly.
fn patched(before: &str, diff: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut new, mut at) = (String::new(), 0);
    let mut lines = diff.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("@@ -") {
            let (from, n_old) = head.split_once(' ').unwrap().0.split_once(',').unwrap();
            let from: usize = from.parse().unwrap();
            let start = if n_old == "0" { from } else { from - 1 };
            new.extend(old[at..start].iter().copied());
            at = start;
            continue;
        }
        let end = if lines.next_if(|next| next.starts_with('\\')).is_some() { "" } else { "\n" };
        let text = format!("{}{end}", &line[1..]);
        if !line.starts_with('+') {
            assert_eq!(old[at], text, "{diff}");
            at += 1;
        }
        if !line.starts_with('-') {
            new.push_str(&text);
        }
    }
    new.extend(old[at..].iter().copied());
    new
}
