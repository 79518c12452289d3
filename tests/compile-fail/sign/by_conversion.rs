//! No text turns into a verified one.

use rye_sign::Verified;

fn main() {
    let _: Verified<&str> = "rm -rf /".into();
}
