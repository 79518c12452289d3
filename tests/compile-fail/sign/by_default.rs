//! `Verified` has no default value.

use rye_sign::Verified;

fn main() {
    let _: Verified<String> = Default::default();
}
