//! The value of a `Verified` cannot be changed in place.

use rye_sign::Verified;

fn change(verified: &mut Verified<String>) {
    *verified.value() = "rm -rf /".to_owned();
    verified.value().push_str("rm -rf /");
}

fn main() {}
