//! Every store keeps what stores promise.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::*;

#[test]
fn the_store_in_memory_conforms() {
    conformance::check(&|| Arc::new(MemoryStore::new()));
}

/// Threads of a local store have a folder before they have a journal.
fn folders(place: &tempfile::TempDir) -> impl Fn() -> std::path::PathBuf {
    let number = std::cell::Cell::new(0);
    move || {
        number.set(number.get() + 1);
        let threads = place.path().join(number.get().to_string());
        for uuid in ["01", "02"] {
            let name = format!("check-019a0000-0000-7000-8000-0000000000{uuid}");
            fs::create_dir_all(threads.join(name)).unwrap();
        }
        threads
    }
}

#[test]
fn the_local_store_conforms() {
    let place = tempfile::tempdir().unwrap();
    let next = folders(&place);
    conformance::check(&|| Arc::new(LocalStore::open(&next()).unwrap()));
}

/// What one program takes over, another one had, which lives on.
#[test]
fn two_local_stores_over_one_folder_conform() {
    let place = tempfile::tempdir().unwrap();
    let next = folders(&place);
    conformance::check(&|| {
        let threads = next();
        let open = || LocalStore::open(&threads).unwrap();
        Arc::new(Programs {
            stores: [open(), open()],
            leases: Mutex::default(),
            paid: AtomicUsize::new(0),
        })
    });
}

/// Two programs, of which each lease is given to the one that did not have the lease before it.
struct Programs {
    stores: [LocalStore; 2],
    /// All leases, with the program that holds them.
    leases: Mutex<Vec<(Lease, usize)>>,
    /// How often either asked about the money, which they do in turn.
    paid: AtomicUsize,
}

impl Programs {
    fn of(&self, lease: &Lease) -> &LocalStore {
        let leases = self.leases.lock().unwrap();
        let found = leases.iter().find(|(it, _)| it == lease).unwrap();
        &self.stores[found.1]
    }
}

impl Store for Programs {
    fn ledger(&self) -> &dyn Ledger {
        self.stores[self.paid.fetch_add(1, Ordering::Relaxed) % 2].ledger()
    }
    fn acquire(&self, thread: &ThreadId, claim: &Claim) -> Result<Lease, StoreError> {
        let last = self.leases.lock().unwrap().last().map_or(1, |(_, number)| *number);
        let lease = self.stores[1 - last].acquire(thread, claim)?;
        self.leases.lock().unwrap().push((lease.clone(), 1 - last));
        Ok(lease)
    }
    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.of(lease).release(lease)
    }
    fn append(&self, lease: &Lease, lines: &[u8]) -> Result<(), StoreError> {
        self.of(lease).append(lease, lines)
    }
    fn sync(&self, lease: &Lease) -> Result<(), StoreError> {
        self.of(lease).sync(lease)
    }
    fn cut(&self, lease: &Lease, length: u64) -> Result<(), StoreError> {
        self.of(lease).cut(lease, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.stores[0].journal(thread)
    }
}
