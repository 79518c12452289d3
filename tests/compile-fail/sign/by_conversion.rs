//! No text converts into a `Verified`.

use rye_sign::Verified;

fn main() {
    let _: Verified<&str> = "rm -rf /".into();
}
