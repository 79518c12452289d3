//! The browser of the desktop.
//!
//! All users of a machine can read the arguments of its programs, and the address of `rye view` is a secret. So the browser gets the
//! path of a file that only the operator can read, which leads to the address.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// A file that leads a browser to an address. Dropping this value removes the file.
#[derive(Debug)]
pub(super) struct AddressFile {
    path: PathBuf,
}

impl AddressFile {
    /// Writes the file into `folder`.
    fn create(folder: &Path, address: &str) -> io::Result<Self> {
        let path = folder.join(format!("rye-view-{}.html", uuid::Uuid::new_v4().simple()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let written = Self { path };
        file.write_all(page(address).as_bytes())?;
        Ok(written)
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        // A file that stays leads to a server that has ended.
        drop(fs::remove_file(&self.path));
    }
}

/// The address holds nothing that markup would change: a host, hex digits and the id of a thread.
fn page(address: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta http-equiv=\"refresh\" \
         content=\"0;url={address}\">\n<title>Rye</title>\n<a href=\"{address}\">Threads</a>\n"
    )
}

/// Opens the address in the browser of the desktop. `variable` reads the environment. Returns `None` if there is no desktop, or no browser
/// on it.
///
/// A program that reads the address from a pipe opens it itself.
pub(super) fn open(
    address: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<AddressFile> {
    if !io::stdout().is_terminal() || !has_desktop(&variable) {
        return None;
    }
    let folder = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.is_absolute());
    let file = AddressFile::create(&folder.unwrap_or_else(std::env::temp_dir), address).ok()?;
    open::that_detached(&file.path).ok()?;
    Some(file)
}

/// Returns `true` if the operator sits at a desktop of this machine.
fn has_desktop(variable: &impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name| variable(name).is_some();
    let has_display = cfg!(any(windows, target_os = "macos"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set);
    has_display && !is_set("SSH_CONNECTION")
}
