//! What listing, globbing and searching find, leave out, and say of it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use rye_tools::fs::{
    Case, Cut, GlobQuery, GrepQuery, LsQuery, Root, Show, Skipped, Stop, Syntax, View, glob, grep,
    ls,
};
use serde_json::{Value, json};

use crate::project::{Project, call};

/// A project with ignore files at two depths, hidden folders and a repository's own folder.
fn project() -> Project {
    let project = Project::new();
    for (path, content) in [
        (".gitignore", "\u{feff}# what is built\ntarget/\n*.log\n!keep.log\n/top.txt\n[z-a]\n"),
        (".ignore", "drafts/\n"),
        (".github/ci.yml", "run: needle\n"),
        ("a.md", "needle one\nplain\nNeedle two\n"),
        ("a/top.txt", "needle\n"),
        ("a/.ignore", "!b.log\n"),
        ("a/b.log", "needle in a log\n"),
        ("b.log", "needle\n"),
        ("drafts/c.md", "needle\n"),
        ("keep.log", "needle kept\r\n"),
        ("src/deep/x.rs", "fn needle() {}\n"),
        ("src/x.rs", "fn main() {}\n"),
        ("target/out.rs", "needle\n"),
        ("top.txt", "needle\n"),
    ] {
        project.file(&format!("project/{path}"), content);
    }
    fs::write(project.outer().join("project/z.bin"), b"needle\0\n").unwrap();
    project
}

#[track_caller]
fn globs(query: &GlobQuery, paths: &[&str]) {
    let found = glob(&project().root, query, &Stop::new()).unwrap();
    assert_eq!(found.paths, paths);
    assert_eq!(found.cut, None);
}

/// Braces multiply and nest; what they could be written out as, nobody writes out.
#[test]
fn braces_are_bounded() {
    let project = project();
    let all = |pattern: &str| glob(&project.root, &GlobQuery::new(pattern), &Stop::new());
    let start = std::time::Instant::now();
    let many = "{a,b}".repeat(20) + "{,x}*";
    assert_eq!(all(&many).unwrap().paths, [""; 0]);
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
    globs(&GlobQuery::new("{a,{b,{c}}}.md"), &["a.md"]);
    let nested = |open: usize| format!("{}a{}", "{".repeat(open), "}".repeat(open));
    let deep = (0..5).map(|_| "{".repeat(60)).collect::<Vec<_>>().join("/");
    let closed = "}"
        .repeat(300)
        .as_bytes()
        .chunks(60)
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect::<Vec<_>>()
        .join("/");
    for pattern in [
        nested(100),
        format!("{deep}a{closed}"),
        "{a,b}".repeat(40),
        "{a,b}/".repeat(60),
        format!("*.{{{}}}", vec!["a"; 100].join(",{b},")),
    ] {
        let error = all(&pattern).unwrap_err().to_string();
        assert!(
            error.ends_with("it has more than 32 groups in braces; search several times"),
            "{error}"
        );
        let mut query = GrepQuery::new("a");
        query.globs = vec![format!("!{pattern}")];
        let error = grep(&project.root, &query, &Stop::new()).unwrap_err().to_string();
        assert!(
            error.ends_with("it has more than 32 groups in braces; search several times"),
            "{error}"
        );
    }
}

#[test]
fn globs_are_over_names_or_over_paths() {
    globs(&GlobQuery::new("*.md"), &["a.md"]);
    globs(&GlobQuery::new("*.rs"), &["src/deep/x.rs", "src/x.rs"]);
    globs(&GlobQuery::new("./*.rs"), &[]);
    globs(&GlobQuery::new("src/*.rs"), &["src/x.rs"]);
    globs(&GlobQuery::new("src/**/*.rs"), &["src/deep/x.rs", "src/x.rs"]);
    globs(&GlobQuery::new("src/"), &["src/deep/x.rs", "src/x.rs"]);
    globs(&GlobQuery::new("src/deep/x.rs"), &["src/deep/x.rs"]);
    globs(&GlobQuery::new("**/{x,y}.r?"), &["src/deep/x.rs", "src/x.rs"]);
    globs(&GlobQuery::new("[a-c].*"), &["a/b.log", "a.md"]);
    globs(&GlobQuery::new("x.rs").below("src/deep"), &["src/deep/x.rs"]);
    globs(&GlobQuery::new("deep/*").below("./src/"), &["src/deep/x.rs"]);
    globs(&GlobQuery::new("none/*"), &[]);
    globs(&GlobQuery::new("a.md/*"), &[]);
}

