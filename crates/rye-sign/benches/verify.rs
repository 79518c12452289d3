//! What verifying an item costs, with the key loaded.

use divan::{Bencher, black_box, counter::BytesCount};
use rye_sign::{CommentStyle, ItemName, Policy, SigningKey, Timestamp, TrustStore, Unverified};

fn main() {
    divan::main();
}

#[divan::bench(args = [4, 64])]
fn item_of_kib(bencher: Bencher<'_, '_>, kib: usize) {
    let key = SigningKey::generate().expect("because the system gives random bytes");
    let item = ItemName::new("directive", "ops/write_runbook").expect("because it is a name");
    let now = Timestamp::from_unix(1_800_000_000);
    let content =
        "A line of an item, sixty-four bytes long with its line end.....\n".repeat(16 * kib);
    let text = rye_sign::sign(&content, CommentStyle::Html, &item, &key, now);
    let mut trust = TrustStore::new();
    trust.trust_key("measurements", key.public());
    let verify = |text| {
        Unverified::locate(text, CommentStyle::Html)
            .and_then(|unverified| unverified.verify(&item, &trust, &Policy::default(), now))
    };
    assert!(verify(text.as_str()).is_ok(), "what is measured verifies");
    bencher.counter(BytesCount::of_str(&text)).bench(|| verify(black_box(text.as_str())).is_ok());
}
