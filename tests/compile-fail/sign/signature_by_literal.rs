//! The facts of a signature cannot be written as a literal.

use rye_sign::{Binding, Coverage, Signature};

fn main() {
    let _ = Signature {
        key_id: "0123456789abcdef".parse().unwrap(),
        owner: None,
        grants: Vec::new(),
        at: "2026-11-20T18:00:00Z".parse().unwrap(),
        coverage: Coverage::Whole,
        binding: Binding::Bound,
        item: None,
        notes: Vec::new(),
    };
}
