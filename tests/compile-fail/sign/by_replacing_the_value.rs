//! Nor can another value be given to a proof, without a function of the value that was verified.

use rye_sign::Verified;

fn replace(verified: Verified<&'static str>) -> Verified<&'static str> {
    Verified { value: "rm -rf /", ..verified }
}

fn main() {}
