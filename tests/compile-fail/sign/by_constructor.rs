//! The function that puts one together is the crate's own.

use rye_sign::{Provenance, Verified};

fn main() {
    let _ = Verified::new("rm -rf /", Provenance::Builtin);
}
