//! The step that runs the tests by the command of the README, then those of features that are off by default, and finds unused
//! snapshots.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{process, tidy, workspace};
use anyhow::{Context as _, anyhow};

/// The tests of the feature that is off by default, and of a program without one that is on. The whole workspace is named, so that
/// what the first command built is used.
const MORE: &str = "cargo test --workspace --no-default-features --features rye-cli/engine,rye-cli/mcp,rye-cli/otel --bin rye --test cli -- without_git telemetry";

/// The cases of each property, which are all; `.cargo/config.toml` has fewer.
const ALL_CASES: &str = "256";

/// Runs the test command of the README and the tests of other features, with whole sweeps and without updating snapshots. Fails if a
/// test fails or if no test uses a snapshot.
pub(super) fn run(root: &Path) -> anyhow::Result<()> {
    let readme = fs::read_to_string(root.join("README.md"));
    let readme = readme.context("`README.md` cannot be read")?;
    let line = command(&readme, "test")?;
    let folder = workspace::metadata(root)?.target_directory.join("xtask");
    fs::create_dir_all(&folder)
        .with_context(|| format!("`{}` cannot be made", folder.display()))?;
    let asked = folder.join("snapshots-asked-for");
    // The list of an earlier run must not count for this one.
    drop(fs::remove_file(&asked));
    println!("README, test: {line}");
    let environment = [
        ("CI", "1"),
        ("INSTA_UPDATE", "no"),
        ("INSTA_SNAPSHOT_REFERENCES_FILE", &asked.to_string_lossy()),
        ("PROPTEST_CASES", ALL_CASES),
        ("RYE_SWEEP", "all"),
    ];
    process::run(root, &environment, line)?;
    process::run(root, &environment, MORE)?;
    let asked = fs::read_to_string(&asked);
    let asked = asked.context("no test asked for a snapshot")?;
    let left = left_behind(root, &asked);
    match left.is_empty() {
        true => Ok(()),
        false => {
            Err(anyhow!("no test asks for\n\n{}\n\nremove what is left behind", left.join("\n")))
        }
    }
}

/// Returns the command between the README's markers of this name, without the code fence.
///
/// Returns an error unless there is exactly one line.
fn command<'a>(readme: &'a str, name: &str) -> anyhow::Result<&'a str> {
    let begin = format!("<!-- {name}:begin -->");
    let end = format!("<!-- {name}:end -->");
    let between = readme.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    let lines = between.into_iter().flat_map(|(between, _)| between.lines());
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with("```"));
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(line),
        _ => {
            Err(anyhow!("`README.md` has not one line of a command between `{begin}` and `{end}`"))
        }
    }
}

/// Returns the snapshots below `root` that are not in `asked`, which has one path per line.
fn left_behind(root: &Path, asked: &str) -> Vec<String> {
    let real = |path: &Path| path.canonicalize().ok();
    let asked: BTreeSet<PathBuf> =
        asked.lines().filter_map(|line| real(&root.join(line))).collect();
    let snapshots = tidy::tree::read(root).into_iter().map(|file| file.path);
    let snapshots = snapshots.filter(|path| path.ends_with(".snap"));
    let is_left = |path: &String| real(&root.join(path)).is_none_or(|path| !asked.contains(&path));
    snapshots.filter(is_left).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{command, left_behind};

    #[test]
    fn a_command_is_the_one_line_between_its_markers() {
        let markers =
            |between: &str| format!("a\n<!-- test:begin -->\n{between}<!-- test:end -->\nb\n");
        let read = |readme: &str| {
            command(readme, "test").map(str::to_owned).map_err(|error| error.to_string())
        };
        assert_eq!(read(&markers("```sh\ncargo test\n```\n")), Ok("cargo test".to_owned()));
        let missing = "`README.md` has not one line of a command between `<!-- test:begin -->` and `<!-- test:end -->`";
        for readme in ["", &markers(""), &markers("```sh\n```\n"), &markers("```sh\na\nb\n```\n")] {
            assert_eq!(read(readme), Err(missing.to_owned()), "{readme}");
        }
    }

    #[test]
    fn a_snapshot_that_no_test_asks_for_is_left_behind() {
        let scratch = tempfile::tempdir().expect("a folder");
        let root = scratch.path();
        fs::create_dir_all(root.join("a/snapshots")).expect("a folder");
        for name in ["a/snapshots/one.snap", "a/snapshots/two.snap", "a/other.txt"] {
            fs::write(root.join(name), "text").expect("a file");
        }
        let one = root.join("a/snapshots/one.snap").display().to_string();
        let rows: [(&str, &[&str]); 4] = [
            ("", &["a/snapshots/one.snap", "a/snapshots/two.snap"]),
            (&one, &["a/snapshots/two.snap"]),
            ("a/../a/snapshots/one.snap\na/snapshots/two.snap\n", &[]),
            ("a/snapshots/two.snap\na/gone.snap\n", &["a/snapshots/one.snap"]),
        ];
        for (asked, expected) in rows {
            assert_eq!(left_behind(root, asked), expected, "{asked}");
        }
    }
}
