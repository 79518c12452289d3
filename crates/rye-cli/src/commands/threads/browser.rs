//! The browser of the desktop.
//!
//! All users of a machine can read the arguments of its programs, and the address of `rye view` is a secret. So the browser gets the
//! path of a file that leads to the address. Programs of tools are the operator's as well, so that the file lies where every sandbox
//! hides it from them.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rye::sandbox::TemporaryFolder;

/// A file that leads a browser to an address. Dropping this value removes the file. If the program is killed, the next one that
/// opens a browser removes it.
#[derive(Debug)]
pub(super) struct AddressFile {
    path: PathBuf,
    _folder: TemporaryFolder,
}

impl AddressFile {
    /// Writes the file below `hidden`, a folder that no program of a tool can read.
    fn create(hidden: &Path, address: &str) -> io::Result<Self> {
        let mut folders = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        folders.recursive(true).create(hidden)?;
        let folder = TemporaryFolder::new_in(hidden)?;
        let path = folder.path().join("view.html");
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?.write_all(page(address).as_bytes())?;
        Ok(Self { path, _folder: folder })
    }
}

/// The address holds nothing that markup would change: a host, hex digits and the id of a thread.
fn page(address: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta http-equiv=\"refresh\" \
         content=\"0;url={address}\">\n<title>Rye</title>\n<a href=\"{address}\">Threads</a>\n"
    )
}

/// Opens the address in the browser of the desktop. `variable` reads the environment. Returns `None` if there is no desktop, no browser
/// on it, or no folder that is `hidden` from the programs of tools.
///
/// The browser is outside of every sandbox. So no program of `project` is taken for it, whatever `PATH` says.
///
/// A program that reads the address from a pipe opens it itself.
pub(super) fn open(
    address: &str,
    hidden: Option<&Path>,
    project: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<AddressFile> {
    if !io::stdout().is_terminal() || !has_desktop(&variable) {
        return None;
    }
    let file = AddressFile::create(hidden?, address).ok()?;
    let path = search_path(&variable("PATH")?, project)?;
    let is_started = open::commands(&file.path).into_iter().any(|mut command| {
        command.env("PATH", &path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // What ends `rye view` at the terminal leaves the browser alone.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().is_ok()
    });
    is_started.then_some(file)
}

/// Returns the folders of `PATH` without those in the project, where programs of tools write.
fn search_path(path: &str, project: &Path) -> Option<OsString> {
    let project = project.canonicalize().ok()?;
    let is_outside = |folder: &PathBuf| {
        let plain = folder.canonicalize();
        folder.is_absolute() && plain.is_ok_and(|folder| !folder.starts_with(&project))
    };
    std::env::join_paths(std::env::split_paths(path).filter(is_outside)).ok()
}

/// Returns `true` if the operator sits at a desktop of this machine.
fn has_desktop(variable: &impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name| variable(name).is_some();
    let has_display = cfg!(any(windows, target_os = "macos"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set);
    has_display && !is_set("SSH_CONNECTION")
}
