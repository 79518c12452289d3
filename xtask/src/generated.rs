//! Generated files that are committed: written, or compared with the committed ones.

use std::{fs, path::Path};

use anyhow::{Context as _, anyhow};

/// The action for a generated file that is out of date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write the file.
    Write,
    /// Change nothing and fail.
    Check,
}

/// Writes `contents` to the file at `root/path`, or in [`Mode::Check`] fails with the name of the `task` that
/// writes it.
pub(crate) fn ensure_file_contents(
    root: &Path,
    path: &str,
    contents: &[u8],
    mode: Mode,
    task: &str,
) -> anyhow::Result<()> {
    let file = root.join(path);
    if fs::read(&file).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    match mode {
        Mode::Check => {
            Err(anyhow!("`{path}` is out of date; run `cargo xtask {task}` and commit the result"))
        }
        Mode::Write => {
            let folder = file.parent().expect("because a path below a root has a parent");
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&file, contents))
                .with_context(|| format!("`{path}` cannot be written"))
        }
    }
}

/// Joins all errors of `results`, so that they are reported together.
pub(crate) fn all(results: impl IntoIterator<Item = anyhow::Result<()>>) -> anyhow::Result<()> {
    let errors: Vec<String> =
        results.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    if errors.is_empty() { Ok(()) } else { Err(anyhow!(errors.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::{Mode, ensure_file_contents};

    #[test]
    fn a_check_fails_until_the_file_is_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ensure = |mode| {
            let ensured =
                ensure_file_contents(folder.path(), "docs/a.md", b"text\n", mode, "codegen");
            ensured.map_err(|error| error.to_string())
        };
        let stale =
            Err("`docs/a.md` is out of date; run `cargo xtask codegen` and commit the result"
                .to_owned());
        assert_eq!(ensure(Mode::Check), stale);
        assert_eq!(ensure(Mode::Write), Ok(()));
        assert_eq!(ensure(Mode::Check), Ok(()));
        std::fs::write(folder.path().join("docs/a.md"), "edited\n").expect("a written file");
        assert_eq!(ensure(Mode::Check), stale);
    }
}
