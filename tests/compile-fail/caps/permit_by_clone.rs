//! A permit is for one call: it cannot be copied.

fn twice(permit: rye_caps::Permit) -> [rye_caps::Permit; 2] {
    [permit.clone(), permit]
}

fn main() {}
