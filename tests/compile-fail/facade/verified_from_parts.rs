//! Through the facade, too, verified text is not put together from its parts.

use rye::sign::{Provenance, Verified};

fn main() {
    let _ = Verified { value: "x", provenance: Provenance::Builtin };
}
