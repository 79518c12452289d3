//! There is no value that is verified without a text.

use rye_sign::Verified;

fn main() {
    let _: Verified<String> = Default::default();
}
