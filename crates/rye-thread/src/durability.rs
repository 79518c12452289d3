//! The waits for the disk of this crate. A test counts them.

use std::fs::File;
use std::io;
use std::path::Path;

/// Waits until the content of a file survives a power loss.
pub(crate) fn sync_file(file: &File) -> io::Result<()> {
    #[cfg(test)]
    counted::add();
    file.sync_data()
}

/// Waits until the names in a folder survive a power loss, if the system can open a folder for that.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(test)]
    counted::add();
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
pub(crate) mod counted {
    use std::cell::Cell;

    thread_local! {
        static WAITS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn add() {
        WAITS.set(WAITS.get() + 1);
    }

    /// Returns the number of waits of this thread since the last call.
    pub(crate) fn take() -> u64 {
        WAITS.take()
    }
}
