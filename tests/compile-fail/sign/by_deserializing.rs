//! A `Verified` cannot be deserialized.

use rye_sign::Verified;

fn main() {
    let _: Verified<String> = serde_json::from_str("{}").unwrap();
}
