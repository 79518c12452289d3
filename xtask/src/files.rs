//! Files and folders that tasks make below `target/`.

use std::{fs, io, path::Path};

use anyhow::{Context as _, anyhow};

/// Writes a file. Its folder is made if it is missing.
pub(crate) fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, contents))
        .with_context(|| format!("`{}` cannot be written", path.display()))
}

/// Copies a folder with all that is in it but the threads of a project.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true if path.ends_with(".ai/threads") => {}
            true => copy_folder(&path, &target)?,
            false => drop(fs::copy(&path, &target)?),
        }
    }
    Ok(())
}

/// Removes a folder with all that is in it, if it exists.
pub(crate) fn remove_folder(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(anyhow!("`{}` cannot be emptied: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The path as a word of a command line.
pub(crate) fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}
