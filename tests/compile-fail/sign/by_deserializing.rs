//! What was verified once is not read back as verified.

use rye_sign::Verified;

fn main() {
    let _: Verified<String> = serde_json::from_str("{}").unwrap();
}
