//! The fields of `Verified` are private.

use rye_sign::{Provenance, Verified};

fn main() {
    let _ = Verified { value: "rm -rf /", provenance: Provenance::Builtin };
}
