//! Through the facade, too, a permit cannot be made from its parts.

use rye::caps::{Capability, Permit};

fn main() {
    let capability: Capability = "rye.execute.tool.x".parse().unwrap();
    let _ = Permit { capability };
}