#[test]
fn what_is_hidden_or_ignored_is_found_when_it_is_asked_for() {
    let usual = ["a/b.log", "a/top.txt", "a.md", "keep.log", "src/deep/x.rs", "src/x.rs", "z.bin"];
    globs(&GlobQuery::new("**"), &usual);
    globs(&GlobQuery::new("*.yml"), &[]);
    globs(&GlobQuery::new("*.yml").view(View::usual().with_hidden()), &[".github/ci.yml"]);
    // What is named is looked into.
    globs(&GlobQuery::new(".github/*"), &[".github/ci.yml"]);
    globs(&GlobQuery::new("*.rs").below("target"), &["target/out.rs"]);
    let all = View::usual().with_ignored();
    globs(
        &GlobQuery::new("*.{log,txt}").view(all),
        &["a/b.log", "a/top.txt", "b.log", "keep.log", "top.txt"],
    );
    globs(&GlobQuery::new("target/**").view(all), &["target/out.rs"]);
}

#[test]
fn a_glob_that_is_none_is_an_error() {
    let project = project();
    let fails = |pattern: &str, message: &str| {
        let error = glob(&project.root, &GlobQuery::new(pattern), &Stop::new()).unwrap_err();
        assert_eq!(error.to_string(), format!("the glob `{pattern}` cannot be used: {message}"));
    };
    fails("a[", "unclosed character class; missing ']'");
    fails("{a", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
    fails("a\\b", "it has a backslash; separate folders with `/`");
    let error = glob(&project.root, &GlobQuery::new("*").below("none"), &Stop::new()).unwrap_err();
    assert_eq!(error.to_string(), "`none` does not exist");
}

#[track_caller]
fn greps(query: &GrepQuery, expected: &[(&str, &[&str])]) {
    let found = grep(&project().root, query, &Stop::new()).unwrap();
    let lines: Vec<(&str, Vec<&str>)> = found
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.lines.iter().map(String::as_str).collect()))
        .collect();
    let expected: Vec<(&str, Vec<&str>)> =
        expected.iter().map(|(path, lines)| (*path, lines.to_vec())).collect();
    assert_eq!((lines, found.cut), (expected, None));
}

#[test]
fn lines_are_found_by_what_they_say() {
    let needle = [
        ("a/b.log", &["1:needle in a log"] as &[_]),
        ("a/top.txt", &["1:needle"]),
        ("a.md", &["1:needle one"]),
        ("keep.log", &["1:needle kept"]),
        ("src/deep/x.rs", &["1:fn needle() {}"]),
    ];
    greps(&GrepQuery::new("needle"), &needle);
    greps(&GrepQuery::new("need.e$").below("a"), &[("a/top.txt", &["1:needle"])]);
    greps(&GrepQuery::new("kept$"), &[("keep.log", &["1:needle kept"])]);
    greps(
        &GrepQuery::new("^plain$").context(1),
        &[("a.md", &["1-needle one", "2:plain", "3-Needle two"])],
    );
    greps(&GrepQuery::new("needle").below("a.md"), &[("a.md", &["1:needle one"])]);
    greps(
        &GrepQuery::new("needle").globs(&["*.md", "*.rs"]),
        &needle[2..3].iter().chain(&needle[4..]).copied().collect::<Vec<_>>(),
    );
    greps(&GrepQuery::new("needle").globs(&["!*.md", "!src/**", "!a/"]), &needle[3..4]);
    let mut query = GrepQuery::new("NEEDLE T");
    greps(&query, &[]);
    query.case = Case::Insensitive;
    greps(&query, &[("a.md", &["3:Needle two"])]);
    let mut query = GrepQuery::new("() {}");
    query.syntax = Syntax::Literal;
    greps(&query, &[("src/deep/x.rs", &["1:fn needle() {}"]), ("src/x.rs", &["1:fn main() {}"])]);
    let mut query = GrepQuery::new("needle").below("a");
    query.show = Show::Files;
    greps(&query, &[("a/b.log", &[]), ("a/top.txt", &[])]);
}

