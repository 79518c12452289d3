//! The conformance checks, for every store.

use super::*;

#[test]
fn the_store_in_memory_conforms() {
    conformance::check(&|| Arc::new(MemoryStore::new()));
}

#[test]
fn the_local_store_conforms() {
    let place = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    conformance::check(&|| {
        number.set(number.get() + 1);
        let threads = place.path().join(number.get().to_string());
        // Threads of a local store have a folder before they have a transcript.
        let other = "check-019a0000-0000-7000-8000-000000000002";
        fs::create_dir_all(threads.join(other)).unwrap();
        Arc::new(LocalStore::open(&threads).unwrap())
    });
}
