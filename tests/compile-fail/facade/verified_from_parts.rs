//! Through the facade, too, a `Verified` cannot be made from its parts.

use rye::sign::{Provenance, Verified};

fn main() {
    let _ = Verified { value: "x", provenance: Provenance::Builtin };
}
