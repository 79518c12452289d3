//! The waits for the disk of this crate, and the place where they block. A test counts them.

use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rye_files::{open_folder, open_unlinked};
use tokio::runtime::Handle;
use tokio::task::{JoinError, spawn_blocking, try_id};

use crate::RecordError;

/// Waits until the content of the file at `path` survives a power loss.
#[expect(clippy::disallowed_methods, reason = "the waits of this crate are here")]
pub(crate) fn sync_file(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(test)]
    counted::add(path);
    #[cfg(not(test))]
    let _ = path;
    file.sync_data()
}

/// Waits until the names in a folder survive a power loss, if the system can open a folder for that.
#[expect(clippy::disallowed_methods, reason = "the waits of this crate are here")]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(test)]
    counted::add(folder);
    if cfg!(unix) { open_folder(folder)?.sync_all() } else { Ok(()) }
}

/// Waits until the `thread.json` of a folder survives a power loss.
pub(crate) fn sync_record(folder: &Path) -> Result<(), RecordError> {
    let path = folder.join("thread.json");
    let synced = open_unlinked(&path).and_then(|file| sync_file(&file, &path));
    synced.and_then(|()| sync_folder(folder)).map_err(|source| RecordError::Write { path, source })
}

/// The number of threads that this process drives.
static DRIVEN: AtomicUsize = AtomicUsize::new(0);

/// One driven thread of this process, until it is dropped.
pub(crate) struct Driven(());

impl Driven {
    pub(crate) fn new() -> Self {
        DRIVEN.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        DRIVEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns `true` if the process drives one thread, in the main future of a runtime.
///
/// Then a wait in place keeps no other thread waiting, and saves two changes of the system thread. A program that
/// serves other callers drives its threads in tasks.
fn is_alone() -> bool {
    DRIVEN.load(Ordering::Relaxed) <= 1 && try_id().is_none()
}

/// Does work that may wait for the disk, so that it blocks no other thread of this process.
pub(crate) async fn run_unblocked<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if is_alone() { work() } else { run_on_pool(work).await }
}

/// Does work on the blocking pool, or in place without a runtime.
pub(crate) async fn run_on_pool<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    if Handle::try_current().is_err() {
        return work();
    }
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let sent = Arc::clone(&work);
    let done = spawn_blocking(move || take(&sent).map(|work| work())).await;
    match done.map_err(JoinError::try_into_panic) {
        Ok(Some(done)) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime ended before the work began, so that it still has to be done.
        Ok(None) | Err(Err(_)) => take(&work).map(|work| work()).expect("because it did not begin"),
    }
}

#[cfg(test)]
pub(crate) mod counted {
    use std::path::{Path, PathBuf};
    use std::sync::{Mutex, PoisonError};

    static WAITS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

    pub(super) fn add(path: &Path) {
        WAITS.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }

    /// Returns the number of waits below a folder.
    pub(crate) fn below(folder: &Path) -> usize {
        let waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner);
        waits.iter().filter(|path| path.starts_with(folder)).count()
    }
}
