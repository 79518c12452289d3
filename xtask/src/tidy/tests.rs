//! Tidy passes for this workspace, and fails for small workspaces with one fault each.

use std::{fs, path::Path};

use super::check;

#[test]
fn this_workspace_is_tidy() {
    if let Err(findings) = super::run(crate::workspace_root()) {
        panic!("{findings}");
    }
}

/// A workspace of four crates without findings.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        let scratch = Self(tempfile::tempdir().expect("a temporary folder"));
        scratch.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n[workspace.lints.rust]\n",
        );
        scratch.package("rye-sign", "");
        scratch.package(
            "rye-thread",
            "[dependencies]\nrye-sign = { path = \"../rye-sign\", version = \"0.3.0\" }\n",
        );
        scratch.package("rye-prompt", "");
        scratch.package("rye-transcript", "");
        let events = "//! Events.\n\nevents! {\n    \"step_finish\" => StepFinish,\n}\n";
        scratch.write("crates/rye-transcript/src/event.rs", events);
        scratch
    }

    fn package(&self, name: &str, dependencies: &str) {
        let folder = format!("crates/{name}");
        self.manifest(name, &format!("{dependencies}\n[lints]\nworkspace = true\n"));
        self.write(&format!("{folder}/src/lib.rs"), "//! A crate.\n");
        self.write(
            &format!("{folder}/CHANGELOG.md"),
            "# Log\n\n## [Unreleased]\n\n## [0.3.0] - 2026-11-20\n",
        );
        for paper in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            self.write(&format!("{folder}/{paper}"), "text\n");
        }
    }

    fn manifest(&self, name: &str, rest: &str) {
        let package = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.3.0\"\ninclude = [\"/src\"]\n\n{rest}"
        );
        self.write(&format!("crates/{name}/Cargo.toml"), &package);
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.0.path().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a made folder");
        fs::write(file, text).expect("a written file");
    }

    #[track_caller]
    fn finds(&self, expected: &[&str]) {
        assert_eq!(check(self.0.path()).expect("a workspace that cargo reads"), expected);
    }
}

#[test]
fn a_clean_workspace_has_no_findings() {
    Scratch::new().finds(&[]);
}

#[test]
fn an_edge_that_is_not_drawn_is_found() {
    let scratch = Scratch::new();
    scratch.package(
        "rye-prompt",
        "[dependencies]\nrye-thread = { path = \"../rye-thread\", version = \"0.3.0\" }\n",
    );
    scratch.finds(&["`rye-prompt` may not depend on `rye-thread`"]);
}

#[test]
fn a_development_edge_is_held_to_the_same_table_and_has_no_version() {
    let scratch = Scratch::new();
    let dependency =
        "[dev-dependencies]\nrye-thread = { path = \"../rye-thread\", version = \"0.3.0\" }\n";
    scratch.package("rye-sign", dependency);
    scratch.finds(&[
        "`rye-sign` may not depend on `rye-thread`",
        "`rye-sign` gives the dev-dependency `rye-thread` a version; give it a path alone",
    ]);
}

#[test]
fn an_edge_without_a_version_is_found() {
    let scratch = Scratch::new();
    scratch.package("rye-thread", "[dependencies]\nrye-sign = { path = \"../rye-sign\" }\n");
    scratch
        .finds(&["`rye-thread` gives `rye-sign` no version; add one, or it cannot be published"]);
}

#[test]
fn a_package_that_the_table_lacks_is_found() {
    let scratch = Scratch::new();
    scratch.package("rye-extra", "");
    scratch
        .finds(&["`rye-extra` is not in the layer table; add a row to `xtask/src/tidy/layers.rs`"]);
}

#[test]
fn a_manifest_that_lets_something_slip_is_found() {
    let scratch = Scratch::new();
    let manifest =
        "[package]\nname = \"rye-sign\"\nversion = \"0.3.0\"\n\n[dependencies]\ninsta = \"1.49\"\n";
    scratch.write("crates/rye-sign/Cargo.toml", manifest);
    scratch.finds(&[
        "`rye-sign` does not inherit the workspace's lints; add `[lints] workspace = true`",
        "`rye-sign` has no `include`; list what the published package holds",
        "`rye-sign` depends on `insta`; make it a dev-dependency",
    ]);
}

