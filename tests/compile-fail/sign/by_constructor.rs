//! The constructor of `Verified` is private to its crate.

use rye_sign::{Provenance, Verified};

fn main() {
    let _ = Verified::new("rm -rf /", Provenance::Builtin);
}
