//! `cargo xtask e2e`: runs the whole program against third-party programs.

use std::{fs, io, path::Path};

pub(crate) mod exports;
pub(crate) mod llama;
pub(crate) mod restate;
pub(crate) mod view;

/// The exit code of a run that reached a limit.
const LIMIT: i32 = 5;

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() { copy(&path, &target)? } else { _ = fs::copy(&path, &target)? }
    }
    Ok(())
}