#[test]
fn gaps_between_lines_are_marked() {
    let project = Project::new();
    let text: String =
        (1..=9).map(|n| format!("{n}{}\n", if n % 4 == 2 { " hit" } else { "" })).collect();
    project.file("project/a", &text);
    let mut query = GrepQuery::new("hit").context(1);
    let found = grep(&project.root, &query, &Stop::new()).unwrap();
    assert_eq!(found.files[0].lines, ["1-1", "2:2 hit", "3-3", "--", "5-5", "6:6 hit", "7-7"]);
    query.skip = 1;
    let found = grep(&project.root, &query, &Stop::new()).unwrap();
    assert_eq!(found.files[0].lines, ["5-5", "6:6 hit", "7-7"]);
}

/// The whole result, as a model reads it.
#[track_caller]
fn says(tool: &str, arguments: Value, expected: &Value) {
    assert_eq!(call(&project().root, tool, arguments).content, *expected);
}

#[test]
fn what_was_left_out_is_said() {
    says(
        "grep",
        json!({ "pattern": "needle t|NEEDLE O" }),
        &json!({ "files": [], "count": 0, "searched": 7,
            "skipped": { "hidden": 4, "ignored": 4, "binary": 1, "bad_rules": 1 } }),
    );
}

#[test]
fn a_result_that_was_cut_says_how_to_go_on() {
    let first = json!({ "files": [{ "path": "a/b.log", "count": 1, "lines": "1:needle in a log" }], "count": 1,
        "searched": 2, "skipped": { "hidden": 1, "bad_rules": 1 }, "next_skip": 1,
        "cut": "there is more; call again with `skip` from `next_skip`, or ask for less" });
    says("grep", json!({ "pattern": "needle", "path": "a", "limit": 1 }), &first);
    let second = json!({ "files": [{ "path": "a/top.txt", "count": 1, "lines": "1:needle" }], "count": 1,
        "searched": 2, "skipped": { "hidden": 1, "bad_rules": 1 } });
    says("grep", json!({ "pattern": "needle", "path": "a", "limit": 1, "skip": 1 }), &second);
}

#[test]
fn listings_leave_out_and_say_so() {
    let project = project();
    let listing = ls(&project.root, &LsQuery::new(".")).unwrap();
    assert_eq!(listing.listing(), "- a\n- a.md\n- keep.log\n- src\n- z.bin");
    assert_eq!((listing.count, listing.skipped.hidden, listing.skipped.ignored), (5, 3, 4));
    let all = View::usual().with_hidden().with_ignored();
    let listing = ls(&project.root, &LsQuery::new(".").view(all).skip(9)).unwrap();
    assert_eq!(listing.listing(), "- target\n- top.txt\n- z.bin");
    assert_eq!(
        (listing.count, listing.omitted_count(), listing.skipped),
        (12, 0, Skipped::default())
    );
}

