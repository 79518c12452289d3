//! What `thread.json` claims of a transcript, and when.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rye_sign::PublicKey;
use rye_thread::store::{MemoryStore, Ownership, Store, StoreError};
use rye_thread::transcript::read;
use rye_thread::{Cancel, ThreadId, ThreadRecord, TranscriptClaim, TreeAccount};

use crate::doubles::thread_id;
use crate::world::World;

/// A store that looks at `thread.json` at each use, and so at each that was written.
struct Watching {
    store: MemoryStore,
    folder: PathBuf,
    key: PublicKey,
    /// How many records are on disk.
    synced: AtomicU64,
    claims: Mutex<Vec<TranscriptClaim>>,
}

impl Watching {
    fn records(&self) -> u64 {
        let bytes = self.store.journal(&thread_id()).unwrap();
        u64::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).unwrap()
    }

    fn look(&self) {
        let keys = [self.key.clone()];
        let record = ThreadRecord::read(&self.folder, &keys).ok();
        let Some(claim) = record.and_then(|record| record.transcript) else { return };
        let synced = self.synced.load(Ordering::Relaxed);
        assert!(claim.records <= synced, "{} of {synced} records", claim.records);
        let bytes = self.store.journal(&thread_id()).unwrap();
        assert!(read(&bytes, &thread_id(), &keys).unwrap().fits(&claim), "{claim:?}");
        let mut claims = self.claims.lock().unwrap();
        if claims.last() != Some(&claim) {
            claims.push(claim);
        }
    }
}

impl Store for Watching {
    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError> {
        self.store.account(ownership)
    }
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.store.acquire(thread, root)
    }
    fn release(&self, ownership: &Ownership) {
        self.look();
        self.store.release(ownership);
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.look();
        self.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        let text = String::from_utf8_lossy(lines);
        let has = |event: &str| text.contains(&format!(r#""event":"{event}""#));
        assert!(!has("thread_start") || has("checkpoint"), "{text}");
        self.look();
        self.store.append(ownership, lines)
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.store.sync(ownership)?;
        self.synced.store(self.records(), Ordering::Relaxed);
        Ok(())
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.store.cut(ownership, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.store.journal(thread)
    }
}

fn watched() -> (World, Arc<Watching>) {
    let world = World::new();
    let store = Watching {
        store: MemoryStore::new(),
        folder: world.place.path().join(thread_id().as_str()),
        key: world.key.public(),
        synced: AtomicU64::new(0),
        claims: Mutex::default(),
    };
    (world, Arc::new(store))
}

#[tokio::test]
async fn rule_02_a_record_claims_only_what_is_on_disk() {
    let (world, store) = watched();
    world.begin(Arc::clone(&store) as _, &Cancel::new()).await.unwrap();
    let claims = store.claims.lock().unwrap();
    let [claim] = claims.as_slice() else { panic!("one at its end: {claims:?}") };
    assert_eq!((claim.is_open, claim.records), (false, store.records()));
}

/// [`Watching`] sees that both reach the store as one piece.
#[tokio::test]
async fn rule_01_a_checkpoint_is_in_the_same_write_as_the_beginning() {
    let (world, store) = watched();
    world.begin(Arc::clone(&store) as _, &Cancel::new()).await.unwrap();
    let bytes = store.journal(&thread_id()).unwrap();
    let reading = read(&bytes, &thread_id(), &[world.key.public()]).unwrap();
    assert_eq!(reading.signers, [world.key.public().key_id().clone()]);
    let events: Vec<String> =
        reading.records.iter().map(|record| record.name().to_owned()).collect();
    assert_eq!(
        events[..5],
        ["thread_start", "system_prompt", "user_message", "checkpoint", "step_start"]
    );
}
