//! `cargo xtask fixtures`: the examples' signatures, made again with the checked-in example key.
//!
//! Ed25519 is deterministic and the time is fixed, so signing what is already signed changes nothing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    generated::{Mode, all, ensure_file_contents},
    process::Rye,
    tidy::tree,
};

const KEY: &str = "examples/keys/example-signing-key.pem";
const AT: &str = "2026-11-20T00:00:00Z";

/// Folders below `.ai` that hold items, and what an item's file may end in. JSON cannot carry a signature line.
const FOLDERS: &[&str] = &["directives", "knowledge", "tools", "config"];
const EXTENSIONS: &[&str] = &["md", "yaml", "yml", "toml", "py", "sh", "js", "ts", "rb"];

/// Signs every example project, or in [`Mode::Check`] names each file that signing would change.
pub(crate) fn run(root: &Path, mode: Mode) -> Result<(), String> {
    let rye = Rye::build(root)?;
    // Signing happens in a copy, so that a check leaves no trace and a failure leaves nothing half done.
    let copy = root.join("target/xtask/fixtures");
    let files = tree::read(&root.join("examples"));
    copy_files(root, &copy, &files)
        .map_err(|error| format!("the examples cannot be copied: {error}"))?;
    let projects = projects(&files);
    if projects.is_empty() {
        return Err("`examples` holds no project with a signable item".to_owned());
    }
    for project in &projects {
        rye.output(&sign_arguments(root, &copy, project, &files))?;
    }
    let signed = files.iter().map(|file| {
        let path = format!("examples/{}", file.path);
        let contents = fs::read(copy.join(&file.path))
            .map_err(|error| format!("`{path}` cannot be read: {error}"))?;
        ensure_file_contents(root, &path, &contents, mode, "fixtures")
    });
    all(signed)
}

/// The whole interface between this task and the program.
fn sign_arguments(root: &Path, copy: &Path, project: &str, files: &[tree::File]) -> Vec<String> {
    let path = |path: PathBuf| path.display().to_string();
    let mut arguments = vec!["sign".to_owned(), "--key".to_owned(), path(root.join(KEY))];
    arguments.extend([
        "--project".to_owned(),
        path(copy.join(project)),
        "--at".to_owned(),
        AT.to_owned(),
    ]);
    let own = files.iter().filter(|file| project_of(&file.path) == Some(project));
    arguments.extend(own.map(|file| path(copy.join(&file.path))));
    arguments
}

fn projects(files: &[tree::File]) -> Vec<String> {
    let mut projects: Vec<String> =
        files.iter().filter_map(|file| project_of(&file.path)).map(str::to_owned).collect();
    projects.dedup();
    projects
}

/// The project that the item at `path` belongs to, or nothing when the file is no item.
fn project_of(path: &str) -> Option<&str> {
    let (project, below) = path.split_once("/.ai/")?;
    let (folder, name) = below.split_once('/')?;
    let (_, extension) = name.rsplit_once('.')?;
    (FOLDERS.contains(&folder) && EXTENSIONS.contains(&extension)).then_some(project)
}

fn copy_files(root: &Path, copy: &Path, files: &[tree::File]) -> std::io::Result<()> {
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
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
    fn each_project_is_signed_with_its_own_items_alone() {
        let paths =
            ["a/.ai/directives/x/y.md", "a/.ai/config/z.json", "b/.ai/tools/t.yaml", "b/README.md"];
        let files = paths.map(|path| File { path: path.to_owned(), text: String::new() });
        assert_eq!(projects(&files), ["a", "b"]);
        assert_eq!(
            sign_arguments(Path::new("R"), Path::new("C"), "a", &files).join(" "),
            "sign --key R/examples/keys/example-signing-key.pem --project C/a --at 2026-11-20T00:00:00Z \
             C/a/.ai/directives/x/y.md"
        );
    }
}
