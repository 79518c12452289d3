//! `cargo xtask fixtures`: signs the examples again with the checked-in example key.
//!
//! Ed25519 is deterministic and the time is fixed, so signing what is already signed changes nothing.

use std::{fs, path::Path};

use crate::{
    files::{self, text},
    generated::{Mode, all, ensure_file_contents},
    process::Rye,
    tidy::tree,
};
use anyhow::{Context as _, bail};

const KEY: &str = "examples/keys/example-signing-key.pem";
const AT: &str = "2026-11-20T00:00:00Z";

/// Signs every example project, or in [`Mode::Check`] names each file that signing would change.
pub(crate) fn run(root: &Path, mode: Mode) -> anyhow::Result<()> {
    let rye = Rye::build(root)?;
    // A copy is signed, so that a check changes nothing and a failure leaves no partial result.
    let copy = root.join("target/xtask/fixtures");
    let files = tree::read(&root.join("examples"));
    files::remove_folder(&copy)?;
    copy_files(root, &copy, &files).context("the examples cannot be copied")?;
    let projects = projects(&files);
    if projects.is_empty() {
        bail!("`examples` holds no folder with an `.ai` folder");
    }
    for project in &projects {
        rye.output(&sign_arguments(root, &copy, project))?;
    }
    let signed = files.iter().map(|file| {
        let path = format!("examples/{}", file.path);
        let contents =
            fs::read(copy.join(&file.path)).with_context(|| format!("`{path}` cannot be read"))?;
        ensure_file_contents(root, &path, &contents, mode, "fixtures")
    });
    all(signed)
}

/// Returns the arguments of `rye sign` for a project. The program finds the items of the folder itself.
fn sign_arguments(root: &Path, copy: &Path, project: &str) -> Vec<String> {
    let key = text(root.join(KEY));
    let project = copy.join(project);
    let items = text(project.join(".ai"));
    ["sign", "--project", &text(project), "--key", &key, "--at", AT, &items]
        .map(str::to_owned)
        .to_vec()
}

/// Returns the folders that hold an `.ai` folder, in the order of the files.
fn projects(files: &[tree::File]) -> Vec<&str> {
    let mut projects: Vec<&str> = files
        .iter()
        .filter_map(|file| file.path.split_once("/.ai/"))
        .map(|(project, _)| project)
        .collect();
    projects.dedup();
    projects
}

fn copy_files(root: &Path, copy: &Path, files: &[tree::File]) -> std::io::Result<()> {
    for file in files {
        let target = copy.join(&file.path);
        fs::create_dir_all(target.parent().expect("because a file has a folder"))?;
        fs::copy(root.join("examples").join(&file.path), target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{projects, sign_arguments};
    use crate::tidy::tree::File;

    #[test]
    fn each_project_is_signed_by_itself() {
        let paths =
            ["a/.ai/directives/x/y.md", "a/.ai/tools/t.yaml", "b/.ai/tools/t.yaml", "c/README.md"];
        let files = paths.map(|path| File { path: path.to_owned(), text: String::new() });
        assert_eq!(projects(&files), ["a", "b"]);
        assert_eq!(
            sign_arguments(Path::new("R"), Path::new("C"), "a").join(" "),
            "sign --project C/a --key R/examples/keys/example-signing-key.pem --at 2026-11-20T00:00:00Z C/a/.ai"
        );
    }
}
