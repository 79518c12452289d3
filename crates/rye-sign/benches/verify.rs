//! The cost of verifying an item with a loaded key, compared with the costs of its hash and its signature check.

use divan::{Bencher, black_box, counter::BytesCount};
use ed25519_dalek::Signer as _;
use rye_sign::{CommentStyle, ItemName, Policy, SigningKey, TrustStore, Unverified};
use rye_types::Timestamp;
use sha2::{Digest as _, Sha256};

fn main() {
    divan::main();
}

/// Many samples, because the fastest one is the least disturbed.
const SAMPLES: u32 = 200;
/// Repetitions per sample. A single one would measure cold caches and branch predictors.
const WARM: u32 = 20;

#[divan::bench(args = [4, 64], sample_count = SAMPLES, sample_size = WARM)]
fn item_of_kib(bencher: Bencher<'_, '_>, kib: usize) {
    let key = SigningKey::generate().expect("because the system gives random bytes");
    let item = ItemName::new("directive", "ops/write_runbook").expect("because it is a name");
    let now = Timestamp::from_unix(1_800_000_000);
    let text = rye_sign::sign(&content(kib), CommentStyle::Html, &item, &key, now);
    let mut trust = TrustStore::new();
    trust.trust_key("measurements", key.public());
    let verify = |text| {
        Unverified::locate(text, CommentStyle::Html)
            .and_then(|unverified| unverified.verify(&item, &trust, &Policy::default(), now))
    };
    assert!(verify(text.as_str()).is_ok(), "what is measured verifies");
    bencher.counter(BytesCount::of_str(&text)).bench(|| verify(black_box(text.as_str())).is_ok());
}

/// A strict verification with the same crate, of a message as long as the one that a signature line signs.
#[divan::bench(sample_count = SAMPLES, sample_size = WARM)]
fn ed25519_alone(bencher: Bencher<'_, '_>) {
    let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let message =
        format!("rye-sig-v2\ndirective\nops/write_runbook\n2027-01-15T08:00:00Z\n{:064}", 0);
    let (signature, public) = (key.sign(message.as_bytes()), key.verifying_key());
    assert!(
        public.verify_strict(message.as_bytes(), &signature).is_ok(),
        "what is measured verifies"
    );
    bencher.bench(|| {
        black_box(&public).verify_strict(black_box(message.as_bytes()), &signature).is_ok()
    });
}

/// The digest with the same crate, over the same content.
#[divan::bench(args = [4, 64], sample_count = SAMPLES, sample_size = WARM)]
fn sha256_alone_of_kib(bencher: Bencher<'_, '_>, kib: usize) {
    let content = content(kib);
    bencher.counter(BytesCount::of_str(&content)).bench(|| Sha256::digest(black_box(&content)));
}

fn content(kib: usize) -> String {
    "A line of an item, sixty-four bytes long with its line end.....\n".repeat(16 * kib)
}
