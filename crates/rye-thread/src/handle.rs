//! Files for appending, which stay open while there are few.
//!
//! Many systems let a program have a thousand open files, and a thousand threads need two each. The store raises that
//! limit where the system lets it.

use std::fs::File;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of files that stay open in any program.
const FEW: usize = 128;

static KEPT: AtomicUsize = AtomicUsize::new(0);

/// An open file, and its permission to stay open.
#[derive(Debug)]
pub(crate) struct Handle {
    file: File,
    may_stay: bool,
}

impl Handle {
    pub(crate) fn new(file: File) -> Self {
        let more = |kept: usize| (kept < FEW || kept < share_of_limit()).then_some(kept + 1);
        let may_stay = KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        Self { file, may_stay }
    }

    /// Returns `true` if the file may stay open. Otherwise close it after this use and open it again for the next.
    pub(crate) fn may_stay(&self) -> bool {
        self.may_stay
    }
}

/// Returns a quarter of the files that this program may open. Sockets, locks and tools need the rest.
#[cfg(unix)]
fn share_of_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit / 4).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn share_of_limit() -> usize {
    FEW
}

impl Deref for Handle {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.may_stay {
            KEPT.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
