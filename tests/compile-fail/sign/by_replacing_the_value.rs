//! The value of a `Verified` cannot be replaced, except by a function of the verified value.

use rye_sign::Verified;

fn replace(verified: Verified<&'static str>) -> Verified<&'static str> {
    Verified { value: "rm -rf /", ..verified }
}

fn main() {}