#[test]
fn a_change_log_without_the_current_version_is_found() {
    let scratch = Scratch::new();
    scratch.write("crates/rye-sign/CHANGELOG.md", "# Log\n\n## [Unreleased]\n\n## [0.2.0]\n");
    scratch.finds(&["the CHANGELOG.md of `rye-sign` has no section `## [0.3.0]`"]);
}

#[test]
fn a_missing_paper_is_found() {
    let scratch = Scratch::new();
    fs::remove_file(scratch.0.path().join("crates/rye-sign/README.md")).expect("a removed file");
    scratch.finds(&["`rye-sign` has no `README.md`"]);
}

#[test]
fn a_source_file_that_does_not_say_what_it_is_is_found() {
    let scratch = Scratch::new();
    scratch.write("crates/rye-sign/src/key.rs", "use std::fs;\n");
    scratch.write("crates/rye-sign/src/key/tests.rs", "use super::sign;\n");
    scratch.finds(&["`crates/rye-sign/src/key.rs` does not begin with `//!`; say what it is"]);
}

#[test]
fn a_module_named_after_nothing_is_found() {
    let scratch = Scratch::new();
    scratch.write("crates/rye-sign/src/helpers.rs", "//! Doc.\n\nmod misc {}\n");
    scratch.finds(&[
        "`crates/rye-sign/src/helpers.rs` has a module `helpers`; name it after what it holds",
        "`crates/rye-sign/src/helpers.rs` has a module `misc`; name it after what it holds",
    ]);
}

#[test]
fn an_empty_doc_comment_is_found_and_a_blank_line_in_one_is_not() {
    let scratch = Scratch::new();
    scratch.write(
        "crates/rye-sign/src/key.rs",
        "//! Doc.\n\n/// One.\n///\n/// Two.\nfn a() {}\n\n///\nfn b() {}\n",
    );
    scratch.finds(&["`crates/rye-sign/src/key.rs` has an empty doc comment in line 8"]);
}

#[test]
fn a_source_file_that_does_not_parse_is_found() {
    let scratch = Scratch::new();
    scratch.write("crates/rye-sign/src/key.rs", "//! Doc.\nfn (\n");
    let expected =
        "`crates/rye-sign/src/key.rs` is no Rust: cannot parse string into token stream in line 2";
    scratch.finds(&[expected]);
}

#[test]
fn a_pending_snapshot_is_found() {
    let scratch = Scratch::new();
    scratch.write("crates/rye-prompt/tests/snapshots/render@a.snap.new", "text\n");
    scratch.finds(&["`crates/rye-prompt/tests/snapshots/render@a.snap.new` is not reviewed; run `cargo insta review`"]);
}

#[test]
fn a_path_of_a_machine_is_found_and_what_builds_leave_behind_is_not_read() {
    let scratch = Scratch::new();
    let home = Path::new("/").join("root").join("x");
    scratch.write("docs/a.md", &format!("first\nsee {}\n", home.display()));
    scratch.write("target/b.md", &format!("see {}\n", home.display()));
    scratch.write(".git", &format!("gitdir: {}\n", home.display()));
    let folder = concat!("/ro", "ot/");
    scratch.finds(&[format!("`docs/a.md` names the machine's `{folder}` in line 2").as_str()]);
}

#[test]
fn all_findings_are_reported_at_once() {
    let scratch = Scratch::new();
    scratch.manifest("rye-sign", "");
    scratch.write("crates/rye-sign/src/key.rs", "fn f() {}\n");
    scratch.finds(&[
        "`rye-sign` does not inherit the workspace's lints; add `[lints] workspace = true`",
        "`crates/rye-sign/src/key.rs` does not begin with `//!`; say what it is",
    ]);
}