#[test]
fn odd_names_and_kinds_are_counted() {
    let project = Project::new();
    let at = |name: &[u8]| project.outer().join("project").join(std::ffi::OsStr::from_bytes(name));
    for name in [b"caf\xe9" as &[u8], b"a\nb", b"c\\d", b"A", b"a"] {
        fs::write(at(name), "needle").unwrap();
    }
    symlink("a", at(b"link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at(b"pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
    fs::File::create(at(b"sparse")).unwrap().set_len(1 << 40).unwrap();
    let found = grep(&project.root, &GrepQuery::new("needle"), &Stop::new()).unwrap();
    let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["A", "a"]);
    let skipped = found.skipped.counts().into_iter().filter(|(_, count)| *count > 0);
    assert_eq!(
        skipped.collect::<Vec<_>>(),
        [("links", 1), ("special", 1), ("unnameable", 3), ("too_large", 1)]
    );
}

#[test]
fn long_lines_and_patterns_cost_no_more_than_they_may() {
    let project = Project::new();
    project.file("project/long", &"x".repeat(5 * 1024 * 1024));
    project.file("project/wide", &format!("{}needle{}\n", "é".repeat(300), "y".repeat(1_000)));
    let found = grep(&project.root, &GrepQuery::new("needle|xx"), &Stop::new()).unwrap();
    assert_eq!(found.skipped.long_lines, 1);
    let shown = format!("1:…{}needle{}…", "é".repeat(100), "y".repeat(294));
    assert_eq!(found.files[0].lines, [shown]);
    let fails = |pattern: &str, message: &str| {
        let error = grep(&project.root, &GrepQuery::new(pattern), &Stop::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the regular expression `{pattern}` cannot be used: {message}")
        );
    };
    fails("(", "unclosed group");
    fails("(?=a)", "look-around, including look-ahead and look-behind, is not supported");
    fails("", "it is empty, which every line has in it");
    fails(r"\w{500}{9}", "compiled regex exceeds size limit of 1048576");
    fails("a\\nb", "the literal \"\\n\" is not allowed in a regex");
}

#[test]
fn many_files_are_found_in_order_and_in_bounds() {
    let project = Project::new();
    for number in 0..1_500 {
        project.file(&format!("project/{}/{number:04}.txt", number % 7), "needle\n");
    }
    let found = glob(&project.root, &GlobQuery::new("*.txt"), &Stop::new()).unwrap();
    assert_eq!((found.paths.len(), found.cut), (1_000, Some(Cut::Results)));
    let rest = glob(&project.root, &GlobQuery::new("*.txt").skip(1_000), &Stop::new()).unwrap();
    assert_eq!((rest.paths.len(), rest.cut), (500, None));
    assert!(found.paths.iter().chain(&rest.paths).is_sorted());
    let stop = Stop::new();
    stop.stop();
    let stopped = grep(&project.root, &GrepQuery::new("needle"), &stop).unwrap();
    assert_eq!((stopped.count, stopped.cut), (0, Some(Cut::Stopped)));
}

#[test]
fn folders_without_end_are_entered_as_far_as_paths_reach() {
    let project = Project::new();
    let mut dir = rustix::fs::open(project.outer().join("project"), DIRECTORY, MODE).unwrap();
    // Deeper than any path could name.
    for _ in 0..3_000 {
        rustix::fs::mkdirat(&dir, "deep", MODE).unwrap();
        dir = rustix::fs::openat(&dir, "deep", DIRECTORY, MODE).unwrap();
    }
    let found = glob(&project.root, &GlobQuery::new("**"), &Stop::new()).unwrap();
    assert_eq!((found.paths.len(), found.skipped.too_deep), (0, 1));
    remove_deep(&project);
}

const DIRECTORY: rustix::fs::OFlags = rustix::fs::OFlags::DIRECTORY;
const MODE: rustix::fs::Mode = rustix::fs::Mode::RWXU;

/// What removes the temporary folder may not reach that deep.
fn remove_deep(project: &Project) {
    let top = project.outer().join("project");
    while top.join("deep/deep").exists() {
        // Each round takes the first one out from over the others.
        fs::rename(top.join("deep/deep"), top.join("next")).unwrap();
        fs::remove_dir(top.join("deep")).unwrap();
        fs::rename(top.join("next"), top.join("deep")).unwrap();
    }
}

/// Files of the system have no size, links of the system lead out, and some files wait: none of it is a problem.
#[cfg(target_os = "linux")]
#[test]
fn a_root_of_the_system_itself_is_confined_too() {
    let root = Root::open(std::path::Path::new("/proc/self")).unwrap();
    let read = |path: &str| rye_tools::fs::read(&root, path, rye_tools::fs::Lines::all());
    assert!(read("status").unwrap().content.starts_with("Name:"));
    for link in ["root/etc/hostname", "cwd/Cargo.toml", "exe"] {
        assert!(read(link).unwrap_err().is_refusal(), "{link}");
    }
    let found = grep(&root, &GrepQuery::new("^Name:").below("status"), &Stop::new()).unwrap();
    assert_eq!(found.count, 1);
}

/// Patterns are read by recursion; one that nests without end is a line that counts as none.
#[test]
fn an_ignore_file_that_nests_too_deep_is_read_to_its_end() {
    let project = Project::new();
    let deep = format!("{}a{}\n*.log\n", "{".repeat(32_000), "}".repeat(32_000));
    project.file("project/.gitignore", &deep);
    project.file("project/a.log", "");
    project.file("project/a.md", "");
    let found = glob(&project.root, &GlobQuery::new("a.*"), &Stop::new()).unwrap();
    assert_eq!(found.paths, ["a.md"]);
}
